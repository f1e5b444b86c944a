//! Commit numbers: dense, from 1, whatever the number of logs. All up to a horizon are visible, and all up to another one
//! durable.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::{log::logs::Reach, slots::SESSIONS_AT_MOST};

/// Commits that may be under way at once; more wait.
const RING: usize = 1 << 16;
/// No commit is further ahead of what is durable: one that is proves that more had been.
pub(crate) const IN_FLIGHT_AT_MOST: u64 = RING as u64;

/// What is known of a commit.
#[derive(Debug, Default)]
struct RingEntry {
    /// The number of the commit whose changes are all in the trees.
    applied: AtomicU64,
    /// Where its record ends: log and position.
    end: AtomicU64,
}

/// Gives out commit numbers and follows them.
#[derive(Debug)]
pub struct Sequence {
    next: AtomicU64,
    visible: AtomicU64,
    durable: AtomicU64,
    ring: Box<[RingEntry]>,
}

impl Sequence {
    /// Everything up to `last` is visible and durable.
    pub fn from(last: u64) -> Self {
        Self {
            next: AtomicU64::new(last + 1),
            visible: AtomicU64::new(last),
            durable: AtomicU64::new(last),
            ring: (0..RING).map(|_| RingEntry::default()).collect(),
        }
    }

    /// Whether every session may take a number now; `reach` is how far the logs are durable.
    #[inline]
    pub fn has_room(&self, reach: impl FnOnce() -> Reach) -> bool {
        let most = (RING - SESSIONS_AT_MOST) as u64;
        let next = self.next.load(SeqCst);
        next < self.durable.load(SeqCst) + most || next < self.durable(&reach()) + most
    }

    /// The next commit's number, after [`Sequence::has_room`] said that there is one.
    #[inline]
    pub fn take(&self) -> u64 {
        self.next.fetch_add(1, SeqCst)
    }

    /// The newest number that was drawn.
    pub fn taken(&self) -> u64 {
        self.next.load(SeqCst) - 1
    }

    /// All changes of a commit are in the trees; its record ends at `end`, in one of the logs.
    #[inline]
    pub fn applied(&self, commit: u64, end: u64) {
        let entry = &self.ring[commit as usize % RING];
        entry.end.store(end, SeqCst);
        entry.applied.store(commit, SeqCst);
        let mut seen = self.visible.load(SeqCst);
        while self.ring[(seen + 1) as usize % RING].applied.load(SeqCst) == seen + 1 {
            match self.visible.compare_exchange(seen, seen + 1, SeqCst, SeqCst) {
                Ok(_) => seen += 1,
                Err(now) => seen = now,
            }
        }
    }

    /// Where the record of a visible commit ends: that of a later one where it is durable already.
    pub fn end_of(&self, commit: u64) -> u64 {
        self.ring[commit as usize % RING].end.load(SeqCst)
    }

    /// The newest commit up to which all can be seen.
    #[inline]
    pub fn visible(&self) -> u64 {
        self.visible.load(SeqCst)
    }

    /// The newest commit up to which all are durable, once the logs reach so far.
    pub fn durable(&self, reach: &Reach) -> u64 {
        let mut seen = self.durable.load(SeqCst);
        let visible = self.visible.load(SeqCst);
        while seen < visible && reach.covers(self.ring[(seen + 1) as usize % RING].end.load(SeqCst)) {
            // Only a commit of the ring's present round is looked at: a place is given out again below `durable` alone.
            match self.durable.compare_exchange(seen, seen + 1, SeqCst, SeqCst) {
                Ok(_) => seen += 1,
                Err(now) => seen = now,
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_and_durable_advance_without_gaps() {
        let sequence = Sequence::from(10);
        let (first, second, third) = (sequence.take(), sequence.take(), sequence.take());
        assert_eq!((first, second, third), (11, 12, 13));
        sequence.applied(12, 200);
        assert_eq!(sequence.visible(), 10);
        sequence.applied(11, 100);
        assert_eq!(sequence.visible(), 12);
        assert_eq!(sequence.durable(&Reach::of_one(150)), 11);
        assert_eq!(sequence.durable(&Reach::of_one(99)), 11);
        sequence.applied(13, 300);
        assert_eq!((sequence.visible(), sequence.durable(&Reach::of_one(300))), (13, 13));
    }

    #[test]
    fn a_full_ring_has_no_room_until_something_is_durable() {
        let sequence = Sequence::from(0);
        while sequence.has_room(|| Reach::of_one(0)) {
            let commit = sequence.take();
            sequence.applied(commit, commit);
        }
        assert!(sequence.visible() > RING as u64 / 2);
        assert!(sequence.has_room(|| Reach::of_one(5)));
        assert_eq!(sequence.durable(&Reach::of_one(5)), 5);
    }
}
