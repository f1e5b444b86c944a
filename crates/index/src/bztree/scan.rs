//! Entries in order, a leaf at a time.

use std::ops::Deref;

use assay_pmem::{Medium, PmemError, Pool, pin};

use super::{image::Record, key::Key, leaf::Leaf, meta::SEALED, restructure::collect, session::BzSession};
use crate::{error::IndexError, index::Visit};

/// Entries of one leaf, as they were at one moment.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    bytes: Vec<u8>,
    /// Where keys and values end, in turn.
    ends: Vec<usize>,
    key: Vec<u8>,
}

impl Snapshot {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, record: &Record<'_>) {
        record.key(&mut self.key);
        self.bytes.extend_from_slice(&self.key);
        self.ends.push(self.bytes.len());
        if record.meta.value_in_word() {
            self.bytes.extend_from_slice(&record.word.to_le_bytes());
        } else {
            self.bytes.extend_from_slice(record.bytes);
        }
        self.ends.push(self.bytes.len());
    }

    fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.chunks_exact(2).map(move |ends| {
            let entry = (&self.bytes[start..ends[0]], &self.bytes[ends[0]..ends[1]]);
            start = ends[1];
            entry
        })
    }
}

impl<M: Medium, P: Deref<Target = Pool<M>>> BzSession<'_, P> {
    /// Nobody is kept waiting by what the visitor does: it sees copies, and this thread is not pinned meanwhile.
    pub(super) fn visit(&mut self, from: &[u8], limit: usize, visit: &mut Visit<'_>) -> Result<usize, IndexError> {
        let mut from = from.to_vec();
        let mut seen = 0;
        while seen < limit {
            let more = self.copy_leaf(&mut from, limit - seen)?;
            for (key, value) in self.snapshot.entries() {
                seen += 1;
                if !visit(key, value) {
                    return Ok(seen);
                }
            }
            if !more {
                break;
            }
        }
        Ok(seen)
    }

    /// Copies up to `limit` entries of the leaf that a key belongs to, from that key on. The key becomes the one at which
    /// the next leaf begins; whether there is one.
    fn copy_leaf(&mut self, from: &mut Vec<u8>, limit: usize) -> Result<bool, IndexError> {
        let _guard = pin();
        let key = Key::new(from);
        let (leaf, end) = self.tree.leaf_and_end(&self.worker, &key)?;
        let records = at_one_moment(&leaf)?;
        self.snapshot.clear();
        let not_below = |record: &&Record<'_>| key.order(record.head, record.meta.key_bytes(), record.rest).is_le();
        records.iter().filter(not_below).take(limit).for_each(|record| self.snapshot.push(record));
        let Some(end) = end else { return Ok(false) };
        end.bytes(from);
        Ok(true)
    }
}

/// Live records in order. They are looked at twice: what did not change in between was so at one moment, as no meta word
/// ever comes back to what it was. Dirty words are made durable.
fn at_one_moment<'m, M: Medium>(leaf: &Leaf<'m, M>) -> Result<Vec<Record<'m>>, PmemError> {
    let mut records = Vec::with_capacity(leaf.0.shape.count + leaf.0.shape.tail);
    loop {
        records.clear();
        settle_all(leaf);
        collect(leaf, &mut records)?;
        if unchanged(leaf, &records) {
            break;
        }
    }
    records.sort_by(Record::order);
    Ok(records)
}

fn settle_all<M: Medium>(leaf: &Leaf<'_, M>) {
    for slot in leaf.slots() {
        leaf.settle(slot);
        if slot.meta.is_live() && slot.meta.value_in_word() {
            leaf.word_value(slot.meta);
        }
    }
}

/// Whether these are still the live records, and nothing of them waits to become durable.
fn unchanged<M: Medium>(leaf: &Leaf<'_, M>, records: &[Record<'_>]) -> bool {
    let mut now = leaf.slots().filter(|slot| slot.meta.is_live());
    let same = |record: &Record<'_>| {
        let Some(slot) = now.next().filter(|slot| slot.meta.plain() == record.meta && !slot.meta.is_dirty()) else {
            return false;
        };
        // A word that is dirty differs from the plain one that was read.
        !slot.meta.value_in_word() || leaf.meta(record.meta.offset()).0 & !SEALED == record.word
    };
    records.iter().all(same) && now.next().is_none()
}
