//! Keys, compared by their first eight bytes and by the rest where it must be.

use std::cmp::Ordering;

/// Bytes of a key that lie in its head.
pub(super) const HEAD_BYTES: usize = 8;

/// A key that is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<'k> {
    /// Its first bytes as a number of which the order is theirs; zeros where there are fewer.
    pub(super) head: u64,
    pub(super) bytes: &'k [u8],
}

impl<'k> Key<'k> {
    #[inline(always)]
    pub(super) fn new(bytes: &'k [u8]) -> Self {
        Self { head: head(bytes), bytes }
    }

    #[inline(always)]
    pub(super) fn rest(&self) -> &'k [u8] {
        self.bytes.get(HEAD_BYTES..).unwrap_or(&[])
    }

    /// Bits by which records in an unsorted tail are told apart.
    #[inline(always)]
    pub(super) fn print(&self) -> u16 {
        let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        let sum = mix(self.bytes.len() as u64, self.head);
        let sum = self.rest().chunks(8).fold(sum, |sum, chunk| mix(sum, head(chunk)));
        (sum.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16
    }

    /// How it stands to a stored key.
    pub(super) fn order(&self, head: u64, length: usize, rest: &[u8]) -> Ordering {
        order((self.head, self.bytes.len(), self.rest()), (head, length, rest))
    }
}

#[inline(always)]
fn head(bytes: &[u8]) -> u64 {
    if let Some(whole) = bytes.first_chunk::<HEAD_BYTES>() {
        return u64::from_be_bytes(*whole);
    }
    let mut padded = [0; HEAD_BYTES];
    padded[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(padded)
}

/// Order of two keys by head, length and rest. Where heads agree and one key has no rest, it is a beginning of the other
/// one, up to zeros that the other one has more: the shorter one comes first.
pub(super) fn order(one: (u64, usize, &[u8]), other: (u64, usize, &[u8])) -> Ordering {
    one.0.cmp(&other.0).then_with(|| one.2.cmp(other.2)).then_with(|| one.1.cmp(&other.1))
}

/// A key that tells two neighbouring nodes apart: the right one holds what is not below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Separator {
    pub(super) head: u64,
    pub(super) length: usize,
    pub(super) rest: Vec<u8>,
}

impl Separator {
    /// Before the first node there is none.
    pub(super) const LOWEST: Self = Self { head: 0, length: 0, rest: Vec::new() };

    /// The shortest beginning of `right` that is above `left`, but no less than a head.
    pub(super) fn between(left: &[u8], right: &[u8]) -> Self {
        let common = left.iter().zip(right).take_while(|(one, other)| one == other).count();
        let key = Key::new(&right[..right.len().min(HEAD_BYTES.max(common + 1))]);
        Self { head: key.head, length: key.bytes.len(), rest: key.rest().to_vec() }
    }

    pub(super) fn bytes(&self, into: &mut Vec<u8>) {
        into.clear();
        into.extend_from_slice(&self.head.to_be_bytes()[..self.length.min(HEAD_BYTES)]);
        into.extend_from_slice(&self.rest);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some_key() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 1..14)
    }

    proptest! {
        #[test]
        fn keys_are_ordered_as_their_bytes(one in some_key(), other in some_key()) {
            let (a, b) = (Key::new(&one), Key::new(&other));
            prop_assert_eq!(a.order(b.head, other.len(), b.rest()), one.cmp(&other));
        }

        #[test]
        fn a_separator_is_above_the_left_and_not_above_the_right(one in some_key(), other in some_key()) {
            prop_assume!(one < other);
            let mut bytes = Vec::new();
            Separator::between(&one, &other).bytes(&mut bytes);
            prop_assert!(one < bytes && bytes <= other, "{:?}", bytes);
        }
    }
}
