//! Caches and pools as they are after hours of the workload, before any virtual time passes.

use assay_index::{Index, IndexError, Session};
use assay_pmem::Touch;

use super::Around;
use crate::index::{
    act::Buffers,
    job::IndexJob,
    workload::{Entries, Picker, Stream},
};

/// Operations at most, in parts of the keys.
const ROUNDS: u64 = 2;
/// Operations at most.
const MOST: u64 = 5_000_000;
/// Operations between two looks at what has been brought near.
const BATCH: u64 = 1024;
/// Bytes of a page, where it is not said.
const PAGE_BYTES: u64 = 4096;

/// Works off stage until what fits into the CPU's caches, or into the pool before a drive, has been brought there once, or
/// twice as many operations are done as there are keys.
pub(super) fn heat(index: &impl Index, job: &IndexJob, around: &Around, cache_bytes: u64) -> Result<(), IndexError> {
    around.tape.run(job.index.in_pmem());
    let parts = index.parts() as u64;
    let done = (0..parts).try_for_each(|part| heat_part(index, job, around, (part, cache_bytes / parts)));
    around.tape.run(false);
    done
}

fn heat_part(
    index: &impl Index,
    job: &IndexJob,
    around: &Around,
    (part, cache_bytes): (u64, u64),
) -> Result<(), IndexError> {
    let territory = job.territory(part);
    let picker = Picker::new(job.distribution(), territory.picked())?;
    let mut stream = Stream::new(job.workload.mix().without_growth(), picker, territory, job.seed ^ 0x4EA7);
    let mut buffers = Buffers::new(Entries::new(job.sizes, job.seed), &job.sizes, part, job.scan_length);
    let mut session = index.session_of(part as usize);
    let most = (territory.picked() * ROUNDS).min(MOST);
    let mut touched: Vec<Touch> = Vec::new();
    for number in 0..most {
        let Some(step) = stream.step() else { break };
        buffers.act(&mut session, &step)?;
        if number % BATCH == 0 {
            around.tape.take(&mut touched);
            touched.clear();
            if brought(&session, job, around) >= cache_bytes {
                break;
            }
        }
    }
    around.tape.take(&mut touched);
    Ok(())
}

/// Bytes that have come near so far.
fn brought(session: &impl Session, job: &IndexJob, around: &Around) -> u64 {
    if job.index.in_pmem() {
        return around.tape.lines()[1] * 64;
    }
    let page = job.options.get("page_bytes").and_then(serde_json::Value::as_u64).unwrap_or(PAGE_BYTES);
    session.moved().map_or(u64::MAX, |moved| moved.read * page)
}
