//! The engine as a store of TPC-C.

use std::{
    cell::RefCell,
    ops::{ControlFlow, Range},
    time::Duration,
};

use assay_buffer::stage::{self, Moment};
use assay_tpcc::{Kv, KvSession, KvTerminalWork, Result, TpccError, key::Table};

use crate::{database::Database, error::EngineError, handle::Handle, session::Session};

/// Tables of TPC-C.
pub const TABLES: usize = Table::ALL.len();

/// A database that holds TPC-C's tables.
pub struct Tpcc<'d>(pub &'d Database);

impl Kv for Tpcc<'_> {
    type Session<'a>
        = TpccSession<'a>
    where
        Self: 'a;

    fn session(&self) -> Result<Self::Session<'_>> {
        Ok(TpccSession::new(self.0.session().map_err(TpccError::from)?))
    }

    const TAKES_TURNS: bool = true;

    fn run_terminals<C: KvTerminalWork<Self>>(&self, terminals: Range<u32>, work: &C) -> Result<()> {
        let scheduler = self.0.scheduler().map_err(TpccError::from)?;
        let failed = RefCell::new(None);
        let ran = scheduler.run(terminals.len(), |task| {
            let session = scheduler.session().map_err(TpccError::from);
            let done = session.and_then(|session| work.work(terminals.start + task as u32, TpccSession::new(session)));
            if let Err(error) = done {
                failed.borrow_mut().get_or_insert(error);
            }
        });
        failed.into_inner().map_or(ran.map_err(TpccError::from), Err)
    }

    fn loaders(&self) -> usize {
        // A log that is written only when somebody waits is one of a play, which is to be repeatable.
        if self.0.is_repeatable() { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) }
    }

    fn loaded(&self) -> Result<()> {
        self.0.checkpoint().and_then(|()| self.0.complete()).map_err(TpccError::from)
    }
}

/// A session of it.
pub struct TpccSession<'d> {
    session: Session<'d, Handle<'d>>,
    value: Vec<u8>,
}

impl<'d> TpccSession<'d> {
    /// On a session of the database.
    pub fn new(session: Session<'d, Handle<'d>>) -> Self {
        Self { session, value: Vec::new() }
    }

    fn scan(
        &mut self,
        table: Table,
        (from, below): (&[u8], &[u8]),
        down: bool,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let scanned = self.session.scan(table as u16, from, below, down, |key, value| visit(key, value).is_continue());
        scanned.map_err(TpccError::from)
    }
}

impl From<EngineError> for TpccError {
    fn from(error: EngineError) -> Self {
        if error.is_passing() { Self::Conflict } else { Self::store(error) }
    }
}

impl KvSession for TpccSession<'_> {
    fn begin(&mut self, _read_only: bool) -> Result<()> {
        self.session.begin().map_err(TpccError::from)
    }

    fn get<R>(&mut self, table: Table, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let found = self.session.get(table as u16, key, &mut self.value).map_err(TpccError::from)?;
        Ok(found.then(|| read(&self.value)))
    }

    fn update<R>(&mut self, table: Table, key: &[u8], change: impl FnOnce(&mut [u8]) -> R) -> Result<Option<R>> {
        self.session.update(table as u16, key, change).map_err(TpccError::from)
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.session.put(table as u16, key, value).map_err(TpccError::from)
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool> {
        self.session.delete(table as u16, key).map_err(TpccError::from)
    }

    fn scan(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.scan(table, (from, below), false, visit)
    }

    fn scan_back(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.scan(table, (from, below), true, visit)
    }

    fn prefetch(&mut self, table: Table, key: &[u8]) {
        self.session.prefetch(table as u16, key);
    }

    fn commit(&mut self) -> Result<()> {
        self.session.commit().map_err(TpccError::from)
    }

    fn nap(&mut self, time: Duration) {
        let since = Moment::now();
        if !self.session.cooperates() {
            return stage::sleep(time);
        }
        while since.elapsed() < time {
            self.session.let_others();
        }
    }

    #[inline]
    fn take_turns(&mut self) {
        self.session.take_turns();
    }

    fn abort(&mut self) -> Result<()> {
        self.session.abort();
        Ok(())
    }
}
