//! What a transaction will change: nobody else sees it before it is committed.

use assay_btree::Finger;

use crate::{
    log::record::{self, Change},
    row::{ROW_HEADER, Stamp},
};

/// Transactions of more changes find them by a table instead of one after the other.
const FEW: usize = 16;
const EMPTY: u32 = u32::MAX;

/// A change of one row.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// The table.
    pub table: u16,
    /// Hash of table and key.
    pub hash: u64,
    /// The row is deleted.
    pub deleted: bool,
    /// Where the row was found, if it was looked for.
    pub finger: Finger,
    key_bytes: u16,
    key_at: u32,
    /// Where the row begins: room for its stamp, then its value.
    row_at: u32,
    value_bytes: u32,
}

/// The changes of one transaction. Its memory is used again by the next one.
#[derive(Debug, Default)]
pub struct Writes {
    writes: Vec<Write>,
    bytes: Vec<u8>,
    /// Places of writes by hash, once there are many.
    table: Vec<u32>,
    /// Where the row that is being taken over begins.
    row_at: usize,
}

impl Writes {
    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.writes.clear();
        self.bytes.clear();
        self.table.clear();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// The change of a row, if there is one.
    pub fn find(&self, hash: u64, table: u16, key: &[u8]) -> Option<usize> {
        let is_it = |index: usize| {
            let write = &self.writes[index];
            write.hash == hash && write.table == table && self.key(index) == key
        };
        if self.table.is_empty() {
            return (0..self.writes.len()).find(|&index| is_it(index));
        }
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        while self.table[at] != EMPTY {
            if is_it(self.table[at] as usize) {
                return Some(self.table[at] as usize);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Changes a row; `value` is none where it is deleted. The finger points to where it is, or would be, if that is known.
    pub fn set(&mut self, hash: u64, table: u16, key: &[u8], value: Option<&[u8]>, finger: Finger) {
        let index = self.find(hash, table, key).unwrap_or_else(|| self.add(hash, table, key, finger));
        let bytes = value.map_or(0, <[u8]>::len);
        if self.writes[index].value_bytes as usize != bytes || self.writes[index].row_at == 0 {
            self.writes[index].row_at = self.bytes.len() as u32;
            self.bytes.resize(self.bytes.len() + ROW_HEADER + bytes, 0);
        }
        let write = &mut self.writes[index];
        (write.deleted, write.value_bytes) = (value.is_none(), bytes as u32);
        let at = write.row_at as usize + ROW_HEADER;
        self.bytes[at..at + bytes].copy_from_slice(value.unwrap_or_default());
    }

    /// Begins to take over a row as it is in its tree, to be changed in place: [`Writes::fill`] gets it.
    pub fn open(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.row_at = self.bytes.len();
    }

    /// The row, stamp and value; the last of several counts.
    #[inline]
    pub fn fill(&mut self, row: &[u8]) {
        self.bytes.truncate(self.row_at);
        self.bytes.extend_from_slice(row);
    }

    /// The row was taken over: it is a change like any other.
    pub fn close(&mut self, hash: u64, table: u16, key_bytes: usize, finger: Finger) -> usize {
        let (key_at, row_at) = ((self.row_at - key_bytes) as u32, self.row_at as u32);
        let value_bytes = (self.bytes.len() - self.row_at - ROW_HEADER) as u32;
        let key_bytes = key_bytes as u16;
        self.enter(Write { table, hash, deleted: false, finger, key_bytes, key_at, row_at, value_bytes })
    }

    /// The row is not taken over after all.
    pub fn give_up(&mut self, key_bytes: usize) {
        self.bytes.truncate(self.row_at - key_bytes);
    }

    /// The row's new value, to change in place; none where it is deleted.
    pub fn value_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let Write { row_at, value_bytes, deleted, .. } = self.writes[index];
        let at = row_at as usize + ROW_HEADER;
        (!deleted).then(|| &mut self.bytes[at..at + value_bytes as usize])
    }

    /// Where the row of the last change was found, where that is of the same table.
    pub fn last_finger(&self, table: u16) -> Finger {
        self.writes.last().filter(|write| write.table == table).map_or_else(Finger::default, |write| write.finger)
    }

    /// A change's description.
    pub fn write(&self, index: usize) -> Write {
        self.writes[index]
    }

    /// Its key.
    pub fn key(&self, index: usize) -> &[u8] {
        let Write { key_at, key_bytes, .. } = self.writes[index];
        &self.bytes[key_at as usize..key_at as usize + key_bytes as usize]
    }

    /// The row's new value; none where it is deleted.
    pub fn value(&self, index: usize) -> Option<&[u8]> {
        let Write { row_at, value_bytes, deleted, .. } = self.writes[index];
        let at = row_at as usize + ROW_HEADER;
        (!deleted).then(|| &self.bytes[at..at + value_bytes as usize])
    }

    /// Stamps a row and hands out key and row as its tree stores them.
    pub fn stamped(&mut self, index: usize, commit: u64) -> (&[u8], &[u8]) {
        let Write { row_at, value_bytes, deleted, .. } = self.writes[index];
        let row = row_at as usize..row_at as usize + ROW_HEADER + value_bytes as usize;
        self.bytes[row.start..row.start + ROW_HEADER].copy_from_slice(&Stamp { commit, deleted }.to_bytes());
        (self.key(index), &self.bytes[row])
    }

    /// Makes the log record, up to its header.
    pub fn record(&self, into: &mut Vec<u8>) {
        record::begin(into);
        for index in 0..self.writes.len() {
            let (table, key) = (self.writes[index].table, self.key(index));
            record::add(into, &Change { table, key, value: self.value(index) });
        }
        record::pad(into);
    }

    /// Places of the changes of a table with `from <= key < below`, in the order of their keys.
    pub fn range(&self, table: u16, from: &[u8], below: &[u8], into: &mut Vec<u32>) {
        into.clear();
        let inside = |&index: &u32| {
            let key = self.key(index as usize);
            self.writes[index as usize].table == table && key >= from && key < below
        };
        into.extend((0..self.writes.len() as u32).filter(inside));
        into.sort_unstable_by(|&left, &right| self.key(left as usize).cmp(self.key(right as usize)));
    }

    fn add(&mut self, hash: u64, table: u16, key: &[u8], finger: Finger) -> usize {
        let key_at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        let key_bytes = key.len() as u16;
        self.enter(Write { table, hash, deleted: false, finger, key_bytes, key_at, row_at: 0, value_bytes: 0 })
    }

    fn enter(&mut self, write: Write) -> usize {
        let index = self.writes.len();
        self.writes.push(write);
        if index < FEW {
            return index;
        }
        if self.table.len() < 2 * self.writes.len() {
            let places = (4 * self.writes.len()).next_power_of_two();
            self.table.clear();
            self.table.resize(places, EMPTY);
            (0..=index).for_each(|index| self.place(index));
        } else {
            self.place(index);
        }
        index
    }

    fn place(&mut self, index: usize) {
        let mask = self.table.len() - 1;
        let mut at = self.writes[index].hash as usize & mask;
        while self.table[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.table[at] = index as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::hash;

    proptest! {
        #[test]
        fn writes_are_a_map(changes in prop::collection::vec((0..3_u16, 0..60_u8, prop::option::of(0..5_usize)), 0..150)) {
            let mut writes = Writes::default();
            let mut model = BTreeMap::new();
            for (round, (table, key, bytes)) in changes.into_iter().enumerate() {
                let value = bytes.map(|bytes| vec![round as u8; bytes]);
                writes.set(hash::of(table, &[key]), table, &[key], value.as_deref(), Finger::default());
                model.insert((table, key), value);
            }
            prop_assert_eq!(writes.len(), model.len());
            for ((table, key), value) in &model {
                let index = writes.find(hash::of(*table, &[*key]), *table, &[*key]).unwrap();
                prop_assert_eq!(writes.value(index), value.as_deref());
                let (found, row) = writes.stamped(index, 9);
                prop_assert_eq!(found, &[*key]);
                let (stamp, bytes) = Stamp::split(row).unwrap();
                prop_assert_eq!((stamp.commit, stamp.deleted), (9, value.is_none()));
                prop_assert_eq!(bytes, value.as_deref().unwrap_or_default());
            }
            let mut range = Vec::new();
            writes.range(1, &[10], &[40], &mut range);
            let found: Vec<u8> = range.iter().map(|&index| writes.key(index as usize)[0]).collect();
            let expected: Vec<u8> = model.range((1, 10)..(1, 40)).map(|((_, key), _)| *key).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(writes.find(hash::of(7, b"none"), 7, b"none"), None);
        }
    }
}
