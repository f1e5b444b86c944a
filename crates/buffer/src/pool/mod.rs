//! The pool: pages of a disk in frames of memory, shared by workers.
//!
//! **Pages.** A page has a number. One word per number (`word.rs`) says where the page is and who has it; a page in memory
//! is reached by that word alone. Guards come from a [`crate::Worker`]: optimistic (nothing is written, what was read is
//! handed out only after it was seen to be unchanged), shared, exclusive.
//!
//! **Checkpoints.** What is durable is the last checkpoint: all pages as they were at one moment at which no change was
//! under way, and bytes of the owner's that was taken at that moment. Pages are never written over, so a crash at any time
//! leaves the last durable checkpoint as it was: torn writes hit only slots that it does not refer to. Everything after it
//! is lost, unless the owner has a log: it notes the log's end in the checkpoint, and replays from there. For that reason
//! a page may be written before its log is: nothing refers to it until the next checkpoint, which asks the owner first
//! (`before_commit`).
//!
//! **Allocation.** Numbers and slots in use are those that the checkpoint's map names: a crash leaks none of either.
//!
//! **Failure.** A write that fails leaves its page dirty in memory, and the error goes to whoever needs the frame or the
//! checkpoint. A flush that fails may have lost anything written since the last one, so the pool refuses to write from
//! then on; opening it again gives the last durable checkpoint. A page that is not what was written is named, never
//! returned.

pub(crate) mod atomics;
pub(crate) mod format;
pub(crate) mod frames;
pub(crate) mod gate;
pub(crate) mod header;
pub(crate) mod places;
pub(crate) mod slots;
pub(crate) mod superblock;
pub(crate) mod tier;
pub(crate) mod units;
pub(crate) mod word;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use self::{
    atomics::ZeroedArray, frames::Frames, gate::Gate, header::PageSlot, places::Places, slots::Slots, word::Word,
};
use crate::{
    BufferError, Counters,
    disk::{Disk, Memory},
};

pub use superblock::OWNER_BYTES;
pub use tier::{Lower, Placement, Tier};

/// Number of a page; 0 is none.
pub type PageId = u64;

/// Frames that a pool has at least.
pub const FRAMES_AT_LEAST: u64 = 64;

/// What a pool is made with, or opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes of a page: 4, 8, 16, 32 or 64 KiB. Given when the pool is made; opening takes what is there.
    pub page_bytes: u32,
    /// Bytes of memory for pages, exactly: tables (24 bytes per page number in use and 24 per frame) and the buffers of
    /// writes and of reads ahead come on top.
    pub pool_bytes: u64,
    /// Workers at the same time at most.
    pub workers: usize,
    /// Requests of a worker in flight at most.
    pub depth: u32,
    /// Which slots written pages get.
    pub grouping: Grouping,
}

/// Which slots written pages get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// The first that are free.
    #[default]
    None,
    /// Those of pages that are expected to die together, so that what a drive of flash erases together dies together.
    ByDeath {
        /// Bytes that the drive erases together.
        unit_bytes: u64,
    },
}

impl Grouping {
    /// By units of so many bytes, or not at all.
    pub fn by(unit_bytes: Option<u64>) -> Self {
        unit_bytes.map_or(Self::None, |unit_bytes| Self::ByDeath { unit_bytes })
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { page_bytes: 4096, pool_bytes: 64 << 20, workers: 8, depth: 128, grouping: Grouping::None }
    }
}

/// Page numbers that are free.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    pub free: Vec<PageId>,
    pub limit: PageId,
}

/// A page as it was when the checkpoint was taken, since somebody changed it before it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preserved {
    pub page: PageId,
    pub frame: u32,
}

/// Where pieces of the map and of its root lie.
#[derive(Debug, Default)]
pub(crate) struct Map {
    pub pieces: Vec<PageSlot>,
    pub roots: Vec<PageSlot>,
    /// The copy of the superblock that is valid.
    pub copy: u8,
}

/// Why nothing is written any more, and what has to be mended first, where anybody knows.
#[derive(Debug)]
pub(crate) struct Breakdown {
    why: String,
    remedy: Option<String>,
}

/// Pages in memory over a disk. Threads work through a [`crate::Worker`] each.
#[derive(Debug)]
pub struct Pool {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) config: Config,
    pub(crate) shift: u32,
    pub(crate) words: ZeroedArray<Word>,
    pub(crate) frames: Frames,
    pub(crate) places: Places,
    pub(crate) slots: Slots,
    pub(crate) gate: Gate,
    /// Changes of now belong to the checkpoint of this number.
    pub(crate) epoch: AtomicU64,
    /// A checkpoint is in the making: pages of earlier epochs are preserved before they change.
    pub(crate) snapshotting: AtomicBool,
    pub(crate) checkpointing: AtomicBool,
    pub(crate) preserved: Mutex<Vec<Preserved>>,
    pub(crate) numbers: Mutex<Numbers>,
    pub(crate) map: Mutex<Map>,
    pub(crate) owner_bytes: Mutex<Vec<u8>>,
    pub(crate) broken: Mutex<Option<Breakdown>>,
    pub(crate) totals: Mutex<Counters>,
    /// Stretches of memory for runs of pages that nobody uses.
    pub(crate) stretches: Mutex<Vec<u32>>,
    pub(crate) below: Option<tier::Below>,
    /// Somebody makes checkpoints when there is little room: changes wait for them.
    pub(crate) waits_for_room: AtomicBool,
    /// Slots that were free after the last checkpoint.
    pub(crate) room: AtomicU64,
    /// Dead slots beyond which a checkpoint should be made.
    pub(crate) dead_at_most: u64,
    /// Pages written so far.
    pub(crate) written: AtomicU64,
}

/// Slots that changes of a worker may yet take when they were let in: some of them split pages.
const CHANGES_UNDER_WAY: u64 = 128;
/// Of so many slots one may be dead before a checkpoint is due, where pages are placed for flash: what is dead is not trimmed, and
/// a drive copies it. But not fewer than half of the frames: a checkpoint writes what is dirty in them.
const DEAD_ONE_OF: u64 = 40;

/// Dead slots beyond which a checkpoint should be made.
pub(crate) fn dead_at_most(grouping: Grouping, slots: u64, frames: u64) -> u64 {
    match grouping {
        Grouping::None => u64::MAX / 2,
        Grouping::ByDeath { .. } => (slots / DEAD_ONE_OF).max(frames / 2),
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Bytes of a page, the header included.
    #[inline(always)]
    pub fn page_bytes(&self) -> usize {
        1 << self.shift
    }

    /// Frames for pages.
    #[inline]
    pub fn frames(&self) -> u32 {
        self.frames.count()
    }

    /// The disk beneath.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Bytes of the disk in use, old copies that the last checkpoint still needs included.
    pub fn used_bytes(&self) -> u64 {
        superblock::SLOTS_AT + self.slots.used() * self.page_bytes() as u64
    }

    /// Pages in use.
    pub fn pages(&self) -> u64 {
        let numbers = locked(&self.numbers);
        numbers.limit - 1 - numbers.free.len() as u64
    }

    /// The owner's bytes of the last durable checkpoint, as it was when the pool was opened or since.
    pub fn owner_bytes(&self) -> Vec<u8> {
        locked(&self.owner_bytes).clone()
    }

    /// Number of the checkpoint that changes of now will belong to.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Whether changes wait for the next checkpoint where there is no more room than it needs itself: only as long as somebody
    /// makes one then.
    pub fn wait_for_room(&self, waits: bool) {
        self.waits_for_room.store(waits, Ordering::Release);
    }

    /// Changes should wait for a checkpoint. Either no more slots are free than what is dirty will take, with something for the
    /// map and for changes under way (at most half of what the last checkpoint left). Or so many are dead that a drive of flash
    /// has much to copy.
    pub fn is_short(&self) -> bool {
        let beside = self.places.pieces() + CHANGES_UNDER_WAY * self.config.workers as u64;
        let needed = self.frames.owed() + beside.min(self.room.load(Ordering::Relaxed) / 2);
        self.free_slots() < needed || self.slots.dead() > 2 * self.dead_at_most
    }

    /// A checkpoint should be made soon: changes will have to wait for it otherwise.
    pub fn is_tight(&self) -> bool {
        self.is_short() || self.free_slots() / 2 < self.frames.owed() || self.slots.dead() > self.dead_at_most
    }

    /// A copy of a page for the checkpoint is needed no more.
    pub(crate) fn release_copy(&self, frame: u32) {
        self.frames.pay();
        self.frames.release(frame);
    }

    /// A checkpoint is durable, or the pool is new.
    pub(crate) fn measure_room(&self) {
        self.room.store(self.free_slots(), Ordering::Relaxed);
    }

    pub(crate) fn free_slots(&self) -> u64 {
        self.slots.count().saturating_sub(self.slots.used())
    }

    /// Bytes of pages written so far, pieces of the map included.
    pub fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed) << self.shift
    }

    /// What ended workers have counted.
    pub fn counters(&self) -> Counters {
        *locked(&self.totals)
    }

    /// Whether a page is in memory.
    pub fn is_resident(&self, page: PageId) -> bool {
        self.words.get(page as usize).is_some_and(|word| {
            let seen = word.load();
            seen.is_readable() || seen.is_marked()
        })
    }

    /// Address of a frame's first byte.
    #[inline(always)]
    pub(crate) fn frame(&self, frame: u32) -> *mut u8 {
        // SAFETY: frames stand at the beginning of the memory; words hold only numbers of frames.
        unsafe { self.memory.start().add((frame as usize) << self.shift) }
    }

    /// Where a stretch for runs of pages begins in the memory: behind the frames and the buffers of writes.
    pub(crate) fn stretch(&self, stretch: u32) -> usize {
        let frames = (self.frames() as usize) << self.shift;
        frames + self.config.workers * format::STAGING_BYTES + stretch as usize * format::STRETCH_BYTES
    }

    /// Offset of a slot on the disk.
    pub(crate) fn slot_offset(&self, slot: u64) -> u64 {
        superblock::SLOTS_AT + (slot << self.shift)
    }

    /// No slot or no number is free.
    pub(crate) fn full(&self) -> BufferError {
        let bytes = self.slots.count() << self.shift;
        BufferError::Full { disk: self.disk.name().to_owned(), bytes }
    }

    /// From now on nothing is written any more; `remedy` is what has to be mended first, where anybody knows.
    pub(crate) fn break_down(&self, why: impl Into<String>, remedy: Option<String>) {
        locked(&self.broken).get_or_insert(Breakdown { why: why.into(), remedy });
    }

    /// Refuses where the pool has broken down.
    pub(crate) fn whole(&self) -> Result<(), BufferError> {
        match &*locked(&self.broken) {
            None => Ok(()),
            Some(Breakdown { why, remedy }) => {
                let disk = self.disk.name().to_owned();
                Err(BufferError::Broken { disk, why: why.clone(), remedy: remedy.clone() })
            }
        }
    }

    /// A page that is not what was written.
    pub(crate) fn damaged(&self, page: PageId, place: PageSlot, what: &str) -> BufferError {
        let at = place.slot().map_or(0, |slot| self.slot_offset(slot));
        let what = format!("page {page}, at {at}: {what}");
        BufferError::Damaged { disk: self.disk.name().to_owned(), what }
    }
}
