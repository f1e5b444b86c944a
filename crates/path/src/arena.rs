//! Memory for a thread's buffers: aligned, touched beforehand, filled with incompressible bytes.

use std::{io, ptr};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

const HUGE_PAGE: usize = 2 << 20;

/// A mapping of its own, at a multiple of 4 KiB (2 MiB where it is that large), unmapped on drop.
#[derive(Debug)]
pub struct Arena {
    start: *mut u8,
    bytes: usize,
    map_start: *mut u8,
    map_bytes: usize,
}

// SAFETY: the arena owns its mapping; nothing else points into it but what its owner hands out.
unsafe impl Send for Arena {}

impl Arena {
    /// Maps `bytes` (rounded up to pages), asks for huge pages where they fit, and touches every page.
    ///
    /// # Errors
    /// The kernel's answer where there is not enough memory.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(4096);
        let slack = if bytes >= HUGE_PAGE { HUGE_PAGE } else { 0 };
        let map_bytes = bytes + slack;
        // SAFETY: a fresh anonymous mapping at an address that the kernel chooses.
        let map_start = unsafe {
            mmap_anonymous(ptr::null_mut(), map_bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
        }
        .cast::<u8>();
        let pad = if slack == 0 { 0 } else { map_start.align_offset(HUGE_PAGE) };
        // SAFETY: `pad` is below `slack`, so the result lies inside the mapping.
        let start = unsafe { map_start.add(pad) };
        let arena = Self { start, bytes, map_start, map_bytes };
        if slack != 0 {
            // SAFETY: the range is ours. A refusal only means ordinary pages.
            let _ = unsafe { madvise(start.cast(), bytes, Advice::LinuxHugepage) };
        }
        Ok(arena)
    }

    /// Fills the arena with random bytes: they cannot be compressed, and every page is touched.
    pub fn fill_random(&mut self, seed: u64) {
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(self.as_mut_slice());
    }

    /// Length, bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Never true: an arena has at least a page.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Address of its first byte. It stays until the arena is dropped.
    #[inline(always)]
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// All of it.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: mapped, initialised by the kernel, `bytes` long, ours.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    /// All of it, to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes it exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; no path outlives the arena that it was opened with.
        let _ = unsafe { munmap(self.map_start.cast(), self.map_bytes) };
    }
}
