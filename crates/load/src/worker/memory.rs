//! Where in a thread's arena operations land.

use assay_record::Class;

use crate::generator::largest_size;

/// Offsets into the arena: a page per slot, or pages of a large buffer in turn.
#[derive(Clone, Copy, Debug)]
pub struct MemoryPlan {
    stride: usize,
    pages: usize,
    next: usize,
    per_slot: bool,
    counter: u64,
    dirty_words: usize,
}

/// Page-sized operations keep their pages aligned; smaller ones share cache lines with nobody.
fn stride_of(size: u64) -> usize {
    let size = size as usize;
    if size >= 512 { size.next_multiple_of(4096) } else { size.next_multiple_of(64) }
}

impl MemoryPlan {
    /// The plan of one thread of a class.
    pub fn new(class: &Class, thread: u32) -> Self {
        let stride = stride_of(largest_size(&class.size));
        let slots = class.depth.max(1) as usize;
        let pool = (class.buffer_bytes as usize / stride).max(1);
        let dirty_words = (class.dirty_bytes as usize / 8).clamp(1, (stride / 8).max(1));
        Self {
            stride,
            pages: slots.max(pool),
            next: 0,
            per_slot: pool <= slots,
            counter: u64::from(thread) << 40,
            dirty_words,
        }
    }

    /// Bytes of the arena.
    pub fn bytes(&self) -> usize {
        self.stride * self.pages
    }

    /// Where the next operation of a slot lands, bytes into the arena.
    #[inline(always)]
    pub fn place(&mut self, slot: u32) -> usize {
        if self.per_slot {
            return slot as usize * self.stride;
        }
        self.next += 1;
        if self.next == self.pages {
            self.next = 0;
        }
        self.next * self.stride
    }

    /// Changes a page before it is written, so that no two writes carry the same bytes.
    ///
    /// # Safety
    /// `page` points to at least `length` writable bytes that nothing else uses.
    #[inline(always)]
    pub unsafe fn dirty(&mut self, page: *mut u8, length: u32) {
        let room = length as usize / 8;
        for word in 0..self.dirty_words.min(room) {
            self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
            // SAFETY: `word` is below `room`, so the eight bytes lie inside the page.
            unsafe { page.cast::<u64>().add(word).write_unaligned(self.counter) };
        }
    }
}
