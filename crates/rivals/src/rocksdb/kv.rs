//! RocksDB under TPC-C: optimistic transactions on snapshots. All tables share one key space: a byte says which.

use std::{ops::ControlFlow, ptr};

use assay_tpcc::{Kv, KvSession, Result as TpccResult, key::Table};

use super::{
    Handle, Held, Reading, RocksdbStore, Walk, ask, at,
    ffi::{self, Optimistic, Transaction, TransactionOptions},
};
use crate::error::{Result, RivalError};

impl Kv for RocksdbStore {
    type Session<'a> = RocksKvSession<'a>;

    fn session(&self) -> TpccResult<RocksKvSession<'_>> {
        let Handle::Optimistic { db, .. } = self.handle else {
            return Err(RivalError::engine("rocksdb", "it was opened without transactions").into());
        };
        // SAFETY: creates options and sets one.
        let options = unsafe {
            let options = ffi::rocksdb_optimistictransaction_options_create();
            ffi::rocksdb_optimistictransaction_options_set_set_snapshot(options, 1);
            options
        };
        Ok(RocksKvSession {
            owner: self,
            db,
            options,
            reading: Reading::new(),
            transaction: ptr::null_mut(),
            open: false,
            key: Vec::new(),
            bound: Vec::new(),
        })
    }

    fn loaded(&self) -> TpccResult<()> {
        Ok(self.compact()?)
    }
}

/// A thread's transactions. One object serves them all.
pub struct RocksKvSession<'a> {
    owner: &'a RocksdbStore,
    db: *mut Optimistic,
    options: *mut TransactionOptions,
    reading: Reading,
    transaction: *mut Transaction,
    open: bool,
    key: Vec<u8>,
    bound: Vec<u8>,
}

impl RocksKvSession<'_> {
    fn name(&mut self, table: Table, key: &[u8]) {
        name(&mut self.key, table, key);
    }

    fn rollback(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        // SAFETY: the transaction is there.
        ask(|failure| unsafe { ffi::rocksdb_transaction_rollback(self.transaction, failure) })
    }

    /// An iterator that ends below the bound.
    fn walk(&mut self, bound: bool) -> Walk {
        let (place, length) = if bound { (at(&self.bound), self.bound.len()) } else { (ptr::null(), 0) };
        // SAFETY: the bound's bytes, and the options, stay as they are while the iterator lives.
        unsafe {
            ffi::rocksdb_readoptions_set_iterate_upper_bound(self.reading.0, place, length);
            Walk(ffi::rocksdb_transaction_create_iterator(self.transaction, self.reading.0))
        }
    }
}

fn name(place: &mut Vec<u8>, table: Table, key: &[u8]) {
    place.clear();
    place.push(table as u8);
    place.extend_from_slice(key);
}

impl Drop for RocksKvSession<'_> {
    fn drop(&mut self) {
        let _ = self.rollback();
        // SAFETY: they were created by this session, and nobody else has them.
        unsafe {
            if !self.transaction.is_null() {
                ffi::rocksdb_transaction_destroy(self.transaction);
            }
            ffi::rocksdb_optimistictransaction_options_destroy(self.options);
        }
    }
}

impl KvSession for RocksKvSession<'_> {
    fn begin(&mut self, _read_only: bool) -> TpccResult<()> {
        self.rollback()?;
        // SAFETY: database and options live as long as the session; the old transaction is used again, or made.
        unsafe {
            self.transaction =
                ffi::rocksdb_optimistictransaction_begin(self.db, self.owner.write, self.options, self.transaction);
            let snapshot = ffi::rocksdb_transaction_get_snapshot(self.transaction);
            ffi::rocksdb_readoptions_set_snapshot(self.reading.0, snapshot);
            // A wrapper alone: the snapshot is the transaction's.
            ffi::rocksdb_free(snapshot.cast_mut().cast());
        }
        self.open = true;
        Ok(())
    }

    fn get<R>(&mut self, table: Table, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> TpccResult<Option<R>> {
        self.name(table, key);
        let (transaction, reading, key) = (self.transaction, self.reading.0, &self.key);
        // SAFETY: the transaction is open.
        let found = ask(|failure| unsafe {
            ffi::rocksdb_transaction_get_pinned(transaction, reading, at(key), key.len(), failure)
        })?;
        Ok(Held::new(found).map(|held| read(held.bytes())))
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> TpccResult<()> {
        self.name(table, key);
        let (transaction, key) = (self.transaction, &self.key);
        // SAFETY: the transaction is open; key and value are copied.
        ask(|failure| unsafe {
            ffi::rocksdb_transaction_put(transaction, at(key), key.len(), at(value), value.len(), failure);
        })?;
        Ok(())
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> TpccResult<bool> {
        if self.get(table, key, |_| ())?.is_none() {
            return Ok(false);
        }
        let (transaction, key) = (self.transaction, &self.key);
        // SAFETY: the transaction is open; the key is copied.
        ask(|failure| unsafe { ffi::rocksdb_transaction_delete(transaction, at(key), key.len(), failure) })?;
        Ok(true)
    }

    fn scan(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> TpccResult<()> {
        self.name(table, from);
        name(&mut self.bound, table, below);
        let mut walk = self.walk(true);
        walk.seek(&self.key);
        while let Some((key, value)) = walk.entry()?.filter(|(key, _)| *key < self.bound.as_slice()) {
            if visit(&key[1..], value).is_break() {
                break;
            }
            walk.forward();
        }
        Ok(())
    }

    fn scan_back(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> TpccResult<()> {
        self.name(table, from);
        name(&mut self.bound, table, below);
        let mut walk = self.walk(false);
        walk.seek_back(&self.bound);
        // The bound itself is not visited.
        if walk.entry()?.is_some_and(|(key, _)| key >= self.bound.as_slice()) {
            walk.back();
        }
        while let Some((key, value)) = walk.entry()?.filter(|(key, _)| *key >= self.key.as_slice()) {
            if visit(&key[1..], value).is_break() {
                break;
            }
            walk.back();
        }
        Ok(())
    }

    fn commit(&mut self) -> TpccResult<()> {
        // SAFETY: the transaction is there.
        ask(|failure| unsafe { ffi::rocksdb_transaction_commit(self.transaction, failure) })?;
        self.open = false;
        Ok(())
    }

    fn abort(&mut self) -> TpccResult<()> {
        Ok(self.rollback()?)
    }
}
