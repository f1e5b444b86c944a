//! Making room: a node becomes two, and its parent gets a separator.

use assay_buffer::{Attempt, Exclusive, Worker, Writing};

use super::{Place, Tree};
use crate::{
    TreeError,
    node::{Builder, NodeMut, View, separator},
};

/// What an attempt to split came to.
enum Outcome {
    Done,
    /// The tree is a level higher now; the node is not split yet.
    Higher,
    /// The parent has no room for the separator.
    ParentFull,
}

impl Tree {
    /// Splits the node for a key at a level, where it has not room for `bytes`; at a slot that is given, in any case.
    pub(super) fn split(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        level: u16,
        bytes: usize,
        at: Option<usize>,
    ) -> Result<(), TreeError> {
        loop {
            match worker.retry(|| self.try_split(worker, writing, key, level, bytes, at))? {
                Outcome::Done => return Ok(()),
                Outcome::Higher => {}
                Outcome::ParentFull => self.split(worker, writing, key, level + 1, self.key_most + 16, None)?,
            }
        }
    }

    fn try_split(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        level: u16,
        bytes: usize,
        at: Option<usize>,
    ) -> Attempt<Outcome> {
        let Some(Place { parent, node }) = self.at_level(worker, key, level)? else { return Ok(Outcome::Done) };
        let Some(parent) = parent else {
            let root = node.lock(writing)?;
            return self.grow(worker, writing, root, bytes, at);
        };
        let parent = parent.lock(writing)?;
        let node = node.lock(writing)?;
        let view = View(node.view());
        if !is_wanted(view, bytes, at) {
            return Ok(Outcome::Done);
        }
        let slot = at.filter(|&at| at > 0 && at < view.count()).unwrap_or_else(|| split_slot(view, key));
        let between = between(view, slot);
        let free = View(parent.view()).free_bytes();
        if free < 16 + between.len() {
            return Ok(Outcome::ParentFull);
        }
        let right = worker.allocate(writing)?;
        self.divide(parent, node, right, slot, &between, key);
        Ok(Outcome::Done)
    }

    /// Moves the upper part of `node` to `right`; both and the parent are held, and have room.
    fn divide(
        &self,
        mut parent: Exclusive<'_>,
        mut node: Exclusive<'_>,
        mut right: Exclusive<'_>,
        slot: usize,
        between: &[u8],
        key: &[u8],
    ) {
        let view = View(node.view());
        let (level, count) = (view.level(), view.count());
        let mut low = Builder::new(self.page_bytes, level, view.lower(), Some(between));
        let mut high = Builder::new(self.page_bytes, level, between, view.upper());
        low.copy(view, 0..slot);
        // The separator of an inner node goes up; the child below it ends the lower node.
        let inner = usize::from(level > 0);
        high.copy(view, slot + inner..count);
        let low_upper = if level > 0 { view.child(slot) } else { 0 };
        high.finish(view.child(count), right.bytes_mut());
        low.finish(low_upper, node.bytes_mut());
        let (left_page, right_page) = (node.page(), right.page());
        let mut parent = NodeMut(parent.bytes_mut());
        let at = parent.view().child_slot(key);
        let added = parent.insert_child(at, between, left_page);
        debug_assert!(added, "the parent's room was looked at");
        parent.set_child(at + 1, right_page);
    }

    /// The root's content moves to a child of its own, so that the root keeps its number.
    fn grow(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        mut root: Exclusive<'_>,
        bytes: usize,
        at: Option<usize>,
    ) -> Attempt<Outcome> {
        let view = View(root.view());
        if !is_wanted(view, bytes, at) {
            return Ok(Outcome::Done);
        }
        let level = view.level();
        let mut child = worker.allocate(writing)?;
        let from = assay_buffer::HEADER_BYTES;
        child.bytes_mut()[from..].copy_from_slice(&root.bytes()[from..]);
        Builder::new(self.page_bytes, level + 1, &[], None).finish(child.page(), root.bytes_mut());
        Ok(Outcome::Higher)
    }
}

fn is_wanted(view: View<'_>, bytes: usize, at: Option<usize>) -> bool {
    view.count() >= 2 && (at.is_some() || view.free_bytes() < bytes)
}

/// The slot from which on entries go to the right: about half of the bytes, but where keys ascend, what is above the new
/// one, and next to nothing where that is nothing.
fn split_slot(view: View<'_>, key: &[u8]) -> usize {
    let (count, slot) = (view.count(), view.find(key).slot);
    let (.., last) = view.contention();
    let ascends = view.level() == 0 && slot == usize::from(last) + 1;
    if slot == count && (ascends || view.upper().is_none()) {
        return count - 1;
    }
    if ascends {
        return slot;
    }
    let total: usize = (0..count).map(|slot| view.entry_bytes(slot)).sum();
    let mut sum = 0;
    for slot in 0..count - 1 {
        sum += view.entry_bytes(slot);
        if sum * 2 >= total {
            return slot + 1;
        }
    }
    count - 1
}

/// What separates the two parts of a node that is split at a slot.
fn between(view: View<'_>, slot: usize) -> Vec<u8> {
    if view.level() > 0 {
        return view.key(slot);
    }
    separator(&view.key(slot - 1), &view.key(slot)).to_vec()
}
