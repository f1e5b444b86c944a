//! Memory for queues and lists that the device reads and writes.

use std::{io, ptr, sync::Arc};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::bus::{Bus, Translation};
use crate::Arena;

const HUGE_PAGE: usize = 2 << 20;

/// Zeroed memory that the device knows. The part in front is one piece for it.
#[derive(Debug)]
pub(super) struct DmaMemory {
    place: Backing,
    translation: Translation,
    bus: Arc<Bus>,
}

#[derive(Debug)]
enum Backing {
    Plain(Arena),
    Huge(Huge),
}

impl DmaMemory {
    /// Memory of at least `bytes`, of which the first `whole` are one piece.
    ///
    /// # Errors
    /// The kernel's answer; `ENOMEM` where no memory without gaps can be had.
    pub fn new(bus: &Arc<Bus>, bytes: usize, whole: usize) -> io::Result<Self> {
        if !bus.is_scattered() || whole <= super::physical::PAGE {
            return Self::on(bus, Backing::Plain(zeroed(bytes)?), whole);
        }
        let bytes = bytes.next_multiple_of(HUGE_PAGE);
        // The kernel gives a huge page on its own where it can; otherwise one of those that were set aside.
        let plain = zeroed(bytes).and_then(|arena| Self::on(bus, Backing::Plain(arena), whole));
        plain.or_else(|_| Self::on(bus, Backing::Huge(Huge::new(bytes)?), whole))
    }

    fn on(bus: &Arc<Bus>, place: Backing, whole: usize) -> io::Result<Self> {
        let (start, bytes) = place.range();
        let translation = bus.map(start, bytes)?;
        let memory = Self { place, translation, bus: Arc::clone(bus) };
        if memory.translation.is_contiguous(0, whole) {
            return Ok(memory);
        }
        Err(io::Error::from_raw_os_error(libc::ENOMEM))
    }

    /// Address of a byte for this process.
    pub fn start(&self) -> *mut u8 {
        self.place.range().0
    }

    /// Address of a byte for the device.
    pub fn bus_address(&self, offset: usize) -> u64 {
        self.translation.at(offset)
    }
}

impl Drop for DmaMemory {
    fn drop(&mut self) {
        self.bus.unmap(&self.translation);
    }
}

fn zeroed(bytes: usize) -> io::Result<Arena> {
    let mut arena = Arena::new(bytes)?;
    arena.as_mut_slice().fill(0);
    Ok(arena)
}

impl Backing {
    fn range(&self) -> (*mut u8, usize) {
        match self {
            Self::Plain(arena) => (arena.start(), arena.len()),
            Self::Huge(huge) => (huge.start, huge.bytes),
        }
    }
}

/// A mapping of huge pages that the administrator set aside.
#[derive(Debug)]
struct Huge {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping is owned; what points into it is handed out by its owner.
unsafe impl Send for Huge {}

impl Huge {
    fn new(bytes: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::HUGETLB | MapFlags::POPULATE;
        // SAFETY: a fresh anonymous mapping at an address that the kernel chooses.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags)? };
        Ok(Self { start: start.cast(), bytes })
    }
}

impl Drop for Huge {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}
