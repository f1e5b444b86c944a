//! Stores that are killed while they work: an index or the storage engine works through numbered turns, says of each
//! when it is durable, and dies at any moment, by a kill or with the machine. Whoever comes after it checks that
//! everything acknowledged is there, and nothing half.
//!
//! What a thread does in a turn follows from its number alone ([`turn`]), so the state after any number of turns is
//! known. A thread begins a turn when the one before is acknowledged in the [`journal`]: after a crash the store holds
//! the acknowledged turns, and perhaps the one that was under way. A store that becomes durable only in batches may
//! hold any number of turns of the batch under way, but no later one without those before it.

mod check;
mod engine;
mod error;
mod index;
mod job;
pub mod journal;
mod store;
pub mod turn;
mod work;

pub use check::{Counted, Finding};
pub use error::SoakError;
pub use job::{JOB_VERSION, SoakJob, StoreName};
pub use store::{Store, StoreHandle};

use std::time::Instant;

use assay_index::Factory;
use assay_instruments::Watch;
pub use index::index_setup;
use store::Visit;

/// Works until it is interrupted, or until every thread has done the job's turns. One interval says that the store is open
/// and every thread has done a turn.
///
/// # Errors
/// Where the store cannot be made or opened, fails, or holds something else than the journal says.
pub fn work(job: &SoakJob, watch: &mut Watch<'_>) -> Result<(), SoakError> {
    on_store(job, true, work::Turns { job, watch, began: Instant::now() })
}

/// Opens the store and compares it with the journal.
///
/// # Errors
/// Where the store cannot be opened or read. That something is lost is no error: it is counted.
pub fn check(job: &SoakJob) -> Result<Finding, SoakError> {
    on_store(job, false, check::Check { job })
}

/// As [`work`], on the index of another program, each of whose turns is durable when it returns.
///
/// # Errors
/// As [`work`].
pub fn work_on<F: Factory>(job: &SoakJob, factory: &F, watch: &mut Watch<'_>) -> Result<(), SoakError> {
    index::on_factory(factory, true, 1, work::Turns { job, watch, began: Instant::now() })
}

/// As [`check`], on the index of another program.
///
/// # Errors
/// As [`check`].
pub fn check_on<F: Factory>(job: &SoakJob, factory: &F) -> Result<Finding, SoakError> {
    index::on_factory(factory, false, 1, check::Check { job })
}

fn on_store<V: Visit>(job: &SoakJob, make: bool, visit: V) -> Result<V::Out, SoakError> {
    match job.store.kind() {
        Some(kind) => index::on_index(job, kind, make, visit),
        None => visit.visit(&engine::Tables::open(job, make)?),
    }
}
