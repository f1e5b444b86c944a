//! Bits of a word.

/// The word may not be durable yet.
pub const DIRTY: u64 = 1 << 61;
/// Bits that are not the user's.
pub const CONTROL: u64 = 7 << 61;
const OWNED: u64 = 1 << 63;
const CONDITIONAL: u64 = 1 << 62;

const ATTEMPT_AT: u32 = 29;
const HELPER_AT: u32 = 19;
const ENTRY_AT: u32 = 16;
/// Helpers that can be told apart.
pub(super) const HELPERS: usize = 1 << (ATTEMPT_AT - HELPER_AT);
/// Sequences wrap after so many operations of one descriptor.
pub(super) const SEQUENCES: u64 = 1 << 45;

/// What a word holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordContent {
    /// A value, durable or about to be.
    Value,
    /// A value that may not be durable.
    Unsettled,
    /// An operation owns it.
    Owned { index: u16, sequence: u64 },
    /// A helper of an operation is about to.
    Conditional { index: u16, entry: usize },
}

#[inline(always)]
pub(super) fn content(word: u64) -> WordContent {
    if word & CONTROL == 0 {
        WordContent::Value
    } else if word & OWNED != 0 {
        WordContent::Owned { index: word as u16, sequence: word >> 16 & (SEQUENCES - 1) }
    } else if word & CONDITIONAL != 0 {
        WordContent::Conditional { index: word as u16, entry: (word >> ENTRY_AT & 7) as usize }
    } else {
        WordContent::Unsettled
    }
}

/// The pointer of an operation that owns a word.
pub(super) fn owned(index: u16, sequence: u64) -> u64 {
    OWNED | sequence << 16 | u64::from(index)
}

/// The pointer of one attempt of a helper to make an operation own a word. It comes again after 2^32 attempts of that
/// helper, all of which would have to happen between two instructions of another one.
pub(super) fn conditional(index: u16, entry: usize, helper: u16, attempt: u32) -> u64 {
    CONDITIONAL
        | u64::from(attempt) << ATTEMPT_AT
        | u64::from(helper) << HELPER_AT
        | (entry as u64) << ENTRY_AT
        | u64::from(index)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pointers_are_read_as_they_were_made(
            index: u16, sequence in 0..SEQUENCES, entry in 0usize..4, helper in 0u16..HELPERS as u16, attempt: u32,
        ) {
            prop_assert_eq!(content(owned(index, sequence)), WordContent::Owned { index, sequence });
            let pointer = conditional(index, entry, helper, attempt);
            prop_assert_eq!(content(pointer), WordContent::Conditional { index, entry });
            prop_assert_ne!(pointer, conditional(index, entry, helper, attempt.wrapping_add(1)));
            prop_assert_eq!(pointer & DIRTY, 0);
        }
    }

    #[test]
    fn values_are_told_from_pointers() {
        assert_eq!(content(u64::MAX >> 3), WordContent::Value);
        assert_eq!(content(DIRTY | 5), WordContent::Unsettled);
    }
}
