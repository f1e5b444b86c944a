//! What workers have done.

use std::cell::Cell;

/// Counts since a worker began, or of all that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pages that were asked for and were in memory.
    pub hits: u64,
    /// Looks at pages in the memory below the frames, where they were read in place.
    pub hits_below: u64,
    /// Pages that came up from the memory below.
    pub brought_up: u64,
    /// Pages that went down to it.
    pub let_down: u64,
    /// Pages read because somebody waited for them.
    pub faults: u64,
    /// Pages read ahead of demand.
    pub prefetched: u64,
    /// Of these, pages that were read beside their frames and copied there.
    pub copied: u64,
    /// Pages that left memory without being written.
    pub evicted_clean: u64,
    /// Pages that left memory after they were written for that.
    pub evicted_dirty: u64,
    /// Pages written, pieces of the map included.
    pub written: u64,
    /// Pages written for nothing, since they changed meanwhile.
    pub written_in_vain: u64,
    /// Attempts that met somebody else's change and began anew.
    pub restarts: u64,
    /// Pages copied so that a checkpoint has them as they were.
    pub preserved: u64,
    /// Requests to the disk.
    pub requests: u64,
    /// Sum, over requests, of the requests in flight when each was made: divided by `requests` it is the mean depth.
    pub depth_sum: u64,
}

impl Counters {
    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.hits_below += other.hits_below;
        self.brought_up += other.brought_up;
        self.let_down += other.let_down;
        self.faults += other.faults;
        self.prefetched += other.prefetched;
        self.copied += other.copied;
        self.evicted_clean += other.evicted_clean;
        self.evicted_dirty += other.evicted_dirty;
        self.written += other.written;
        self.written_in_vain += other.written_in_vain;
        self.restarts += other.restarts;
        self.preserved += other.preserved;
        self.requests += other.requests;
        self.depth_sum += other.depth_sum;
    }
}

/// A worker's counts. The hot one stands alone.
#[derive(Debug, Default)]
pub(crate) struct WorkerTally {
    pub hits: Cell<u64>,
    rest: Cell<Counters>,
}

impl WorkerTally {
    #[inline(always)]
    pub fn hit(&self) {
        self.hits.set(self.hits.get() + 1);
    }

    pub fn count(&self, change: impl FnOnce(&mut Counters)) {
        let mut counters = self.rest.get();
        change(&mut counters);
        self.rest.set(counters);
    }

    pub fn get(&self) -> Counters {
        Counters { hits: self.hits.get(), ..self.rest.get() }
    }
}
