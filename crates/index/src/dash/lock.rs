//! Locks of buckets: a version that readers check, void after a restart.
//!
//! ```text
//! 0       locked
//! 1..33   version
//! 33..64  stamp: which opening of the pool wrote it
//! ```
//!
//! A word below the table's floor was last written before the last crash: its segment is to be repaired first. A word
//! above the floor that is locked under an older stamp was written back in the middle of an operation that ended well
//! (the lock lies in the line of the head), and is open.
//!
//! Order, so that nobody waits in a circle: buckets of a segment by index, then its stash, then its chain; a third
//! bucket is only tried. Who changes the directory takes its lock before any bucket.

use std::sync::atomic::Ordering::{Acquire, Relaxed};

use assay_pmem::Medium;

use super::{
    bucket::LOCK,
    directory::Directory,
    geometry::{CHAIN, CHAINED, Home},
    table::Dash,
};

/// The lock word of a bucket.
const WORD: usize = LOCK as usize / 8;
pub(super) const STAMP_SHIFT: u32 = 33;
pub(super) const LOCKED: u64 = 1;
const VERSION: u64 = (1 << STAMP_SHIFT) - 2;
/// Looks before the CPU is given away.
const PATIENCE: u32 = 200;

/// Buckets that this thread has locked; unlocked on drop.
///
/// It knows the words that unlock them: a flush may have taken the line out of the caches, and a store does not wait for
/// it to come back, where a load would. No arrays here, which would pass through the stack: a load of two words at once
/// waits there until every store before it has left the CPU, those to flushed lines included.
#[derive(Debug)]
pub(super) struct Held<'t, M: Medium, D: Directory> {
    table: &'t Dash<M, D>,
    first: Release,
    second: Release,
}

/// A bucket, or 0 for none, and the word that unlocks it.
#[derive(Clone, Copy, Debug)]
struct Release {
    bucket: u64,
    word: u64,
}

impl<M: Medium, D: Directory> Drop for Held<'_, M, D> {
    #[inline(always)]
    fn drop(&mut self) {
        self.table.release(self.first);
        self.table.release(self.second);
    }
}

/// Every bucket of a segment, locked; unlocked on drop.
#[derive(Debug)]
pub(super) struct HeldSegment<'t, M: Medium, D: Directory> {
    table: &'t Dash<M, D>,
    segment: u64,
}

impl<M: Medium, D: Directory> Drop for HeldSegment<'_, M, D> {
    fn drop(&mut self) {
        self.table.own_buckets(self.segment).for_each(|bucket| self.table.unlock(bucket));
    }
}

/// Waits a little longer each time.
#[derive(Debug, Default)]
struct Wait(u32);

impl Wait {
    fn once(&mut self) {
        self.0 += 1;
        if self.0 < PATIENCE { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}

impl<M: Medium, D: Directory> Dash<M, D> {
    /// The version under which a bucket can be read now.
    #[inline(always)]
    pub(super) fn version(&self, segment: u64, bucket: u64) -> u64 {
        let seen = self.bucket(bucket)[WORD].load(Acquire);
        if seen & LOCKED == 0 && seen >= self.floor { seen } else { self.version_slowly(segment, bucket) }
    }

    #[cold]
    #[inline(never)]
    fn version_slowly(&self, segment: u64, bucket: u64) -> u64 {
        let mut wait = Wait::default();
        loop {
            let seen = self.bucket(bucket)[WORD].load(Acquire);
            if seen < self.floor {
                self.repair(segment);
                let now = self.bucket(bucket)[WORD].load(Acquire);
                assert!(
                    now >= self.floor,
                    "bucket {bucket:#x} is older than its segment's repair: the table is damaged"
                );
            } else if !self.is_locked(seen) {
                return seen;
            } else {
                wait.once();
            }
        }
    }

    /// Whether a bucket is as it was under a version; what was read before this call was read before the answer.
    #[inline(always)]
    pub(super) fn unchanged(&self, bucket: u64, version: u64) -> bool {
        self.bucket(bucket)[WORD].load(Relaxed) == version
    }

    #[inline(always)]
    fn is_locked(&self, seen: u64) -> bool {
        seen & LOCKED != 0 && seen >> STAMP_SHIFT == self.now >> STAMP_SHIFT
    }

    /// The word that locks what was seen.
    #[inline(always)]
    fn locked(&self, seen: u64) -> u64 {
        self.now | seen & VERSION | LOCKED
    }

    /// The word of a new bucket that is locked.
    pub(super) fn born_locked(&self) -> u64 {
        self.now | LOCKED
    }

    #[inline(always)]
    pub(super) fn lock(&self, segment: u64, bucket: u64) {
        while !self.lock_as(bucket, self.version(segment, bucket)) {}
    }

    /// Locks a bucket that has not changed since a version.
    #[inline(always)]
    pub(super) fn lock_as(&self, bucket: u64, version: u64) -> bool {
        self.medium().compare_exchange(bucket + LOCK, version, self.locked(version)).is_ok()
    }

    pub(super) fn try_lock(&self, bucket: u64) -> bool {
        let seen = self.bucket(bucket)[WORD].load(Acquire);
        seen >= self.floor && !self.is_locked(seen) && self.lock_as(bucket, seen)
    }

    /// Unlocks with the next version.
    #[inline(always)]
    pub(super) fn unlock(&self, bucket: u64) {
        self.medium().store(bucket + LOCK, self.unlocked(bucket));
    }

    /// The word that unlocks a bucket which this thread has locked.
    #[inline(always)]
    fn unlocked(&self, bucket: u64) -> u64 {
        self.now | (self.bucket(bucket)[WORD].load(Relaxed) + 2) & VERSION
    }

    /// Both buckets of a key.
    #[inline(always)]
    pub(super) fn lock_home(&self, home: &Home) -> Held<'_, M, D> {
        let (first, second) = if home.own < home.next { (home.own, home.next) } else { (home.next, home.own) };
        self.lock(home.segment, first);
        self.lock(home.segment, second);
        self.hold(first, second)
    }

    /// Takes over buckets that are locked already; 0 stands for none.
    #[inline(always)]
    pub(super) fn hold(&self, first: u64, second: u64) -> Held<'_, M, D> {
        Held { table: self, first: self.to_release(first), second: self.to_release(second) }
    }

    #[inline(always)]
    fn to_release(&self, bucket: u64) -> Release {
        Release { bucket, word: if bucket == 0 { 0 } else { self.unlocked(bucket) } }
    }

    #[inline(always)]
    fn release(&self, Release { bucket, word }: Release) {
        if bucket != 0 {
            self.medium().store(bucket + LOCK, word);
        }
    }

    /// Every bucket of a segment: nobody reads or changes it, its chain included, until the answer is dropped.
    pub(super) fn lock_segment(&self, segment: u64) -> HeldSegment<'_, M, D> {
        // A lock waits for its line and lets nothing overtake it, so all lines are asked for before.
        self.own_buckets(segment).for_each(|bucket| self.ask_for(bucket, 0));
        self.own_buckets(segment).for_each(|bucket| self.lock(segment, bucket));
        HeldSegment { table: self, segment }
    }

    /// A segment whose buckets were born locked.
    pub(super) fn hold_segment(&self, segment: u64) -> HeldSegment<'_, M, D> {
        HeldSegment { table: self, segment }
    }

    /// Buckets and stash of a segment, in the order of locking.
    pub(super) fn own_buckets(&self, segment: u64) -> impl Iterator<Item = u64> + use<M, D> {
        let shape = self.shape;
        (0..shape.buckets + shape.stash).map(move |index| shape.bucket(segment, index))
    }

    /// Further stashes of a segment.
    pub(super) fn chain(&self, segment: u64) -> impl Iterator<Item = u64> + '_ {
        let next = |block: u64| {
            let next = self.word(block + CHAIN).load(Acquire);
            (next != 0).then_some(next)
        };
        std::iter::successors(next(segment), move |&block| next(block))
    }

    /// Their buckets.
    pub(super) fn chained_buckets(&self, segment: u64) -> impl Iterator<Item = u64> + '_ {
        self.chain(segment).flat_map(|block| (0..CHAINED).map(move |index| block + 256 * (1 + index)))
    }

    /// Gives every bucket of a repaired segment the stamp of this opening, its chain and stash before its buckets, so that
    /// who finds a bucket repaired finds all that it leads to repaired.
    pub(super) fn stamp(&self, segment: u64) {
        let medium = self.medium();
        let buckets: Vec<u64> = self.own_buckets(segment).collect();
        let chained: Vec<u64> = self.chained_buckets(segment).collect();
        for &bucket in chained.iter().chain(buckets.iter().rev()) {
            let seen = self.bucket(bucket)[WORD].load(Relaxed);
            medium.store(bucket + LOCK, self.now | (seen + 2) & VERSION);
            medium.flush(bucket + LOCK, 8); // stamped
        }
        medium.fence(); // all stamped
    }

    /// Whether a segment was repaired, or made, since the last crash: its first bucket is stamped last.
    pub(super) fn is_repaired(&self, segment: u64) -> bool {
        self.bucket(self.shape.bucket(segment, 0))[WORD].load(Acquire) >= self.floor
    }
}
