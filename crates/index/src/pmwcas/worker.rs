//! A thread's way to change words.

use std::{cell::Cell, sync::Arc, sync::atomic::Ordering};

use assay_pmem::{Guard, Medium, Offset, PmemError, Pool};

use super::{
    descriptor::{Block, Fate, Header, MOST_BLOCKS, MOST_CHANGES, Status, WordChange},
    protocol::{Helper, Protocol},
    table::DescriptorTable,
    word::{CONTROL, DIRTY, SEQUENCES},
};

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CasOutcome {
    /// All words changed, durably.
    Succeeded,
    /// A word had another value: nothing changed.
    Failed,
    /// No descriptor is free before others, or this thread itself, are not pinned any more: unpin, and try again.
    Busy,
}

/// What one thread changes words through. All calls are made pinned, by a guard that is kept until they return.
#[derive(Debug)]
pub struct Worker<'t> {
    table: &'t DescriptorTable,
    helper: Helper,
    hint: usize,
}

impl DescriptorTable {
    /// A worker for the calling thread; it waits while 1024 others have one.
    pub fn worker(&self) -> Worker<'_> {
        loop {
            if let Some(number) = self.helpers.take(0) {
                return Worker::new(self, number as u16);
            }
            std::thread::yield_now();
        }
    }
}

impl<'t> Worker<'t> {
    fn new(table: &'t DescriptorTable, number: u16) -> Self {
        let attempts = Cell::new(table.attempts[usize::from(number)].load(Ordering::Acquire));
        Self { table, helper: Helper { number, attempts }, hint: usize::from(number) }
    }

    /// The value of a word at some moment of this call. What it rests on is durable.
    #[inline(always)]
    pub fn read<M: Medium>(&self, medium: &M, at: u64) -> u64 {
        let seen = medium.load(at);
        if seen & CONTROL == 0 { seen } else { self.read_slowly(medium, at) }
    }

    #[cold]
    fn read_slowly<M: Medium>(&self, medium: &M, at: u64) -> u64 {
        Protocol::new(medium, self.table.area).read(at)
    }

    /// Replaces one word, durably.
    ///
    /// # Errors
    /// The value that it has instead, which is durable.
    pub fn cas<M: Medium>(&self, medium: &M, at: u64, old: u64, new: u64) -> Result<(), u64> {
        self.exchange(medium, at, old, new | DIRTY)?;
        medium.flush(at, 8); // single word
        medium.fence(); // single word durable
        let _ = medium.compare_exchange(at, new | DIRTY, new);
        Ok(())
    }

    /// Replaces one word, not durably: for marks that mean nothing after a crash.
    ///
    /// # Errors
    /// The value that it has instead.
    pub fn mark<M: Medium>(&self, medium: &M, at: u64, old: u64, new: u64) -> Result<(), u64> {
        self.exchange(medium, at, old, new)
    }

    fn exchange<M: Medium>(&self, medium: &M, at: u64, old: u64, new: u64) -> Result<(), u64> {
        loop {
            match medium.compare_exchange(at, old, new) {
                Ok(_) => return Ok(()),
                Err(seen) if seen & CONTROL == 0 => return Err(seen),
                Err(seen) => Protocol::new(medium, self.table.area).clear_way(at, seen, &self.helper),
            }
        }
    }

    /// Changes up to four words together, and with them the fate of up to six blocks. What this thread flushed before is
    /// durable before any of it is. Blocks to be taken were reserved; after a failure they can be had by others.
    ///
    /// # Errors
    /// Where a block is none that the pool gave.
    ///
    /// # Panics
    /// Where there are more, or a word is named twice, or a value has more than 61 bits.
    pub fn run<M: Medium>(
        &mut self,
        pool: &Pool<M>,
        changes: &[WordChange],
        blocks: &[Block],
        guard: &Guard,
    ) -> Result<CasOutcome, PmemError> {
        let sorted = sorted(changes, blocks);
        let Some(index) = self.table.descriptors.take(self.hint) else { return Ok(CasOutcome::Busy) };
        self.hint = index;
        let (medium, protocol) = (pool.medium(), Protocol::new(pool.medium(), self.table.area));
        let descriptor = protocol.descriptor(index as u16);
        let sequence = (descriptor.header().sequence() + 1) % SEQUENCES;
        let header = Header::undecided(sequence, changes.len(), blocks.len());
        descriptor.write(header, &sorted[..changes.len()], blocks);
        medium.fence(); // descriptor durable
        for block in blocks.iter().filter(|block| block.fate == Fate::Taken) {
            pool.mark(place(block), block.bytes as usize)?;
        }
        if !blocks.is_empty() {
            medium.fence(); // blocks durably taken
        }
        let succeeded = protocol.complete(index as u16, sequence, &self.helper);
        let free: Vec<&Block> = blocks.iter().filter(|block| (block.fate == Fate::Freed) == succeeded).collect();
        for block in &free {
            pool.unmark(place(block), block.bytes as usize)?;
        }
        medium.fence(); // final values durable
        if !blocks.is_empty() {
            medium.store(descriptor.at, header.with(Status::Free).0);
            medium.flush(descriptor.at, 8); // descriptor free
            medium.fence(); // descriptor durably free
        }
        free.iter().for_each(|block| pool.cancel_later(place(block), block.bytes as usize, guard));
        let descriptors = Arc::clone(&self.table.descriptors);
        guard.defer(move || descriptors.release(index));
        Ok(if succeeded { CasOutcome::Succeeded } else { CasOutcome::Failed })
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let number = usize::from(self.helper.number);
        self.table.attempts[number].store(self.helper.attempts.get(), Ordering::Release);
        self.table.helpers.release(number);
    }
}

fn place(block: &Block) -> Offset<u64> {
    Offset::new(block.at)
}

/// In ascending order of addresses, so that operations cannot wait for each other in a circle.
fn sorted(changes: &[WordChange], blocks: &[Block]) -> [WordChange; MOST_CHANGES] {
    assert!(changes.len() <= MOST_CHANGES && blocks.len() <= MOST_BLOCKS, "{changes:?} {blocks:?}");
    assert!(changes.iter().all(|change| (change.old | change.new) & CONTROL == 0), "61 bits at most: {changes:x?}");
    let mut all = [WordChange::default(); MOST_CHANGES];
    all[..changes.len()].copy_from_slice(changes);
    all[..changes.len()].sort_unstable_by_key(|change| change.at);
    assert!(all[..changes.len()].windows(2).all(|two| two[0].at < two[1].at), "a word twice: {changes:x?}");
    all
}
