//! Replacement: a clock over frames whose hand is moved by whoever needs room. A page that is passed once is marked; who
//! reads it takes the mark away; passed again with the mark it leaves, after it was written if it is dirty.

use super::{Worker, writes::Candidate};
use crate::{
    BufferError,
    disk::{NONE, ONE},
};

/// Frames that the hand passes at a time.
const STEP: u32 = 64;
/// Rounds without any room before it is an error: seconds, since each gives way to other threads.
const BARREN_AT_MOST: u32 = 100_000;

impl Worker<'_> {
    /// Frames to keep free ahead of demand.
    pub(super) fn reserve(&self) -> u32 {
        (self.pool.frames() / 16).clamp(8, 512)
    }

    /// Looks for room where there is little, without waiting.
    pub(super) fn top_up(&self) {
        let (free, reserve) = (self.pool.frames.free(), self.reserve());
        if free < reserve {
            self.sweep(reserve - free);
        }
    }

    /// Waits until a frame is free.
    ///
    /// # Errors
    /// Where dirty pages cannot be written, or all frames are held.
    pub(super) fn make_room(&self) -> Result<(), BufferError> {
        for round in 0..BARREN_AT_MOST {
            if self.pool.frames.free() > 0 {
                return Ok(());
            }
            self.sweep(self.reserve());
            if self.pool.frames.free() > 0 {
                return Ok(());
            }
            if self.writes_in_flight() && self.tasks.current().is_none() {
                self.poll(ONE)?;
            } else {
                self.poll(NONE)?;
                self.pause();
            }
            if self.pool.frames.free() == 0 {
                self.write_result()?;
                if round % 64 == 63 {
                    self.pool.whole()?;
                }
            }
        }
        Err(BufferError::unfit(
            format!("none of {} frames could be freed", self.pool.frames()),
            "make the pool larger, or use fewer tasks",
        ))
    }

    /// Moves the hand until `goal` frames were freed or are on their way, once around at most.
    fn sweep(&self, goal: u32) {
        let mut gained = 0;
        let mut dirty = Vec::new();
        let most = self.group_pages();
        for _ in 0..(self.pool.frames() / STEP + 1).min(64) {
            for frame in self.pool.frames.pass(STEP) {
                gained += u32::from(self.try_evict(frame, &mut dirty));
            }
            if dirty.len() >= most {
                gained += self.write_out(&mut dirty, true).unwrap_or(0);
            }
            if gained + dirty.len() as u32 >= goal {
                break;
            }
        }
        while !dirty.is_empty() && self.write_out(&mut dirty, true).is_some() {}
    }

    /// Marks a page, evicts a marked clean one (`true`), or lists a marked dirty one.
    fn try_evict(&self, frame: u32, dirty: &mut Vec<Candidate>) -> bool {
        let pool = self.pool;
        let Some(page) = pool.frames.page(frame) else { return false };
        let Some(word) = pool.words.get(page as usize) else { return false };
        let seen = word.load();
        if seen.frame() != frame || word.mark(seen) || !seen.is_marked() {
            return false;
        }
        let epoch = pool.frames.dirty(frame);
        if epoch != 0 {
            if pool.frames.is_writing(frame) {
                return false;
            }
            dirty.push(Candidate { page, frame, seen, epoch });
            return false;
        }
        let Some(held) = word.lock(seen) else { return false };
        if pool.frames.dirty(frame) != 0 {
            word.unlock(held);
            return false;
        }
        self.let_go(page, word, held);
        self.tally.count(|counters| counters.evicted_clean += 1);
        true
    }

    /// Writes dirty pages ahead of demand, up to `pages` of them, and leaves them in memory; returns how many are on their
    /// way. A background writer calls it at its rate.
    ///
    /// # Errors
    /// Where an earlier write has failed.
    pub fn write_back(&self, pages: u32) -> Result<u32, BufferError> {
        self.pool.whole()?;
        self.poll(NONE)?;
        self.write_result()?;
        let (frames, mut begun) = (self.pool.frames(), 0);
        let mut dirty = Vec::new();
        let first = self.writes.borrow().cleaned;
        let mut passed = 0;
        while passed < frames && begun + (dirty.len() as u32) < pages {
            let frame = (first + passed) % frames;
            passed += 1;
            dirty.extend(self.candidate(frame, u64::MAX).filter(|_| !self.pool.frames.is_writing(frame)));
            if dirty.len() >= self.group_pages() {
                let Some(more) = self.write_out(&mut dirty, false) else { break };
                begun += more;
            }
        }
        begun += self.write_out(&mut dirty, false).unwrap_or(0);
        self.writes.borrow_mut().cleaned = (first + passed) % frames;
        Ok(begun)
    }
}
