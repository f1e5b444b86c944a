//! Guards: leave to read or change a page, which ends when they are dropped.
//!
//! An optimistic guard writes nothing, so that readers on many processors do not disturb each other. What was read through
//! it comes out of [`Optimistic::read`] only after the page was seen to be unchanged, so that nobody can forget to look.

use std::{mem::ManuallyDrop, sync::atomic::Ordering};

use super::{Attempt, Racy, Stop, Worker, Writing};
use crate::{
    PageId,
    pool::{
        Preserved, locked,
        word::{Barrier, Word, WordValue},
    },
};

/// Permission to look at a page that others may change.
#[derive(Clone, Copy)]
pub struct Optimistic<'w> {
    worker: &'w Worker<'w>,
    word: &'w Word,
    seen: WordValue,
    start: *const u8,
    page: PageId,
}

/// A permit to read a page that nobody changes meanwhile.
#[must_use]
pub struct Shared<'w> {
    held: Optimistic<'w>,
}

/// A permit to change a page. It becomes dirty only by [`Exclusive::bytes_mut`].
#[must_use]
pub struct Exclusive<'w> {
    worker: &'w Worker<'w>,
    word: &'w Word,
    held: WordValue,
    page: PageId,
}

impl<'p> Worker<'p> {
    /// Looks at a page.
    ///
    /// # Errors
    /// [`Stop`], where it is not in memory, or somebody is changing it.
    #[inline(always)]
    pub fn look(&self, page: PageId) -> Attempt<Optimistic<'_>> {
        let Some(word) = self.pool.words.get(page as usize) else { return Err(Stop::Gone(page)) };
        let seen = word.load();
        if !seen.is_readable() {
            return self.look_again(page);
        }
        self.tally.hit();
        Ok(Optimistic { worker: self, word, seen, start: self.pool.frame(seen.frame()), page })
    }

    /// A guard of a page that was seen readable, at its first byte.
    pub(super) fn optimistic(&self, page: PageId, seen: WordValue, start: *const u8) -> Optimistic<'_> {
        Optimistic { worker: self, word: &self.pool.words[page as usize], seen, start, page }
    }

    /// Looks at a page again that had `version` when it was seen before; none where it has changed since, or is not in
    /// memory. So a page that was found by a long way is had again by a short one.
    #[inline]
    pub fn look_back(&self, page: PageId, version: u64) -> Option<Optimistic<'_>> {
        let word = self.pool.words.get(page as usize)?;
        let seen = word.load();
        if seen.version() != version || !seen.is_readable() {
            return None;
        }
        self.tally.hit();
        Some(Optimistic { worker: self, word, seen, start: self.pool.frame(seen.frame()), page })
    }

    /// Asks the processor for what a look at a page begins with.
    #[inline(always)]
    pub fn expect(&self, page: PageId) {
        #[cfg(target_arch = "x86_64")]
        if let Some(word) = self.pool.words.get(page as usize) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: inside the words; a prefetch reads nothing that the program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = page;
    }

    #[cold]
    fn look_again(&self, page: PageId) -> Attempt<Optimistic<'_>> {
        let word = &self.pool.words[page as usize];
        let seen = word.load();
        if seen.is_readable() {
            return Ok(Optimistic { worker: self, word, seen, start: self.pool.frame(seen.frame()), page });
        }
        match seen.barrier() {
            Barrier::Free => Err(Stop::Gone(page)),
            Barrier::Absent => Err(Stop::Missing(page)),
            Barrier::Busy => Err(Stop::Restart),
            Barrier::Marked => match self.look_marked(page, word, seen)? {
                Some(below) => Ok(below),
                None => self.look_again(page),
            },
        }
    }

    /// A new page: zeros but for its header. It is there for all others as soon as the guard is dropped.
    ///
    /// # Errors
    /// [`Stop::Frames`] where no frame is free; [`Stop::Full`] where no number is.
    pub fn allocate(&self, writing: &Writing<'_>) -> Attempt<Exclusive<'_>> {
        debug_assert!(std::ptr::eq(writing.worker.pool, self.pool));
        let frame = self.pool.frames.take().ok_or(Stop::Frames)?;
        let page = {
            let mut numbers = locked(&self.pool.numbers);
            let fresh = numbers.limit < self.pool.places.pages();
            let page = numbers.free.pop().or_else(|| fresh.then_some(numbers.limit));
            numbers.limit = numbers.limit.max(page.map_or(0, |page| page + 1));
            page
        };
        let Some(page) = page else {
            self.pool.frames.release(frame);
            return Err(Stop::Full);
        };
        let word = &self.pool.words[page as usize];
        let held = word.occupy(frame).expect("a free number is no page");
        // SAFETY: the frame is ours, and nobody can reach it by any word but this one, which is held.
        unsafe { std::ptr::write_bytes(self.pool.frame(frame), 0, self.pool.page_bytes()) };
        self.pool.frames.hold(frame, page);
        self.pool.frames.set_dirty(frame, self.pool.epoch());
        self.latched();
        Ok(Exclusive { worker: self, word, held, page })
    }
}

impl<'w> Optimistic<'w> {
    /// Number of the page.
    pub fn page(&self) -> PageId {
        self.page
    }

    /// Which version of the page this is: another one after every change.
    pub fn version(&self) -> u64 {
        self.seen.version()
    }

    /// Whether the page is as it was when the guard was made.
    ///
    /// # Errors
    /// [`Stop::Restart`] where it is not.
    #[inline(always)]
    pub fn validate(&self) -> Attempt<()> {
        if self.word.is_still(self.seen) { Ok(()) } else { Err(Stop::Restart) }
    }

    /// Reads. What `reader` makes of the page is handed out where the page was unchanged meanwhile.
    ///
    /// # Errors
    /// [`Stop::Restart`] where it was not.
    #[inline(always)]
    pub fn read<T>(&self, reader: impl FnOnce(Racy<'_>) -> T) -> Attempt<T> {
        // SAFETY: frames stay mapped as long as the pool, which the guard borrows.
        let value = reader(unsafe { Racy::new(self.start, self.worker.pool.page_bytes()) });
        self.validate()?;
        Ok(value)
    }

    /// Goes to the page that `reader` finds in this one, or hands out what it finds instead; as [`Self::read`] and then
    /// [`Self::follow`], with one look whether this page was unchanged.
    ///
    /// # Errors
    /// As [`Self::follow`].
    #[inline(always)]
    pub fn step<T>(&self, reader: impl FnOnce(Racy<'_>) -> Result<PageId, T>) -> Attempt<Result<Optimistic<'w>, T>> {
        // SAFETY: frames stay mapped as long as the pool, which the guard borrows.
        match reader(unsafe { Racy::new(self.start, self.worker.pool.page_bytes()) }) {
            Ok(page) => self.follow(page).map(Ok),
            Err(found) => self.validate().map(|()| Err(found)),
        }
    }

    /// Looks at a page that this one refers to: this one still did when the other was reached.
    ///
    /// # Errors
    /// As [`Worker::look`]; [`Stop::Restart`] where this page has changed.
    #[inline(always)]
    pub fn follow(&self, page: PageId) -> Attempt<Optimistic<'w>> {
        match self.worker.look(page) {
            Ok(child) => self.validate().map(|()| child),
            // A number out of a changed page means nothing: the change comes first.
            Err(stop) => self.validate().and(Err(stop)),
        }
    }

    /// Latches are for pages in DRAM.
    #[inline(always)]
    fn is_up(&self) -> Attempt<()> {
        if self.worker.pool.is_below(self.seen.frame()) { Err(Stop::Below(self.page)) } else { Ok(()) }
    }

    /// Keeps others from changing the page.
    ///
    /// # Errors
    /// [`Stop::Restart`] where it has changed, or somebody is changing it.
    pub fn share(self) -> Attempt<Shared<'w>> {
        self.is_up()?;
        if !self.word.share(self.seen) {
            return Err(Stop::Restart);
        }
        self.worker.latched();
        Ok(Shared { held: self })
    }

    /// Takes the page to change it, as it was seen.
    ///
    /// # Errors
    /// [`Stop::Restart`] where it has changed or somebody has it; [`Stop::Frames`] where a checkpoint needs it as it is
    /// and no frame is free for the copy.
    #[inline]
    pub fn lock(self, writing: &Writing<'_>) -> Attempt<Exclusive<'w>> {
        debug_assert!(std::ptr::eq(writing.worker.pool, self.worker.pool));
        self.is_up()?;
        let Some(held) = self.word.lock(self.seen) else { return Err(Stop::Restart) };
        self.worker.latched();
        let guard = Exclusive { worker: self.worker, word: self.word, held, page: self.page };
        guard.preserve()?;
        Ok(guard)
    }
}

impl Shared<'_> {
    /// Number of the page.
    pub fn page(&self) -> PageId {
        self.held.page
    }

    /// Its bytes, the header included.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped as long as the pool; the latch keeps those out who change it.
        unsafe { std::slice::from_raw_parts(self.held.start, self.held.worker.pool.page_bytes()) }
    }

    /// Its bytes as optimistic readers see them.
    pub fn view(&self) -> Racy<'_> {
        Racy::of(self.bytes())
    }
}

impl Drop for Shared<'_> {
    fn drop(&mut self) {
        self.held.word.leave();
        self.held.worker.unlatched();
    }
}

impl Exclusive<'_> {
    /// Number of the page.
    #[inline]
    pub fn page(&self) -> PageId {
        self.page
    }

    /// The version that the page has when this guard is dropped.
    #[inline]
    pub fn version(&self) -> u64 {
        self.held.version()
    }

    #[inline]
    fn start(&self) -> *mut u8 {
        self.worker.pool.frame(self.held.frame())
    }

    /// Its bytes, the header included.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped as long as the pool, and nobody else changes it.
        unsafe { std::slice::from_raw_parts(self.start(), self.worker.pool.page_bytes()) }
    }

    /// Its bytes as optimistic readers see them.
    #[inline]
    pub fn view(&self) -> Racy<'_> {
        Racy::of(self.bytes())
    }

    /// Its bytes, to change: all but the header are the owner's. The page is dirty from now on.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let (pool, frame) = (self.worker.pool, self.held.frame());
        if pool.frames.dirty(frame) == 0 {
            pool.frames.set_dirty(frame, pool.epoch.load(Ordering::Relaxed));
        }
        // SAFETY: mapped as long as the pool; the latch is exclusive, and optimistic readers believe nothing of what they see
        // meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.start(), pool.page_bytes()) }
    }

    /// Ends the page. Its number may be given out again at once; those who still look at it find that it has changed.
    pub fn free(self) {
        let this = ManuallyDrop::new(self);
        let (pool, frame) = (this.worker.pool, this.held.frame());
        {
            let _change = pool.places.change();
            pool.places.ended(this.page, &pool.slots);
        }
        this.word.free(this.held);
        pool.frames.release(frame);
        locked(&pool.numbers).free.push(this.page);
        this.worker.unlatched();
    }

    /// A checkpoint in the making gets the page as it is, if it has not had it yet.
    #[inline]
    fn preserve(&self) -> Attempt<()> {
        let pool = self.worker.pool;
        let (dirty, epoch) = (pool.frames.dirty(self.held.frame()), pool.epoch.load(Ordering::Acquire));
        if dirty == 0 || dirty == epoch { Ok(()) } else { self.preserve_now(epoch) }
    }

    #[cold]
    fn preserve_now(&self, epoch: u64) -> Attempt<()> {
        let pool = self.worker.pool;
        if pool.snapshotting.load(Ordering::Acquire) {
            let copy = pool.frames.take().ok_or(Stop::Frames)?;
            // SAFETY: the copy's frame is ours and reached by no word; the page is held.
            unsafe { std::ptr::copy_nonoverlapping(self.start(), pool.frame(copy), pool.page_bytes()) };
            pool.frames.owe();
            locked(&pool.preserved).push(Preserved { page: self.page, frame: copy });
            self.worker.tally.count(|counters| counters.preserved += 1);
        }
        pool.frames.set_dirty(self.held.frame(), epoch);
        Ok(())
    }
}

impl Drop for Exclusive<'_> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.worker.pool.break_down("a thread panicked while it changed a page", None);
        }
        self.word.unlock(self.held);
        self.worker.unlatched();
    }
}
