//! Which way a scan goes.

use crate::node::View;

/// Towards larger keys or smaller ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Way {
    #[default]
    Up,
    Down,
}

/// The child in which a scan goes on.
pub(super) fn child_towards(view: View<'_>, way: Way, bound: Option<&[u8]>) -> usize {
    match (way, bound) {
        (Way::Up, Some(key)) => view.child_slot(key),
        (Way::Up, None) => 0,
        // Keys below the bound are in the child below the first separator that is not below it.
        (Way::Down, Some(key)) => view.find(key).slot,
        (Way::Down, None) => view.count(),
    }
}
