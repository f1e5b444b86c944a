//! New nodes: put together in memory, written and flushed at once. The descriptor that links them is fenced after that.

use assay_pmem::{Medium, PmemError, block_bytes};

use super::{
    Nodes,
    key::{HEAD_BYTES, Separator, order},
    leaf::{Leaf, LeafStatus, Slot},
    meta::Meta,
    node::{HEADER, Shape},
};

/// Words of free space that a new leaf gets beyond its records, at most, where its tail would need more.
const SPARE_WORDS: usize = 512;

/// A live record of a leaf that is being replaced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'m> {
    pub(super) head: u64,
    pub(super) meta: Meta,
    pub(super) rest: &'m [u8],
    /// The value where it lies in a word.
    pub(super) word: u64,
    /// The value where not.
    pub(super) bytes: &'m [u8],
}

impl<'m> Record<'m> {
    /// # Errors
    /// Where the leaf is damaged.
    pub(super) fn read<M: Medium>(leaf: &Leaf<'m, M>, slot: Slot, head: u64) -> Result<Self, PmemError> {
        let meta = slot.meta.plain();
        let in_word = meta.value_in_word();
        let word = if in_word { leaf.meta(meta.offset()).plain().0 } else { 0 };
        let bytes = if in_word { &[] } else { leaf.0.bytes(meta.offset(), meta.value_bytes())? };
        Ok(Self { head, meta, rest: leaf.rest(meta)?, word, bytes })
    }

    pub(super) fn order(&self, other: &Self) -> std::cmp::Ordering {
        let of = |record: &Self| (record.head, record.meta.key_bytes(), record.rest);
        order(of(self), of(other))
    }

    /// Its key.
    pub(super) fn key(&self, into: &mut Vec<u8>) {
        into.clear();
        into.extend_from_slice(&self.head.to_be_bytes()[..self.meta.key_bytes().min(HEAD_BYTES)]);
        into.extend_from_slice(self.rest);
    }

    /// Words of data beside head and slot, once it is sorted.
    fn data_words(&self) -> usize {
        sorted_data_words(self.meta)
    }
}

fn sorted_data_words(meta: Meta) -> usize {
    if meta.value_in_word() && meta.rest_bytes() == 0 { 0 } else { meta.data_words() }
}

/// How much a leaf holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub(super) records: usize,
    /// Words of data of sorted records.
    pub(super) data_words: usize,
    /// Words of the longest of them.
    pub(super) longest: usize,
}

impl Load {
    pub(super) fn add(&mut self, meta: Meta) {
        self.records += 1;
        self.data_words += sorted_data_words(meta);
        self.longest = self.longest.max(meta.data_words());
    }

    pub(super) fn of(records: &[Record<'_>]) -> Self {
        let mut load = Self::default();
        records.iter().for_each(|record| load.add(record.meta));
        load
    }

    /// One of two halves.
    pub(super) fn half(self) -> Self {
        let data_words = if self.data_words == 0 { 0 } else { self.data_words / 2 + self.longest };
        Self { records: self.records.div_ceil(2), data_words, ..self }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            records: self.records + other.records,
            data_words: self.data_words + other.data_words,
            longest: self.longest.max(other.longest),
        }
    }

    pub(super) fn words(self) -> usize {
        3 * self.records + self.data_words
    }

    /// Bytes of a leaf for it, with room for what comes and for `need` words at once.
    pub(super) fn leaf_bytes(self, nodes: Nodes, need: usize) -> usize {
        let later = (nodes.tail * (1 + self.longest.max(1))).min(SPARE_WORDS.max(2 * nodes.tail));
        block_bytes(((HEADER + nodes.tail + self.words() + later.max(need)) * 8) as u64) as usize
    }
}

/// Where sorted records are cut into two leaves of about the same length.
pub(super) fn cut(records: &[Record<'_>]) -> usize {
    let words = |record: &Record<'_>| 3 + record.data_words();
    let all: usize = records.iter().map(words).sum();
    let mut before = 0;
    let at = records.iter().position(|record| {
        before += words(record);
        2 * before >= all
    });
    (at.unwrap_or(0) + 1).clamp(1, records.len().max(2) - 1)
}

/// Writes a leaf of so many bytes.
pub(super) fn write_leaf<M: Medium>(medium: &M, at: u64, bytes: usize, nodes: Nodes, records: &[Record<'_>]) {
    let shape = Shape { inner: false, ragged: false, tail: nodes.tail, count: records.len(), words: bytes / 8 };
    let fixed = shape.fixed_words();
    let mut image = Vec::with_capacity(fixed + records.iter().map(Record::data_words).sum::<usize>());
    image.resize(fixed, 0);
    image[1] = shape.encode();
    let (heads, slots) = (HEADER + nodes.tail, HEADER + nodes.tail + records.len());
    for (index, record) in records.iter().enumerate() {
        image[heads + index] = record.head;
        let slot = slots + 2 * index;
        if record.data_words() == 0 {
            image[slot] = record.meta.at(slot + 1).0;
            image[slot + 1] = record.word;
            continue;
        }
        image[slot] = record.meta.at(image.len()).0;
        if record.meta.value_in_word() {
            image.push(record.word);
        } else {
            push_bytes(&mut image, record.bytes);
        }
        push_bytes(&mut image, record.rest);
    }
    image[0] = LeafStatus::new(image.len()).0;
    write(medium, at, &image);
}

pub(super) fn empty_leaf_bytes(nodes: Nodes) -> usize {
    Load::default().leaf_bytes(nodes, 0)
}

pub(super) fn write_empty_leaf<M: Medium>(medium: &M, at: u64, nodes: Nodes) {
    write_leaf(medium, at, empty_leaf_bytes(nodes), nodes, &[]);
}

/// A child and the separator before it.
pub(super) type ChildEntry = (Separator, u64);

fn is_ragged(entries: &[ChildEntry]) -> bool {
    entries.iter().skip(1).any(|(separator, _)| separator.length != HEAD_BYTES)
}

/// Bytes of an inner node with these children.
pub(super) fn inner_bytes(entries: &[ChildEntry]) -> usize {
    let ragged = is_ragged(entries);
    let rests: usize = entries.iter().map(|(separator, _)| separator.rest.len().div_ceil(8)).sum();
    block_bytes(((HEADER + entries.len() * (2 + usize::from(ragged)) + rests) * 8) as u64) as usize
}

/// Writes an inner node of so many bytes.
pub(super) fn write_inner<M: Medium>(medium: &M, at: u64, bytes: usize, entries: &[ChildEntry]) {
    let (ragged, count) = (is_ragged(entries), entries.len());
    let shape = Shape { inner: true, ragged, tail: 0, count, words: bytes / 8 };
    let mut image = vec![0; shape.fixed_words()];
    image[1] = shape.encode();
    for (index, (separator, child)) in entries.iter().enumerate() {
        let known = index > 0;
        image[HEADER + index] = if known { separator.head } else { 0 };
        image[HEADER + count + index] = *child;
        if ragged && known {
            image[HEADER + 2 * count + index] = (image.len() as u64) << 16 | separator.length as u64;
            push_bytes(&mut image, &separator.rest);
        }
    }
    write(medium, at, &image);
}

fn push_bytes(image: &mut Vec<u64>, bytes: &[u8]) {
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        image.push(u64::from_ne_bytes(word));
    }
}

fn write<M: Medium>(medium: &M, at: u64, image: &[u64]) {
    // SAFETY: words are bytes, all of them initialised, and their alignment is a stricter one.
    let bytes = unsafe { std::slice::from_raw_parts(image.as_ptr().cast::<u8>(), image.len() * 8) };
    medium.write(at, bytes);
    medium.flush(at, bytes.len()); // new node
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_halves_of_a_leaf_fit_where_they_were_foreseen(
            values in proptest::collection::vec(0usize..4000, 2..60), word: bool,
        ) {
            let bytes = vec![7; 4000];
            let record = |length: &usize| Record {
                head: 1,
                meta: Meta::live(0, word, if word { 8 } else { *length }, 8, 0),
                rest: &[],
                word: 0,
                bytes: &bytes[..*length],
            };
            let records: Vec<_> = values.iter().map(record).collect();
            let at = cut(&records);
            prop_assert!(at > 0 && at < records.len());
            let foreseen = Load::of(&records).half().leaf_bytes(Nodes::default(), 0);
            for part in [&records[..at], &records[at..]] {
                let load = Load::of(part);
                let least = (HEADER + Nodes::default().tail + load.words()) * 8;
                prop_assert!(word || load.data_words * 2 <= Load::of(&records).words() + 2 * load.longest + 6);
                prop_assert!(!word || least <= foreseen);
            }
        }
    }
}
