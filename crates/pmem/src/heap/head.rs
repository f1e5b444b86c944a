//! The word that says what a chunk holds.

use crate::{class::Class, error::PmemError, geometry::Geometry, medium::Medium};

/// Upper 16 bits of a head that is not free: a word of something else is not taken for one.
const TAG: u64 = 0xA55A << 48;
const SLAB: u64 = 1;
const LARGE: u64 = 2;

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// Nothing.
    Free,
    /// Blocks of one size.
    Slab(Class),
    /// The beginning of a block of that many chunks; the heads of the others stay 0.
    Large(u64),
}

impl Head {
    pub(crate) fn encode(self) -> u64 {
        match self {
            Self::Free => 0,
            Self::Slab(class) => TAG | (class.index() as u64) << 8 | SLAB,
            Self::Large(chunks) => TAG | chunks << 8 | LARGE,
        }
    }

    /// # Errors
    /// Where the word is no head, or its block would reach beyond the pool.
    pub(crate) fn read(medium: &impl Medium, geometry: &Geometry, chunk: u64) -> Result<Self, PmemError> {
        let word = medium.load(geometry.head(chunk));
        Self::decode(word, geometry.chunks - chunk).ok_or_else(|| {
            let at = geometry.head(chunk);
            PmemError::Damaged { what: format!("the head of chunk {chunk}, at {at:#x}, is {word:#018x}") }
        })
    }

    fn decode(word: u64, left: u64) -> Option<Self> {
        let value = (word & !TAG) >> 8;
        match (word, word & 0xff) {
            (0, _) => Some(Self::Free),
            _ if word & (0xffff << 48) != TAG => None,
            (_, SLAB) => Class::from_index(value).map(Self::Slab),
            (_, LARGE) if value != 0 && value <= left => Some(Self::Large(value)),
            _ => None,
        }
    }

    /// How many chunks it stands for.
    pub(crate) fn chunks(self) -> u64 {
        match self {
            Self::Free | Self::Slab(_) => 1,
            Self::Large(chunks) => chunks,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn heads_are_read_as_they_were_written() {
        let class = Class::of(100).unwrap();
        for head in [Head::Free, Head::Slab(class), Head::Large(1), Head::Large(1 << 32)] {
            assert_eq!(Head::decode(head.encode(), 1 << 33), Some(head));
        }
        assert_eq!(Head::decode(Head::Large(5).encode(), 4), None, "it would reach beyond the pool");
        assert_eq!(Head::decode(TAG | 200 << 8 | SLAB, 4), None, "there is no such class");
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_such_a_head_is_written_as(word: u64, left in 1u64..1 << 32) {
            if let Some(head) = Head::decode(word, left) {
                prop_assert_eq!(head.encode(), word);
            }
        }
    }
}
