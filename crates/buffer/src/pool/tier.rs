//! Slower memory below the frames: persistent memory, or memory behind CXL, between DRAM and the drive.
//!
//! It holds pages that DRAM gave up, all of them clean, so that it is a cache and nothing else: a crash takes nothing that
//! is not on the drive, and nothing in it is looked at when the pool is opened again. A page is in DRAM, or below, or on
//! the drive alone; never in two memories at once. A page that is to be changed goes up first, and a dirty one is written
//! to the drive before it goes down.
//!
//! The word of a page below is *marked* and names a frame beyond those of DRAM. So it is not readable as it is, and readers
//! of pages in DRAM pay nothing for there being another memory.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
};

use super::{Pool, frames::Frames, word::FRAME_BITS};
use crate::BufferError;

/// Touches of a page below after which it goes up, with [`Placement::Hot`].
const HOT: u8 = 2;
/// Frames that the hand passes at most for one that goes down.
const PASSES: u32 = 16;

/// Memory below.
///
/// # Safety
/// `bytes()` bytes at `start()` can be read and written for as long as the value lives, and neither ever changes.
pub unsafe trait Lower: Send + Sync + fmt::Debug {
    /// First byte.
    fn start(&self) -> *mut u8;

    /// Length, bytes.
    fn bytes(&self) -> usize;

    /// `bytes` from `at` on are read where they are, here and there.
    fn touched(&self, at: usize, bytes: usize);

    /// Copies bytes out, which takes as long as it does.
    ///
    /// # Safety
    /// `to` has room for them; others may change them meanwhile, and the caller then uses nothing of the copy.
    unsafe fn copy_up(&self, at: usize, to: *mut u8, bytes: usize);

    /// Copies bytes in. Readers may look at what is there meanwhile, and use nothing of it.
    ///
    /// # Safety
    /// `from` has them, and nobody else writes there.
    unsafe fn copy_down(&self, at: usize, from: *const u8, bytes: usize);
}

/// What happens to a page below when somebody reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// It is copied up before it is looked at.
    Copy,
    /// It is read where it is.
    InPlace,
    /// It is read where it is, and goes up when it was read for the second time of late.
    #[default]
    Hot,
}

/// A tier, as it is asked for.
#[derive(Clone, Debug)]
pub struct Tier {
    /// The memory.
    pub memory: Arc<dyn Lower>,
    /// Which pages go up.
    pub placement: Placement,
    /// Bytes of a page that a look at it touches, where it is read in place.
    pub touched_bytes: usize,
}

/// A pool's lower memory.
#[derive(Debug)]
pub(crate) struct Below {
    pub tier: Tier,
    /// Number of its first frame.
    pub first: u32,
    frames: Frames,
    /// Touches of late, by frame.
    heat: Box<[AtomicU8]>,
}

impl Below {
    /// Whether a frame is one of its own.
    #[inline(always)]
    pub fn has(&self, frame: u32) -> bool {
        frame >= self.first
    }

    /// Where a frame begins in its memory.
    pub fn at(&self, frame: u32, shift: u32) -> usize {
        ((frame - self.first) as usize) << shift
    }

    /// Frames with a page.
    pub fn held(&self) -> u32 {
        self.frames.count() - self.frames.free()
    }

    /// A page is looked at: whether it shall go up first.
    pub fn touch(&self, frame: u32) -> bool {
        let heat = &self.heat[(frame - self.first) as usize];
        let seen = heat.load(Relaxed).saturating_add(1);
        heat.store(seen.min(HOT), Relaxed);
        match self.tier.placement {
            Placement::Copy => true,
            Placement::InPlace => false,
            Placement::Hot => seen >= HOT,
        }
    }

    /// Gives a frame back.
    pub fn release(&self, frame: u32) {
        self.frames.release(frame - self.first);
    }

    /// Writes down which page a frame holds.
    pub fn hold(&self, frame: u32, page: u64) {
        self.heat[(frame - self.first) as usize].store(0, Relaxed);
        self.frames.hold(frame - self.first, page);
    }

    /// A frame, which is the caller's now; a page that was not touched of late leaves it. None where all are warm or busy:
    /// they are less so the next time.
    pub fn take(&self, pool: &Pool) -> Option<u32> {
        if let Some(frame) = self.frames.take() {
            return Some(self.first + frame);
        }
        for frame in self.frames.pass(PASSES) {
            let heat = &self.heat[frame as usize];
            let warm = heat.load(Relaxed);
            if warm > 0 {
                heat.store(warm - 1, Relaxed);
                continue;
            }
            let Some(page) = self.frames.page(frame) else { continue };
            let word = &pool.words[page as usize];
            let seen = word.load();
            if !seen.is_marked() || seen.frame() != self.first + frame {
                continue;
            }
            if let Some(held) = word.lock(seen) {
                word.evict(held);
                return Some(self.first + frame);
            }
        }
        None
    }
}

impl Pool {
    /// The pool with memory below. Called before any worker is there.
    ///
    /// # Errors
    /// Where the memory is smaller than a page, or has more pages than words can name.
    pub fn over(mut self, tier: Tier) -> Result<Self, BufferError> {
        let (frames, first) = (tier.memory.bytes() >> self.shift, self.frames.count());
        if frames == 0 || frames as u64 + u64::from(first) >= 1 << FRAME_BITS {
            let what = format!("a tier of {} bytes was asked for", tier.memory.bytes());
            return Err(BufferError::unfit(what, "use a page at least, and fewer than 67 million pages with the pool"));
        }
        let heat = (0..frames).map(|_| AtomicU8::new(0)).collect();
        self.below = Some(Below { tier, first, frames: Frames::new(frames as u32)?, heat });
        Ok(self)
    }

    /// Pages that are in the memory below.
    pub fn pages_below(&self) -> u32 {
        self.below.as_ref().map_or(0, Below::held)
    }

    /// Whether a frame is one of the memory below.
    #[inline(always)]
    pub(crate) fn is_below(&self, frame: u32) -> bool {
        self.below.as_ref().is_some_and(|below| below.has(frame))
    }
}
