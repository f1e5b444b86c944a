//! A lock with a version: readers look, read, and look again.
//!
//! It lives in DRAM alone, so it is open after every start, whatever a crash cut off. Bit 0 says that somebody changes
//! what it guards; every change ends with a larger version. Versions of memory that is used again go on counting: a
//! reader that was late sees that its version has passed.

use super::sync::{AtomicU64, Ordering, fence, pause};

const LOCKED: u64 = 1;

/// The lock.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Latch(AtomicU64);

impl Latch {
    /// The version to read under, once nobody changes anything.
    #[inline(always)]
    pub(crate) fn version(&self) -> u64 {
        let version = self.0.load(Ordering::Acquire);
        if version & LOCKED == 0 { version } else { self.wait() }
    }

    /// The version, if nobody changes anything just now.
    pub(crate) fn version_if_open(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Acquire)).filter(|version| version & LOCKED == 0)
    }

    #[cold]
    fn wait(&self) -> u64 {
        let mut turn = 0;
        loop {
            pause(&mut turn);
            let version = self.0.load(Ordering::Acquire);
            if version & LOCKED == 0 {
                return version;
            }
        }
    }

    /// Whether what was read since that version was taken is one state.
    #[inline(always)]
    pub(crate) fn is(&self, version: u64) -> bool {
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == version
    }

    /// Locks it, if nothing has changed since that version was taken.
    #[inline(always)]
    pub(crate) fn lock(&self, version: u64) -> bool {
        let locked = self.0.compare_exchange(version, version | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok();
        // Nothing that is changed from here on may be seen before the lock is.
        fence(Ordering::Release);
        locked
    }

    /// Opens it after a change.
    #[inline(always)]
    pub(crate) fn changed(&self, version: u64) {
        self.0.store(version + 2, Ordering::Release);
    }

    /// Opens it where nothing was changed: readers need not read again.
    #[inline(always)]
    pub(crate) fn unchanged(&self, version: u64) {
        self.0.store(version, Ordering::Release);
    }
}
