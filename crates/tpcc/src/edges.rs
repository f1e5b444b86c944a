//! When a drive at a rate ends: nothing is due from the window's close on, and what was due before is still begun for a
//! while.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use assay_instruments::clock::Clock;
use assay_load::overdue::start_until;

/// The close of the window, in ticks; far away until it is known.
#[derive(Debug)]
pub(crate) struct Edges {
    close: AtomicU64,
    start_until: AtomicU64,
}

impl Edges {
    pub(crate) fn ahead() -> Self {
        Self { close: AtomicU64::new(u64::MAX), start_until: AtomicU64::new(u64::MAX) }
    }

    /// The window closes now; only the first call counts.
    pub(crate) fn shut(&self, clock: Clock, opened: u64) {
        if self.closed().is_some() {
            return;
        }
        let now = clock.now();
        self.start_until.store(start_until(opened, now, clock.ns_to_ticks(1_000_000_000)), Relaxed);
        self.close.store(now, Release);
    }

    /// When the window closed; none while it has not.
    pub(crate) fn closed(&self) -> Option<u64> {
        Some(self.close.load(Acquire)).filter(|close| *close < u64::MAX)
    }

    /// Something that is due at an instant may be begun at another one.
    pub(crate) fn serves(&self, due: u64, now: u64) -> bool {
        due < self.close.load(Acquire) && now < self.start_until.load(Relaxed)
    }
}
