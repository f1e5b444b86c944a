//! What a scan saw of one leaf, in order.

use std::cmp::Ordering;

use assay_pmem::{Medium, PmemError};

use super::{
    key::{HEAD_BYTES, Key, order},
    leaf::Leaf,
    meta::{Meta, SEALED},
    node::HEADER,
};
use crate::index::Visit;

/// A live record, as it was when it was looked at.
#[derive(Clone, Copy, Debug)]
struct LiveRecord {
    head: u64,
    /// Where its meta word lies.
    word: usize,
    meta: Meta,
    /// The value where it lies in a word.
    value: u64,
}

/// Entries of one leaf, as they were at one moment. Its space is used again and again, so that nothing is allocated.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    entries: Vec<LiveRecord>,
    /// Live records of the leaf's tail, in order.
    tail: Vec<LiveRecord>,
    /// Keys that are longer than a head and values that are no words, in the order of their entries.
    long: Vec<u8>,
    /// Where the scan goes on.
    pub(super) from: Vec<u8>,
}

impl Snapshot {
    /// Shows the entries; whether the visitor wants more.
    pub(super) fn show(&self, seen: &mut usize, visit: &mut Visit<'_>) -> bool {
        let mut long = &self.long[..];
        self.entries.iter().all(|entry| {
            *seen += 1;
            let (head, word) = (entry.head.to_be_bytes(), entry.value.to_le_bytes());
            let key_bytes = entry.meta.key_bytes();
            let key = if key_bytes <= HEAD_BYTES { &head[..key_bytes] } else { first(&mut long, key_bytes) };
            let value = if entry.meta.value_in_word() { &word } else { first(&mut long, entry.meta.value_bytes()) };
            visit(key, value)
        })
    }

    /// Collects the live records of the tail that the scan has not passed, in order; the tail's first free place.
    pub(super) fn collect_tail<M: Medium>(&mut self, leaf: &Leaf<'_, M>) -> Result<usize, PmemError> {
        let from = Key::new(&self.from);
        self.tail.clear();
        let mut word = HEADER;
        while word < leaf.tail_end() && !leaf.meta(word).is_end() {
            let meta = leaf.settled(word);
            let head = leaf.tail_head(meta);
            let passed =
                head < from.head || head == from.head && from.order(head, meta.key_bytes(), leaf.rest(meta)?).is_gt();
            if meta.is_live() && !passed {
                self.tail.push(LiveRecord { head, word, meta, value: 0 });
            }
            word += 1;
        }
        self.tail.sort_unstable_by(|one, other| one.order(other, leaf));
        Ok(word)
    }

    /// Puts sorted records from a place on and those of the tail into one order.
    pub(super) fn merge<M: Medium>(&mut self, leaf: &Leaf<'_, M>, first: usize, limit: usize) {
        self.entries.clear();
        let mut later = 0;
        for index in first..leaf.0.shape.count {
            let word = leaf.sorted(index);
            let meta = leaf.settled(word);
            if !meta.is_live() {
                continue;
            }
            let record = LiveRecord { head: leaf.sorted_head(index), word, meta, value: 0 };
            while later < self.tail.len() && self.tail[later].order(&record, leaf).is_lt() {
                self.take(leaf, self.tail[later]);
                later += 1;
            }
            self.take(leaf, record);
            if self.entries.len() >= limit {
                break;
            }
        }
        while later < self.tail.len() && self.entries.len() < limit {
            self.take(leaf, self.tail[later]);
            later += 1;
        }
        self.entries.truncate(limit);
    }

    #[inline(always)]
    fn take<M: Medium>(&mut self, leaf: &Leaf<'_, M>, record: LiveRecord) {
        let value = if record.meta.value_in_word() { leaf.word_value(record.meta) } else { 0 };
        self.entries.push(LiveRecord { value, ..record });
    }

    /// Whether all entries are still what they were, and nothing came into the tail: then they all were so at one moment,
    /// between the two looks, as no meta word ever comes back to what it was, and what is gone stays gone. Of a value that
    /// lies in a word, others may have been there between the two looks. What waits to become durable is not what it was.
    pub(super) fn is_still_so<M: Medium>(&self, leaf: &Leaf<'_, M>, free: usize) -> bool {
        let changed = self.entries.iter().fold(0, |changed, entry| {
            let of_meta = leaf.meta(entry.word).0 & !SEALED ^ entry.meta.0;
            let in_word = entry.meta.value_in_word();
            let of_value = if in_word { leaf.meta(entry.meta.offset()).0 & !SEALED ^ entry.value } else { 0 };
            changed | of_meta | of_value
        });
        changed == 0 && (free == leaf.tail_end() || leaf.meta(free).is_end())
    }

    /// Copies what does not lie in words. Nobody changes it any more.
    pub(super) fn copy_long<M: Medium>(&mut self, leaf: &Leaf<'_, M>) -> Result<(), PmemError> {
        self.long.clear();
        for entry in &self.entries {
            if entry.meta.rest_bytes() > 0 {
                self.long.extend_from_slice(&entry.head.to_be_bytes());
                self.long.extend_from_slice(leaf.rest(entry.meta)?);
            }
            if !entry.meta.value_in_word() {
                self.long.extend_from_slice(leaf.0.bytes(entry.meta.offset(), entry.meta.value_bytes())?);
            }
        }
        Ok(())
    }
}

impl LiveRecord {
    /// Of a damaged leaf the order means nothing; that is met when its keys are copied.
    #[inline(always)]
    fn order<M: Medium>(&self, other: &Self, leaf: &Leaf<'_, M>) -> Ordering {
        let of = |record: &Self| (record.head, record.meta.key_bytes(), leaf.rest(record.meta).unwrap_or_default());
        if self.head == other.head { order(of(self), of(other)) } else { self.head.cmp(&other.head) }
    }
}

/// The first bytes, which are taken away.
fn first<'b>(bytes: &mut &'b [u8], count: usize) -> &'b [u8] {
    let (first, others) = bytes.split_at(count);
    *bytes = others;
    first
}
