//! What each session is about, for those who must know of all: the oldest snapshot in use.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};

use crate::error::{EngineError, Result};

/// How many sessions there can be.
pub const SESSIONS_AT_MOST: usize = 1024;
const IDLE: u64 = u64::MAX;

/// One session's place. Two cache lines, so that neighbours do not disturb each other.
#[derive(Debug)]
#[repr(align(128))]
struct Slot {
    taken: AtomicBool,
    /// The snapshot that is being read.
    snapshot: AtomicU64,
}

/// All sessions.
#[derive(Debug)]
pub struct Slots {
    slots: Box<[Slot]>,
    /// One past the highest place that was ever taken.
    high: AtomicUsize,
    open: AtomicUsize,
}

impl Slots {
    /// No sessions.
    pub fn new() -> Self {
        let slot = |_| Slot { taken: AtomicBool::new(false), snapshot: AtomicU64::new(IDLE) };
        Self { slots: (0..SESSIONS_AT_MOST).map(slot).collect(), high: AtomicUsize::new(0), open: AtomicUsize::new(0) }
    }

    /// Takes a place.
    ///
    /// # Errors
    /// Where all are taken.
    pub fn take(&self) -> Result<usize> {
        // Counted first: from here on commits keep what this session may want to see.
        self.open.fetch_add(1, SeqCst);
        let free = |slot: &Slot| slot.taken.compare_exchange(false, true, SeqCst, SeqCst).is_ok();
        let Some(index) = self.slots.iter().position(free) else {
            self.open.fetch_sub(1, SeqCst);
            return Err(EngineError::Sessions { most: SESSIONS_AT_MOST });
        };
        self.high.fetch_max(index + 1, SeqCst);
        Ok(index)
    }

    /// Gives a place back.
    pub fn release(&self, index: usize) {
        self.end_snapshot(index);
        self.slots[index].taken.store(false, SeqCst);
        self.open.fetch_sub(1, SeqCst);
    }

    /// Whether more than one session is open: then a commit must keep what it replaces.
    pub fn shared(&self) -> bool {
        self.open.load(SeqCst) > 1
    }

    /// Begins to read at the newest snapshot, which `visible` tells.
    pub fn begin_snapshot(&self, index: usize, visible: impl Fn() -> u64) -> u64 {
        let mut snapshot = visible();
        loop {
            // Prefetch before it is looked up again: whoever computes the oldest meanwhile has seen either this, or
            // a horizon that is not above what is found now.
            self.slots[index].snapshot.store(snapshot, SeqCst);
            let now = visible();
            if now == snapshot {
                return snapshot;
            }
            snapshot = now;
        }
    }

    /// Reads no longer.
    pub fn end_snapshot(&self, index: usize) {
        self.slots[index].snapshot.store(IDLE, SeqCst);
    }

    /// The oldest snapshot that anyone reads, or could begin to read.
    pub fn oldest(&self, visible: impl Fn() -> u64) -> u64 {
        // The horizon first: see above.
        let horizon = visible();
        let high = self.high.load(SeqCst);
        self.slots[..high].iter().map(|slot| slot.snapshot.load(SeqCst)).fold(horizon, u64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_snapshot_is_found_and_places_are_used_again() {
        let slots = Slots::new();
        let (first, second) = (slots.take().unwrap(), slots.take().unwrap());
        assert_eq!(slots.oldest(|| 9), 9);
        assert_eq!(slots.begin_snapshot(first, || 5), 5);
        slots.begin_snapshot(second, || 7);
        assert_eq!(slots.oldest(|| 9), 5);
        slots.end_snapshot(first);
        assert_eq!(slots.oldest(|| 9), 7);
        assert!(slots.shared());
        slots.release(first);
        assert!(!slots.shared());
        assert_eq!(slots.take().unwrap(), first);
    }

    #[test]
    fn places_run_out_with_an_error() {
        let slots = Slots::new();
        for _ in 0..SESSIONS_AT_MOST {
            slots.take().unwrap();
        }
        assert!(matches!(slots.take(), Err(EngineError::Sessions { .. })));
    }
}
