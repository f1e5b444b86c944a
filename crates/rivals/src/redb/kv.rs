//! redb under TPC-C: one writer at a time, readers on snapshots. Nothing ever conflicts.

use std::{marker::PhantomData, ops::ControlFlow};

use assay_tpcc::{Kv, KvSession, Result as TpccResult, key::Table as Name};
use redb::{AccessGuard, Range, ReadOnlyTable, ReadableTable, Table, WriteTransaction};

use super::{Bytes, RedbStore, definition, table_of, told};
use crate::error::{Result, RivalError};

impl Kv for RedbStore {
    type Session<'a> = RedbKvSession<'a>;

    fn session(&self) -> TpccResult<RedbKvSession<'_>> {
        Ok(RedbKvSession { db: self, open: Open::Nothing })
    }

    fn loaded(&self) -> TpccResult<()> {
        Ok(self.settle()?)
    }
}

/// A thread's transactions.
pub struct RedbKvSession<'a> {
    db: &'a RedbStore,
    open: Open,
}

#[allow(clippy::large_enum_variant, reason = "a session has one, where it stays")]
enum Open {
    Nothing,
    Reading(Vec<ReadOnlyTable<Bytes, Bytes>>),
    Writing(Writing),
}

/// A transaction and those of its tables that were used: opening one anew for each operation would be paid each time.
struct Writing {
    /// Borrow from the transaction below: dropped first.
    tables: [Option<Table<'static, Bytes, Bytes>>; Name::ALL.len()],
    transaction: *mut WriteTransaction,
    owned: PhantomData<WriteTransaction>,
}

impl Writing {
    fn begin(db: &RedbStore) -> Result<Self> {
        let transaction = Box::into_raw(Box::new(db.begin()?));
        Ok(Self { tables: [const { None }; Name::ALL.len()], transaction, owned: PhantomData })
    }

    fn table(&mut self, table: Name) -> Result<&mut Table<'static, Bytes, Bytes>> {
        let place = &mut self.tables[table as usize];
        if place.is_none() {
            // SAFETY: the transaction lives in its box until `take` or `drop`, which drop every table before. Nobody has
            // it mutably meanwhile.
            let transaction: &'static WriteTransaction = unsafe { &*self.transaction };
            *place = Some(transaction.open_table(definition(table as usize)).map_err(told)?);
        }
        Ok(place.as_mut().expect("it was opened above"))
    }

    /// The transaction, its tables closed.
    fn take(mut self) -> WriteTransaction {
        let transaction = self.close();
        std::mem::forget(self);
        transaction
    }

    fn close(&mut self) -> WriteTransaction {
        self.tables = [const { None }; Name::ALL.len()];
        // SAFETY: it came out of a box, and is taken once: by `take`, which forgets this, or by `drop`.
        *unsafe { Box::from_raw(self.transaction) }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        // Dropped, a transaction is aborted.
        drop(self.close());
    }
}

fn nothing_open() -> RivalError {
    RivalError::engine("redb", "no transaction is open that can do this")
}

impl RedbKvSession<'_> {
    fn writing(&mut self, table: Name) -> Result<&mut Table<'static, Bytes, Bytes>> {
        match &mut self.open {
            Open::Writing(writing) => writing.table(table),
            _ => Err(nothing_open()),
        }
    }

    fn found(&mut self, table: Name, key: &[u8]) -> Result<Option<AccessGuard<'_, Bytes>>> {
        match &mut self.open {
            Open::Nothing => Err(nothing_open()),
            Open::Reading(tables) => tables[table as usize].get(key).map_err(told),
            Open::Writing(writing) => writing.table(table)?.get(key).map_err(told),
        }
    }

    fn range(&mut self, table: Name, from: &[u8], below: &[u8]) -> Result<Range<'_, Bytes, Bytes>> {
        match &mut self.open {
            Open::Nothing => Err(nothing_open()),
            Open::Reading(tables) => tables[table as usize].range(from..below).map_err(told),
            Open::Writing(writing) => writing.table(table)?.range(from..below).map_err(told),
        }
    }
}

type Entry<'a> = std::result::Result<(AccessGuard<'a, Bytes>, AccessGuard<'a, Bytes>), redb::StorageError>;

fn visit_all<'a>(
    entries: impl Iterator<Item = Entry<'a>>,
    mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> TpccResult<()> {
    for entry in entries {
        let (key, value) = entry.map_err(told)?;
        if visit(key.value(), value.value()).is_break() {
            break;
        }
    }
    Ok(())
}

impl KvSession for RedbKvSession<'_> {
    fn begin(&mut self, read_only: bool) -> TpccResult<()> {
        self.open = Open::Nothing;
        self.open = if read_only {
            let snapshot = self.db.read()?;
            Open::Reading((0..self.db.tables).map(|table| table_of(&snapshot, table)).collect::<Result<_>>()?)
        } else {
            Open::Writing(Writing::begin(self.db)?)
        };
        Ok(())
    }

    fn get<R>(&mut self, table: Name, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> TpccResult<Option<R>> {
        Ok(self.found(table, key)?.map(|found| read(found.value())))
    }

    fn put(&mut self, table: Name, key: &[u8], value: &[u8]) -> TpccResult<()> {
        self.writing(table)?.insert(key, value).map_err(told)?;
        Ok(())
    }

    fn delete(&mut self, table: Name, key: &[u8]) -> TpccResult<bool> {
        Ok(self.writing(table)?.remove(key).map_err(told)?.is_some())
    }

    fn scan(
        &mut self,
        table: Name,
        from: &[u8],
        below: &[u8],
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> TpccResult<()> {
        visit_all(self.range(table, from, below)?, visit)
    }

    fn scan_back(
        &mut self,
        table: Name,
        from: &[u8],
        below: &[u8],
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> TpccResult<()> {
        visit_all(self.range(table, from, below)?.rev(), visit)
    }

    fn commit(&mut self) -> TpccResult<()> {
        if let Open::Writing(writing) = std::mem::replace(&mut self.open, Open::Nothing) {
            self.db.commit(writing.take())?;
        }
        Ok(())
    }

    fn abort(&mut self) -> TpccResult<()> {
        self.open = Open::Nothing;
        Ok(())
    }
}
