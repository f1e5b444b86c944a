//! Where in a thread's arena operations land.

use assay_record::{Class, PathKind};

use crate::generator::{largest_size, writes};

/// Writes to a block device come from at least this much random memory in turn, so that neighbours on the device do not
/// repeat each other: a megabyte is beyond the window of any compressor that a device could have, and stays in the L2 cache.
const WRITE_POOL_BYTES: usize = 1 << 20;
/// A deduplicating device compares blocks of this size; each that is written is made unique.
const UNIQUE_BYTES: usize = 4096;

/// Offsets into the arena: every slot has pages of its own, which it uses in turn.
#[derive(Clone, Debug)]
pub struct MemoryPlan {
    stride: usize,
    slots: usize,
    rounds: usize,
    /// Which of its pages each slot used last.
    turns: Box<[u32]>,
    counter: u64,
    dirty_words: usize,
}

/// Page-sized operations keep their pages aligned; smaller ones share cache lines with nobody.
fn stride_of(size: u64) -> usize {
    let size = size as usize;
    if size >= 512 { size.next_multiple_of(4096) } else { size.next_multiple_of(64) }
}

/// Memory that a class goes through: as declared, and enough for writes not to repeat themselves. Memory cannot compress or
/// deduplicate: what is stored there comes from one page, which stays in the L1 cache.
fn pool_bytes(class: &Class) -> usize {
    let stored = matches!(class.path.kind, PathKind::Pmem | PathKind::Null);
    let unique = if writes(class.operation) && !stored { WRITE_POOL_BYTES } else { 0 };
    (class.buffer_bytes as usize).max(unique)
}

impl MemoryPlan {
    /// The plan of one thread of a class.
    pub fn new(class: &Class, thread: u32) -> Self {
        let stride = stride_of(largest_size(&class.size));
        let slots = class.depth.max(1) as usize;
        Self {
            stride,
            slots,
            rounds: (pool_bytes(class) / (slots * stride)).max(1),
            turns: vec![0; slots].into_boxed_slice(),
            counter: u64::from(thread) << 40,
            dirty_words: (class.dirty_bytes as usize / 8).clamp(1, (stride / 8).max(1)),
        }
    }

    /// Bytes of the arena.
    pub fn bytes(&self) -> usize {
        self.stride * self.slots * self.rounds
    }

    /// The same, as large as it would be: [`Self::bytes`] of a plan that fits no address space is meaningless.
    pub fn bytes_wide(&self) -> u64 {
        (self.stride as u64).saturating_mul(self.slots as u64).saturating_mul(self.rounds as u64)
    }

    /// Where the next operation of a slot lands, bytes into the arena. No two slots ever share a page.
    #[inline(always)]
    pub fn place(&mut self, slot: u32) -> usize {
        if self.rounds == 1 {
            return slot as usize * self.stride;
        }
        let turn = &mut self.turns[slot as usize];
        *turn = if *turn as usize + 1 == self.rounds { 0 } else { *turn + 1 };
        (*turn as usize * self.slots + slot as usize) * self.stride
    }

    /// Changes a page before it is written, so that no two blocks carry the same bytes.
    ///
    /// # Safety
    /// `page` points to at least `length` writable bytes that nothing else uses.
    #[inline(always)]
    pub unsafe fn dirty(&mut self, page: *mut u8, length: u32) {
        let mut at = 0;
        while at < length as usize {
            let words = self.dirty_words.min((length as usize - at) / 8);
            for word in 0..words {
                self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
                // SAFETY: `word` is below `words`, so the eight bytes lie inside the page.
                unsafe { page.add(at + word * 8).cast::<u64>().write_unaligned(self.counter) };
            }
            at += UNIQUE_BYTES.max(words * 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seat;
    use assay_record::{Operation, PathSpec, Sizes};
    use std::collections::HashSet;

    fn class(depth: u32, buffer_bytes: u64, operation: Operation) -> Class {
        let path = PathSpec::plain(PathKind::IoUring);
        Class { depth, buffer_bytes, operation, path, size: Sizes::One(16_384), ..seat::null_class(false) }
    }

    #[test]
    fn slots_never_share_a_page() {
        let mut plan = MemoryPlan::new(&class(8, 10 << 20, Operation::Read), 0);
        let mut pages: Vec<HashSet<usize>> = vec![HashSet::new(); 8];
        for turn in 0..10_000u32 {
            let page = plan.place(turn % 8);
            assert!(page + 16_384 <= plan.bytes());
            pages[turn as usize % 8].insert(page);
        }
        for slot in 0..8 {
            assert!((0..slot).all(|other| pages[slot].is_disjoint(&pages[other])));
        }
    }

    #[test]
    fn writes_go_through_the_whole_pool_at_any_depth() {
        for depth in [1, 3, 8, 32, 48] {
            let mut plan = MemoryPlan::new(&class(depth, 0, Operation::Write), 0);
            let pages: HashSet<usize> = (0..1000).map(|turn| plan.place(turn % depth)).collect();
            let of = plan.bytes() / 16_384;
            assert_eq!(pages.len(), of, "depth {depth}");
            assert!(plan.bytes() > WRITE_POOL_BYTES - depth as usize * 16_384, "depth {depth}: {}", plan.bytes());
        }
    }

    #[test]
    fn reads_stay_in_one_page_unless_a_buffer_is_asked_for() {
        assert_eq!(MemoryPlan::new(&class(1, 0, Operation::Read), 0).bytes(), 16_384);
        assert_eq!(MemoryPlan::new(&class(1, 1 << 30, Operation::Read), 0).bytes(), 1 << 30);
    }

    #[test]
    fn every_block_written_is_unlike_every_other() {
        let mut plan = MemoryPlan::new(&class(1, 0, Operation::Write), 3);
        let mut arena = vec![7u8; plan.bytes()];
        let mut seen = HashSet::new();
        for _ in 0..500 {
            let page = plan.place(0);
            // SAFETY: the plan keeps the page inside the vector.
            unsafe { plan.dirty(arena.as_mut_ptr().add(page), 16_384) };
            for block in arena[page..page + 16_384].chunks(UNIQUE_BYTES) {
                assert!(seen.insert(block.to_vec()), "a block was written twice");
            }
        }
    }

    #[test]
    fn dirtying_stays_inside_small_pages() {
        for (bytes, length) in [(64u64, 64u32), (64, 5), (128, 128), (100, 100)] {
            let mut class = class(1, 0, Operation::Write);
            (class.size, class.dirty_bytes) = (Sizes::One(bytes), 1 << 20);
            let mut page = vec![0u8; length as usize + 8];
            // SAFETY: the page is longer than `length`.
            unsafe { MemoryPlan::new(&class, 0).dirty(page.as_mut_ptr(), length) };
            assert!(page[length as usize..].iter().all(|byte| *byte == 0), "{length} bytes");
        }
    }
}
