//! What a key's hash decides: fingerprint, bucket, segment.

/// A key's hash. Eight bits are the fingerprint, sixteen the bucket in a segment, forty the segment; no bit has two uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hash(pub(super) u64);

/// Bits that tell segments apart.
pub(super) const SEGMENT_BITS: u32 = 40;

const MULTIPLIERS: [u64; 3] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93, 0xA076_1D64_78BD_642F];

impl Hash {
    /// Of a key of 8 bytes, read as a little-endian word.
    #[inline(always)]
    pub(super) fn of_word(word: u64) -> Self {
        Self(fold(fold(word ^ MULTIPLIERS[2], MULTIPLIERS[0]) ^ MULTIPLIERS[2], MULTIPLIERS[1]))
    }

    /// Of a key of any length.
    pub(super) fn of(bytes: &[u8]) -> Self {
        if let Ok(word) = bytes.try_into() {
            return Self::of_word(u64::from_le_bytes(word));
        }
        let start = fold(bytes.len() as u64 ^ MULTIPLIERS[0], MULTIPLIERS[1]);
        let mixed = bytes.chunks(8).fold(start, |sum, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            fold(sum ^ u64::from_le_bytes(word), MULTIPLIERS[0]).rotate_left(23) ^ sum.wrapping_mul(MULTIPLIERS[2])
        });
        Self::of_word(mixed)
    }

    /// What a bucket keeps of each record to spare most comparisons.
    #[inline(always)]
    pub(super) fn fingerprint(self) -> u8 {
        self.0 as u8
    }

    /// Its bucket of so many.
    #[inline(always)]
    pub(super) fn bucket(self, buckets: u64) -> u64 {
        ((self.0 >> 8 & 0xffff) * buckets) >> 16
    }

    /// Its highest bits: the directory's index at that depth.
    #[inline(always)]
    pub(super) fn prefix(self, depth: u32) -> u64 {
        (self.0 >> 1) >> (63 - depth)
    }

    /// Its segment bits as a number.
    #[inline(always)]
    pub(super) fn number(self) -> u64 {
        self.0 >> (64 - SEGMENT_BITS)
    }
}

/// The two halves of a product, folded: each bit of the result depends on nearly all bits of the word.
#[inline(always)]
fn fold(word: u64, by: u64) -> u64 {
    let product = u128::from(word) * u128::from(by);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_follow_each_other_spread_evenly() {
        let mut counts = [0u32; 80];
        let mut fingerprints = [0u32; 256];
        let mut prefixes = [0u32; 64];
        for key in 0..64_000u64 {
            let hash = Hash::of(&key.to_be_bytes());
            counts[hash.bucket(80) as usize] += 1;
            fingerprints[hash.fingerprint() as usize] += 1;
            prefixes[hash.prefix(6) as usize] += 1;
        }
        // Five standard deviations of a fair throw.
        let even = |counts: &[u32]| {
            let mean = 64_000.0 / counts.len() as f64;
            counts.iter().all(|&count| (f64::from(count) - mean).abs() < 5.0 * mean.sqrt())
        };
        assert!(even(&counts) && even(&fingerprints) && even(&prefixes), "{counts:?}");
    }

    #[test]
    fn a_prefix_of_no_bits_is_nothing_and_one_bit_is_the_highest() {
        assert_eq!(Hash(u64::MAX).prefix(0), 0);
        assert_eq!(Hash(1 << 63).prefix(1), 1);
        assert_eq!(Hash(0x8000_0000_0000_0000).number(), 1 << 39);
    }

    #[test]
    fn lengths_and_ends_matter() {
        let all = [&b"a"[..], b"a\0", b"aaaaaaaaa", b"aaaaaaaaa\0", b"aaaaaaaab", b"baaaaaaaa"];
        let hashes: std::collections::HashSet<u64> = all.iter().map(|bytes| Hash::of(bytes).0).collect();
        assert_eq!(hashes.len(), all.len());
    }
}
