//! The word that says what a record is, and whether it is there.

use crate::pmwcas::DIRTY;

/// No thread changes the word any more: its node is being replaced. Alone, in a free place of the tail, it is the end.
pub(super) const SEALED: u64 = 1 << 60;
const LIVE: u64 = 1 << 59;
const IN_WORD: u64 = 1 << 58;
const PRINT_AT: u32 = 44;
const PRINT_MASK: u64 = 0x3fff;
const VALUE_AT: u32 = 29;
const KEY_AT: u32 = 18;
const OFFSET_BITS: u32 = KEY_AT;
/// Values of eight bytes below this change where they are, as their word has room for `DIRTY` and `SEALED`.
pub(super) const WORD_VALUES: u64 = SEALED;

/// A record's word.
///
/// ```text
/// 61 dirty | 60 sealed | 59 live | 58 value in a word | print 14 | value bytes 15 | key bytes 11 | offset 18, words
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Meta(pub(super) u64);

/// Bits that the print takes.
pub(super) const PRINT: u64 = PRINT_MASK << PRINT_AT;

/// The bits of a print.
#[inline(always)]
pub(super) fn print_bits(print: u16) -> u64 {
    (u64::from(print) & PRINT_MASK) << PRINT_AT
}

impl Meta {
    pub(super) fn live(print: u16, in_word: bool, value_bytes: usize, key_bytes: usize, offset: usize) -> Self {
        let word = if in_word { IN_WORD } else { 0 };
        let lengths = (value_bytes as u64) << VALUE_AT | (key_bytes as u64) << KEY_AT;
        Self(LIVE | word | print_bits(print) | lengths | offset as u64)
    }

    /// The same record with its value elsewhere in the node.
    pub(super) fn at(self, offset: usize) -> Self {
        Self(self.0 & !((1 << OFFSET_BITS) - 1) | offset as u64)
    }

    pub(super) fn dead(self) -> Self {
        Self(self.0 & !LIVE)
    }

    #[inline(always)]
    pub(super) fn is_live(self) -> bool {
        self.0 & LIVE != 0
    }

    #[inline(always)]
    pub(super) fn is_dirty(self) -> bool {
        self.0 & DIRTY != 0
    }

    pub(super) fn is_sealed(self) -> bool {
        self.0 & SEALED != 0
    }

    /// Where no record begins any more.
    pub(super) fn is_end(self) -> bool {
        self.0 & !SEALED == 0
    }

    #[inline(always)]
    pub(super) fn value_in_word(self) -> bool {
        self.0 & IN_WORD != 0
    }

    #[inline(always)]
    pub(super) fn value_bytes(self) -> usize {
        (self.0 >> VALUE_AT & 0x7fff) as usize
    }

    pub(super) fn value_words(self) -> usize {
        self.value_bytes().div_ceil(8)
    }

    #[inline(always)]
    pub(super) fn key_bytes(self) -> usize {
        (self.0 >> KEY_AT & 0x7ff) as usize
    }

    /// Bytes of the key beyond its head.
    #[inline(always)]
    pub(super) fn rest_bytes(self) -> usize {
        self.key_bytes().saturating_sub(super::key::HEAD_BYTES)
    }

    /// Words of value and rest.
    pub(super) fn data_words(self) -> usize {
        self.value_words() + self.rest_bytes().div_ceil(8)
    }

    /// Where the value begins: words from the node's beginning.
    #[inline(always)]
    pub(super) fn offset(self) -> usize {
        (self.0 & ((1 << OFFSET_BITS) - 1)) as usize
    }

    /// Without what other threads have to say about it.
    pub(super) fn plain(self) -> Self {
        Self(self.0 & !(DIRTY | SEALED))
    }
}

/// The word of a value of eight bytes, if it leaves room.
#[inline(always)]
pub(super) fn word_value(value: &[u8]) -> Option<u64> {
    let word = u64::from_le_bytes(*<&[u8; 8]>::try_from(value).ok()?);
    (word < WORD_VALUES).then_some(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_are_kept_apart(
            print: u16, in_word: bool, value in 0usize..16385, key in 1usize..1025, offset in 0usize..1 << 18,
        ) {
            let meta = Meta::live(print, in_word, value, key, offset);
            prop_assert!(meta.is_live() && !meta.is_dirty() && !meta.is_sealed() && !meta.is_end());
            prop_assert_eq!((meta.0 & PRINT, meta.value_in_word()), (print_bits(print), in_word));
            prop_assert_eq!((meta.value_bytes(), meta.key_bytes(), meta.offset()), (value, key, offset));
            prop_assert!(!meta.dead().is_live() && !meta.dead().is_end());
            prop_assert_eq!(Meta(meta.0 | DIRTY | SEALED).plain(), meta);
            prop_assert_eq!(meta.at(5).offset(), 5);
        }
    }

    #[test]
    fn values_that_leave_no_room_for_bits_are_no_words() {
        assert!(word_value(&[0xff, 0, 0, 0, 0, 0, 0, 0x0f]).is_some());
        assert!(word_value(&[0, 0, 0, 0, 0, 0, 0, 0x10]).is_none());
        assert!(word_value(&[1; 7]).is_none());
    }
}
