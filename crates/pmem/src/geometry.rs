//! Where the parts of a pool lie.
//!
//! ```text
//! 0        header, and its copy at 4096
//! 8192     incarnation, then the roots from 8256 on
//! 12288    lanes: one redo log of 1 KiB each
//!          heads: a word per chunk
//!          bitmaps: 256 B per chunk
//!          chunks of 64 KiB
//! ```

use std::ops::Range;

use crate::{
    class::{BITMAP_WORDS, CHUNK_BYTES},
    error::PmemError,
    log::LANE_BYTES,
};

/// Words that a structure finds its way from.
pub const ROOTS: usize = 64;
pub(crate) const PAGE: u64 = 4096;
/// Where the word lies that counts how often the pool was opened.
pub(crate) const INCARNATION: u64 = 2 * PAGE;
const ROOT_WORDS: u64 = INCARNATION + 64;
const LANES: u64 = 3 * PAGE;
const BITMAP_BYTES: u64 = 8 * BITMAP_WORDS as u64;
/// Offsets leave their upper 16 bits to those who mark them.
const LARGEST: u64 = 1 << 48;

/// Places of all parts, from the pool's length and its number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) bytes: u64,
    pub(crate) lanes: u32,
    pub(crate) chunks: u64,
    heads: u64,
    bitmaps: u64,
    data: u64,
}

impl Geometry {
    /// # Errors
    /// Where not even one chunk fits, or offsets would need more than 48 bits.
    pub(crate) fn new(bytes: u64, lanes: u32) -> Result<Self, PmemError> {
        let refuse = |why: String| Err(PmemError::Size { asked: bytes, why });
        if lanes == 0 || lanes > 4096 {
            return refuse(format!("it has {lanes} lanes, and 1 to 4096 are possible"));
        }
        if bytes > LARGEST {
            return refuse(format!("offsets have 48 bits, so {LARGEST} bytes are the most"));
        }
        let heads = LANES + u64::from(lanes) * LANE_BYTES;
        let smallest = Self::place(1, heads, bytes, lanes);
        if smallest.end() > bytes {
            return refuse(format!("with {lanes} lanes {} bytes are the least", smallest.end()));
        }
        let mut chunks = (bytes - heads) / (CHUNK_BYTES + BITMAP_BYTES + 8);
        while Self::place(chunks, heads, bytes, lanes).end() > bytes {
            chunks -= 1;
        }
        Ok(Self::place(chunks, heads, bytes, lanes))
    }

    fn place(chunks: u64, heads: u64, bytes: u64, lanes: u32) -> Self {
        let bitmaps = (heads + chunks * 8).next_multiple_of(BITMAP_BYTES);
        let data = (bitmaps + chunks * BITMAP_BYTES).next_multiple_of(CHUNK_BYTES);
        Self { bytes, lanes, chunks, heads, bitmaps, data }
    }

    fn end(&self) -> u64 {
        self.data + self.chunks * CHUNK_BYTES
    }

    /// Where the tables end and the first chunk begins.
    pub(crate) fn data(&self) -> u64 {
        self.data
    }

    /// Chunks that begin in a range of offsets.
    pub(crate) fn chunks_that_begin_in(&self, places: &Range<u64>) -> Range<u64> {
        let begins_before = |at: u64| at.saturating_sub(self.data).div_ceil(CHUNK_BYTES).min(self.chunks);
        begins_before(places.start)..begins_before(places.end)
    }

    #[inline(always)]
    pub(crate) fn root(&self, index: usize) -> u64 {
        assert!(index < ROOTS, "root {index} of {ROOTS}");
        ROOT_WORDS + index as u64 * 8
    }

    pub(crate) fn lane(&self, index: usize) -> u64 {
        LANES + index as u64 * LANE_BYTES
    }

    #[inline(always)]
    pub(crate) fn head(&self, chunk: u64) -> u64 {
        self.heads + chunk * 8
    }

    #[inline(always)]
    pub(crate) fn bitmap(&self, chunk: u64) -> u64 {
        self.bitmaps + chunk * BITMAP_BYTES
    }

    #[inline(always)]
    pub(crate) fn chunk(&self, chunk: u64) -> u64 {
        self.data + chunk * CHUNK_BYTES
    }

    /// The chunk that an offset lies in, and how far.
    #[inline(always)]
    pub(crate) fn locate(&self, at: u64) -> Option<(u64, u64)> {
        let within = at.checked_sub(self.data)?;
        let chunk = within / CHUNK_BYTES;
        (chunk < self.chunks).then_some((chunk, within % CHUNK_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_follow_each_other_and_end_inside(bytes in 0u64..1 << 49, lanes in 0u32..5000) {
            let Ok(it) = Geometry::new(bytes, lanes) else { return Ok(()) };
            prop_assert!(it.chunks >= 1);
            prop_assert!(it.root(ROOTS - 1) + 8 <= it.lane(0));
            prop_assert!(it.lane(lanes as usize) <= it.head(0));
            prop_assert!(it.head(it.chunks) <= it.bitmap(0));
            prop_assert!(it.bitmap(it.chunks) <= it.chunk(0));
            prop_assert!(it.chunk(it.chunks) <= bytes);
            prop_assert!(it.chunk(0) % CHUNK_BYTES == 0);
            prop_assert_eq!(it.locate(it.chunk(it.chunks) - 1), Some((it.chunks - 1, CHUNK_BYTES - 1)));
            prop_assert_eq!(it.locate(it.chunk(it.chunks)), None);
            prop_assert_eq!(it.locate(it.chunk(0) - 1), None);
            let all = it.chunks_that_begin_in(&(0..bytes));
            prop_assert_eq!(&all, &(0..it.chunks));
            let middle = it.chunk(it.chunks / 2);
            prop_assert_eq!(it.chunks_that_begin_in(&(0..middle)), 0..it.chunks / 2);
            prop_assert_eq!(it.chunks_that_begin_in(&(middle..bytes)), it.chunks / 2..it.chunks);
            prop_assert!(it.chunks_that_begin_in(&(middle + 1..middle + 1)).is_empty());
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_refused_with_the_bound() {
        for (bytes, lanes) in [(0, 4), (65536, 4), (1 << 20, 0), (1 << 20, 5000), (1 << 50, 4)] {
            let refused = Geometry::new(bytes, lanes).unwrap_err().to_string();
            assert!(refused.contains("not possible") && refused.len() > 50, "{refused}");
        }
    }
}
