//! A page cache of a size: a control group of the run's own.

use assay_path::{PathError, Room};
use assay_record::Job;

use crate::{error::LoadError, seat};

/// Bytes beside the cache and the buffers of threads: histograms, series, stacks, what the kernel keeps for files.
const BESIDE_BYTES: u64 = 32 << 20;
/// And for each thread.
const BESIDE_THREAD_BYTES: u64 = 2 << 20;

/// Moves this process into a group that holds the cache that a job asks for; none where it asks for none.
///
/// # Errors
/// Where the kernel or this user cannot.
pub(super) fn enter(job: &Job) -> Result<Option<Room>, LoadError> {
    let Some(cache) = job.cache_bytes else { return Ok(None) };
    let room = Room::enter(cache.saturating_add(beside(job))).map_err(PathError::from)?;
    Ok(Some(room))
}

/// Bytes that the run itself takes within the group: without them it would be the kernel that ends it.
fn beside(job: &Job) -> u64 {
    let of = |class| seat::memory_bytes(class).saturating_add(BESIDE_THREAD_BYTES);
    let threads = job.classes.iter().map(|class| of(class).saturating_mul(u64::from(class.threads)));
    threads.fold(BESIDE_BYTES, u64::saturating_add)
}
