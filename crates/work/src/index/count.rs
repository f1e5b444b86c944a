//! What operations cost in flushes, fences and blocks of the media: a pass of its own, on a medium that counts.

use assay_index::{Index, IndexError};
use assay_pmem::counts;

use super::{act::Buffers, check::WindowFacts};
use crate::index::{
    job::IndexJob,
    workload::{Entries, Operation, Picker, Stream},
};

/// What the operations of one kind cost together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) operations: u64,
    pub(super) flushes: u64,
    pub(super) fences: u64,
    pub(super) blocks_read: u64,
    pub(super) blocks_written: u64,
}

/// One thread goes on with the workload on its own part of the ids.
pub(super) fn count(
    index: &impl Index,
    job: &IndexJob,
    facts: &WindowFacts,
) -> Result<[Cost; Operation::COUNT], IndexError> {
    let mut costs = [Cost::default(); Operation::COUNT];
    let Some(territory) = facts.territories().first() else { return Ok(costs) };
    let picker = Picker::new(job.distribution(), territory.picked())?;
    let mut stream = Stream::new(job.workload.mix(), picker, *territory, job.seed ^ 0xC0);
    let mut buffers = Buffers::new(Entries::new(job.sizes, job.seed), &job.sizes, 1, job.scan_length);
    let mut session = index.session();
    for _ in 0..job.counted_operations {
        let Some(step) = stream.step() else { break };
        let before = counts();
        let done = buffers.act(&mut session, &step);
        let spent = counts() - before;
        match done {
            Err(error) if error.is_full() => break,
            done => done?,
        };
        match step.operation {
            Operation::Insert => stream.added(),
            Operation::Remove => stream.removed(),
            _ => {}
        }
        let cost = &mut costs[step.operation as usize];
        cost.operations += 1;
        cost.flushes += spent.flushes;
        cost.fences += spent.fences;
        cost.blocks_read += spent.blocks_read;
        cost.blocks_written += spent.blocks_written;
    }
    Ok(costs)
}
