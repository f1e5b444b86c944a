//! A table, and the ways in which persistent memory is read through it.

use std::{
    ptr::NonNull,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use assay_pmem::{Medium, Pool};

use super::{
    bucket::{BUCKET_BYTES, BucketHead, Record, Words, key_word},
    geometry::DashShape,
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

// SAFETY: `start` points into the medium of `pool`, which is Send and Sync itself, and whose words are reached as
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

    /// A word of a bucket, whatever the caller's order is.
    #[inline(always)]
    pub(super) fn head(&self, bucket: u64) -> BucketHead {
        BucketHead(self.bucket(bucket)[0].load(Ordering::Relaxed))
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
