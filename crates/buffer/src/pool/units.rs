//! Slots by collection units, in groups of pages that are expected to die together.
//!
//! A drive of flash erases many pages at once, and copies those that still live. Where all pages of such a unit die at about
//! the same time there is nothing to copy. So each group fills whole units, one after the other and each in its order, and
//! a unit is filled anew when all of it is dead.
//!
//! When a page will die is not known: it is taken to be written again after as long as of late. Time is counted in pages
//! written, so that neither clocks nor checkpoints matter. Nothing of this is stored: after opening, pages are strangers.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use super::atomics::ZeroedArray;
use crate::BufferError;

/// Groups of pages, by the power of two of the time until they are written again; the first is for those that never were.
pub(crate) const GROUPS: usize = 8;
/// The group of the map: all of it is written again with the next checkpoint or not for long.
pub(crate) const MAP_GROUP: usize = GROUPS;
/// Part of what was seen last in what is expected.
const OF_LATE: u32 = 4;

/// A unit that a group fills: the next slot to look at, and where it ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    pub at: u64,
    pub end: u64,
}

/// Collection units and what is known of pages.
#[derive(Debug)]
pub(crate) struct Units {
    /// Slots of a unit.
    slots: u64,
    /// Slots before the first whole unit.
    lead: u64,
    all: u64,
    /// Slots in use by unit. The last entry stands for what is no whole unit.
    taken: Box<[AtomicU32]>,
    open: Mutex<[Cursor; GROUPS + 1]>,
    /// Pages written so far: the time.
    clock: AtomicU64,
    /// By page: when it was written last, and after how long it is expected to be again.
    histories: ZeroedArray<AtomicU64>,
}

/// When a page was written last, and after how long it will be again, both in pages written; 0 is never.
#[derive(Clone, Copy)]
struct History {
    last: u32,
    every: u32,
}

impl History {
    fn of(word: u64) -> Self {
        Self { last: word as u32, every: (word >> 32) as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.every) << 32 | u64::from(self.last)
    }

    fn written(self, now: u32) -> Self {
        if self.last == 0 {
            return Self { last: now, every: 0 };
        }
        let seen = now.wrapping_sub(self.last).max(1);
        let every = match self.every {
            0 => seen,
            every => every - every / OF_LATE + (seen / OF_LATE).max(1),
        };
        Self { last: now, every }
    }
}

impl Units {
    /// Units of `unit_bytes` on a disk whose `all` slots of `page_bytes` begin at `begins`, for so many page numbers.
    pub fn new(unit_bytes: u64, page_bytes: u64, begins: u64, all: u64, pages: u64) -> Result<Self, BufferError> {
        let slots = unit_bytes / page_bytes;
        let lead = (begins.next_multiple_of(unit_bytes) - begins) / page_bytes;
        let count = all.saturating_sub(lead) / slots.max(1);
        if slots == 0 || count <= GROUPS as u64 + 1 {
            let what = format!("collection units of {unit_bytes} bytes were asked for, of which the disk has {count}");
            return Err(BufferError::unfit(what, format!("use smaller ones: more than {} are needed", GROUPS + 1)));
        }
        Ok(Self {
            slots,
            lead,
            all,
            taken: (0..=count).map(|_| AtomicU32::new(0)).collect(),
            open: Mutex::default(),
            clock: AtomicU64::new(1),
            histories: ZeroedArray::zeros(pages as usize)?,
        })
    }

    /// Whole units.
    pub fn count(&self) -> u64 {
        self.taken.len() as u64 - 1
    }

    fn unit(&self, slot: u64) -> usize {
        slot.checked_sub(self.lead).map_or(self.count(), |at| at / self.slots).min(self.count()) as usize
    }

    /// First slot of a unit, and the one behind its last.
    pub fn bounds(&self, unit: u64) -> Cursor {
        let at = self.lead + unit * self.slots;
        Cursor { at, end: at + self.slots }
    }

    /// Slots that are in use now.
    pub fn take(&self, first: u64, count: u32) {
        self.taken[self.unit(first)].fetch_add(count, Relaxed);
        self.clock.fetch_add(u64::from(count), Relaxed);
    }

    /// A slot is in use no more.
    pub fn release(&self, slot: u64) {
        self.taken[self.unit(slot)].fetch_sub(1, Relaxed);
    }

    pub fn open(&self) -> MutexGuard<'_, [Cursor; GROUPS + 1]> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The group of a page, if it is written now.
    pub fn expected(&self, page: u64) -> usize {
        let now = self.clock.load(Relaxed) as u32;
        self.group(History::of(self.histories[page as usize].load(Relaxed)).written(now).every)
    }

    /// A page is written now.
    pub fn written(&self, page: u64) {
        let now = self.clock.load(Relaxed) as u32;
        let history = &self.histories[page as usize];
        history.store(History::of(history.load(Relaxed)).written(now).word(), Relaxed);
    }

    /// Pages that are written again after twice as many pages as the disk has slots, or never, come first; each further group
    /// has those of half the time.
    fn group(&self, every: u32) -> usize {
        if every == 0 {
            return 0;
        }
        let longest = 2 * self.all;
        let halvings = (longest / u64::from(every)).checked_ilog2().map_or(0, |power| power + 1);
        (halvings as usize).min(GROUPS - 1)
    }

    /// A unit of which nothing is in use.
    pub fn empty(&self) -> Option<u64> {
        (0..self.count()).find(|&unit| self.taken[unit as usize].load(Relaxed) == 0)
    }

    /// The unit with the most free slots, if any has some.
    pub fn emptiest(&self) -> Option<u64> {
        let taken = |unit: u64| u64::from(self.taken[unit as usize].load(Relaxed));
        (0..self.count()).min_by_key(|&unit| taken(unit)).filter(|&unit| taken(unit) < self.slots)
    }
}

#[cfg(test)]
mod tests;
