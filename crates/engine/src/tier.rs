//! Persistent memory, or what stands in for it, as the memory below a pool's frames.

use std::fmt;

use assay_buffer::Lower;
use assay_pmem::Medium;

/// Bytes that modules of persistent memory read at once.
const BLOCK: usize = 256;

/// A medium below the frames.
pub struct Modules {
    medium: Box<dyn Medium>,
    /// What a look at a page touches lies in blocks apart from each other; else it is read from end to end.
    apart: bool,
}

impl Modules {
    /// All of a medium.
    pub fn new(medium: Box<dyn Medium>, apart: bool) -> Self {
        Self { medium, apart }
    }
}

impl fmt::Debug for Modules {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Modules({} bytes)", self.medium.bytes())
    }
}

// SAFETY: a medium's start and length never change, and it lives as long as the value.
unsafe impl Lower for Modules {
    fn start(&self) -> *mut u8 {
        self.medium.start()
    }

    fn bytes(&self) -> usize {
        self.medium.bytes()
    }

    fn touched(&self, at: usize, bytes: usize) {
        let step = if self.apart { BLOCK } else { bytes };
        (0..bytes).step_by(step.max(1)).for_each(|block| self.medium.reads((at + block) as u64, step));
    }

    unsafe fn copy_up(&self, at: usize, to: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise: the frame is its own.
        self.medium.read(at as u64, unsafe { std::slice::from_raw_parts_mut(to, bytes) });
    }

    unsafe fn copy_down(&self, at: usize, from: *const u8, bytes: usize) {
        // SAFETY: the caller's promise: nobody changes the page.
        self.medium.stream(at as u64, unsafe { std::slice::from_raw_parts(from, bytes) });
        // What was stored around the caches is there before anybody hears of it.
        self.medium.fence();
    }
}
