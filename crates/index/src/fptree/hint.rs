//! The order of a leaf's records, in DRAM: what one scan has sorted the next one need not sort.
//!
//! A hint is a cache line: the version of the leaf's latch that it is true of, plus 2, and a byte per record. Writers do
//! not know of hints: a leaf that has changed has another version, and its hint says nothing any more. Versions of a hint
//! only grow, so a reader that sees the same one before and after has read what belongs to it.

use super::sync::{AtomicU64, Ordering, fence};

/// Words of a hint.
pub(crate) const WORDS: usize = 8;
/// Records that it orders.
pub(crate) const PLACES: usize = (WORDS - 1) * 8;
/// In the place of the version: somebody writes. Less than any other.
const BUSY: u64 = 1;

/// Numbers of records, the one with the lowest key first.
pub(crate) type Order = [u8; PLACES];

/// A hint; all zeros says nothing.
#[derive(Clone, Copy)]
pub(crate) struct Hint<'t>(pub(crate) &'t [AtomicU64; WORDS]);

impl Hint<'_> {
    /// The order that was true under a version.
    #[inline]
    pub(crate) fn get(self, version: u64) -> Option<Order> {
        if self.0[0].load(Ordering::Acquire) != version + 2 {
            return None;
        }
        let mut order = [0; PLACES];
        for (bytes, word) in order.chunks_exact_mut(8).zip(&self.0[1..]) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        fence(Ordering::Acquire);
        (self.0[0].load(Ordering::Relaxed) == version + 2).then_some(order)
    }

    /// Notes an order that is true under a version, unless somebody else notes one, or a later one is there.
    pub(crate) fn put(self, version: u64, order: &Order) {
        let seen = self.0[0].load(Ordering::Relaxed);
        let free = seen != BUSY && seen < version + 2;
        if !free || self.0[0].compare_exchange(seen, BUSY, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return;
        }
        // Nothing of the new order may be seen under the old version.
        fence(Ordering::Release);
        for (bytes, word) in order.chunks_exact(8).zip(&self.0[1..]) {
            word.store(u64::from_ne_bytes(std::array::from_fn(|byte| bytes[byte])), Ordering::Relaxed);
        }
        self.0[0].store(version + 2, Ordering::Release);
    }
}
