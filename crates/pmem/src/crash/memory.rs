//! Memory that stands for persistent memory in a history.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    sync::atomic::{AtomicU64, Ordering},
};

const ALIGNMENT: usize = 4096;

/// Zeroed bytes at a multiple of a page.
#[derive(Debug)]
pub(super) struct Memory {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: it is bytes, owned by the value; words are changed atomically.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub(super) fn new(bytes: usize) -> Self {
        let bytes = bytes.next_multiple_of(ALIGNMENT).max(ALIGNMENT);
        let layout = Layout::from_size_align(bytes, ALIGNMENT).expect("the size of a pool is far below isize::MAX");
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Self { start, layout }
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.start
    }

    pub(super) fn bytes(&self) -> usize {
        self.layout.size()
    }

    pub(super) fn word(&self, word: u32) -> &AtomicU64 {
        assert!((word as usize) < self.bytes() / 8);
        // SAFETY: inside, aligned, and only changed atomically.
        unsafe { &*self.start.cast::<AtomicU64>().add(word as usize) }
    }

    /// Sets a word; the value before.
    pub(super) fn put(&self, word: u32, value: u64) -> u64 {
        self.word(word).swap(value, Ordering::SeqCst)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.start, self.layout) }
    }
}
