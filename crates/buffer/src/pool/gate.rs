//! The gate between changes and snapshots: a change of several pages is in a checkpoint as a whole or not at all.
//!
//! Who changes pages is inside, by a [`crate::Writing`]; a checkpoint closes the gate, waits until all are outside, counts
//! the epoch up and opens it again. It is closed for microseconds, unless a change waits for a page inside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Worker of a pool at most.
pub const WORKERS_AT_MOST: usize = 64;

/// A counter of its own line, so that workers do not disturb each other.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Inside {
    changes: AtomicU64,
    taken: AtomicBool,
}

/// Who is inside.
#[derive(Debug)]
pub(crate) struct Gate {
    inside: Vec<Inside>,
    closed: AtomicBool,
}

impl Gate {
    pub fn new() -> Self {
        Self { inside: (0..WORKERS_AT_MOST).map(|_| Inside::default()).collect(), closed: AtomicBool::new(false) }
    }

    /// A number below `workers` for a worker of its own.
    pub fn register(&self, workers: usize) -> Option<usize> {
        (0..workers).find(|&worker| !self.inside[worker].taken.swap(true, Ordering::AcqRel))
    }

    /// The worker has ended.
    pub fn unregister(&self, worker: usize) {
        self.inside[worker].taken.store(false, Ordering::Release);
    }

    /// Goes in, where the gate is open.
    #[inline]
    pub fn enter(&self, worker: usize) -> bool {
        self.inside[worker].changes.fetch_add(1, Ordering::SeqCst);
        if !self.closed.load(Ordering::SeqCst) {
            return true;
        }
        self.leave(worker);
        false
    }

    /// Goes out.
    #[inline]
    pub fn leave(&self, worker: usize) {
        self.inside[worker].changes.fetch_sub(1, Ordering::Release);
    }

    /// Nobody goes in any more.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Nobody is inside.
    pub fn is_empty(&self) -> bool {
        self.inside.iter().all(|worker| worker.changes.load(Ordering::SeqCst) == 0)
    }

    /// All may go in again.
    pub fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
    }
}
