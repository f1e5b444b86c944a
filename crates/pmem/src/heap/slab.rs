//! Which blocks of a chunk are taken, as far as this process knows.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::{class::BITMAP_WORDS, medium::Medium};

/// The mask of a chunk. Only ever used under the lock of its class; the atomics are for sharing, not for order.
#[derive(Debug)]
pub(super) struct Slab {
    mask: [AtomicU64; BITMAP_WORDS],
    taken: AtomicU32,
    /// The chunk is in one of its class's two lists, and must not get into one again.
    listed: AtomicBool,
}

impl Slab {
    /// Takes what is allocated, of a chunk that is listed or about to be.
    pub(super) fn read(medium: &impl Medium, bitmap: u64) -> Box<Self> {
        let mask: [AtomicU64; BITMAP_WORDS] =
            std::array::from_fn(|word| AtomicU64::new(medium.load(bitmap + word as u64 * 8)));
        let taken = mask.iter().map(|word| word.load(Relaxed).count_ones()).sum();
        Box::new(Self { mask, taken: AtomicU32::new(taken), listed: AtomicBool::new(true) })
    }

    /// Takes up to `most` of the first `blocks` that are free.
    pub(super) fn take(&self, blocks: u64, most: usize, mut taken: impl FnMut(u64)) {
        let mut left = most;
        for (word, mask) in self.mask.iter().enumerate().take(blocks.div_ceil(64) as usize) {
            let usable = usable(blocks, word as u64);
            let mut found = mask.load(Relaxed);
            while left != 0 && found & usable != usable {
                let bit = (!found & usable).trailing_zeros();
                found |= 1 << bit;
                taken(word as u64 * 64 + u64::from(bit));
                left -= 1;
                self.taken.fetch_add(1, Relaxed);
            }
            mask.store(found, Relaxed);
        }
    }

    pub(super) fn take_this(&self, index: u64) {
        let bit = 1 << (index % 64);
        if self.mask[index as usize / 64].fetch_or(bit, Relaxed) & bit == 0 {
            self.taken.fetch_add(1, Relaxed);
        }
    }

    /// Whether it was taken until now.
    pub(super) fn release(&self, index: u64) -> bool {
        let bit = 1 << (index % 64);
        let was_taken = self.mask[index as usize / 64].fetch_and(!bit, Relaxed) & bit != 0;
        if was_taken {
            self.taken.fetch_sub(1, Relaxed);
        }
        was_taken
    }

    pub(super) fn set_listed(&self, listed: bool) {
        self.listed.store(listed, Relaxed);
    }

    pub(super) fn is_listed(&self) -> bool {
        self.listed.load(Relaxed)
    }

    pub(super) fn is_full(&self, blocks: u64) -> bool {
        u64::from(self.taken.load(Relaxed)) >= blocks
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken.load(Relaxed) == 0
    }
}

/// Bits of a word of the mask that stand for blocks.
fn usable(blocks: u64, word: u64) -> u64 {
    match blocks - word * 64 {
        64.. => u64::MAX,
        some => (1 << some) - 1,
    }
}
