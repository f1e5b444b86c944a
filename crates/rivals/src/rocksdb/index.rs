//! RocksDB as an index.
//!
//! A put does not tell whether the key was there. Inserts and updates look first, under a lock of the key, unless the
//! setting `blind` has them put and answer what the caller hopes for.

use std::{
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    ptr,
    sync::{MutexGuard, PoisonError},
};

use assay_index::{Index, IndexError, KEY_BYTES_AT_MOST, Session, Visit};

use super::{Handle, Held, Reading, RocksdbStore, Walk, ask, at, complain, ffi};
use crate::{
    error::{Result, RivalError},
    place::allocated_bytes,
};

impl Index for RocksdbStore {
    type Session<'a> = RocksSession<'a>;

    fn session(&self) -> RocksSession<'_> {
        RocksSession { db: self, reading: Reading::new() }
    }

    fn used_bytes(&self) -> u64 {
        allocated_bytes(&self.folder)
    }
}

/// A thread's way into it.
pub struct RocksSession<'a> {
    db: &'a RocksdbStore,
    reading: Reading,
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.is_empty() || key.len() > KEY_BYTES_AT_MOST {
        return Err(RivalError::KeyLength { bytes: key.len(), most: KEY_BYTES_AT_MOST });
    }
    Ok(())
}

impl<'a> RocksSession<'a> {
    /// Nobody else looks and writes this key meanwhile.
    fn lock(&self, key: &[u8]) -> MutexGuard<'a, ()> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
        let locks = &self.db.locks;
        // What it guards has no state of its own to be left half done.
        locks[hash as usize % locks.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Held>> {
        // SAFETY: database and options live as long as the session.
        let found = ask(|failure| unsafe {
            ffi::rocksdb_get_pinned(self.db.raw(), self.reading.0, at(key), key.len(), failure)
        })?;
        Ok(Held::new(found))
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let (db, write) = (self.db.raw(), self.db.write);
        // SAFETY: database and options live as long as the session; key and value are copied.
        ask(|failure| unsafe {
            ffi::rocksdb_put(db, write, at(key), key.len(), at(value), value.len(), failure);
        })
    }

    /// Puts where the answer to "is it there" pleases; that answer, or none where it was not asked.
    fn put_where(&self, key: &[u8], value: &[u8], pleases: impl FnOnce(bool) -> bool) -> Result<Option<bool>> {
        check_key(key)?;
        if self.db.settings.blind {
            return self.put(key, value).map(|()| None);
        }
        let _lock = self.lock(key);
        let there = self.get(key)?.is_some();
        if pleases(there) {
            self.put(key, value)?;
        }
        Ok(Some(there))
    }
}

impl Session for RocksSession<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(!self.put_where(key, value, |there| !there)?.unwrap_or(false))
    }

    fn update(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.put_where(key, value, |there| there)?.unwrap_or(true))
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(!self.put_where(key, value, |_| true)?.unwrap_or(false))
    }

    fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> std::result::Result<bool, IndexError> {
        check_key(key)?;
        value.clear();
        let found = self.get(key)?;
        value.extend_from_slice(found.as_ref().map(Held::bytes).unwrap_or_default());
        Ok(found.is_some())
    }

    fn lookup_many(
        &mut self,
        keys: &[&[u8]],
        found: &mut dyn FnMut(usize, &[u8]),
    ) -> std::result::Result<(), IndexError> {
        keys.iter().try_for_each(|key| check_key(key))?;
        let Handle::Plain { raw, family } = self.db.handle else {
            return Err(RivalError::engine("rocksdb", "it was opened for transactions").into());
        };
        let places: Vec<_> = keys.iter().map(|key| at(key)).collect();
        let lengths: Vec<_> = keys.iter().map(|key| key.len()).collect();
        let (mut values, mut failures) = (vec![ptr::null_mut(); keys.len()], vec![ptr::null_mut(); keys.len()]);
        let (values_at, failures_at) = (values.as_mut_ptr(), failures.as_mut_ptr());
        // SAFETY: as many places as keys, for each of what is read and written.
        unsafe {
            let (places, lengths) = (places.as_ptr(), lengths.as_ptr());
            let reading = self.reading.0;
            ffi::rocksdb_batched_multi_get_cf(
                raw,
                reading,
                family,
                keys.len(),
                places,
                lengths,
                values_at,
                failures_at,
                false,
            );
        }
        // All are taken before the first complaint, so that none is leaked.
        let values: Vec<_> = values.into_iter().map(Held::new).collect();
        let complaints: Vec<_> = failures.into_iter().map(complain).collect();
        complaints.into_iter().collect::<Result<()>>()?;
        for (number, value) in values.iter().enumerate() {
            if let Some(value) = value {
                found(number, value.bytes());
            }
        }
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> std::result::Result<bool, IndexError> {
        check_key(key)?;
        let _lock = self.lock(key);
        if !self.db.settings.blind && self.get(key)?.is_none() {
            return Ok(false);
        }
        // SAFETY: database and options live as long as the session; the key is copied.
        ask(|failure| unsafe {
            ffi::rocksdb_delete(self.db.raw(), self.db.write, at(key), key.len(), failure);
        })?;
        Ok(true)
    }

    fn scan(&mut self, from: &[u8], limit: usize, visit: &mut Visit<'_>) -> std::result::Result<usize, IndexError> {
        // SAFETY: database and options live longer than the iterator.
        let mut walk = Walk(unsafe { ffi::rocksdb_create_iterator(self.db.raw(), self.reading.0) });
        walk.seek(from);
        let mut seen = 0;
        while seen < limit {
            let Some((key, value)) = walk.entry()? else { break };
            seen += 1;
            if !visit(key, value) {
                break;
            }
            walk.forward();
        }
        Ok(seen)
    }
}
