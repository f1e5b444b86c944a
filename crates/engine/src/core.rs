//! What all sessions of an open database share.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::{
    error::{Failure, Result},
    locks::Locks,
    log::{
        Log, Logs, Pace,
        logs::{Reach, log_of},
    },
    sequence::Sequence,
    slots::Slots,
    versions::Versions,
};

/// Words of the table of locks: 2 MiB, which stay in the caches.
const LOCKS: usize = 1 << 18;
/// Commits after which the oldest snapshot is looked up again: all sessions have to be asked.
const OLDEST_EVERY: u64 = 32;

/// A deleted row that goes when no snapshot is older.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// The commit that deleted it.
    pub commit: u64,
    /// The table.
    pub table: u16,
    /// The key.
    pub key: Vec<u8>,
}

/// What somebody waits for who has committed, or has only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The commit, which must be visible.
    pub commit: u64,
    /// Where its record ends, which must be durable: log and position.
    pub end: u64,
    /// All commits before it must be durable as well.
    pub all: bool,
}

/// What all sessions of an open database share.
#[derive(Debug)]
pub struct Core {
    /// Sessions and their snapshots.
    pub slots: Slots,
    /// Commit numbers.
    pub sequence: Sequence,
    /// Locks of rows.
    pub locks: Locks,
    /// The oldest snapshot as it was at some moment: no snapshot is older, or ever will be.
    oldest: AtomicU64,
    /// Replaced versions.
    pub versions: Versions,
    /// The logs, if there are any.
    pub logs: Logs,
    /// The newest commit when the database was opened.
    pub opened: u64,
    /// Who waits for a lock waits no longer than this; nothing where all transactions are driven by one thread.
    pub patience: Duration,
    /// Deleted rows that sessions left behind.
    purges: Mutex<VecDeque<Purge>>,
    failure: OnceLock<Failure>,
}

impl Core {
    /// A database whose newest commit is `commit`.
    ///
    /// # Errors
    /// Where there is no memory for its tables.
    pub fn new(logs: Logs, commit: u64, versions_bytes: usize, pace: Pace) -> Result<Self> {
        let patience = if pace == Pace::Asked { Duration::ZERO } else { Duration::from_secs(2) };
        Ok(Self {
            slots: Slots::new(),
            sequence: Sequence::from(commit),
            oldest: AtomicU64::new(0),
            locks: Locks::new(if pace == Pace::Asked { LOCKS >> 6 } else { LOCKS }, commit)?,
            versions: Versions::new(versions_bytes),
            logs,
            opened: commit,
            patience,
            purges: Mutex::default(),
            failure: OnceLock::new(),
        })
    }

    /// The oldest snapshot that anybody reads or could begin to read.
    pub fn oldest(&self) -> u64 {
        self.slots.oldest(|| self.sequence.visible())
    }

    /// The newest commit up to which all are durable, in all logs; without a log, all that are visible.
    pub fn durable_commit(&self) -> u64 {
        let durable = self.sequence.durable(&self.logs.reach());
        self.logs.acknowledge(durable);
        durable
    }

    /// The oldest snapshot as it was a few commits before this one: a bound from below. All sessions share it, so that what
    /// is kept for snapshots is little, and stays in the caches.
    pub fn oldest_about(&self, commit: u64) -> u64 {
        if commit % OLDEST_EVERY != 0 {
            return self.oldest.load(Relaxed);
        }
        let oldest = self.oldest();
        self.oldest.fetch_max(oldest, Relaxed).max(oldest)
    }

    /// How far the only log is durable; without one nothing is waited for.
    #[inline]
    pub fn durable_end(&self) -> u64 {
        self.logs.get(0).map_or(u64::MAX, |log| log.durable())
    }

    /// How far all logs are durable.
    pub fn reach(&self) -> Reach {
        self.logs.reach()
    }

    /// The log that must be written next for a commit to be acknowledged, and up to where: its own first, so that several
    /// are written side by side, and then one that lacks a commit before it. None where that is not needed, or where
    /// a commit is to become visible first.
    pub fn awaited(&self, goal: Goal) -> Option<(&Log, u64)> {
        let wanting = |end: u64| {
            let (log, position) = log_of(end);
            self.logs.get(log).map(|log| (&**log, position)).filter(|(log, position)| log.durable() < *position)
        };
        let own = wanting(goal.end);
        if own.is_some() || !goal.all {
            return own;
        }
        loop {
            let durable = self.durable_commit();
            if durable >= goal.commit || durable >= self.sequence.visible() {
                return None;
            }
            // Where it has become durable meanwhile there may be another one after it.
            let other = wanting(self.sequence.end_of(durable + 1));
            if other.is_some() {
                return other;
            }
        }
    }

    /// Blocks until a visible commit may be acknowledged: writes what is needed, where nobody else does.
    ///
    /// # Errors
    /// Where a log fails before.
    pub fn wait(&self, goal: Goal) -> Result<()> {
        while let Some((log, position)) = self.awaited(goal) {
            log.wait(position)?;
        }
        self.logs.check()
    }

    /// Whether the database still works.
    ///
    /// # Errors
    /// [`EngineError::Stopped`] where it does not.
    pub fn check(&self) -> Result<()> {
        match self.failure.get() {
            Some(failure) => Err(failure.error()),
            None => self.logs.check(),
        }
    }

    /// Says that the database works no longer: what is in memory may be half of a transaction.
    pub fn stop(&self, failure: Failure) {
        let _first = self.failure.set(failure.clone());
        self.logs.stop(&failure);
    }

    /// Takes over deleted rows from a session that ends.
    pub fn defer_purges(&self, purges: impl IntoIterator<Item = Purge>) {
        self.purges.lock().unwrap_or_else(PoisonError::into_inner).extend(purges);
    }

    /// Deleted rows that sessions left behind.
    pub fn take_purges(&self) -> VecDeque<Purge> {
        std::mem::take(&mut self.purges.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
