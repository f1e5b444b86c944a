//! Where each page lies: now, and in the checkpoint.
//!
//! Pages are never written over: a changed page goes to a fresh slot. `current` is where the newest written content lies;
//! `stable` is what the checkpoint in the making, or the last one, says. The slot that a page leaves is free
//!
//! - at once, where no checkpoint has ever referred to it;
//! - when the next checkpoint is durable, where the last one refers to it.
//!
//! Those who change places hold the lock shared, with the page latched; who takes a snapshot holds it exclusively.

use std::sync::{
    Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicU64, Ordering},
};

use super::{atomics::ZeroedArray, header::PageSlot, slots::Slots};
use crate::BufferError;

/// Two places per page, and which pieces of the map have to be written.
#[derive(Debug)]
pub(crate) struct Places {
    current: ZeroedArray<AtomicU64>,
    stable: ZeroedArray<AtomicU64>,
    /// A bit per piece of the map.
    changed: ZeroedArray<AtomicU64>,
    /// Pages whose places differ.
    moved: Mutex<Vec<u64>>,
    lock: RwLock<()>,
    /// Pages per piece.
    per_piece: u64,
}

/// What a written content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// It belongs to the checkpoint in the making, and is the newest.
    OfCheckpoint,
    /// It belongs to the checkpoint in the making; there may be a newer one.
    Preserved,
    /// It belongs to a later checkpoint.
    Newer,
}

impl Places {
    pub fn new(pages: u64, per_piece: u64) -> Result<Self, BufferError> {
        Ok(Self {
            current: ZeroedArray::zeros(pages as usize)?,
            stable: ZeroedArray::zeros(pages as usize)?,
            changed: ZeroedArray::zeros(pages.div_ceil(per_piece).div_ceil(64) as usize)?,
            moved: Mutex::new(Vec::new()),
            lock: RwLock::new(()),
            per_piece,
        })
    }

    pub fn pages(&self) -> u64 {
        self.current.len() as u64
    }

    pub fn pieces(&self) -> u64 {
        self.pages().div_ceil(self.per_piece)
    }

    pub fn current(&self, page: u64) -> PageSlot {
        PageSlot(self.current[page as usize].load(Ordering::Acquire))
    }

    pub fn stable(&self, page: u64) -> PageSlot {
        PageSlot(self.stable[page as usize].load(Ordering::Acquire))
    }

    /// Many may change places of pages that they have latched.
    pub fn change(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody else changes places.
    pub fn hold(&self) -> RwLockWriteGuard<'_, ()> {
        self.lock.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn moved(&self) -> MutexGuard<'_, Vec<u64>> {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When a pool is opened.
    pub fn begin(&self, page: u64, place: PageSlot) {
        self.current[page as usize].store(place.0, Ordering::Relaxed);
        self.stable[page as usize].store(place.0, Ordering::Relaxed);
    }

    /// A content was written to `place`. The caller holds [`Self::change`], and [`Self::hold`] for a preserved one.
    pub fn written(&self, page: u64, place: PageSlot, content: Content, slots: &Slots) {
        let (current, stable) = (&self.current[page as usize], &self.stable[page as usize]);
        match content {
            Content::Newer => {
                let old = PageSlot(current.swap(place.0, Ordering::AcqRel));
                self.left(page, old, slots);
            }
            Content::OfCheckpoint | Content::Preserved => {
                let old = stable.swap(place.0, Ordering::AcqRel);
                // Nothing newer was written: the newest content lies here as well.
                let _ = current.compare_exchange(old, place.0, Ordering::AcqRel, Ordering::Relaxed);
                if let Some(slot) = PageSlot(old).slot() {
                    slots.release_later(slot);
                }
                self.mark(page);
            }
        }
    }

    /// The page has ended. The caller holds [`Self::change`].
    pub fn ended(&self, page: u64, slots: &Slots) {
        let old = PageSlot(self.current[page as usize].swap(PageSlot::NOWHERE.0, Ordering::AcqRel));
        if old != PageSlot::NOWHERE {
            self.left(page, old, slots);
        }
    }

    fn left(&self, page: u64, old: PageSlot, slots: &Slots) {
        if old == self.stable(page) {
            slots.dies();
            self.moved().push(page);
        } else if let Some(slot) = old.slot() {
            slots.release(slot);
        }
    }

    fn mark(&self, page: u64) {
        let piece = page / self.per_piece;
        self.changed[piece as usize / 64].fetch_or(1 << (piece % 64), Ordering::AcqRel);
    }

    /// What is current becomes the checkpoint's. The caller holds [`Self::hold`].
    pub fn snapshot(&self, slots: &Slots) {
        slots.all_died();
        for page in std::mem::take(&mut *self.moved()) {
            let (current, stable) = (self.current(page), self.stable(page));
            if current != stable {
                self.stable[page as usize].store(current.0, Ordering::Release);
                if let Some(slot) = stable.slot() {
                    slots.release_later(slot);
                }
                self.mark(page);
            }
        }
    }

    /// Pieces of the map that have changed since the last durable checkpoint.
    pub fn changed(&self) -> Vec<u64> {
        let is_set = |piece: &u64| self.changed[*piece as usize / 64].load(Ordering::Acquire) >> (piece % 64) & 1 == 1;
        (0..self.pieces()).filter(is_set).collect()
    }

    /// These pieces are durable.
    pub fn unmark(&self, pieces: &[u64]) {
        for piece in pieces {
            self.changed[*piece as usize / 64].fetch_and(!(1 << (piece % 64)), Ordering::AcqRel);
        }
    }

    /// Writes a piece of the stable map as a page holds it, after its header.
    pub fn write_piece(&self, piece: u64, into: &mut [u8]) {
        into.fill(0);
        let first = piece * self.per_piece;
        for page in first..(first + self.per_piece).min(self.pages()) {
            let at = (page - first) as usize * 8;
            into[at..at + 8].copy_from_slice(&self.stable(page).0.to_le_bytes());
        }
    }
}
