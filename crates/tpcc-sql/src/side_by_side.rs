//! Fills warehouses over several connections at the same time.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    thread,
    time::Duration,
};

use assay_tpcc::{Result, TpccError};

/// Connections that load at the same time, at most.
const CONNECTIONS_AT_MOST: usize = 4;
/// Keys and indexes, which come later, take the rest.
const SHARE_OF_ROWS: f64 = 0.9;

/// Fills warehouses `1..=warehouses`, each by one of several connections of `connect`. `progress` hears the share that is
/// done of the whole load.
///
/// # Errors
/// The first error of a connection, and [`TpccError::Conflict`] where `progress` stopped it.
pub(crate) fn fill<C>(
    warehouses: u32,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
    connect: impl Fn() -> Result<C> + Sync,
    fill: impl Fn(&mut C, u32) -> Result<()> + Sync,
) -> Result<()> {
    let (next, done, stop) = (AtomicU32::new(1), AtomicU32::new(0), AtomicBool::new(false));
    let worker = || -> Result<()> {
        let mut connection = connect()?;
        loop {
            let warehouse = next.fetch_add(1, Relaxed);
            if warehouse > warehouses || stop.load(Relaxed) {
                return Ok(());
            }
            fill(&mut connection, warehouse)?;
            done.fetch_add(1, Relaxed);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(CONNECTIONS_AT_MOST);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(warehouses as usize)).map(|_| scope.spawn(worker)).collect();
        while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
            if progress(SHARE_OF_ROWS * f64::from(done.load(Relaxed)) / f64::from(warehouses)).is_break() {
                stop.store(true, Relaxed);
            }
            thread::sleep(Duration::from_millis(20));
        }
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| TpccError::TerminalLost)?)
    })?;
    if stop.load(Relaxed) { Err(TpccError::Conflict) } else { Ok(()) }
}
