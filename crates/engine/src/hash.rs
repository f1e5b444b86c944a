//! A hash of a table's key: for stripes of locks and for partitions of a recovery. It is never stored.

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const PRIME: u64 = 0xd6e8_feb8_6659_fd93;
/// Bits in which neighbours differ: as many words as a line of the caches has.
const NEIGHBOURS: u64 = 7;

/// Folds the product of two words.
#[inline(always)]
fn mix(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ (product >> 64) as u64
}

/// Hash of a key of a table. Its lowest bits are those of the key's last byte, and keys that differ in these alone differ
/// in nothing else: the words of eight neighbours lie in one line of the caches, and no two of them are the same word.
#[inline]
pub fn of(table: u16, key: &[u8]) -> u64 {
    let mut state = SEED ^ (u64::from(table) << 32) ^ key.len() as u64;
    let before_last = &key[..key.len().saturating_sub(1)];
    for word in before_last.chunks_exact(8) {
        let word = u64::from_le_bytes(word.try_into().expect("chunks of eight bytes"));
        state = mix(state ^ word, PRIME);
    }
    let last = end(key);
    mix(mix(state ^ (last & !NEIGHBOURS), PRIME), SEED) & !NEIGHBOURS | last & NEIGHBOURS
}

/// The last eight bytes of a key, or all of a shorter one, as a number that ends in its last byte.
#[inline(always)]
fn end(key: &[u8]) -> u64 {
    if let Some(bytes) = key.last_chunk::<8>() {
        return u64::from_be_bytes(*bytes);
    }
    match (key.first_chunk::<4>(), key.last_chunk::<4>()) {
        // Both may have a byte, but not the last one.
        (Some(first), Some(last)) if key.len() > 4 => {
            u64::from(u32::from_be_bytes(*first)) << 32 | u64::from(u32::from_be_bytes(*last))
        }
        _ => key.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
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

    #[test]
    fn eight_neighbours_have_words_of_one_line_and_others_have_others() {
        for bytes in [1, 3, 4, 5, 7, 8, 9, 10, 15, 16, 17, 39] {
            let key = |byte: usize, value: u8| {
                let mut key = vec![b'k'; bytes];
                key[byte] = value;
                of(3, &key)
            };
            let lines: HashSet<u64> = (64..72).map(|last| key(bytes - 1, last) / 8).collect();
            let words: HashSet<u64> = (64..72).map(|last| key(bytes - 1, last) % 8).collect();
            assert_eq!((lines.len(), words.len()), (1, 8), "{bytes} bytes");
            let others: HashSet<u64> = (0..bytes).flat_map(|at| [64, 80].map(|value| key(at, value) / 8)).collect();
            assert_eq!(others.len(), 2 * bytes, "every byte of {bytes} counts");
        }
    }
}
