//! Pages in the memory below: read where they are, brought up, let down.

use super::{Attempt, Optimistic, Stop, Worker};
use crate::{
    BufferError, PageId,
    pool::word::{Word, WordValue},
};

impl Worker<'_> {
    /// Looks at a marked page: one in DRAM gets its second chance, one below is read there or has to go up.
    ///
    /// # Errors
    /// [`Stop::Below`] where it has to.
    pub(super) fn look_marked(&self, page: PageId, word: &Word, seen: WordValue) -> Attempt<Option<Optimistic<'_>>> {
        let Some(below) = self.pool.below.as_ref().filter(|below| below.has(seen.frame())) else {
            word.touch(seen);
            return Ok(None);
        };
        if below.touch(seen.frame()) {
            return Err(Stop::Below(page));
        }
        let at = below.at(seen.frame(), self.pool.shift);
        below.tier.memory.touched(at, below.tier.touched_bytes.min(self.pool.page_bytes()));
        self.tally.count(|counters| counters.hits_below += 1);
        // SAFETY: frames of the tier lie in its memory, which lives as long as the pool.
        let start = unsafe { below.tier.memory.start().add(at) };
        Ok(Some(self.optimistic(page, seen, start)))
    }

    /// Brings a page up from the memory below, where it still is there.
    ///
    /// # Errors
    /// Where no frame can be had.
    pub(super) fn bring_up(&self, page: PageId) -> Result<(), BufferError> {
        let (pool, word) = (self.pool, &self.pool.words[page as usize]);
        let Some(below) = &pool.below else { return Ok(()) };
        let frame = loop {
            if pool.frames.free() < self.reserve() / 2 {
                self.top_up();
            }
            match pool.frames.take() {
                Some(frame) => break frame,
                None => self.make_room()?,
            }
        };
        let seen = word.load();
        let there = seen.is_marked() && below.has(seen.frame());
        let Some(held) = there.then(|| word.lock(seen)).flatten() else {
            pool.frames.release(frame);
            return Ok(());
        };
        // SAFETY: the page is held, and the frame is ours.
        unsafe { below.tier.memory.copy_up(below.at(held.frame(), pool.shift), pool.frame(frame), pool.page_bytes()) };
        pool.frames.hold(frame, page);
        word.rise(held, frame);
        below.release(held.frame());
        self.tally.count(|counters| counters.brought_up += 1);
        Ok(())
    }

    /// A clean page that is held leaves its frame: for the memory below where there is room, else for good.
    pub(super) fn let_go(&self, page: PageId, word: &Word, held: WordValue) {
        let (pool, frame) = (self.pool, held.frame());
        match pool.below.as_ref().and_then(|below| below.take(pool).map(|lower| (below, lower))) {
            Some((below, lower)) => {
                // SAFETY: the page is held and clean, and the lower frame is ours.
                unsafe {
                    below.tier.memory.copy_down(below.at(lower, pool.shift), pool.frame(frame), pool.page_bytes());
                }
                below.hold(lower, page);
                word.sink(held, lower);
                self.tally.count(|counters| counters.let_down += 1);
            }
            None => word.evict(held),
        }
        pool.frames.release(frame);
    }
}
