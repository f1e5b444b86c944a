//! A table, and the ways in which persistent memory is read through it.

use std::{
    ptr::{self, NonNull},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use assay_pmem::{Medium, Pool};

use super::{
    bucket::{BUCKET_BYTES, BucketHead, Record, Words, key_word},
    geometry::{DashShape, Home},
    hash::Hash,
};

/// Locks under which segments are repaired, by chance the same for several.
pub(super) const REPAIRS: usize = 64;

/// A hash table in persistent memory. Threads share it, each through a session of its own.
#[derive(Debug)]
pub struct Dash<M: Medium, D> {
    pub(super) directory: D,
    /// Begin of the medium, for reading buckets.
    pub(super) start: NonNull<u8>,
    /// The last place where a bucket can begin.
    pub(super) last: u64,
    /// The last place where a segment can begin.
    pub(super) last_segment: u64,
    /// The root word that leads to the directory.
    pub(super) token: NonNull<AtomicU64>,
    pub(super) shape: DashShape,
    /// The stamp of this opening, in its place in a lock.
    pub(super) now: u64,
    /// Buckets whose lock is below this have not been looked at since the last crash.
    pub(super) floor: u64,
    /// Who changes the directory holds it.
    pub(super) structure: Mutex<()>,
    pub(super) repairing: Box<[Mutex<()>]>,
    /// A session of it ended in a panic: what that left is for repair.
    pub(super) torn: AtomicBool,
    pub(super) pool: Pool<M>,
}

// SAFETY: `start` and `token` point into the medium of `pool`, which is Send and Sync itself, and whose words are reached as
// atomics only.
unsafe impl<M: Medium, D: Send> Send for Dash<M, D> {}
// SAFETY: as above.
unsafe impl<M: Medium, D: Sync> Sync for Dash<M, D> {}

impl<M: Medium, D> Dash<M, D> {
    /// The pool that it lies in.
    #[inline(always)]
    pub fn pool(&self) -> &Pool<M> {
        &self.pool
    }

    /// Its sizes.
    pub fn shape(&self) -> DashShape {
        self.shape
    }

    #[inline(always)]
    pub(super) fn medium(&self) -> &M {
        self.pool().medium()
    }

    /// A bucket's words, checked once to lie in the pool. Changes go through the medium.
    #[inline(always)]
    pub(super) fn bucket(&self, at: u64) -> &Words {
        assert!(at <= self.last && at % BUCKET_BYTES == 0, "no bucket can begin at {at:#x}: a damaged offset");
        // SAFETY: aligned, inside the medium, which lives as long as `self`; words are only ever changed atomically.
        unsafe { &*self.start.as_ptr().add(at as usize).cast::<Words>() }
    }

    /// A key's two buckets, of which it is checked once that their whole segment lies in the pool.
    #[inline(always)]
    pub(super) fn buckets(&self, home: &Home) -> (&Words, &Words) {
        let Home { segment, own, next, .. } = *home;
        assert!(
            segment <= self.last_segment && segment % BUCKET_BYTES == 0,
            "no segment can begin at {segment:#x}: a damaged offset"
        );
        debug_assert!(own.max(next) <= segment + self.shape.segment_bytes() - BUCKET_BYTES);
        let words = |at: u64| self.start.as_ptr().wrapping_add(at as usize).cast::<Words>();
        // SAFETY: aligned, inside the segment and so the medium, which lives as long as `self`; words are only ever changed
        // atomically.
        unsafe { (&*words(own), &*words(next)) }
    }

    /// A word of a bucket, whatever the caller's order is.
    #[inline(always)]
    pub(super) fn head(&self, bucket: u64) -> BucketHead {
        BucketHead(self.bucket(bucket)[0].load(Ordering::Relaxed))
    }

    /// What leads to the directory now.
    #[inline(always)]
    pub(super) fn token(&self) -> u64 {
        // SAFETY: a word of the medium, which lives as long as `self`.
        self.load(unsafe { self.token.as_ref() })
    }

    /// A word of the directory, checked once to lie in the pool.
    #[inline(always)]
    pub(super) fn cell(&self, at: u64) -> &AtomicU64 {
        let last = self.last + (BUCKET_BYTES - 8);
        assert!(at <= last && at % 8 == 0, "no word of a directory lies at {at:#x}: a damaged offset");
        // SAFETY: aligned, inside the medium, which lives as long as `self`; words are only ever changed atomically.
        unsafe { &*self.start.as_ptr().add(at as usize).cast::<AtomicU64>() }
    }

    /// Reads a word of the medium, as [`Medium::load`] does.
    #[inline(always)]
    pub(super) fn load(&self, word: &AtomicU64) -> u64 {
        self.medium().reads((ptr::from_ref(word).addr() - self.start.addr().get()) as u64, 8);
        word.load(Ordering::Acquire)
    }

    #[inline(always)]
    pub(super) fn word(&self, at: u64) -> &AtomicU64 {
        self.medium().word(at)
    }

    #[inline(always)]
    pub(super) fn root(&self, index: usize) -> u64 {
        self.pool().root::<u64>(index).raw()
    }

    pub(super) fn record(&self, bucket: u64, slot: usize, pointer: bool) -> Record {
        let words = self.bucket(bucket);
        let load = |word: usize| words[word].load(Ordering::Relaxed);
        Record { key: load(key_word(slot)), value: load(key_word(slot) + 1), pointer }
    }

    pub(super) fn restructure(&self) -> MutexGuard<'_, ()> {
        // A panic leaves persistent memory as a crash would, and nothing else is behind this lock.
        self.structure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    /// The hash of its key, which entries by pointer keep in the place of the key.
    #[inline]
    pub(super) fn hash(&self) -> Hash {
        if self.pointer { Hash(self.key) } else { Hash::of_word(self.key) }
    }
}
