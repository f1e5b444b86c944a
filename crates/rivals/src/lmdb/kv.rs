//! LMDB under TPC-C: one writer at a time, readers on snapshots. Nothing ever conflicts.

use std::ops::ControlFlow;

use assay_tpcc::{Kv, KvSession, Result as TpccResult, key::Table};
use lmdb_master_sys as sys;

use super::{Cursor, LmdbStore, Reader, Txn, delete, get, put};
use crate::error::{Result, RivalError};

impl Kv for LmdbStore {
    type Session<'a> = LmdbKvSession<'a>;

    fn session(&self) -> TpccResult<LmdbKvSession<'_>> {
        Ok(LmdbKvSession { db: self, reader: Reader::new(self)?, open: Open::Nothing })
    }

    fn loaded(&self) -> TpccResult<()> {
        Ok(self.sync()?)
    }
}

enum Open {
    Nothing,
    Reading(*mut sys::MDB_txn),
    Writing(Txn),
}

/// A thread's transactions.
pub struct LmdbKvSession<'a> {
    db: &'a LmdbStore,
    reader: Reader,
    open: Open,
}

impl LmdbKvSession<'_> {
    fn table(&self, table: Table) -> sys::MDB_dbi {
        self.db.tables[table as usize]
    }

    fn txn(&self) -> Result<*mut sys::MDB_txn> {
        match &self.open {
            Open::Nothing => Err(RivalError::engine("lmdb", "no transaction is open")),
            Open::Reading(txn) => Ok(*txn),
            Open::Writing(txn) => Ok(txn.raw),
        }
    }

    fn writer(&self) -> Result<&Txn> {
        match &self.open {
            Open::Writing(txn) => Ok(txn),
            _ => Err(RivalError::engine("lmdb", "a transaction that only reads cannot write")),
        }
    }

    fn end(&mut self) -> Open {
        if matches!(self.open, Open::Reading(_)) {
            self.reader.leave();
        }
        std::mem::replace(&mut self.open, Open::Nothing)
    }
}

impl Drop for LmdbKvSession<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

impl KvSession for LmdbKvSession<'_> {
    fn begin(&mut self, read_only: bool) -> TpccResult<()> {
        self.end();
        self.open =
            if read_only { Open::Reading(self.reader.enter()?) } else { Open::Writing(Txn::begin(self.db, 0)?) };
        Ok(())
    }

    fn get<R>(&mut self, table: Table, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> TpccResult<Option<R>> {
        // SAFETY: the transaction is open, and does not write while the value is read.
        let found = unsafe { get(self.txn()?, self.table(table), key) }?;
        Ok(found.map(read))
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> TpccResult<()> {
        put(self.writer()?, self.table(table), key, value, 0)?;
        Ok(())
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> TpccResult<bool> {
        Ok(delete(self.writer()?, self.table(table), key)?)
    }

    fn scan(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> TpccResult<()> {
        let cursor = Cursor::open(self.txn()?, self.table(table))?;
        // SAFETY: the transaction is open, and does not write while it is scanned.
        let mut at = unsafe { cursor.go(from, sys::MDB_SET_RANGE) }?;
        while let Some((key, value)) = at.filter(|(key, _)| *key < below) {
            if visit(key, value).is_break() {
                break;
            }
            // SAFETY: as above.
            at = unsafe { cursor.go(&[], sys::MDB_NEXT) }?;
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
        let cursor = Cursor::open(self.txn()?, self.table(table))?;
        // SAFETY: the transaction is open, and does not write while it is scanned.
        let beyond = unsafe { cursor.go(below, sys::MDB_SET_RANGE) }?;
        let start = if beyond.is_some() { sys::MDB_PREV } else { sys::MDB_LAST };
        // SAFETY: as above.
        let mut at = unsafe { cursor.go(&[], start) }?;
        while let Some((key, value)) = at.filter(|(key, _)| *key >= from) {
            if visit(key, value).is_break() {
                break;
            }
            // SAFETY: as above.
            at = unsafe { cursor.go(&[], sys::MDB_PREV) }?;
        }
        Ok(())
    }

    fn commit(&mut self) -> TpccResult<()> {
        if let Open::Writing(txn) = self.end() {
            txn.commit()?;
        }
        Ok(())
    }

    fn abort(&mut self) -> TpccResult<()> {
        self.end();
        Ok(())
    }
}
