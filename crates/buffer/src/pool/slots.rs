//! Which slots of the disk are in use. Nothing of this is stored: opening a pool learns it from the map.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use super::{
    atomics::ZeroedArray,
    units::{Cursor, Units},
};
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
    /// How many those are.
    leaving: AtomicU64,
    /// How many will be among those of the checkpoint after it.
    dying: AtomicU64,
    /// Where slots are taken by groups.
    units: Option<Units>,
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
        let [used, hint, leaving, dying] = std::array::from_fn(|_| AtomicU64::new(0));
        Ok(Self { bits, count, used, hint, outgoing: Mutex::default(), leaving, dying, units: None })
    }

    /// The same, taken by groups.
    pub fn grouped(self, units: Option<Units>) -> Self {
        Self { units, ..self }
    }

    /// Collection units, where slots are taken by groups.
    pub fn units(&self) -> Option<&Units> {
        self.units.as_ref()
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
        if let Some(units) = self.units.as_ref().filter(|_| new) {
            units.take(slot, 1);
        }
        new
    }

    /// Up to `want` consecutive free slots for pages of a group: in the unit that it fills, then in one that is wholly dead,
    /// then in the emptiest. None only where no slot is free at all.
    pub fn take_for(&self, group: usize, want: u32) -> Option<SlotRun> {
        let Some(units) = &self.units else { return self.take(want) };
        let mut open = units.open();
        // A unit may be full by the time it is looked at; all of them are only where no slot is free.
        for _ in 0..=units.count() {
            if let Some(run) = self.take_at(&mut open[group], want) {
                units.take(run.first, run.count);
                self.used.fetch_add(u64::from(run.count), Ordering::Relaxed);
                return Some(run);
            }
            let Some(unit) = units.empty().or_else(|| units.emptiest()) else { break };
            open[group] = units.bounds(unit);
        }
        drop(open);
        self.take(want)
    }

    /// Free slots from a cursor on, which goes behind them.
    fn take_at(&self, cursor: &mut Cursor, want: u32) -> Option<SlotRun> {
        while cursor.at < cursor.end {
            let (index, bit) = (cursor.at / 64, cursor.at % 64);
            let in_word = (64 - bit).min(cursor.end - cursor.at);
            let seen = self.bits[index as usize].load(Ordering::Relaxed) >> bit;
            let full = u64::from(seen.trailing_ones()).min(in_word);
            if full > 0 {
                cursor.at += full;
                continue;
            }
            let count = u64::from(seen.trailing_zeros()).min(in_word).min(u64::from(want.max(1)));
            let mask = (u64::MAX >> (64 - count)) << bit;
            // Whoever takes slots without a group may be here as well.
            let before = self.bits[index as usize].fetch_or(mask, Ordering::AcqRel);
            if before & mask == 0 {
                let first = cursor.at;
                cursor.at += count;
                return Some(SlotRun { first, count: count as u32 });
            }
            self.bits[index as usize].fetch_and(!(mask & !before), Ordering::AcqRel);
        }
        None
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
                if let Some(units) = &self.units {
                    units.take(run.first, run.count);
                }
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
        if let Some(units) = &self.units {
            units.release(slot);
        }
    }

    /// Gives a slot back when the next checkpoint is durable.
    pub fn release_later(&self, slot: u64) {
        self.leaving.fetch_add(1, Ordering::Relaxed);
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
    }

    /// A slot that the last checkpoint refers to has lost its page: the next one will not.
    pub fn dies(&self) {
        self.dying.fetch_add(1, Ordering::Relaxed);
    }

    /// A checkpoint is taken: those that were dying are given back when it is durable.
    pub fn all_died(&self) {
        self.dying.store(0, Ordering::Relaxed);
    }

    /// Slots in use for nothing but a checkpoint that another one will replace.
    #[inline]
    pub fn dead(&self) -> u64 {
        self.leaving.load(Ordering::Relaxed) + self.dying.load(Ordering::Relaxed)
    }

    /// These, of [`Self::take_outgoing`], are free.
    pub fn release_all(&self, outgoing: &[u64]) {
        outgoing.iter().for_each(|&slot| self.release(slot));
        self.leaving.fetch_sub(outgoing.len() as u64, Ordering::Relaxed);
    }

    /// The next checkpoint is durable: slots that only the one before referred to, in order, which the caller gives to
    /// [`Self::release_all`].
    pub fn take_outgoing(&self) -> Vec<u64> {
        let mut slots = std::mem::take(&mut *self.outgoing.lock().unwrap_or_else(PoisonError::into_inner));
        slots.sort_unstable();
        slots
    }

    /// The next checkpoint is durable.
    pub fn release_outgoing(&self) {
        self.release_all(&self.take_outgoing());
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
        assert_eq!(slots.dead(), 1);
        assert_eq!(slots.take(16), Some(SlotRun { first: 70, count: 1 }));
        assert_eq!(slots.take(1), None);
        slots.release_outgoing();
        assert_eq!(slots.take(1), Some(SlotRun { first: 2, count: 1 }));
        assert_eq!(slots.dead(), 0);
    }
}
