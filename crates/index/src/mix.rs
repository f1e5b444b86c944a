//! A number that looks like any other.

/// A bijection of words in which every bit of the input matters to every bit of the output (the finaliser of
/// MurmurHash3, which is in the public domain).
#[inline(always)]
pub fn mix(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    word ^= word >> 33;
    word = word.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    word ^ (word >> 33)
}
