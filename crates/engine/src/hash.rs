//! A hash of a table's key: for stripes of locks and for partitions of a recovery. It is never stored.

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const PRIME: u64 = 0xd6e8_feb8_6659_fd93;

/// Folds the product of two words.
#[inline(always)]
fn mix(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ (product >> 64) as u64
}

/// Hash of a key of a table.
#[inline]
pub fn of(table: u16, key: &[u8]) -> u64 {
    let mut state = SEED ^ (u64::from(table) << 32) ^ key.len() as u64;
    let mut words = key.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("chunks of eight bytes"));
        state = mix(state ^ word, PRIME);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        state = mix(state ^ u64::from_le_bytes(last), PRIME);
    }
    mix(state, SEED)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn neighbouring_keys_spread_over_all_stripes() {
        let stripes: HashSet<u64> = (0..4096_u64).map(|key| of(3, &key.to_be_bytes()) % 4096).collect();
        assert!(stripes.len() > 2400, "{} of 4096; chance gives 2589", stripes.len());
        assert_ne!(of(1, b"key"), of(2, b"key"));
        assert_ne!(of(1, b"key"), of(1, b"key\0"));
    }
}
