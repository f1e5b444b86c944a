//! A leaf: records in sorted order, and a tail of those that came later.
//!
//! ```text
//! 0        status: frozen 1 (bit 60) | records 16 | delete size 20 | block size 20, both in words
//! 1        shape
//! 8        tail: a meta word per place; the first zero is where the next record goes
//! 8+t      heads of the sorted records
//! 8+t+n    sorted records: meta word, and the value where it fits and the key has no rest
//!          data: value, rest of the key; of what came later with the head before it
//! ```

use assay_pmem::{Medium, PmemError};

use super::{
    key::{HEAD_BYTES, Key},
    meta::{Meta, PRINT, print_bits},
    node::{FROZEN, HEADER, Node},
};
use crate::pmwcas::settle;

const STATUS_BITS: u32 = 20;
const STATUS_MASK: u64 = (1 << STATUS_BITS) - 1;

/// The word that says how full a leaf is. Only `frozen` and the block size decide anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeafStatus(pub(super) u64);

impl LeafStatus {
    pub(super) fn new(block_words: usize) -> Self {
        Self(block_words as u64)
    }

    pub(super) fn is_frozen(self) -> bool {
        self.0 & FROZEN != 0
    }

    /// Words in use, header included: where free space begins.
    pub(super) fn block_words(self) -> usize {
        (self.0 & STATUS_MASK) as usize
    }

    /// Words of records that are gone.
    pub(super) fn deleted_words(self) -> usize {
        (self.0 >> STATUS_BITS & STATUS_MASK) as usize
    }

    /// Places of the tail that were asked for.
    pub(super) fn records(self) -> usize {
        (self.0 >> (2 * STATUS_BITS) & 0xffff) as usize
    }

    pub(super) fn reserved(self, words: usize, records: usize) -> Self {
        let records = (self.records() + records).min(0xffff) as u64;
        Self(self.0 & FROZEN | records << (2 * STATUS_BITS) | self.0 & STATUS_MASK << STATUS_BITS)
            .with_block(self.block_words() + words)
    }

    pub(super) fn deleted(self, words: usize) -> Self {
        let words = (self.deleted_words() + words).min(STATUS_MASK as usize) as u64;
        Self(self.0 & !(STATUS_MASK << STATUS_BITS) | words << STATUS_BITS)
    }

    fn with_block(self, words: usize) -> Self {
        Self(self.0 & !STATUS_MASK | words as u64)
    }
}

/// A record's word, where it lies and what it was when it was looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) word: usize,
    pub(super) meta: Meta,
}

/// What a search through the tail found.
#[derive(Debug)]
pub(super) enum TailSearch {
    /// The key, live.
    Found(Slot),
    /// Not the key; the place after the last record.
    Ends(usize),
}

/// A leaf where it lies.
#[derive(Debug)]
pub(super) struct Leaf<'m, M>(pub(super) Node<'m, M>);

impl<M> Clone for Leaf<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Leaf<'_, M> {}

impl<'m, M: Medium> Leaf<'m, M> {
    pub(super) fn status(&self) -> LeafStatus {
        LeafStatus(self.0.load(0))
    }

    pub(super) fn tail_end(&self) -> usize {
        HEADER + self.0.shape.tail
    }

    fn heads(&self) -> usize {
        self.tail_end()
    }

    /// The meta word of a sorted record.
    pub(super) fn sorted(&self, index: usize) -> usize {
        self.tail_end() + self.0.shape.count + 2 * index
    }

    pub(super) fn meta(&self, word: usize) -> Meta {
        Meta(self.0.load(word))
    }

    /// The live record of a key. Whatever the answer rests on is durable.
    ///
    /// # Errors
    /// Where the leaf is damaged.
    #[inline(always)]
    pub(super) fn find(&self, key: &Key<'_>) -> Result<Option<Slot>, PmemError> {
        if let Some(slot) = self.find_sorted(key)? {
            return Ok(Some(slot));
        }
        match self.find_in_tail(key, HEADER)? {
            TailSearch::Found(slot) => Ok(Some(slot)),
            TailSearch::Ends(_) => Ok(None),
        }
    }

    /// The live record of a key among the sorted ones.
    #[inline(always)]
    pub(super) fn find_sorted(&self, key: &Key<'_>) -> Result<Option<Slot>, PmemError> {
        let count = self.0.shape.count;
        let mut index = self.0.search(self.heads(), count, key.head, false);
        while index < count && self.0.load(self.heads() + index) == key.head {
            let slot = Slot { word: self.sorted(index), meta: self.meta(self.sorted(index)) };
            if self.rest_is(slot.meta, key)? {
                self.settle(slot);
                return Ok(slot.meta.is_live().then_some(slot));
            }
            index += 1;
        }
        Ok(None)
    }

    /// The first sorted record that is not below a key; their count where all are.
    ///
    /// # Errors
    /// Where the leaf is damaged.
    pub(super) fn first_not_below(&self, key: &Key<'_>) -> Result<usize, PmemError> {
        let count = self.0.shape.count;
        let mut index = self.0.search(self.heads(), count, key.head, false);
        while index < count && self.sorted_head(index) == key.head {
            let meta = self.meta(self.sorted(index));
            if key.order(key.head, meta.key_bytes(), self.rest(meta)?).is_le() {
                break;
            }
            index += 1;
        }
        Ok(index)
    }

    /// The live record of a key in the tail, from a place on.
    #[inline(always)]
    pub(super) fn find_in_tail(&self, key: &Key<'_>, from: usize) -> Result<TailSearch, PmemError> {
        let wanted = print_bits(key.print());
        for word in from..self.tail_end() {
            let meta = self.meta(word);
            if meta.is_end() {
                return Ok(TailSearch::Ends(word));
            }
            if (meta.0 ^ wanted) & PRINT == 0 && self.tail_head(meta) == key.head && self.rest_is(meta, key)? {
                let slot = Slot { word, meta };
                self.settle(slot);
                if meta.is_live() {
                    return Ok(TailSearch::Found(slot));
                }
            }
        }
        Ok(TailSearch::Ends(self.tail_end()))
    }

    /// The head of a record that came later.
    pub(super) fn tail_head(&self, meta: Meta) -> u64 {
        self.0.load(meta.offset().wrapping_sub(1))
    }

    /// The head of a sorted record.
    pub(super) fn sorted_head(&self, index: usize) -> u64 {
        self.0.load(self.heads() + index)
    }

    /// Whether a record whose head is the key's has its other bytes too.
    #[inline(always)]
    fn rest_is(&self, meta: Meta, key: &Key<'_>) -> Result<bool, PmemError> {
        if meta.key_bytes() != key.bytes.len() {
            return Ok(false);
        }
        Ok(key.bytes.len() <= HEAD_BYTES || self.rest(meta)? == key.rest())
    }

    /// Bytes of a record's key beyond its head.
    pub(super) fn rest(&self, meta: Meta) -> Result<&'m [u8], PmemError> {
        match meta.rest_bytes() {
            0 => Ok(&[]),
            bytes => self.0.bytes(meta.offset() + meta.value_words(), bytes),
        }
    }

    /// Appends a record's value; whatever it rests on is durable.
    ///
    /// # Errors
    /// Where the leaf is damaged.
    #[inline(always)]
    pub(super) fn value(&self, meta: Meta, into: &mut Vec<u8>) -> Result<(), PmemError> {
        if meta.value_in_word() {
            into.extend_from_slice(&self.word_value(meta).to_le_bytes());
        } else {
            into.extend_from_slice(self.0.bytes(meta.offset(), meta.value_bytes())?);
        }
        Ok(())
    }

    /// A value that changes where it is.
    #[inline(always)]
    pub(super) fn word_value(&self, meta: Meta) -> u64 {
        self.settled(meta.offset()).0
    }

    /// Makes a word durable that may not be.
    #[inline(always)]
    pub(super) fn settle(&self, slot: Slot) {
        if slot.meta.is_dirty() {
            settle(self.0.medium, self.0.place(slot.word), slot.meta.0);
        }
    }

    /// A meta word that is durable, without what other threads have to say about it.
    #[inline(always)]
    pub(super) fn settled(&self, word: usize) -> Meta {
        let slot = Slot { word, meta: self.meta(word) };
        self.settle(slot);
        slot.meta.plain()
    }

    /// Flushes what is not durable of the tail between two places; whether there was anything. Records become durable in
    /// the order of their places that way, so that there are no holes after a crash.
    pub(super) fn flush_tail(&self, from: usize, to: usize) -> bool {
        let mut any = false;
        for word in from..to {
            if self.meta(word).is_dirty() {
                self.0.medium.flush(self.0.place(word), 8); // earlier record of the tail
                any = true;
            }
        }
        any
    }

    /// Meta words of all records, in the order in which they lie.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + use<'_, 'm, M> {
        let sorted = (0..self.0.shape.count).map(|index| self.sorted(index));
        let slot = |word| Slot { word, meta: self.meta(word) };
        let tail = (HEADER..self.tail_end()).map(slot).take_while(|slot| !slot.meta.is_end());
        sorted.map(slot).chain(tail)
    }

    /// Words that a record takes.
    pub(super) fn record_words(&self, slot: Slot) -> usize {
        2 + slot.meta.data_words()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_keeps_its_parts_apart() {
        let status = LeafStatus::new(100).reserved(7, 1).deleted(30).reserved(0xfff, 2).deleted(12);
        assert_eq!((status.block_words(), status.records(), status.deleted_words()), (100 + 7 + 0xfff, 3, 42));
        assert!(!status.is_frozen());
        let frozen = LeafStatus(status.0 | FROZEN);
        assert_eq!((frozen.block_words(), frozen.records(), frozen.deleted_words()), (100 + 7 + 0xfff, 3, 42));
        assert!(frozen.reserved(1, 1).is_frozen() && frozen.deleted(1).is_frozen());
        assert_eq!(status.deleted(1 << 30).deleted_words(), (1 << 20) - 1, "it stops at its largest");
    }
}
