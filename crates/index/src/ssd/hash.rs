//! The hash of a key, the same on every machine and in every life.

/// 64 bits that depend on every byte of a key.
pub(super) fn hash(key: &[u8]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ key.len() as u64;
    for part in key.chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        state = mix(state ^ u64::from_le_bytes(word));
    }
    mix(state)
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The byte of a hash that a bucket keeps of each entry.
pub(super) fn fingerprint(hash: u64) -> u8 {
    (hash >> 56) as u8
}
