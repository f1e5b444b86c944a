//! The path itself.

use std::{io, sync::Arc};

use assay_record::{Advice, DurabilityKind, Layout};
use rustix::fs::{FallocateFlags, fallocate};

use super::{Isa, Mapping, Region, Support, durable::Stores, isa::FlushSupport, kernel, map};
use crate::{
    PathError, Segment, SegmentKind,
    mmap::sigbus::Watched,
    open::{Knows, OpenParameters},
    shape::Blocking,
};

/// A growing file gets its space in steps of this many bytes.
const GROW_STEP: u64 = 4096;

const KNOWS: Knows = Knows {
    direct: false,
    fixed: false,
    poll: false,
    advice: false,
    huge_pages: true,
    persist: true,
    depth: false,
    durability: &[DurabilityKind::Persist],
};

/// A segment, as operations use it.
#[derive(Debug)]
struct Range {
    start: *mut u8,
    /// Reads end before this.
    readable: u64,
    /// Writes end before this; 0 where the path was opened to read.
    writable: u64,
    /// A growing file has space up to here; `u64::MAX` for all others.
    allocated: u64,
    /// Where the segment begins in its file.
    base: u64,
    watched: Option<&'static Watched>,
    region: Region,
}

/// Load and store. Opened by the thread that uses it; the mappings are shared with the others.
#[derive(Debug)]
pub struct Pmem {
    ranges: Vec<Range>,
    memory: *mut u8,
    memory_bytes: usize,
    isa: Isa,
    stores: Stores,
    fence_each: bool,
    fenced: bool,
    system_calls: u64,
}

// SAFETY: the regions are held by the value itself, and the arena outlives the path (as `OpenParameters` demands).
unsafe impl Send for Pmem {}

impl Pmem {
    /// Maps every segment and, but for growing and preallocated files, brings every page into the page table.
    ///
    /// # Errors
    /// Where a segment cannot serve as persistent memory, an option is not known, or the CPU lacks what was asked for.
    pub fn open(parameters: &OpenParameters<'_>) -> Result<Self, PathError> {
        Self::open_with(parameters, Isa::detect())
    }

    /// As [`Pmem::open`], with the copy loops of one instruction set (one of [`Isa::available`]).
    ///
    /// # Errors
    /// As [`Pmem::open`], and where the CPU lacks the instruction set.
    pub fn open_with(parameters: &OpenParameters<'_>, isa: Isa) -> Result<Self, PathError> {
        parameters.refuse_unknown(&KNOWS)?;
        let lacks = |what: &str| {
            let fix = "leave persist = \"auto\", or run on a CPU that has it".to_owned();
            parameters.unavailable(format!("this CPU has no {what}"), fix)
        };
        if !Isa::available().contains(&isa) {
            return Err(lacks(&format!("{isa:?}")));
        }
        let stores = Stores::choose(parameters.spec.persist, FlushSupport::detect()).map_err(lacks)?;
        let ranges =
            parameters.segments.iter().map(|segment| Range::open(segment, parameters)).collect::<Result<_, _>>()?;
        Ok(Self {
            ranges,
            memory: parameters.arena.start(),
            memory_bytes: parameters.arena.len(),
            isa,
            stores,
            fence_each: parameters.durability.kind == DurabilityKind::Persist && parameters.durability.every == 1,
            fenced: parameters.spec.fenced,
            system_calls: 0,
        })
    }

    /// A file system in memory stands in for persistent memory: figures of this path are emulated.
    pub fn emulated(&self) -> bool {
        self.ranges.iter().any(|range| range.region.support() == Support::Emulated)
    }

    /// The copy loops in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    #[inline(always)]
    fn check_memory(&self, memory: usize, length: u32) -> io::Result<()> {
        if memory.checked_add(length as usize).is_some_and(|end| end <= self.memory_bytes) { Ok(()) } else { outside() }
    }
}

#[cold]
fn outside<T>() -> io::Result<T> {
    Err(io::Error::from_raw_os_error(libc::EINVAL))
}

impl Range {
    fn open(segment: &Segment, parameters: &OpenParameters<'_>) -> Result<Self, PathError> {
        let failed = |action| move |source| PathError::Io { action, path: segment.path.clone(), source };
        let grows = parameters.writes && parameters.layout == Layout::Grow;
        if grows {
            create_empty(segment).map_err(failed("making"))?;
        }
        let region = Mapping::shared(segment, parameters.writes)?;
        if !grows {
            check_length(&region, segment).map_err(failed("mapping"))?;
        }
        if parameters.spec.advice == Advice::HugePage {
            region.ask_for_huge_pages();
        }
        if matches!(parameters.layout, Layout::Written | Layout::AsFound) {
            region.populate(parameters.writes).map_err(failed("mapping"))?;
        }
        Ok(Self {
            start: region.start(),
            readable: segment.bytes,
            writable: if parameters.writes { segment.bytes } else { 0 },
            allocated: if grows { 0 } else { u64::MAX },
            base: segment.base,
            watched: region.watched(),
            region,
        })
    }

    #[inline(always)]
    fn at(&self, offset: u64, length: u32, limit: u64) -> io::Result<*mut u8> {
        match offset.checked_add(u64::from(length)) {
            // SAFETY: inside the mapping, which is at least as long as either limit.
            Some(end) if end <= limit => Ok(unsafe { self.start.add(offset as usize) }),
            _ => outside(),
        }
    }

    /// A page that could not be had during the last copy, or before, makes every operation an error.
    #[inline(always)]
    fn check_pages(&self) -> io::Result<()> {
        if self.watched.is_some_and(Watched::is_lost) { self.lost() } else { Ok(()) }
    }

    #[cold]
    fn lost(&self) -> io::Result<()> {
        self.region.loss().map_or(Ok(()), Err)
    }

    /// Gives a growing file the space for a write that ends at `end`. A full file system is an error here and not a
    /// signal at the store.
    #[cold]
    fn grow(&mut self, end: u64) -> io::Result<()> {
        let end = end.next_multiple_of(GROW_STEP);
        if let Some(file) = self.region.file() {
            fallocate(file, FallocateFlags::empty(), self.base + self.allocated, end - self.allocated)?;
        }
        self.allocated = end;
        Ok(())
    }
}

/// A growing file begins with no space of its own; its length is set so that the mapping stays valid throughout.
fn create_empty(segment: &Segment) -> io::Result<()> {
    if segment.kind != SegmentKind::File {
        return Ok(());
    }
    let file = std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&segment.path)?;
    let grain = map::grain(&file, segment.kind)?;
    file.set_len((segment.base + segment.bytes).next_multiple_of(grain))?;
    punch(&file, segment.base, segment.bytes)
}

fn punch(file: &std::fs::File, base: u64, bytes: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, base, bytes)?)
}

/// A mapping beyond the end of its file would end the process at the first access.
fn check_length(region: &Arc<Mapping>, segment: &Segment) -> io::Result<()> {
    let Some(file) = region.file() else { return Ok(()) };
    let facts = file.metadata()?;
    if segment.kind == SegmentKind::File && facts.len() < segment.base + segment.bytes {
        let seen = format!("it has {} bytes where {} are needed", facts.len(), segment.base + segment.bytes);
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, seen));
    }
    Ok(())
}

impl Blocking for Pmem {
    #[inline(always)]
    fn read(&mut self, segment: u32, offset: u64, length: u32, memory: usize) -> io::Result<()> {
        self.check_memory(memory, length)?;
        let Some(range) = self.ranges.get(segment as usize) else { return outside() };
        let from = range.at(offset, length, range.readable)?;
        // SAFETY: both ranges were checked just now, mapping and arena are apart, and the CPU has the loops.
        unsafe { kernel::copy(self.isa, self.memory.add(memory), from, length as usize) };
        if self.fenced {
            kernel::load_fence();
        }
        range.check_pages()
    }

    #[inline(always)]
    fn write(&mut self, segment: u32, offset: u64, length: u32, memory: usize) -> io::Result<()> {
        self.check_memory(memory, length)?;
        let Some(range) = self.ranges.get_mut(segment as usize) else { return outside() };
        let to = range.at(offset, length, range.writable)?;
        if offset + u64::from(length) > range.allocated {
            self.system_calls += 1;
            range.grow(offset + u64::from(length))?;
        }
        // SAFETY: as for reads; `writable` is 0 unless the mapping can be written.
        unsafe { kernel::write(self.isa, self.stores.of(length), to, self.memory.add(memory), length as usize) };
        if self.fence_each {
            kernel::store_fence();
        }
        range.check_pages()
    }

    #[inline(always)]
    fn flush(&mut self) -> io::Result<()> {
        kernel::store_fence();
        Ok(())
    }

    fn restart(&mut self, segment: u32) -> io::Result<()> {
        let Some(range) = self.ranges.get_mut(segment as usize) else { return outside() };
        if range.allocated == u64::MAX {
            return Ok(());
        }
        if let Some(file) = range.region.file() {
            self.system_calls += 1;
            punch(file, range.base, range.writable)?;
        }
        range.allocated = 0;
        Ok(())
    }

    fn system_calls(&self) -> u64 {
        self.system_calls
    }
}
