//! Sizes of a table, and where things lie in a segment.

use super::{
    bucket::BUCKET_BYTES,
    hash::{Hash, SEGMENT_BITS},
};

/// Roots of the pool that a table uses.
pub(super) mod root {
    /// What the directory is found by, in one word.
    pub(in crate::dash) const DIRECTORY: usize = 0;
    /// Stamp of the first opening after the last crash, and whether the table was closed.
    pub(in crate::dash) const MARKER: usize = 1;
    /// The shape; 0 while nothing was made.
    pub(in crate::dash) const SHAPE: usize = 2;
    /// Linear hashing: its arrays of segments.
    pub(in crate::dash) const ARRAYS: usize = 3;
    /// The last opening, in the line of the marker.
    pub(in crate::dash) const OPENED: usize = 4;
}

/// Where in a segment its identity lies: which keys are its own.
pub(super) const IDENTITY: u64 = 0;
/// Where in a segment its chain of further stashes begins, or in one of those the next one.
pub(super) const CHAIN: u64 = 8;
/// Buckets of a further stash.
pub(super) const CHAINED: u64 = 2;
/// Bytes of a further stash: a block of its own, then its buckets.
pub(super) const CHAINED_BYTES: u64 = BUCKET_BYTES * (1 + CHAINED);

/// Sizes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DashShape {
    /// Buckets of a segment, 4 to 252.
    pub buckets: u64,
    /// Stash buckets of a segment, 1 to 4.
    pub stash: u64,
    /// Linear hashing begins with so many segments: a power of two, 4 to 65,536. Extendible hashing begins with one.
    pub segments: u64,
}

impl Default for DashShape {
    /// Segments of 85 blocks, three of which fill a chunk of the pool: one header, 80 buckets, 4 stash buckets.
    fn default() -> Self {
        Self { buckets: 80, stash: 4, segments: 4 }
    }
}

impl DashShape {
    /// Segments as small as they get, so that a short history splits and merges them. They are for tests.
    pub fn tiny() -> Self {
        Self { buckets: 4, stash: 1, segments: 4 }
    }

    pub(super) fn is_possible(&self) -> bool {
        (4..=252).contains(&self.buckets)
            && (1..=4).contains(&self.stash)
            && (4..=1 << 16).contains(&self.segments)
            && self.segments.is_power_of_two()
    }

    pub(super) fn encode(&self) -> u64 {
        self.buckets | self.stash << 16 | self.segments << 32
    }

    pub(super) fn decode(word: u64) -> Option<Self> {
        let shape = Self { buckets: word & 0xffff, stash: word >> 16 & 0xffff, segments: word >> 32 };
        shape.is_possible().then_some(shape)
    }

    /// Bytes of a segment: a block for itself, its buckets, its stash.
    #[inline(always)]
    pub(super) fn segment_bytes(&self) -> u64 {
        BUCKET_BYTES * (1 + self.buckets + self.stash)
    }

    /// Records that fit into a segment's buckets, without its stash.
    pub(super) fn capacity(&self) -> u64 {
        self.buckets * super::bucket::SLOTS as u64
    }

    #[inline(always)]
    pub(super) fn bucket(&self, segment: u64, index: u64) -> u64 {
        segment + BUCKET_BYTES * (1 + index)
    }

    /// Stash buckets follow the others.
    #[inline(always)]
    pub(super) fn stash(&self, segment: u64, index: u64) -> u64 {
        self.bucket(segment, self.buckets + index)
    }

    #[inline(always)]
    pub(super) fn next(&self, index: u64) -> u64 {
        if index + 1 == self.buckets { 0 } else { index + 1 }
    }

    pub(super) fn previous(&self, index: u64) -> u64 {
        index.checked_sub(1).unwrap_or(self.buckets - 1)
    }

    #[inline(always)]
    pub(super) fn home(&self, segment: u64, hash: Hash) -> Home {
        let index = hash.bucket(self.buckets);
        Home { segment, index, own: self.bucket(segment, index), next: self.bucket(segment, self.next(index)) }
    }
}

/// The two buckets in which a key is looked for first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub(super) segment: u64,
    pub(super) index: u64,
    pub(super) own: u64,
    pub(super) next: u64,
}

/// The hash prefix that a segment of extendible hashing stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) depth: u32,
    pub(super) bits: u64,
}

impl Prefix {
    pub(super) fn encode(self) -> u64 {
        u64::from(self.depth) << 48 | self.bits
    }

    pub(super) fn decode(word: u64) -> Self {
        Self { depth: (word >> 48).min(u64::from(SEGMENT_BITS)) as u32, bits: word & ((1 << 48) - 1) }
    }

    #[inline(always)]
    pub(super) fn covers(self, hash: Hash) -> bool {
        hash.prefix(self.depth) == self.bits
    }

    /// The half of it in which the next bit is this one.
    pub(super) fn half(self, bit: u64) -> Self {
        Self { depth: self.depth + 1, bits: self.bits << 1 | bit }
    }

    /// What it is half of.
    pub(super) fn whole(self) -> Self {
        Self { depth: self.depth - 1, bits: self.bits >> 1 }
    }

    pub(super) fn other_half(self) -> Self {
        Self { bits: self.bits ^ 1, ..self }
    }

    /// The directory's entries at a depth that lead to it.
    pub(super) fn entries(self, depth: u32) -> std::ops::Range<u64> {
        let spread = depth - self.depth;
        self.bits << spread..(self.bits + 1) << spread
    }
}
