//! Fills warehouses over several connections at the same time.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use assay_workload::{Gate, Milestone, Worker, in_parallel_under};

use crate::error::{Result, TpccError};

/// Between two looks at what is done.
const LOOK: Duration = Duration::from_millis(20);

/// Fills warehouses `1..=warehouses`, each by one of at most so many connections of `connect`. `progress` hears the share
/// that is done.
///
/// # Errors
/// The first error of a connection, and [`TpccError::Conflict`] where `progress` stopped it.
pub fn fill<C>(
    (connections_at_most, warehouses): (usize, u32),
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
    connect: impl Fn() -> Result<C> + Sync,
    fill: impl Fn(&mut C, u32) -> Result<()> + Sync,
) -> Result<()> {
    let (next, done, mut stopped) = (AtomicU32::new(1), AtomicU32::new(0), false);
    let part = |worker: &mut Worker<'_>| {
        let mut connection = connect()?;
        loop {
            let warehouse = next.fetch_add(1, Relaxed);
            if warehouse > warehouses || worker.gate().is_shut() {
                return Ok(());
            }
            fill(&mut connection, warehouse)?;
            done.fetch_add(1, Relaxed);
        }
    };
    let look = |gate: &Gate| {
        while !gate.are_all(Milestone::Finished) && !gate.is_shut() && !stopped {
            stopped = progress(f64::from(done.load(Relaxed)) / f64::from(warehouses)).is_break();
            std::thread::sleep(LOOK);
        }
    };
    in_parallel_under(look, (connections_at_most as u32).min(warehouses), TpccError::Workload, part)?;
    if stopped { Err(TpccError::Conflict) } else { Ok(()) }
}
