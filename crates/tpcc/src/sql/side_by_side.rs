//! Fills warehouses over several connections at the same time.

use std::{ops::ControlFlow, thread};

use crate::{Result, side_by_side};

/// Connections that load at the same time, at most.
const CONNECTIONS_AT_MOST: usize = 4;
/// Keys and indexes, which come later, take the rest.
const SHARE_OF_ROWS: f64 = 0.9;

/// As [`side_by_side::fill`], as the first part of a load.
///
/// # Errors
/// Those of [`side_by_side::fill`].
pub(crate) fn fill<C>(
    warehouses: u32,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
    connect: impl Fn() -> Result<C> + Sync,
    fill: impl Fn(&mut C, u32) -> Result<()> + Sync,
) -> Result<()> {
    let connections = thread::available_parallelism().map_or(1, usize::from).min(CONNECTIONS_AT_MOST);
    side_by_side::fill((connections, warehouses), &mut |done| progress(SHARE_OF_ROWS * done), connect, fill)
}
