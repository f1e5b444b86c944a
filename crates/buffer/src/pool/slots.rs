//! Which slots of the disk are in use. Nothing of this is stored: opening a pool learns it from the map.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use super::atomics::ZeroedArray;
use crate::BufferError;

/// A bit per slot.
#[derive(Debug)]
pub(crate) struct Slots {
    bits: ZeroedArray<AtomicU64>,
    count: u64,
    used: AtomicU64,
    /// Where to look first, in words: all before it was full when it was passed.
    hint: AtomicU64,
    /// Slots that the durable checkpoint refers to and the next one does not.
    outgoing: Mutex<Vec<u64>>,
}

/// Consecutive slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotRun {
    pub first: u64,
    pub count: u32,
}

impl Slots {
    /// `count` slots, none in use.
    pub fn new(count: u64) -> Result<Self, BufferError> {
        let bits = ZeroedArray::<AtomicU64>::zeros(count.div_ceil(64) as usize)?;
        if count % 64 != 0 {
            bits[count as usize / 64].store(u64::MAX << (count % 64), Ordering::Relaxed);
        }
        let (used, hint) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { bits, count, used, hint, outgoing: Mutex::new(Vec::new()) })
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many are in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Says that a slot is in use, when a pool is opened; `false` where it was already, or is none.
    pub fn occupy(&self, slot: u64) -> bool {
        let fits = slot < self.count;
        let new =
            fits && self.bits[slot as usize / 64].fetch_or(1 << (slot % 64), Ordering::Relaxed) >> (slot % 64) & 1 == 0;
        self.used.fetch_add(u64::from(new), Ordering::Relaxed);
        new
    }

    /// Up to `want` consecutive free slots, which are the caller's now.
    pub fn take(&self, want: u32) -> Option<SlotRun> {
        let (words, from) = (self.bits.len() as u64, self.hint.load(Ordering::Relaxed));
        for step in 0..words {
            let index = (from + step) % words;
            if let Some(run) = self.take_in(index, want) {
                // Others may have moved it back to slots that were freed: those are found when it comes round.
                if step > 0 {
                    let _ = self.hint.compare_exchange(from, index, Ordering::Relaxed, Ordering::Relaxed);
                }
                self.used.fetch_add(u64::from(run.count), Ordering::Relaxed);
                return Some(run);
            }
        }
        None
    }

    fn take_in(&self, index: u64, want: u32) -> Option<SlotRun> {
        let word = &self.bits[index as usize];
        let mut seen = word.load(Ordering::Relaxed);
        while seen != u64::MAX {
            let at = seen.trailing_ones();
            let count = (seen >> at).trailing_zeros().min(64 - at).min(want.max(1));
            let mask = (u64::MAX >> (64 - count)) << at;
            match word.compare_exchange_weak(seen, seen | mask, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(SlotRun { first: index * 64 + u64::from(at), count }),
                Err(now) => seen = now,
            }
        }
        None
    }

    /// Gives a slot back that no durable checkpoint refers to.
    pub fn release(&self, slot: u64) {
        self.bits[slot as usize / 64].fetch_and(!(1 << (slot % 64)), Ordering::AcqRel);
        self.used.fetch_sub(1, Ordering::Relaxed);
        self.hint.fetch_min(slot / 64, Ordering::Relaxed);
    }

    /// Gives a slot back when the next checkpoint is durable.
    pub fn release_later(&self, slot: u64) {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
    }

    /// The next checkpoint is durable.
    pub fn release_outgoing(&self) {
        let slots = std::mem::take(&mut *self.outgoing.lock().unwrap_or_else(PoisonError::into_inner));
        slots.into_iter().for_each(|slot| self.release(slot));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn slots_are_given_out_once_in_runs_until_there_are_none() {
        let slots = Slots::new(100).unwrap();
        assert!(slots.occupy(3) && !slots.occupy(3) && !slots.occupy(100));
        let mut seen = HashSet::from([3]);
        let mut runs = Vec::new();
        while let Some(run) = slots.take(16) {
            runs.push(run);
            assert!(
                (run.first..run.first + u64::from(run.count)).all(|slot| slot < 100 && seen.insert(slot)),
                "{run:?}"
            );
        }
        assert_eq!((seen.len(), slots.used()), (100, 100));
        assert_eq!(runs[..2], [SlotRun { first: 0, count: 3 }, SlotRun { first: 4, count: 16 }]);
        slots.release(70);
        slots.release_later(2);
        assert_eq!(slots.take(16), Some(SlotRun { first: 70, count: 1 }));
        assert_eq!(slots.take(1), None);
        slots.release_outgoing();
        assert_eq!(slots.take(1), Some(SlotRun { first: 2, count: 1 }));
    }
}
