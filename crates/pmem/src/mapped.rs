//! Persistent memory in production: a mapping and plain instructions.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use assay_path::{
    PathError, Segment, SegmentKind,
    pmem::{Mapping, Persister, Region, Support},
};

use crate::{
    error::PmemError,
    medium::{LINE_BYTES, Medium, copy_words},
};

/// Bytes from which the wide copy loops pay.
const WIDE_FROM: usize = 256;

/// A mapped file or device-DAX node, or memory. Fields that the hot path needs lie side by side.
#[derive(Debug)]
pub struct Mapped {
    start: *mut u8,
    bytes: usize,
    persister: Persister,
    region: Region,
}

// SAFETY: the region is held by the value and is shared by design; changes to its words are atomic, and ranges belong to
// those who allocated them.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps a file on DAX (with `MAP_SYNC`), a device-DAX node, or a file in memory, which stands in for them.
    ///
    /// # Errors
    /// Where it cannot serve as persistent memory, or the CPU cannot flush.
    pub fn open(path: &Path, kind: SegmentKind, bytes: u64) -> Result<Self, PmemError> {
        Self::of(&Segment { path: path.to_owned(), kind, base: 0, bytes })
    }

    /// Memory that is gone with the value: the baseline that costs nothing to set up.
    ///
    /// # Errors
    /// Where there is not that much, or the CPU cannot flush.
    pub fn memory(bytes: u64) -> Result<Self, PmemError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("pool {}", COUNT.fetch_add(1, Ordering::Relaxed));
        Self::of(&Segment { path: name.into(), kind: SegmentKind::Memory, base: 0, bytes })
    }

    fn of(segment: &Segment) -> Result<Self, PmemError> {
        let persister = Persister::detect().ok_or(PmemError::NoFlush)?;
        let region = Mapping::shared(segment, true)?;
        Ok(Self { start: region.start(), bytes: region.bytes(), persister, region })
    }

    /// How lines are written back.
    pub fn persister(&self) -> Persister {
        self.persister
    }

    /// Whether stores reach real persistent memory.
    pub fn is_persistent(&self) -> bool {
        self.region.support() == Support::Persistent
    }

    /// Brings every page into the page table, in huge pages where the system has them.
    ///
    /// # Errors
    /// Where a page cannot be had.
    pub fn populate(&self) -> Result<(), PathError> {
        self.region.ask_for_huge_pages();
        let failed = |source| PathError::Io { action: "populating", path: "the pool".into(), source };
        self.region.populate(true).map_err(failed)
    }

    /// Asks for huge pages, and makes them of pages that are there already. A refusal means ordinary pages.
    pub fn ask_for_huge_pages(&self) {
        self.region.ask_for_huge_pages();
    }

    /// A page of the file was lost since it was mapped (cut short, full, or a media error): what was stored there since
    /// is gone. A pool that is used for long asks from time to time.
    pub fn loss(&self) -> Option<std::io::Error> {
        self.region.loss()
    }
}

// SAFETY: the mapping is page-aligned, is held for as long as the value lives, and never moves.
unsafe impl Medium for Mapped {
    #[inline(always)]
    fn start(&self) -> *mut u8 {
        self.start
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn emulated(&self) -> bool {
        !self.is_persistent()
    }

    #[inline(always)]
    fn store(&self, at: u64, value: u64) {
        self.word(at).store(value, Ordering::Release);
    }

    #[inline(always)]
    fn compare_exchange(&self, at: u64, current: u64, new: u64) -> Result<u64, u64> {
        self.word(at).compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire)
    }

    #[inline(always)]
    fn set_bits(&self, at: u64, bits: u64) -> u64 {
        self.word(at).fetch_or(bits, Ordering::AcqRel)
    }

    #[inline(always)]
    fn clear_bits(&self, at: u64, bits: u64) -> u64 {
        self.word(at).fetch_and(!bits, Ordering::AcqRel)
    }

    #[inline(always)]
    fn write(&self, at: u64, bytes: &[u8]) {
        let to = self.at(at, bytes.len());
        // SAFETY: in bounds; a pool's memory is apart from the caller's slice.
        unsafe {
            let wide = if bytes.len() < WIDE_FROM { 0 } else { bytes.len() / LINE_BYTES * LINE_BYTES };
            if wide != 0 {
                self.persister.copy(to, bytes.as_ptr(), wide);
            }
            let rest = to.add(wide);
            copy_words(rest, bytes.as_ptr().add(wide), bytes.len() - wide, rest);
        }
    }

    #[inline(always)]
    fn stream(&self, at: u64, bytes: &[u8]) {
        let to = self.at(at, bytes.len());
        // SAFETY: as in `write`.
        unsafe { self.persister.stream(to, bytes.as_ptr(), bytes.len()) }
    }

    #[inline(always)]
    fn flush(&self, at: u64, length: usize) {
        let start = self.at(at, length);
        // SAFETY: in bounds, so mapped; the lines' ends lie in the same pages.
        unsafe { self.persister.write_back(start, length) }
    }

    #[inline(always)]
    fn fence(&self) {
        self.persister.fence();
    }
}
