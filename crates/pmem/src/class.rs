//! Sizes that blocks come in.

/// What the pool's space is handed out in: a chunk holds blocks of one size, or is part of a larger block.
pub const CHUNK_BYTES: u64 = 64 << 10;

/// Words of a chunk's bitmap.
pub(crate) const BITMAP_WORDS: usize = 32;

/// Block sizes, bytes. Steps of a half or a third waste at most a third of a block; every size of 256 B and more is
/// made of whole blocks of the media.
pub(crate) const SIZES: [u64; 18] =
    [32, 64, 96, 128, 192, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384, 21760, 32768];

/// Index into [`SIZES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class(u8);

impl Class {
    /// The smallest that holds so many bytes; none where whole chunks are needed.
    #[inline]
    pub(crate) fn of(bytes: u64) -> Option<Self> {
        SIZES.iter().position(|&size| size >= bytes).map(|index| Self(index as u8))
    }

    pub(crate) fn from_index(index: u64) -> Option<Self> {
        (index < SIZES.len() as u64).then_some(Self(index as u8))
    }

    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    #[inline(always)]
    pub(crate) fn bytes(self) -> u64 {
        SIZES[self.0 as usize]
    }

    /// Blocks in a chunk.
    #[inline(always)]
    pub(crate) fn blocks(self) -> u64 {
        CHUNK_BYTES / self.bytes()
    }
}

/// Bytes that an allocation of so many takes, which is what it can use.
pub fn block_bytes(bytes: u64) -> u64 {
    Class::of(bytes).map_or_else(|| bytes.next_multiple_of(CHUNK_BYTES), Class::bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_fits_its_bitmap_and_the_media() {
        for size in SIZES {
            assert!(CHUNK_BYTES / size <= 64 * BITMAP_WORDS as u64, "{size}");
            assert!(size % 32 == 0 && (size < 256 || size % 256 == 0), "{size}");
        }
        assert!(SIZES.is_sorted());
    }

    #[test]
    fn a_block_is_never_smaller_than_asked_for() {
        for bytes in 0..200_000 {
            assert!(block_bytes(bytes) >= bytes);
        }
        assert_eq!([1, 33, 256, 257, 32768, 32769].map(block_bytes), [32, 64, 256, 512, 32768, 65536]);
    }
}
