//! Keys and values of ids.

use assay_index::{Sizes, mix};

/// Ids from here on are never inserted: lookups of them miss.
pub const MISSING: u64 = 1 << 63;

/// Makes the key and the value of an id, always the same key.
///
/// The first 8 bytes of a key are a bijection of the id, so no two ids share a key and neighbouring ids lie far apart.
/// The first 8 bytes of a value hold a word that its key implies in the upper half and the writer's number in the lower
/// one; all further bytes follow from these, so that a value of another key, or of two writers, is seen.
#[derive(Clone, Copy, Debug)]
pub struct Entries {
    sizes: Sizes,
    secret: u64,
}

impl Entries {
    /// Of a run with this seed.
    pub fn new(sizes: Sizes, seed: u64) -> Self {
        Self { sizes, secret: mix(seed ^ 0xA55A_1234_8765_5AA5) }
    }

    /// The id's key as a word.
    #[inline(always)]
    pub fn word(&self, id: u64) -> u64 {
        mix(id ^ self.secret)
    }

    /// Writes the id's key into `key`; the part that it takes.
    #[inline(always)]
    pub fn key<'a>(&self, id: u64, key: &'a mut [u8]) -> &'a [u8] {
        let word = self.word(id);
        *key.first_chunk_mut().expect("room for a word") = word.to_be_bytes();
        if self.sizes.key.most == 8 {
            return &key[..8];
        }
        let length = self.sizes.key.pick(mix(word));
        fill(&mut key[8..length], word);
        &key[..length]
    }

    /// Writes a value of the id into `value`; the part that it takes. `writer` makes it differ from other values.
    #[inline(always)]
    pub fn value<'a>(&self, id: u64, writer: u32, value: &'a mut [u8]) -> &'a [u8] {
        let head = self.mark(id) | u64::from(writer);
        if self.sizes.value.most == 8 && self.sizes.value.least == 8 {
            value[..8].copy_from_slice(&head.to_le_bytes());
            return &value[..8];
        }
        let length = self.sizes.value.pick(mix(head));
        let first = length.min(8);
        value[..first].copy_from_slice(&head.to_be_bytes()[..first]);
        fill(&mut value[first..length], head);
        &value[..length]
    }

    /// Whether this can be a value of the id.
    pub fn is_value(&self, id: u64, value: &[u8]) -> bool {
        let span = self.sizes.value;
        if span.least == 8 && span.most == 8 {
            return value.len() == 8
                && u64::from_le_bytes(std::array::from_fn(|byte| value[byte])) >> 32 << 32 == self.mark(id);
        }
        if value.len() < 8 {
            return (span.least..=span.most).contains(&value.len())
                && value.iter().zip(self.mark(id).to_be_bytes()).take(4).all(|(seen, mark)| *seen == mark);
        }
        let head = u64::from_be_bytes(std::array::from_fn(|byte| value[byte]));
        let mut wanted = vec![0; value.len() - 8];
        fill(&mut wanted, head);
        head >> 32 << 32 == self.mark(id) && span.pick(mix(head)) == value.len() && wanted == value[8..]
    }

    /// What the upper half of a value's first word is.
    #[inline(always)]
    fn mark(&self, id: u64) -> u64 {
        mix(self.word(id) ^ 0x5EED_5EED_5EED_5EED) >> 32 << 32
    }
}

/// Bytes that follow from a word.
#[inline(always)]
fn fill(bytes: &mut [u8], word: u64) {
    let mut state = word;
    for piece in bytes.chunks_mut(8) {
        state = mix(state.wrapping_add(0x9E37_79B9_7F4A_7C15));
        piece.copy_from_slice(&state.to_le_bytes()[..piece.len()]);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use assay_index::Span;

    const MIXED: Sizes = Sizes { key: Span { least: 8, most: 40 }, value: Span { least: 0, most: 300 } };

    #[test]
    fn no_two_ids_share_a_key() {
        for sizes in [Sizes::WORDS, MIXED] {
            let entries = Entries::new(sizes, 3);
            let mut buffer = [0; 40];
            let ids = (0..50_000).chain((0..50_000).map(|id| id | MISSING));
            let keys: HashSet<Vec<u8>> = ids.map(|id| entries.key(id, &mut buffer).to_vec()).collect();
            assert_eq!(keys.len(), 100_000);
        }
    }

    proptest! {
        #[test]
        fn a_value_is_known_as_its_keys_and_no_other(id in any::<u64>(), writer in any::<u32>(), byte in any::<prop::sample::Index>()) {
            for sizes in [Sizes::WORDS, MIXED] {
                let entries = Entries::new(sizes, 9);
                let mut buffer = [0; 300];
                let value = entries.value(id, writer, &mut buffer).to_vec();
                prop_assert!(entries.is_value(id, &value));
                if value.len() >= 8 {
                    prop_assert!(!entries.is_value(id ^ 1, &value));
                }
                if value.len() > 8 {
                    let mut torn = value.clone();
                    torn[8 + byte.index(value.len() - 8)] ^= 1;
                    prop_assert!(!entries.is_value(id, &torn));
                }
            }
        }
    }
}
