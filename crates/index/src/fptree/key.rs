//! Keys as the tree sees them, and the blocks that keys and values of any length lie in.

use std::cmp::Ordering;

use assay_pmem::{Medium, Pool};

use crate::{error::IndexError, index::KEY_BYTES_AT_MOST, mix::mix, sizes::VALUE_BYTES_AT_MOST};

/// Bytes in front of a block's key: both lengths.
pub(super) const BLOCK_HEAD: usize = 8;

/// A key that is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe<'k> {
    /// Its first 8 bytes as a big-endian word, zeros behind a shorter one.
    pub(super) head: u64,
    /// All of it.
    pub(super) key: &'k [u8],
    /// Its fingerprint.
    pub(super) print: u8,
}

impl<'k> Probe<'k> {
    /// A key of 8 bytes.
    #[inline(always)]
    pub(super) fn word(key: &'k [u8]) -> Result<Self, IndexError> {
        let Ok(bytes) = <[u8; 8]>::try_from(key) else {
            return Err(IndexError::NotAWord { what: "key", bytes: key.len() });
        };
        let head = u64::from_be_bytes(bytes);
        Ok(Self { head, key, print: print_of_word(head) })
    }

    /// A key of any length.
    #[inline(always)]
    pub(super) fn any(key: &'k [u8]) -> Result<Self, IndexError> {
        if key.is_empty() || key.len() > KEY_BYTES_AT_MOST {
            return Err(IndexError::KeyLength { bytes: key.len(), most: KEY_BYTES_AT_MOST });
        }
        Ok(Self { head: head_of(key), key, print: print_of_bytes(key) })
    }
}

/// The first 8 bytes as a big-endian word.
#[inline(always)]
pub(super) fn head_of(key: &[u8]) -> u64 {
    let mut head = [0; 8];
    let length = key.len().min(8);
    head[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(head)
}

/// A byte in which every bit of a key matters: the upper bits of a product with the golden ratio's word.
#[inline(always)]
pub(super) fn print_of_word(word: u64) -> u8 {
    (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

pub(super) fn print_of_bytes(key: &[u8]) -> u8 {
    let start = key.len() as u64;
    print_of_word(key.chunks(8).fold(start, |state, piece| mix(state ^ head_of(piece))))
}

/// Checks a value's length.
pub(super) fn check_value(value: &[u8]) -> Result<(), IndexError> {
    if value.len() > VALUE_BYTES_AT_MOST {
        return Err(IndexError::ValueLength { bytes: value.len(), most: VALUE_BYTES_AT_MOST });
    }
    Ok(())
}

/// Bytes of the block for a key and a value.
pub(super) fn block_length(key: &[u8], value: &[u8]) -> usize {
    BLOCK_HEAD + key.len() + value.len()
}

/// Fills a block: lengths, key, value. It is not flushed.
#[track_caller]
pub(super) fn fill_block(medium: &impl Medium, at: u64, key: &[u8], value: &[u8]) {
    medium.store(at, key.len() as u64 | (value.len() as u64) << 32);
    medium.write(at + BLOCK_HEAD as u64, key);
    medium.write(at + (BLOCK_HEAD + key.len()) as u64, value);
}

/// Key and value of a block. Blocks never change while somebody who is pinned can reach them.
///
/// # Errors
/// [`IndexError::Damaged`] where no block can lie there.
#[inline]
pub(super) fn block<M: Medium>(pool: &Pool<M>, at: u64) -> Result<(&[u8], &[u8]), IndexError> {
    let medium = pool.medium();
    let bytes = medium.bytes() as u64;
    let damaged = |what: &str| IndexError::Damaged { what: format!("the block at {at:#x} {what}") };
    if at == 0 || at % 8 != 0 || at + BLOCK_HEAD as u64 > bytes {
        return Err(damaged("cannot be: no block begins there"));
    }
    let lengths = medium.load(at);
    let (key, value) = ((lengths & 0xFFFF_FFFF) as usize, (lengths >> 32) as usize);
    let too_long = key > KEY_BYTES_AT_MOST || value > VALUE_BYTES_AT_MOST;
    if too_long || at + (BLOCK_HEAD + key + value) as u64 > bytes {
        return Err(damaged(&format!("says that it has {key} bytes of key and {value} of value")));
    }
    let start = at + BLOCK_HEAD as u64;
    medium.reads(start, key + value);
    // SAFETY: in bounds as checked; a block is written before it is linked and not changed before its readers are gone.
    Ok(unsafe {
        (
            std::slice::from_raw_parts(medium.at(start, key), key),
            std::slice::from_raw_parts(medium.at(start + key as u64, value), value),
        )
    })
}

/// Order of a probe and a key whose head is known: the rest is only looked at where heads are equal.
#[inline(always)]
pub(super) fn order<'k>(probe: &Probe<'_>, head: u64, key: impl FnOnce() -> &'k [u8]) -> Ordering {
    probe.head.cmp(&head).then_with(|| probe.key.cmp(key()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn heads_order_as_keys_do(one in prop::collection::vec(0u8..3, 1..12), other in prop::collection::vec(0u8..3, 1..12)) {
            let probe = Probe::any(&one).unwrap();
            prop_assert_eq!(order(&probe, head_of(&other), || &other), one.cmp(&other));
        }
    }

    #[test]
    fn lengths_are_bounded() {
        assert!(matches!(Probe::word(b"short"), Err(IndexError::NotAWord { bytes: 5, .. })));
        assert!(matches!(Probe::any(b""), Err(IndexError::KeyLength { bytes: 0, .. })));
        assert!(matches!(Probe::any(&[0; 1025]), Err(IndexError::KeyLength { bytes: 1025, .. })));
        assert!(Probe::any(&[0; 1024]).is_ok() && check_value(&[0; VALUE_BYTES_AT_MOST + 1]).is_err());
    }
}
