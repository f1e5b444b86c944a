//! The load: ids 0 to the number of keys, by all threads at once.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use assay_index::{Factory, Index, IndexError, Session};
use assay_workload::{Worker, in_parallel};

use super::{act::Buffers, workers};
use crate::index::{
    job::IndexJob,
    workload::{Entries, Operation, Step, Territory},
};

/// Inserts between two looks at the interrupt and at the space that is left.
const BATCH: u64 = 1024;

/// What the load was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded {
    /// Keys inserted.
    pub(super) keys: u64,
    /// How long it took.
    pub(super) took: Duration,
}

/// Loads; every key must be new.
///
/// # Errors
/// The first thing that failed; or the interrupt.
pub(super) fn load(
    factory: &impl Factory,
    index: &impl Index,
    job: &IndexJob,
    entries: &Entries,
    interrupted: &AtomicBool,
) -> Result<Loaded, IndexError> {
    let start = Instant::now();
    let part = |worker: &mut Worker<'_>| {
        let (thread, gate) = (u64::from(worker.number()), worker.gate());
        let territory = job.territory(thread);
        let mut buffers = Buffers::new(*entries, &job.sizes, thread, job.scan_length);
        let mut session = index.session_of(thread as usize % index.parts());
        insert_all(&mut session, &territory, &mut buffers, &|| {
            factory.room()?;
            Ok(gate.is_shut() || interrupted.load(Ordering::Relaxed))
        })
    };
    let keys = in_parallel(job.threads, workers::lost, part)?.into_iter().sum();
    if interrupted.load(Ordering::Relaxed) {
        return Err(IndexError::Interrupted { at: "loading" });
    }
    Ok(Loaded { keys, took: start.elapsed() })
}

fn insert_all(
    session: &mut impl Session,
    territory: &Territory,
    buffers: &mut Buffers,
    ends: &impl Fn() -> Result<bool, IndexError>,
) -> Result<u64, IndexError> {
    let mut done = 0;
    while let Some(id) = territory.removed_id(done) {
        if done % BATCH == 0 && ends()? {
            break;
        }
        let step = Step { operation: Operation::Insert, id };
        if !buffers.act(session, &step)? {
            return Err(IndexError::Damaged { what: format!("the key of id {id} was there before it was loaded") });
        }
        done += 1;
    }
    Ok(done)
}
