//! LMDB as an index: every change is a transaction of its own.

use assay_index::{Index, IndexError, Session, Visit};
use lmdb_master_sys as sys;

use super::{Cursor, LmdbStore, Reader, Txn, delete, get, put};
use crate::{
    error::{Result, RivalError},
    place::allocated_bytes,
};

impl Index for LmdbStore {
    type Session<'a> = LmdbSession<'a>;

    fn session(&self) -> LmdbSession<'_> {
        LmdbSession { db: self, reader: None, longest: self.key_bytes_at_most() }
    }

    fn used_bytes(&self) -> u64 {
        allocated_bytes(&self.folder)
    }
}

/// A thread's way into it.
pub struct LmdbSession<'a> {
    db: &'a LmdbStore,
    /// Made at the first read.
    reader: Option<Reader>,
    longest: usize,
}

impl LmdbSession<'_> {
    fn check_key(&self, key: &[u8]) -> Result<()> {
        if key.is_empty() || key.len() > self.longest {
            return Err(RivalError::KeyLength { bytes: key.len(), most: self.longest });
        }
        Ok(())
    }

    /// Does something with a snapshot of what is committed.
    fn reading<R>(&mut self, act: impl FnOnce(*mut sys::MDB_txn, sys::MDB_dbi) -> Result<R>) -> Result<R> {
        if self.reader.is_none() {
            self.reader = Some(Reader::new(self.db)?);
        }
        let reader = self.reader.as_ref().expect("it was made above");
        let txn = reader.enter()?;
        let done = act(txn, self.db.tables[0]);
        reader.leave();
        done
    }

    /// Does something in a transaction that is committed where it changed something.
    fn writing(&self, key: &[u8], act: impl FnOnce(&Txn, sys::MDB_dbi) -> Result<(bool, bool)>) -> Result<bool> {
        self.check_key(key)?;
        let txn = Txn::begin(self.db, 0)?;
        let (changed, answer) = act(&txn, self.db.tables[0])?;
        if changed {
            txn.commit()?;
        }
        Ok(answer)
    }
}

impl Session for LmdbSession<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.writing(key, |txn, table| {
            let added = put(txn, table, key, value, sys::MDB_NOOVERWRITE)?;
            Ok((added, added))
        })?)
    }

    fn update(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.writing(key, |txn, table| {
            // SAFETY: the transaction is open; what was found is not used.
            let there = unsafe { get(txn.raw, table, key) }?.is_some();
            let changed = there && put(txn, table, key, value, 0)?;
            Ok((changed, changed))
        })?)
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.writing(key, |txn, table| {
            let added = put(txn, table, key, value, sys::MDB_NOOVERWRITE)?;
            Ok((added || put(txn, table, key, value, 0)?, added))
        })?)
    }

    fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> std::result::Result<bool, IndexError> {
        self.check_key(key)?;
        value.clear();
        Ok(self.reading(|txn, table| {
            // SAFETY: the transaction is open, and what was found is copied before it ends.
            let found = unsafe { get(txn, table, key) }?;
            value.extend_from_slice(found.unwrap_or_default());
            Ok(found.is_some())
        })?)
    }

    fn lookup_many(
        &mut self,
        keys: &[&[u8]],
        found: &mut dyn FnMut(usize, &[u8]),
    ) -> std::result::Result<(), IndexError> {
        keys.iter().try_for_each(|key| self.check_key(key))?;
        Ok(self.reading(|txn, table| {
            for (at, key) in keys.iter().enumerate() {
                // SAFETY: the transaction is open and does not write.
                if let Some(value) = unsafe { get(txn, table, key) }? {
                    found(at, value);
                }
            }
            Ok(())
        })?)
    }

    fn remove(&mut self, key: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.writing(key, |txn, table| {
            let removed = delete(txn, table, key)?;
            Ok((removed, removed))
        })?)
    }

    fn scan(&mut self, from: &[u8], limit: usize, visit: &mut Visit<'_>) -> std::result::Result<usize, IndexError> {
        Ok(self.reading(|txn, table| {
            let cursor = Cursor::open(txn, table)?;
            let start = if from.is_empty() { sys::MDB_FIRST } else { sys::MDB_SET_RANGE };
            let mut seen = 0;
            // SAFETY: the transaction is open and does not write.
            let mut at = if limit == 0 { None } else { unsafe { cursor.go(from, start) }? };
            while let Some((key, value)) = at {
                seen += 1;
                if !visit(key, value) || seen == limit {
                    break;
                }
                // SAFETY: as above.
                at = unsafe { cursor.go(&[], sys::MDB_NEXT) }?;
            }
            Ok(seen)
        })?)
    }
}
