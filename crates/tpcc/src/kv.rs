//! An ordered key-value store with transactions: what a storage engine implements to run TPC-C.
//!
//! A table is a map from keys to values, both bytes; keys sort as bytes. Within one table all keys have
//! [`Table::key_bytes`] bytes and all values [`Table::value_bytes`]; a value may be empty.
//!
//! **What a transaction sees.** A snapshot of what was committed when it began, and its own changes on top, in reads and
//! in scans alike. Of two transactions that overlap in time and change or delete the same key, or insert it, at most one
//! commits: the other gets [`TpccError::Conflict`] from the operation or from the commit. That is snapshot isolation,
//! under which TPC-C's transactions are serialisable; anything stronger does as well. After an error of any kind the
//! caller calls `abort`, which leaves nothing of the transaction.
//!
//! [`TpccError::Conflict`]: crate::TpccError::Conflict

use std::{ops::ControlFlow, ops::Range, time::Duration};

use crate::{error::Result, key::Table};

/// Bytes of the longest value: a customer's.
pub const VALUE_BYTES_AT_MOST: usize = Table::Customer.value_bytes();

/// A store that threads share. A thread works through a [`KvSession`] of its own.
pub trait Kv: Sync {
    /// What a thread works through.
    type Session<'a>: KvSession
    where
        Self: 'a;

    /// A session for the calling thread.
    ///
    /// # Errors
    /// Where the store has no room for another.
    fn session(&self) -> Result<Self::Session<'_>>;

    /// As [`crate::Store::TAKES_TURNS`].
    const TAKES_TURNS: bool = false;

    /// As [`crate::Store::run_terminals`].
    ///
    /// # Errors
    /// The first error of a terminal, or where the store has no room for another.
    fn run_terminals<C: KvTerminalWork<Self>>(&self, terminals: Range<u32>, work: &C) -> Result<()>
    where
        Self: Sized,
    {
        terminals.into_iter().try_for_each(|terminal| work.work(terminal, self.session()?))
    }

    /// Threads that may fill it at the same time. With one the same rows are always in the same places.
    fn loaders(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Called once after a load, before anything else: a store may write a checkpoint.
    ///
    /// # Errors
    /// Where that fails.
    fn loaded(&self) -> Result<()> {
        Ok(())
    }
}

/// The terminals of one thread, over a key-value store.
pub trait KvTerminalWork<K: Kv> {
    /// As [`crate::store::TerminalWork::work`].
    ///
    /// # Errors
    /// What ended it.
    fn work<'s>(&self, terminal: u32, session: K::Session<'s>) -> Result<()>
    where
        K: 's;
}

/// One thread's transactions, one after the other.
pub trait KvSession {
    /// Begins a transaction. A transaction that is `read_only` changes nothing and never meets a conflict.
    ///
    /// # Errors
    /// Where none can begin.
    fn begin(&mut self, read_only: bool) -> Result<()>;

    /// Hands the value of a key to `read`; none where the key is not there.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn get<R>(&mut self, table: Table, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>>;

    /// Hands the value of a key to `change`, which may change its bytes but not their number; none where the key is not
    /// there.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn update<R>(&mut self, table: Table, key: &[u8], change: impl FnOnce(&mut [u8]) -> R) -> Result<Option<R>> {
        let mut value = [0; VALUE_BYTES_AT_MOST];
        let length = self.get(table, key, |bytes| {
            value[..bytes.len()].copy_from_slice(bytes);
            bytes.len()
        })?;
        let Some(length) = length else { return Ok(None) };
        let result = change(&mut value[..length]);
        self.put(table, key, &value[..length])?;
        Ok(Some(result))
    }

    /// Sets the value of a key, whether it is there or not.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()>;

    /// Sets the value of a key that the caller knows not to be there: a store may spare itself the look.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn insert(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.put(table, key, value)
    }

    /// Removes a key; false where it is not there.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool>;

    /// Visits the entries with `from <= key < below` in ascending order, until `visit` breaks.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn scan(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()>;

    /// As [`KvSession::scan`], in descending order.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn scan_back(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Says that a key will be read soon, or changed: a store may begin to fetch it. Keys are announced in the order in
    /// which they will be asked for. Changes nothing.
    #[inline]
    fn prefetch(&mut self, table: Table, key: &[u8]) {
        let _ = (table, key);
    }

    /// Makes the changes of the transaction visible, and durable as far as the store was told to.
    ///
    /// # Errors
    /// A conflict, or where the store fails: nothing is left of the transaction, unless a failing log leaves it open.
    fn commit(&mut self) -> Result<()>;

    /// As [`crate::Session::nap`].
    fn nap(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    /// As [`crate::Session::take_turns`].
    #[inline]
    fn take_turns(&mut self) {}

    /// Leaves nothing of the transaction. Also called where none is open.
    ///
    /// # Errors
    /// Where the store fails.
    fn abort(&mut self) -> Result<()>;
}
