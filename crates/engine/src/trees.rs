//! Where rows are kept, as transactions see it.

use assay_btree::{Entries, Finger, Glance, Range};

use crate::{core::Goal, error::Result};

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It stays as it is.
    Keep,
    /// It is what was put into the buffer.
    Put,
    /// It is gone.
    Remove,
}

/// Decides on a row: it gets the row, if there is one, and an empty buffer for the new one.
pub type Decide<'a> = dyn FnMut(Option<&[u8]>, &mut Vec<u8>) -> Decision + 'a;

/// A thread's way to ordered maps from keys to rows, one map per table.
///
/// Calls are atomic one by one; the closures they are given may be called again where something came between.
pub trait Trees {
    /// Permit to change trees: what is changed under one of them is in a checkpoint as a whole or not at all.
    type Permit<'a>
    where
        Self: 'a;

    /// Hands the row of a key to `copy`, which copies it and does nothing else: it may be called several times, and the
    /// last call counts. `false` where there is none. The finger points to where the row is, or would be.
    ///
    /// # Errors
    /// Where a page cannot be had.
    fn read(&self, table: u16, key: &[u8], finger: &mut Finger, copy: impl FnMut(&[u8])) -> Result<bool>;

    /// Waits for a permit to change trees. A checkpoint waits as long as it is held.
    fn permit(&self) -> Self::Permit<'_>;

    /// Lets `decide` say what becomes of the row of a key: it gets the row, if there is one, and an empty buffer.
    ///
    /// # Errors
    /// Where a page cannot be had, or the row does not fit into one.
    fn change(&self, permit: &Self::Permit<'_>, table: u16, key: &[u8], decide: &mut Decide<'_>) -> Result<()>;

    /// Puts a row whatever is there; `replaced` gets what was, as the last of several calls says.
    ///
    /// # Errors
    /// As [`Trees::change`].
    fn replace(
        &self,
        permit: &Self::Permit<'_>,
        table: u16,
        row: (&[u8], &[u8]),
        finger: &mut Finger,
        replaced: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<()>;

    /// Visits up to `limit` rows with `from <= key < below`, up or down, until `visit` says `false`. A row that is there
    /// throughout is visited once.
    /// Nothing of the engine is called from `visit`.
    ///
    /// # Errors
    /// Where a page cannot be had.
    fn scan(
        &self,
        table: u16,
        range: (&[u8], &[u8]),
        down: bool,
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()>;

    /// Whether a scan from here, or down from here, goes on with the last one, which was long: it has been read ahead for.
    fn goes_on(&self, _start: &[u8]) -> bool {
        false
    }

    /// Copies the rows of a range that lie side by side where it begins, up to its limit, and puts into `bound` where it goes
    /// on. [`Glance::Elsewhere`] where only a scan can tell.
    ///
    /// # Errors
    /// Where a page cannot be had.
    fn glance(
        &self,
        _table: u16,
        _range: Range<'_>,
        _finger: Finger,
        _into: &mut Entries,
        _bound: &mut Vec<u8>,
    ) -> Result<Glance> {
        Ok(Glance::Elsewhere)
    }

    /// Looks for some of the first keys side by side, and adds to `fingers` where each of those is, or nowhere. Nothing is
    /// waited for.
    fn approach(&self, _keys: &mut dyn Iterator<Item = (u16, &[u8])>, _fingers: &mut Vec<Finger>) {}

    /// Ends what was asked for ahead: others may wait for it. Called before waiting for anything but pages.
    ///
    /// # Errors
    /// Where the disk's queue fails.
    fn settle(&self) -> Result<()> {
        Ok(())
    }

    /// Lets others go on.
    fn pause(&self);

    /// Lets other tasks of the thread go on, without having to wait.
    fn take_turns(&self) {}

    /// Whether waiting must leave the thread to others: then [`Trees::pause`] is called until it is over.
    fn cooperates(&self) -> bool;

    /// Waits in a task until a commit is visible and durable, or the database has stopped; `false` where the caller must
    /// wait itself.
    fn park_until(&self, _goal: Goal) -> bool {
        false
    }

    /// Which log the thread's commits go to, where it has one.
    fn log(&self) -> Option<usize> {
        None
    }

    /// The log's area is full: a checkpoint must make room. Returns when it may have.
    ///
    /// # Errors
    /// Where it fails.
    fn need_checkpoint(&self) -> Result<()>;
}
