//! What leaves and inner nodes have in common: a header of one line, and words.

use std::sync::atomic::{AtomicU64, Ordering};

use assay_pmem::{Medium, PmemError};

/// Words of the header: status, shape, and nothing yet.
pub(super) const HEADER: usize = 8;
/// In a status word: the node is being replaced.
pub(super) const FROZEN: u64 = 1 << 60;
const MAGIC: u64 = 0xB2;

/// What never changes of a node.
///
/// ```text
/// 56 magic 8 | 49 separators of other lengths than 8 | 48 inner | tail 12 | sorted records, or children 16 | words 20
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) inner: bool,
    /// Inner nodes: some separator is not of eight bytes, so lengths and rests are there too.
    pub(super) ragged: bool,
    /// Places in the unsorted tail.
    pub(super) tail: usize,
    /// Sorted records, or children.
    pub(super) count: usize,
    /// All of it, header included.
    pub(super) words: usize,
}

impl Shape {
    pub(super) fn encode(self) -> u64 {
        let flags = u64::from(self.ragged) << 49 | u64::from(self.inner) << 48;
        MAGIC << 56 | flags | (self.tail as u64) << 36 | (self.count as u64) << 20 | self.words as u64
    }

    #[inline(always)]
    fn decode(word: u64) -> Option<Self> {
        let shape = Self {
            inner: word >> 48 & 1 != 0,
            ragged: word >> 49 & 1 != 0,
            tail: (word >> 36 & 0xfff) as usize,
            count: (word >> 20 & 0xffff) as usize,
            words: (word & 0xf_ffff) as usize,
        };
        (word >> 56 == MAGIC && shape.fixed_words() <= shape.words).then_some(shape)
    }

    /// Words before the data.
    #[inline(always)]
    pub(super) fn fixed_words(self) -> usize {
        let per_entry = if self.inner { 2 + usize::from(self.ragged) } else { 3 };
        HEADER + self.tail + self.count * per_entry
    }
}

/// A node where it lies.
#[derive(Debug)]
pub(super) struct Node<'m, M> {
    pub(super) medium: &'m M,
    pub(super) at: u64,
    pub(super) words: &'m [AtomicU64],
    pub(super) shape: Shape,
}

impl<M> Clone for Node<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Node<'_, M> {}

impl<'m, M: Medium> Node<'m, M> {
    /// # Errors
    /// Where no node lies.
    #[inline(always)]
    pub(super) fn open(medium: &'m M, at: u64) -> Result<Self, PmemError> {
        let bytes = medium.bytes() as u64;
        if at % 32 != 0 || at > bytes - 64 || at == 0 {
            return Err(no_node(at, 0));
        }
        let word = medium.load(at + 8);
        match Shape::decode(word) {
            Some(shape) if at + shape.words as u64 * 8 <= bytes => {
                let start = medium.at(at, shape.words * 8).cast::<AtomicU64>();
                // SAFETY: in bounds and aligned; words of a medium are only changed atomically.
                let words = unsafe { std::slice::from_raw_parts(start, shape.words) };
                Ok(Self { medium, at, words, shape })
            }
            _ => Err(no_node(at, word)),
        }
    }

    /// Where a word of it lies.
    #[inline(always)]
    pub(super) fn place(&self, word: usize) -> u64 {
        self.at + word as u64 * 8
    }

    /// A word of it. Those of a damaged node that it does not have are zero.
    #[inline(always)]
    #[track_caller]
    pub(super) fn load(&self, word: usize) -> u64 {
        self.medium.reads(self.place(word), 8);
        self.words.get(word).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Bytes that nobody changes any more.
    ///
    /// # Errors
    /// Where they would reach beyond the node.
    #[inline(always)]
    pub(super) fn bytes(&self, word: usize, length: usize) -> Result<&'m [u8], PmemError> {
        if word * 8 + length > self.words.len() * 8 {
            return Err(self.damaged("a record reaches beyond it"));
        }
        self.medium.reads(self.place(word), length);
        // SAFETY: inside the node. What a published word points to is never stored to again.
        Ok(unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast::<u8>().add(word * 8), length) })
    }

    #[cold]
    pub(super) fn damaged(&self, what: &str) -> PmemError {
        PmemError::Damaged { what: format!("in the node at {:#x}, {what}", self.at) }
    }

    /// The first of `count` ascending words from `from` on that is above a head (or not below it); from `from` counted.
    ///
    /// Which half a head lies in is a coin's throw, on which no branch depends.
    #[inline(always)]
    pub(super) fn search(&self, from: usize, count: usize, head: u64, above: bool) -> usize {
        let Some(words) = self.words.get(from..from + count) else { return 0 };
        let before = |index: usize| {
            self.medium.reads(self.place(from + index), 8);
            // SAFETY: below `count`, as the caller sees to.
            let there = unsafe { words.get_unchecked(index) }.load(Ordering::Acquire);
            usize::from(there < head) | usize::from(above) & usize::from(there == head)
        };
        let (mut base, mut left) = (0, count);
        while left > 1 {
            let half = left / 2;
            base += half & opaque(before(base + half - 1).wrapping_neg());
            left -= half;
        }
        if left == 1 { base + before(base) } else { base }
    }
}

/// The word itself, of which the compiler knows nothing: it would make a branch of a choice.
#[inline(always)]
fn opaque(mut word: usize) -> usize {
    // SAFETY: no instruction.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    word
}

#[cold]
fn no_node(at: u64, word: u64) -> PmemError {
    PmemError::Damaged { what: format!("a pointer leads to {at:#x}, where no node lies but {word:#018x}") }
}

/// Brings the beginning of a node near.
#[inline(always)]
pub(super) fn prefetch<M: Medium>(medium: &M, at: u64, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    if at + lines as u64 * 64 <= medium.bytes() as u64 {
        for line in 0..lines {
            // SAFETY: inside the medium; a prefetch changes nothing.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(medium.start().add(at as usize + line * 64).cast());
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (medium, at, lines);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_as_they_were_written() {
        let shape = Shape { inner: false, ragged: false, tail: 32, count: 64, words: 384 };
        assert_eq!(Shape::decode(shape.encode()), Some(shape));
        let inner = Shape { inner: true, ragged: true, tail: 0, count: 5, words: 23 };
        assert_eq!(Shape::decode(inner.encode()), Some(inner));
        assert_eq!(Shape::decode(Shape { words: 22, ..inner }.encode()), None, "its entries do not fit");
        assert_eq!(Shape::decode(0), None);
    }
}
