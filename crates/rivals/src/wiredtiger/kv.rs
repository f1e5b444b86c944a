//! WiredTiger under TPC-C: transactions on snapshots; of two that change one key, one is told to roll back.

use std::ops::ControlFlow;

use assay_tpcc::{Kv, KvSession, Result as TpccResult, key::Table};

use super::{Cursor, Session, WiredtigerStore, check, ffi};
use crate::error::Result;

impl Kv for WiredtigerStore {
    type Session<'a> = WiredTigerKvSession<'a>;

    fn session(&self) -> TpccResult<WiredTigerKvSession<'_>> {
        let session = Session::open(self)?;
        let cursors = (0..self.tables).map(|table| session.cursor(table, true)).collect::<Result<_>>()?;
        Ok(WiredTigerKvSession { cursors, session, open: false, owner: std::marker::PhantomData })
    }

    fn loaded(&self) -> TpccResult<()> {
        Ok(self.checkpoint()?)
    }
}

/// A thread's transactions. Fields are dropped in this order; cursors are closed by their session.
pub struct WiredTigerKvSession<'a> {
    cursors: Vec<Cursor>,
    session: Session,
    open: bool,
    owner: std::marker::PhantomData<&'a WiredtigerStore>,
}

impl WiredTigerKvSession<'_> {
    fn cursor(&mut self, table: Table) -> &mut Cursor {
        &mut self.cursors[table as usize]
    }

    fn rollback(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        // SAFETY: the session is open, and so is its transaction.
        check(unsafe { ffi::assay_wt_rollback(self.session.raw) })
    }
}

impl KvSession for WiredTigerKvSession<'_> {
    fn begin(&mut self, _read_only: bool) -> TpccResult<()> {
        self.rollback()?;
        // SAFETY: the session is open, and has no transaction.
        check(unsafe { ffi::assay_wt_begin(self.session.raw) })?;
        self.open = true;
        Ok(())
    }

    fn get<R>(&mut self, table: Table, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> TpccResult<Option<R>> {
        let cursor = self.cursor(table);
        if !cursor.search(key)? {
            return Ok(None);
        }
        Ok(Some(read(cursor.value()?)))
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> TpccResult<()> {
        self.cursor(table).insert(key, value)?;
        Ok(())
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> TpccResult<bool> {
        let cursor = self.cursor(table);
        if !cursor.search(key)? {
            return Ok(false);
        }
        Ok(cursor.remove(key)?)
    }

    fn scan(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> TpccResult<()> {
        let cursor = self.cursor(table);
        let mut there = cursor.search_from(from)?;
        while there && cursor.key()? < below && visit(cursor.key()?, cursor.value()?).is_continue() {
            there = cursor.next()?;
        }
        cursor.reset()?;
        Ok(())
    }

    fn scan_back(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> TpccResult<()> {
        let cursor = self.cursor(table);
        let mut there = cursor.search_below(below)?;
        while there && cursor.key()? >= from && visit(cursor.key()?, cursor.value()?).is_continue() {
            there = cursor.prev()?;
        }
        cursor.reset()?;
        Ok(())
    }

    fn commit(&mut self) -> TpccResult<()> {
        self.open = false;
        // SAFETY: the session is open, and so is its transaction, which ends here whatever is returned.
        check(unsafe { ffi::assay_wt_commit(self.session.raw) })?;
        Ok(())
    }

    fn abort(&mut self) -> TpccResult<()> {
        Ok(self.rollback()?)
    }
}
