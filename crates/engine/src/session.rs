//! One thread's, or one task's, transactions, one after the other.
//!
//! **Snapshot.** A transaction reads the rows as they were at one commit; its own changes are kept aside until it commits,
//! so nothing that is not committed is ever in a tree, in the log or on a disk.
//!
//! **Locks.** Who changes a row locks it first. Of two that want the same, the older one waits and the younger one gives
//! up, unless it holds no lock yet; so nobody waits in a circle. One that gave up locks that row first when it begins
//! again, before it takes its snapshot: it does not lose twice to the same.
//!
//! **First committer wins.** A row that was changed after the snapshot cannot be changed: the transaction gives up; but if
//! nothing that it has read has changed since, it goes on with a newer snapshot instead, as if it had begun just now.
//!
//! **Commit.** In one go under one permit to change: a number is drawn, the record goes to the log, the changes to the
//! trees. The transaction is acknowledged when all commits up to its own are visible and its record is durable; with several
//! logs, when the records of all commits up to its own are.

use std::{collections::VecDeque, sync::Arc};

use assay_buffer::stage::Moment;

use assay_btree::Finger;

use crate::{
    core::{Core, Purge},
    error::{EngineError, Result},
    hash,
    locks::Holder,
    prefetch::Prefetch,
    row::Stamp,
    trees::Trees,
    versions::Found,
    writes::Writes,
};

/// Reads that are remembered for a newer snapshot.
const READS: usize = 32;

/// A commit that was made and may not be durable yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Its number; 0 where nothing was changed.
    pub commit: u64,
    /// Where its record ends, which must be durable: log and position. 0 where nothing is in a log.
    pub end: u64,
}

/// How often things happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Transactions that changed something and were committed.
    pub commits: u64,
    /// Conflicts.
    pub conflicts: u64,
    /// Snapshots that were renewed instead of a conflict.
    pub renewed: u64,
    /// Waits for a lock.
    pub lock_waits: u64,
}

/// A thread's, or a task's, way into a database.
pub struct Session<'d, T: Trees> {
    pub(crate) core: &'d Arc<Core>,
    pub(crate) trees: T,
    pub(crate) slot: usize,
    /// The log that its commits go to.
    pub(crate) log: usize,
    pub(crate) writes: Writes,
    pub(crate) snapshot: u64,
    pub(crate) holder: Holder,
    /// Words that are locked, with the newest commit under each.
    pub(crate) locked: Vec<(u32, u64)>,
    /// Words of rows that were read.
    reads: Vec<u32>,
    /// More was read than is remembered.
    pub(crate) read_much: bool,
    /// The newest commit that was seen.
    pub(crate) newest_seen: u64,
    /// The word that the last transaction lost.
    pub(crate) lost: Option<u32>,
    pub(crate) active: bool,
    pub(crate) record: Vec<u8>,
    pub(crate) row: Vec<u8>,
    pub(crate) scan: crate::scan::Batch,
    pub(crate) purges: VecDeque<Purge>,
    pub(crate) tally: Tally,
    pub(crate) prefetch: Prefetch,
}

impl<'d, T: Trees> Session<'d, T> {
    /// A session over trees.
    ///
    /// # Errors
    /// Where there are too many.
    pub fn new(core: &'d Arc<Core>, trees: T) -> Result<Self> {
        let slot = core.slots.take()?;
        // A commit that began while another session was alone does not keep what it replaces: let it end.
        let begun = core.sequence.taken();
        while core.sequence.visible() < begun && core.check().is_ok() {
            trees.pause();
        }
        let log = trees.log().unwrap_or(slot % core.logs.count().max(1));
        Ok(Self {
            core,
            trees,
            slot,
            log,
            writes: Writes::default(),
            snapshot: 0,
            holder: Holder { age: 0, session: slot },
            locked: Vec::new(),
            reads: Vec::with_capacity(READS),
            read_much: false,
            newest_seen: 0,
            lost: None,
            active: false,
            record: Vec::new(),
            row: Vec::new(),
            scan: crate::scan::Batch::default(),
            purges: VecDeque::new(),
            tally: Tally::default(),
            prefetch: Prefetch::default(),
        })
    }

    /// Whether other tasks share the thread.
    pub fn cooperates(&self) -> bool {
        self.trees.cooperates()
    }

    /// Lets others go on while this one waits.
    pub fn let_others(&self) {
        self.trees.pause();
    }

    /// Lets the other tasks of the thread go on once, between transactions.
    #[inline]
    pub fn take_turns(&self) {
        self.trees.take_turns();
    }

    /// What happened in this session.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The newest commit that the transaction sees.
    pub fn snapshot(&self) -> u64 {
        self.snapshot
    }

    /// Begins a transaction; one that is under way is given up first.
    ///
    /// # Errors
    /// Where the database has stopped.
    pub fn begin(&mut self) -> Result<()> {
        self.abort();
        self.core.check()?;
        // One that lost keeps its age, so that it is the oldest one day.
        if self.lost.is_none() {
            self.holder.age = self.core.sequence.visible();
        }
        if let Some(word) = self.lost {
            // Where it cannot be had in time the transaction takes its chance without.
            let _tried = self.lock_word(word, 0);
        }
        self.snapshot = self.core.slots.begin_snapshot(self.slot, || self.core.sequence.visible());
        (self.active, self.newest_seen, self.read_much) = (true, 0, false);
        Ok(())
    }

    /// Gives the transaction up: nothing of it is left.
    pub fn abort(&mut self) {
        self.writes.clear();
        self.prefetch.clear();
        self.reads.clear();
        let locked = self.locked.drain(..);
        locked.for_each(|(word, commit)| self.core.locks.unlock(word, commit));
        if self.active {
            self.core.slots.end_snapshot(self.slot);
            self.active = false;
        }
    }

    /// Copies the value of a row as the transaction sees it; `false` where it is not there.
    ///
    /// # Errors
    /// Where a page cannot be had, or the snapshot is too old.
    pub fn get(&mut self, table: u16, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        let hash = hash::of(table, key);
        let mut finger = self.prefetch.finger(&self.trees, hash, table);
        self.get_at(hash, (table, key), &mut finger, into)
    }

    /// As [`Session::get`]; the search begins at the finger, which points to where the row is afterwards.
    fn get_at(
        &mut self,
        hash: u64,
        (table, key): (u16, &[u8]),
        finger: &mut Finger,
        into: &mut Vec<u8>,
    ) -> Result<bool> {
        if let Some(index) = self.writes.find(hash, table, key) {
            let value = self.writes.value(index);
            into.clear();
            into.extend_from_slice(value.unwrap_or_default());
            return Ok(value.is_some());
        }
        self.remember(hash);
        let stamp = self.newest(table, key, finger, into)?;
        match stamp {
            Some(stamp) if stamp.commit > self.snapshot => self.older(hash, table, key, (stamp, into)),
            Some(stamp) => {
                self.newest_seen = self.newest_seen.max(stamp.commit);
                Ok(!stamp.deleted)
            }
            None => Ok(false),
        }
    }

    /// Sets the value of a row, whether it is there or not.
    ///
    /// # Errors
    /// A conflict, or where a page cannot be had: the transaction is to be given up.
    pub fn put(&mut self, table: u16, key: &[u8], value: &[u8]) -> Result<()> {
        let hash = hash::of(table, key);
        self.claim(hash, table, key)?;
        let finger = self.prefetch.finger(&self.trees, hash, table);
        self.writes.set(hash, table, key, Some(value), finger);
        Ok(())
    }

    /// Deletes a row; `false` where it is not there.
    ///
    /// # Errors
    /// As [`Session::put`].
    pub fn delete(&mut self, table: u16, key: &[u8]) -> Result<bool> {
        let hash = hash::of(table, key);
        self.claim(hash, table, key)?;
        let mut finger = self.prefetch.finger(&self.trees, hash, table);
        let mut row = std::mem::take(&mut self.row);
        let there = self.get_at(hash, (table, key), &mut finger, &mut row);
        self.row = row;
        if there? {
            self.writes.set(hash, table, key, None, finger);
            return Ok(true);
        }
        Ok(false)
    }

    /// Copies the value of a row that will be changed: as [`Session::get`], but locked, so that it stays the newest.
    ///
    /// # Errors
    /// As [`Session::put`].
    pub fn get_to_change(&mut self, table: u16, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        self.claim(hash::of(table, key), table, key)?;
        self.get(table, key, into)
    }

    /// Changes the value of a row in place, but not its length; none where it is not there. One search serves both, and
    /// the commit goes where it ended.
    ///
    /// # Errors
    /// As [`Session::put`].
    pub fn update<R>(&mut self, table: u16, key: &[u8], change: impl FnOnce(&mut [u8]) -> R) -> Result<Option<R>> {
        let hash = hash::of(table, key);
        self.claim(hash, table, key)?;
        let index = match self.writes.find(hash, table, key) {
            Some(index) => Some(index),
            None => self.take_over(hash, table, key)?,
        };
        Ok(index.and_then(|index| self.writes.value_mut(index)).map(change))
    }

    /// Copies a row that is locked among the changes; none where it is not there.
    fn take_over(&mut self, hash: u64, table: u16, key: &[u8]) -> Result<Option<usize>> {
        let (mut stamp, mut finger) = (None, self.prefetch.finger(&self.trees, hash, table));
        if finger.is_none() {
            // The row before may be of the same leaf.
            finger = self.writes.last_finger(table);
        }
        self.writes.open(key);
        let there = self.trees.read(table, key, &mut finger, |row| {
            stamp = Stamp::split(row).map(|(stamp, _)| stamp);
            self.writes.fill(row);
        });
        match (there, stamp) {
            (Ok(true), Some(stamp)) if !stamp.deleted => {
                self.newest_seen = self.newest_seen.max(stamp.commit);
                Ok(Some(self.writes.close(hash, table, key.len(), finger)))
            }
            (there, stamp) => {
                self.writes.give_up(key.len());
                if there? && stamp.is_none() { Err(too_short(table)) } else { Ok(None) }
            }
        }
    }

    /// Says that a row will be asked for: what that will need begins to be fetched when the first row is that was
    /// announced.
    pub fn prefetch(&mut self, table: u16, key: &[u8]) {
        let hash = hash::of(table, key);
        self.core.locks.expect(self.core.locks.word(hash));
        self.prefetch.add(hash, table, key);
    }

    /// The newest version of a row, which may lie where the finger points.
    pub(crate) fn newest(
        &self,
        table: u16,
        key: &[u8],
        finger: &mut Finger,
        into: &mut Vec<u8>,
    ) -> Result<Option<Stamp>> {
        let mut stamp = None;
        let there = self.trees.read(table, key, finger, |row| {
            into.clear();
            stamp = Stamp::split(row).map(|(stamp, value)| {
                into.extend_from_slice(value);
                stamp
            });
        })?;
        if there { stamp.map(Some).ok_or_else(|| too_short(table)) } else { Ok(None) }
    }

    /// Makes of a row's newest version the one that the snapshot sees, where that is an older one.
    pub(crate) fn older(
        &self,
        hash: u64,
        table: u16,
        key: &[u8],
        (newest, value): (Stamp, &mut Vec<u8>),
    ) -> Result<bool> {
        older(self.core, hash, (table, key), (newest.commit, self.snapshot), value)
    }

    fn remember(&mut self, hash: u64) {
        if self.reads.len() < READS {
            self.reads.push(self.core.locks.word(hash));
        } else {
            self.read_much = true;
        }
    }

    /// Locks a row for a change, and makes sure that the snapshot sees its newest version.
    fn claim(&mut self, hash: u64, table: u16, key: &[u8]) -> Result<()> {
        let word = self.core.locks.word(hash);
        let newest = match self.core.locks.lock(word, self.holder) {
            Ok(newest) => {
                self.locked.push((word, newest));
                newest
            }
            Err(other) if other == self.holder => self.newest_locked(word),
            Err(_) => self.lock_word(word, table)?,
        };
        if newest <= self.snapshot {
            return Ok(());
        }
        // Rows share words: it may have been another row.
        let mut row = std::mem::take(&mut self.row);
        let stamp = self.newest(table, key, &mut Finger::default(), &mut row);
        self.row = row;
        match stamp? {
            Some(stamp) if stamp.commit > self.snapshot && !self.renew(stamp.commit) => Err(self.conflict(word, table)),
            _ => Ok(()),
        }
    }

    /// The newest commit under a word that this transaction has locked.
    fn newest_locked(&self, word: u32) -> u64 {
        let held = self.locked.iter().find(|(locked, _)| *locked == word);
        held.map_or(u64::MAX, |(_, newest)| *newest)
    }

    fn lock_word(&mut self, word: u32, table: u16) -> Result<u64> {
        let mut since = None;
        loop {
            let other = match self.core.locks.lock(word, self.holder) {
                Ok(commit) => {
                    self.locked.push((word, commit));
                    return Ok(commit);
                }
                Err(other) => other,
            };
            let may_wait = self.locked.is_empty() || self.holder.precedes(other);
            let start = *since.get_or_insert_with(Moment::now);
            if !may_wait || start.elapsed() >= self.core.patience {
                return Err(self.conflict(word, table));
            }
            self.core.check()?;
            self.tally.lock_waits += 1;
            self.trees.pause();
        }
    }

    fn conflict(&mut self, word: u32, table: u16) -> EngineError {
        self.lost = Some(word);
        self.tally.conflicts += 1;
        EngineError::Conflict { table }
    }

    /// Takes a newer snapshot, which sees `commit`, where nothing that was read has changed since the old one.
    fn renew(&mut self, commit: u64) -> bool {
        if self.read_much {
            return false;
        }
        while self.core.sequence.visible() < commit {
            if self.core.check().is_err() {
                return false;
            }
            self.trees.pause();
        }
        let newer = self.core.slots.begin_snapshot(self.slot, || self.core.sequence.visible());
        let unchanged = |word: &u32| match self.locked.iter().find(|(locked, _)| locked == word) {
            Some((_, newest)) => *newest <= self.snapshot,
            None => self.core.locks.newest(*word).is_some_and(|newest| newest <= self.snapshot),
        };
        if !self.reads.iter().all(unchanged) {
            return false;
        }
        self.snapshot = newer;
        self.tally.renewed += 1;
        true
    }
}

impl<T: Trees> Drop for Session<'_, T> {
    fn drop(&mut self) {
        self.abort();
        self.core.defer_purges(self.purges.drain(..));
        self.core.slots.release(self.slot);
    }
}

pub(crate) fn too_short(table: u16) -> EngineError {
    EngineError::Damaged { place: format!("a row of table {table}"), what: "it is too short to be one".to_owned() }
}

/// Makes of a row's newest version the one that a snapshot sees, where that is an older one; `false` where it sees none.
pub(crate) fn older(
    core: &Core,
    hash: u64,
    (table, key): (u16, &[u8]),
    (newest, snapshot): (u64, u64),
    value: &mut Vec<u8>,
) -> Result<bool> {
    match core.versions.find(hash, (table, key), newest, snapshot, value) {
        Found::Value => Ok(true),
        Found::Absent => Ok(false),
        Found::Lost => Err(EngineError::SnapshotTooOld { table }),
    }
}
