//! A bucket: one block of the media.
//!
//! ```text
//! word 0      head: which slots hold records, and all else that must change with that in one store
//! words 1, 2  fingerprints: bytes 0 to 13 of the slots, 14 and 15 of two records of this bucket that overflowed
//! word 3      lock: stamp, version, locked
//! words 4..   14 records of key and value
//! ```
//!
//! The head, bit by bit:
//!
//! ```text
//! 0..14   slots in use                        14..16  overflow fingerprints in use
//! 16..30  of them, guests: at home one bucket before
//! 32..46  of them, entries by pointer         46..50  the two overflowed records' stash buckets
//! 50..61  witness of the newest record        61..64  other records of this bucket that overflowed; 7: many
//! ```
//!
//! **The witness** saves a fence. A new record and the head that shows it lie in two lines, which may become durable in
//! either order if no fence stands between them. So the head names the slot, and one bit of the new key that differs
//! from the key that the slot held before. Both keys are durable or not as whole words, so after a crash that bit says
//! which of them is there: the old one means that the record was lost, and that its insertion was never acknowledged.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Slots of a bucket.
pub(super) const SLOTS: usize = 14;
/// Bytes of a bucket.
pub(super) const BUCKET_BYTES: u64 = 256;
/// Words of a bucket.
pub(super) const WORDS: usize = 32;
/// Where its lock lies.
pub(super) const LOCK: u64 = 24;
/// Words before the records.
pub(super) const HEAD_WORDS: usize = 4;

/// The words of a bucket.
pub(super) type Words = [AtomicU64; WORDS];

/// Words of a line of the caches.
pub(super) const LINE_WORDS: usize = 8;
/// Slots of the line that the head lies in, and of each of the others.
const FIRST_SLOTS: usize = 2;
const LINE_SLOTS: usize = 4;

const ALL: u64 = (1 << SLOTS) - 1;
const MANY: u64 = 7;

/// The first word of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BucketHead(pub(super) u64);

/// A record as it lies in a slot: the key itself and its value, or the key's hash and where the entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) key: u64,
    pub(super) value: u64,
    pub(super) pointer: bool,
}

impl BucketHead {
    /// Slots in use, and the two overflow fingerprints in use above them.
    #[inline(always)]
    pub(super) fn in_use(self) -> u32 {
        self.0 as u32 & 0xffff
    }

    #[inline(always)]
    pub(super) fn slots(self) -> u32 {
        (self.0 & ALL) as u32
    }

    #[inline(always)]
    pub(super) fn guests(self) -> u32 {
        (self.0 >> 16 & ALL) as u32
    }

    #[inline(always)]
    pub(super) fn pointers(self) -> u32 {
        (self.0 >> 32 & ALL) as u32
    }

    #[inline(always)]
    pub(super) fn count(self) -> u32 {
        self.slots().count_ones()
    }

    /// A free slot for a key of this fingerprint: beside the head, in the key's own line, or anywhere.
    #[inline(always)]
    pub(super) fn free_slot(self, fingerprint: u8) -> Option<usize> {
        let free = !self.slots() & ALL as u32;
        let line = ((1 << LINE_SLOTS) - 1) << (FIRST_SLOTS + LINE_SLOTS * (home_line(fingerprint) - 1));
        let near = free & (line | ((1 << FIRST_SLOTS) - 1));
        lowest(if near == 0 { free } else { near })
    }

    #[inline(always)]
    pub(super) fn is_pointer(self, slot: usize) -> bool {
        self.0 >> (32 + slot) & 1 == 1
    }

    #[inline(always)]
    pub(super) fn is_guest(self, slot: usize) -> bool {
        self.guests() >> slot & 1 == 1
    }

    /// With a record more, whose durability the witness vouches for.
    #[inline(always)]
    pub(super) fn with(self, slot: usize, guest: bool, pointer: bool, witness: Witness) -> Self {
        let bits = 1 | u64::from(guest) << 16 | u64::from(pointer) << 32;
        Self(self.without(slot).0 & !Witness::MASK | bits << slot | witness.0)
    }

    #[inline(always)]
    pub(super) fn without(self, slot: usize) -> Self {
        Self(self.0 & !((1 | 1 << 16 | 1 << 32) << slot))
    }

    /// The same record by pointer, or not any more.
    pub(super) fn with_kind(self, slot: usize, pointer: bool) -> Self {
        self.with(slot, self.is_guest(slot), pointer, Witness::NONE)
    }

    pub(super) fn witness(self) -> Witness {
        Witness(self.0 & Witness::MASK)
    }

    pub(super) fn without_witness(self) -> Self {
        Self(self.0 & !Witness::MASK)
    }

    /// Records of this bucket that lie elsewhere and have no fingerprint here.
    #[inline(always)]
    pub(super) fn others(self) -> u64 {
        self.0 >> 61
    }

    /// Whether a record of this bucket can lie in a stash.
    #[inline(always)]
    pub(super) fn has_overflow(self) -> bool {
        self.0 & (3 << 14 | MANY << 61) != 0
    }

    /// Notes a record of this bucket that overflowed into a stash bucket, or into a chain. Answers which of the two
    /// fingerprints is its own, if one is.
    pub(super) fn with_overflow(self, stash: Option<u64>) -> (Self, Option<usize>) {
        let free = (0..2).find(|&index| self.0 >> (14 + index) & 1 == 0);
        match (stash.filter(|&stash| stash < 4), free) {
            (Some(stash), Some(index)) => {
                let place = 46 + 2 * index;
                (Self(self.0 & !(3 << place) | stash << place | 1 << (14 + index)), Some(index))
            }
            _ => (Self(self.0 & !(MANY << 61) | (self.others() + 1).min(MANY) << 61), None),
        }
    }

    /// Forgets one, which had a fingerprint or not. Where many have none they are not counted any more.
    pub(super) fn without_overflow(self, index: Option<usize>) -> Self {
        match index {
            Some(index) => Self(self.0 & !(1 << (14 + index))),
            None if self.others() == MANY || self.others() == 0 => self,
            None => Self(self.0 & !(MANY << 61) | (self.others() - 1) << 61),
        }
    }

    /// Where the record of an overflow fingerprint lies.
    pub(super) fn stash_of(self, index: usize) -> u64 {
        self.0 >> (46 + 2 * index) & 3
    }

    pub(super) fn without_any_overflow(self) -> Self {
        Self(self.0 & !(3 << 14 | 15 << 46 | MANY << 61))
    }
}

/// Tells a record that arrived from one that did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Witness(u64);

impl Witness {
    /// Nobody vouches: the record was durable before the head.
    pub(super) const NONE: Self = Self(0);
    const MASK: u64 = 0x7ff << 50;

    /// For a key in a slot that held another one. None where both are the same: then nothing tells them apart.
    #[inline(always)]
    pub(super) fn of(slot: usize, before: u64, key: u64) -> Option<Self> {
        let different = before ^ key;
        let bit = u64::from(different.trailing_zeros() & 63);
        (different != 0).then_some(Self((slot as u64 + 1) << 50 | bit << 54 | (key >> bit & 1) << 60))
    }

    /// The slot that it speaks of.
    pub(super) fn slot(self) -> Option<usize> {
        (self.0 >> 50 & 15).checked_sub(1).map(|slot| slot as usize)
    }

    /// Whether the key that is there is the one that was to be.
    pub(super) fn confirms(self, key: u64) -> bool {
        key >> (self.0 >> 54 & 63) & 1 == self.0 >> 60 & 1
    }
}

/// The line of a bucket, of those behind the first, in which a key of this fingerprint lies where there was room: it can be
/// asked for before the head is read.
#[inline(always)]
fn home_line(fingerprint: u8) -> usize {
    1 + ((usize::from(fingerprint) * 3) >> 8)
}

/// The first word of that line.
#[inline(always)]
pub(super) fn home_word(fingerprint: u8) -> usize {
    home_line(fingerprint) * LINE_WORDS
}

/// The lowest bit that is set.
#[inline(always)]
pub(super) fn lowest(mask: u32) -> Option<usize> {
    (mask != 0).then(|| mask.trailing_zeros() as usize)
}

/// Slots, and above them overflow fingerprints, whose fingerprint is this one; in use or not.
#[inline(always)]
pub(super) fn matches(words: &Words, fingerprint: u8) -> u32 {
    let (low, high) = (words[1].load(Relaxed), words[2].load(Relaxed));
    equal_bytes(low, high, fingerprint)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn equal_bytes(low: u64, high: u64, byte: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    // SAFETY: every x86-64 has SSE2.
    unsafe {
        let all = _mm_set_epi64x(high as i64, low as i64);
        _mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_set1_epi8(byte as i8))) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn equal_bytes(low: u64, high: u64, byte: u8) -> u32 {
    equal_bytes_by_words(low, high, byte)
}

/// Without vector instructions.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn equal_bytes_by_words(low: u64, high: u64, byte: u8) -> u32 {
    let bytes = low.to_le_bytes().into_iter().chain(high.to_le_bytes());
    bytes.enumerate().fold(0, |mask, (index, other)| mask | u32::from(other == byte) << index)
}

/// The fingerprint word that holds a slot's (or an overflow's) byte, with that byte changed.
#[inline(always)]
pub(super) fn with_fingerprint(words: &Words, index: usize, fingerprint: u8) -> (usize, u64) {
    let (word, shift) = (1 + index / 8, index % 8 * 8);
    let before = words[word].load(Relaxed);
    (word, before & !(0xff << shift) | u64::from(fingerprint) << shift)
}

/// Which word the key of a slot is; the value follows.
#[inline(always)]
pub(super) fn key_word(slot: usize) -> usize {
    (HEAD_WORDS + slot * 2) & (WORDS - 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn vectors_and_words_agree(low: u64, high: u64, byte: u8) {
            prop_assert_eq!(equal_bytes(low, high, byte), equal_bytes_by_words(low, high, byte));
            prop_assert_eq!(equal_bytes(low, high, low as u8) & 1, 1);
        }

        #[test]
        fn a_witness_confirms_the_new_key_and_not_the_old_one(slot in 0usize..SLOTS, before: u64, key: u64) {
            match Witness::of(slot, before, key) {
                None => prop_assert_eq!(before, key),
                Some(witness) => {
                    prop_assert_eq!(witness.slot(), Some(slot));
                    prop_assert!(witness.confirms(key) && !witness.confirms(before));
                    let head = BucketHead(0).with(slot, true, false, witness);
                    prop_assert_eq!(head.witness(), witness);
                    prop_assert_eq!((head.slots(), head.guests(), head.pointers()), (1 << slot, 1 << slot, 0));
                }
            }
        }

        #[test]
        fn a_head_agrees_with_a_model(fingerprint: u8, steps in proptest::collection::vec((0u8..5, 0usize..SLOTS, any::<bool>()), 1..60)) {
            let (mut head, mut slots, mut overflow) = (BucketHead(0), [None; SLOTS], vec![]);
            for (step, slot, flag) in steps {
                match step {
                    0 => { head = head.with(slot, flag, !flag, Witness::NONE); slots[slot] = Some(flag); }
                    1 => { head = head.without(slot); slots[slot] = None; }
                    2 | 3 => {
                        let (after, index) = head.with_overflow((step == 2).then_some(slot as u64 % 4));
                        head = after;
                        overflow.push((index, slot as u64 % 4));
                    }
                    _ if !overflow.is_empty() => {
                        let (index, _) = overflow.swap_remove(slot % overflow.len());
                        head = head.without_overflow(index);
                    }
                    _ => {}
                }
                for (slot, wanted) in slots.iter().enumerate() {
                    prop_assert_eq!(head.slots() >> slot & 1 == 1, wanted.is_some());
                    prop_assert_eq!(head.is_guest(slot), *wanted == Some(true));
                    prop_assert_eq!(head.is_pointer(slot), *wanted == Some(false));
                }
                let free = head.free_slot(fingerprint);
                prop_assert_eq!(free.is_none(), slots.iter().all(Option::is_some));
                if let Some(slot) = free {
                    let near = |slot: usize| slot < FIRST_SLOTS || key_word(slot) / LINE_WORDS == home_line(fingerprint);
                    prop_assert!(slots[slot].is_none());
                    prop_assert!(near(slot) || (0..SLOTS).all(|other| slots[other].is_some() || !near(other)));
                }
                for (index, stash) in &overflow {
                    prop_assert!(index.is_none_or(|index| head.stash_of(index) == *stash));
                }
                let others = overflow.iter().filter(|(index, _)| index.is_none()).count() as u64;
                prop_assert!(head.others() == others || head.others() == MANY, "{} {others}", head.others());
                prop_assert!(overflow.is_empty() || head.has_overflow());
            }
            prop_assert!(!head.without_any_overflow().has_overflow());
        }
    }
}
