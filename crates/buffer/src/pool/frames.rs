//! Frames of memory: which page each holds, since when it is dirty, and which are free.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::atomics::ZeroedArray;
use crate::BufferError;

/// Stands for no page.
const NOBODY: u64 = u64::MAX;

/// What is known of each frame, and a stack of the free ones that needs no lock.
#[derive(Debug)]
pub(crate) struct Frames {
    pages: ZeroedArray<AtomicU64>,
    /// Epoch in which the page was first changed since it was last written; 0 where it is clean.
    dirty: ZeroedArray<AtomicU64>,
    /// A copy is on its way to the disk: a hint, so that the same page is not written twice.
    writing: ZeroedArray<AtomicBool>,
    next: ZeroedArray<AtomicU32>,
    /// Upper half: a counter, so that a frame that came back is not mistaken; lower half: the top frame plus one.
    top: AtomicU64,
    free: AtomicU32,
    hand: AtomicU64,
    /// Dirty pages, and copies that a checkpoint is owed: each will take a slot.
    owed: AtomicU64,
}

impl Frames {
    /// `count` free frames.
    pub fn new(count: u32) -> Result<Self, BufferError> {
        let entries = count as usize;
        let frames = Self {
            pages: ZeroedArray::zeros(entries)?,
            dirty: ZeroedArray::zeros(entries)?,
            writing: ZeroedArray::zeros(entries)?,
            next: ZeroedArray::zeros(entries)?,
            top: AtomicU64::new(0),
            free: AtomicU32::new(0),
            hand: AtomicU64::new(0),
            owed: AtomicU64::new(0),
        };
        (0..count).rev().for_each(|frame| frames.release(frame));
        Ok(frames)
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.pages.len() as u32
    }

    /// How many are free; others may take them meanwhile.
    #[inline]
    pub fn free(&self) -> u32 {
        self.free.load(Ordering::Relaxed)
    }

    /// A free frame, which is the caller's now.
    pub fn take(&self) -> Option<u32> {
        let mut top = self.top.load(Ordering::Acquire);
        loop {
            let frame = (top as u32).checked_sub(1)?;
            let below = u64::from(self.next[frame as usize].load(Ordering::Relaxed));
            let new = (top >> 32).wrapping_add(1) << 32 | below;
            match self.top.compare_exchange_weak(top, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    self.free.fetch_sub(1, Ordering::Relaxed);
                    return Some(frame);
                }
                Err(now) => top = now,
            }
        }
    }

    /// Gives a frame back.
    pub fn release(&self, frame: u32) {
        self.pages[frame as usize].store(NOBODY, Ordering::Relaxed);
        if self.dirty[frame as usize].swap(0, Ordering::Relaxed) != 0 {
            self.pay();
        }
        // Counted first: the count never falls below zero.
        self.free.fetch_add(1, Ordering::Relaxed);
        let mut top = self.top.load(Ordering::Acquire);
        loop {
            self.next[frame as usize].store(top as u32, Ordering::Relaxed);
            let new = (top >> 32).wrapping_add(1) << 32 | u64::from(frame + 1);
            match self.top.compare_exchange_weak(top, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// The page in a frame, if any.
    pub fn page(&self, frame: u32) -> Option<u64> {
        let page = self.pages[frame as usize].load(Ordering::Acquire);
        (page != NOBODY).then_some(page)
    }

    /// Writes down which page a frame holds.
    pub fn hold(&self, frame: u32, page: u64) {
        self.pages[frame as usize].store(page, Ordering::Release);
    }

    /// Epoch since which a frame is dirty, 0 where it is clean.
    #[inline(always)]
    pub fn dirty(&self, frame: u32) -> u64 {
        self.dirty[frame as usize].load(Ordering::Acquire)
    }

    /// Whether somebody seems to be writing it.
    pub fn is_writing(&self, frame: u32) -> bool {
        self.writing[frame as usize].load(Ordering::Relaxed)
    }

    /// Says whether somebody is writing it.
    pub fn set_writing(&self, frame: u32, writing: bool) {
        self.writing[frame as usize].store(writing, Ordering::Relaxed);
    }

    /// Says that a frame, held exclusively, is dirty since `epoch`.
    #[inline(always)]
    pub fn set_dirty(&self, frame: u32, epoch: u64) {
        let dirty = &self.dirty[frame as usize];
        if dirty.load(Ordering::Relaxed) == 0 {
            self.owe();
        }
        dirty.store(epoch, Ordering::Release);
    }

    /// Slots that what is in memory will take.
    #[inline]
    pub fn owed(&self) -> u64 {
        self.owed.load(Ordering::Relaxed)
    }

    /// Something more will take a slot.
    pub fn owe(&self) {
        self.owed.fetch_add(1, Ordering::Relaxed);
    }

    /// It has taken it, or will not any more.
    pub fn pay(&self) {
        self.owed.fetch_sub(1, Ordering::Relaxed);
    }

    /// Says that the content of `epoch` was written; `false` where somebody else has said so.
    pub fn clean(&self, frame: u32, epoch: u64) -> bool {
        let clean = self.dirty[frame as usize].compare_exchange(epoch, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if clean {
            self.pay();
        }
        clean
    }

    /// The next `count` frames that the clock's hand passes.
    pub fn pass(&self, count: u32) -> impl Iterator<Item = u32> + use<> {
        let (first, frames) = (self.hand.fetch_add(u64::from(count), Ordering::Relaxed), u64::from(self.count()));
        (first..first + u64::from(count)).map(move |at| (at % frames) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dirty_page_owes_one_slot_until_it_is_clean_or_gone() {
        let frames = Frames::new(8).unwrap();
        let (first, second) = (frames.take().unwrap(), frames.take().unwrap());
        (1..4).for_each(|epoch| frames.set_dirty(first, epoch));
        frames.set_dirty(second, 1);
        assert_eq!(frames.owed(), 2);
        assert!(!frames.clean(first, 2) && frames.clean(first, 3) && !frames.clean(first, 3));
        assert_eq!(frames.owed(), 1);
        frames.release(second);
        frames.release(first);
        assert_eq!(frames.owed(), 0);
    }

    #[test]
    fn every_frame_is_given_to_one_at_a_time() {
        let frames = Frames::new(64).unwrap();
        let owned: Vec<_> = (0..64).map(|_| AtomicBool::new(false)).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let Some(frame) = frames.take() else { continue };
                        assert!(!owned[frame as usize].swap(true, Ordering::SeqCst), "frame {frame} twice");
                        owned[frame as usize].store(false, Ordering::SeqCst);
                        frames.release(frame);
                    }
                });
            }
        });
        assert_eq!(frames.free(), 64);
        assert_eq!((0..64).filter_map(|_| frames.take()).collect::<std::collections::HashSet<_>>().len(), 64);
        assert_eq!(frames.take(), None);
    }
}
