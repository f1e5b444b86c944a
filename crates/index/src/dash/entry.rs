//! Entries that do not fit into a slot: a block of lengths, key, value. It never changes once it can be reached.

use assay_pmem::{Medium, Offset, PmemError, Transaction};

use super::{bucket::Record, directory::Directory, hash::Hash, table::Dash};
use crate::{error::IndexError, index::KEY_BYTES_AT_MOST, sizes::VALUE_BYTES_AT_MOST};

const LENGTHS: u64 = 8;

/// A key, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryKey<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) hash: Hash,
    /// The key itself where it has 8 bytes.
    pub(super) word: Option<u64>,
}

impl<'a> EntryKey<'a> {
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        match bytes.try_into() {
            Ok(word) => {
                let word = u64::from_le_bytes(word);
                Self { bytes, hash: Hash::of_word(word), word: Some(word) }
            }
            Err(_) => Self { bytes, hash: Hash::of(bytes), word: None },
        }
    }

    /// What a slot holds of it with this value: all, where both have 8 bytes.
    #[inline(always)]
    pub(super) fn inline(&self, value: &[u8]) -> Option<Record> {
        let value = u64::from_le_bytes(value.try_into().ok()?);
        self.word.map(|key| Record { key, value, pointer: false })
    }

    /// Whether the lengths can be stored.
    ///
    /// # Errors
    /// Which of them cannot.
    pub(super) fn check(&self, value: &[u8]) -> Result<(), IndexError> {
        let bytes = self.bytes.len();
        if bytes == 0 || bytes > KEY_BYTES_AT_MOST {
            return Err(IndexError::KeyLength { bytes, most: KEY_BYTES_AT_MOST });
        }
        if value.len() > VALUE_BYTES_AT_MOST {
            return Err(IndexError::ValueLength { bytes: value.len(), most: VALUE_BYTES_AT_MOST });
        }
        Ok(())
    }
}

impl<M: Medium, D: Directory> Dash<M, D> {
    /// Allocates an entry and writes it. The transaction's commit makes it durable before it is shown.
    ///
    /// # Errors
    /// Where the pool is full.
    pub(super) fn write_entry(
        &self,
        transaction: &mut Transaction<'_, M>,
        key: &EntryKey<'_>,
        value: &[u8],
    ) -> Result<Record, PmemError> {
        let bytes = LENGTHS as usize + key.bytes.len() + value.len();
        let block: Offset<u64> = transaction.alloc(bytes)?;
        let (at, medium) = (block.raw(), self.medium());
        medium.store(at, (key.bytes.len() as u64) << 32 | value.len() as u64);
        medium.write(at + LENGTHS, key.bytes);
        medium.write(at + LENGTHS + key.bytes.len() as u64, value);
        medium.flush(at, bytes); // entry written
        Ok(Record { key: key.hash.0, value: at, pointer: true })
    }

    /// Key and value of an entry. The caller has seen that a record led to it, and is pinned.
    pub(super) fn entry(&self, at: u64) -> (&[u8], &[u8]) {
        let lengths = self.medium().load(at);
        let (key, value) = ((lengths >> 32) as usize, lengths as u32 as usize);
        self.medium().reads(at + LENGTHS, key + value);
        let start = self.medium().at(at + LENGTHS, key + value);
        // SAFETY: inside the medium; an entry that can be reached never changes, and its block is not used again before
        // this thread is pinned no more.
        unsafe { std::slice::from_raw_parts(start, key + value) }.split_at(key)
    }

    pub(super) fn entry_has_key(&self, at: u64, key: &[u8]) -> bool {
        self.entry(at).0 == key
    }

    /// Appends the value of a record.
    #[inline(always)]
    pub(super) fn append_value(&self, record: &Record, to: &mut Vec<u8>) {
        if record.pointer {
            to.extend_from_slice(self.entry(record.value).1);
        } else {
            to.extend_from_slice(&record.value.to_le_bytes());
        }
    }
}
