//! The word of a page: where it is, who has it, and which version it is. One load answers all three.
//!
//! ```text
//! bits  0..26  frame, where the page is resident or being read
//! bits 26..34  state
//! bits 34..64  version: goes up by one whenever somebody takes the page exclusively
//!
//! FREE -> EXCLUSIVE (allocated) -> OPEN <-> shared by 1..=250, EXCLUSIVE, MARKED
//! MARKED (second chance taken) -> OPEN by whoever reads it, EXCLUSIVE -> EVICTED by the replacement
//! EVICTED -> LOADING -> OPEN, or EVICTED again where the read failed
//! EXCLUSIVE -> FREE
//! ```
//!
//! A reader without a latch takes the word, reads the page, and takes the word again: equal versions mean that nobody
//! changed the page, moved it or gave it away meanwhile. A version of 30 bits comes round after a thousand million
//! changes of one page during one read.

use std::sync::atomic::{AtomicU64, Ordering, fence};

pub(crate) const FRAME_BITS: u32 = 26;
const STATE_SHIFT: u32 = FRAME_BITS;
const VERSION_SHIFT: u32 = 34;

const FREE: u64 = 0;
const EVICTED: u64 = 1;
const LOADING: u64 = 2;
const EXCLUSIVE: u64 = 3;
const MARKED: u64 = 4;
const OPEN: u64 = 5;
const SHARED_MOST: u64 = 255;

/// A word as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordValue(u64);

/// Why a page cannot be read as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// No page has this number.
    Free,
    /// It is on disk, or on its way from there.
    Absent,
    /// Somebody is changing it.
    Busy,
    /// It is readable after [`Word::touch`].
    Marked,
}

impl WordValue {
    fn build(frame: u32, state: u64, version: u64) -> Self {
        Self(u64::from(frame) | state << STATE_SHIFT | version << VERSION_SHIFT)
    }

    #[inline(always)]
    pub fn frame(self) -> u32 {
        (self.0 & ((1 << FRAME_BITS) - 1)) as u32
    }

    #[inline(always)]
    fn state(self) -> u64 {
        self.0 >> STATE_SHIFT & 0xff
    }

    #[inline(always)]
    pub fn version(self) -> u64 {
        self.0 >> VERSION_SHIFT
    }

    #[inline(always)]
    pub fn is_readable(self) -> bool {
        self.state() >= OPEN
    }

    #[cold]
    pub fn barrier(self) -> Barrier {
        match self.state() {
            FREE => Barrier::Free,
            EVICTED | LOADING => Barrier::Absent,
            MARKED => Barrier::Marked,
            _ => Barrier::Busy,
        }
    }

    pub fn is_open(self) -> bool {
        self.state() == OPEN
    }

    pub fn is_marked(self) -> bool {
        self.state() == MARKED
    }

    pub fn is_loading(self) -> bool {
        self.state() == LOADING
    }

    fn with(self, state: u64) -> Self {
        Self::build(self.frame(), state, self.version())
    }
}

/// The word of one page.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Word(AtomicU64);

impl Word {
    #[inline(always)]
    pub fn load(&self) -> WordValue {
        WordValue(self.0.load(Ordering::Acquire))
    }

    /// Whether the page is still what it was when `seen` was taken. What was read before this call was read before.
    #[inline(always)]
    pub fn is_still(&self, seen: WordValue) -> bool {
        fence(Ordering::Acquire);
        (self.0.load(Ordering::Relaxed) ^ seen.0) >> VERSION_SHIFT == 0
    }

    fn change(&self, from: WordValue, to: WordValue) -> bool {
        self.0.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Takes back the mark: the page gets its second chance.
    pub fn touch(&self, seen: WordValue) {
        self.change(seen, seen.with(OPEN));
    }

    /// Marks an open page.
    pub fn mark(&self, seen: WordValue) -> bool {
        seen.is_open() && self.change(seen, seen.with(MARKED))
    }

    /// Takes the page exclusively, where it is still as it was seen and nobody has it.
    #[inline]
    pub fn lock(&self, seen: WordValue) -> Option<WordValue> {
        let now = self.load();
        if now.version() != seen.version() || !matches!(now.state(), OPEN | MARKED) {
            return None;
        }
        let locked = WordValue::build(now.frame(), EXCLUSIVE, (now.version() + 1) & ((1 << 30) - 1));
        let taken = self.change(now, locked);
        // Whoever sees a change that follows sees the new version as well.
        fence(Ordering::Release);
        taken.then_some(locked)
    }

    /// Lets go of a page that is held exclusively.
    #[inline]
    pub fn unlock(&self, locked: WordValue) {
        self.0.store(locked.with(OPEN).0, Ordering::Release);
    }

    /// Takes the page together with other readers; nobody can change it until [`Word::leave`].
    pub fn share(&self, seen: WordValue) -> bool {
        let now = self.load();
        if now.version() != seen.version() || now.state() == SHARED_MOST {
            return false;
        }
        match now.state() {
            MARKED => self.change(now, now.with(OPEN + 1)),
            state if state >= OPEN => self.change(now, now.with(state + 1)),
            _ => false,
        }
    }

    /// Ends what [`Word::share`] began.
    pub fn leave(&self) {
        self.0.fetch_sub(1 << STATE_SHIFT, Ordering::Release);
    }

    /// An exclusively held page leaves memory.
    pub fn evict(&self, locked: WordValue) {
        self.0.store(WordValue::build(0, EVICTED, locked.version()).0, Ordering::Release);
    }

    /// An exclusively held page leaves its frame for one of the memory below: it is marked there for as long as it stays.
    pub fn sink(&self, locked: WordValue, frame: u32) {
        self.0.store(WordValue::build(frame, MARKED, locked.version()).0, Ordering::Release);
    }

    /// An exclusively held page comes up into a frame.
    pub fn rise(&self, locked: WordValue, frame: u32) {
        self.0.store(WordValue::build(frame, OPEN, locked.version()).0, Ordering::Release);
    }

    /// An exclusively held page ends.
    pub fn free(&self, locked: WordValue) {
        self.0.store(WordValue::build(0, FREE, locked.version()).0, Ordering::Release);
    }

    /// A free number becomes a page that the caller holds.
    pub fn occupy(&self, frame: u32) -> Option<WordValue> {
        let now = self.load();
        let held = WordValue::build(frame, EXCLUSIVE, (now.version() + 1) & ((1 << 30) - 1));
        let taken = now.state() == FREE && self.change(now, held);
        fence(Ordering::Release);
        taken.then_some(held)
    }

    /// A page on disk begins to be read into a frame.
    pub fn begin_loading(&self, frame: u32) -> bool {
        let now = self.load();
        now.state() == EVICTED && self.change(now, WordValue::build(frame, LOADING, now.version()))
    }

    /// The read has ended well: the page can be used.
    pub fn loaded(&self) {
        self.0.store(self.load().with(OPEN).0, Ordering::Release);
    }

    /// The read has failed: the page is on disk as before.
    pub fn not_loaded(&self) {
        self.0.store(WordValue::build(0, EVICTED, self.load().version()).0, Ordering::Release);
    }

    /// A page that is on disk, when a pool is opened.
    pub fn begin_evicted(&self) {
        self.0.store(WordValue::build(0, EVICTED, 0).0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(frame: u32) -> Word {
        let word = Word(AtomicU64::new(0));
        let held = word.occupy(frame).unwrap();
        word.unlock(held);
        word
    }

    #[test]
    fn a_reader_sees_that_the_page_was_taken() {
        let word = open(7);
        let seen = word.load();
        assert!(seen.is_readable() && seen.frame() == 7 && word.is_still(seen));
        let held = word.lock(seen).unwrap();
        assert!(!word.is_still(seen));
        assert_eq!(word.load().barrier(), Barrier::Busy);
        assert!(word.lock(word.load()).is_none() && !word.share(word.load()));
        word.unlock(held);
        assert!(!word.is_still(seen) && word.load().is_readable());
        assert!(word.lock(seen).is_none(), "an old version gives no latch");
    }

    #[test]
    fn readers_keep_writers_out_and_disturb_no_other_reader() {
        let word = open(1);
        let seen = word.load();
        assert!(word.share(seen) && word.share(seen));
        assert!(word.is_still(seen) && word.load().is_readable());
        assert!(word.lock(seen).is_none() && !word.mark(word.load()));
        word.leave();
        word.leave();
        assert!(word.lock(seen).is_some());
    }

    #[test]
    fn a_marked_page_is_touched_before_it_is_read_and_keeps_its_version() {
        let word = open(1);
        let seen = word.load();
        assert!(word.mark(seen));
        assert!(word.load().is_marked() && word.load().barrier() == Barrier::Marked && word.is_still(seen));
        word.touch(word.load());
        assert!(word.load().is_open() && word.is_still(seen));
    }

    #[test]
    fn versions_go_on_across_eviction_and_freeing() {
        let word = open(3);
        let seen = word.load();
        word.evict(word.lock(seen).unwrap());
        assert_eq!(word.load().barrier(), Barrier::Absent);
        assert!(word.begin_loading(9) && !word.begin_loading(10));
        assert!(word.load().is_loading());
        word.loaded();
        assert!(word.load().frame() == 9 && !word.is_still(seen));
        word.free(word.lock(word.load()).unwrap());
        let version = word.load().version();
        assert_eq!(word.load().barrier(), Barrier::Free);
        assert!(word.occupy(2).unwrap().version() > version);
    }
}
