//! Commits: one permit to change, one number, one record; and rows that were deleted going for good.

use assay_btree::Finger;

use crate::{
    core::{Core, Goal, Purge},
    error::{Failure, Result},
    hash,
    locks::Holder,
    log::{
        Full,
        logs::{end_in, log_of},
        record,
        record::RecordKind,
    },
    row::{ROW_HEADER, Stamp},
    session::{Session, Ticket},
    trees::{Decision, Trees},
    versions::Replaced,
    writes::{Write, Writes},
};

/// Deleted rows that a commit removes at most.
const PURGES: usize = 16;
/// Looks at whether commits before one's own are visible, before one lets others go on: they take microseconds.
const SPINS: u32 = 256;

impl<T: Trees> Session<'_, T> {
    /// Commits, and waits until that is durable.
    ///
    /// # Errors
    /// Where the log or a page fails. Whether the transaction is there is then open until the database was opened again:
    /// it is there as a whole or not at all.
    pub fn commit(&mut self) -> Result<()> {
        let ticket = self.commit_now()?;
        self.wait(ticket)
    }

    /// Commits without waiting: the transaction is visible soon and durable when [`Session::wait`] says so.
    ///
    /// # Errors
    /// As [`Session::commit`].
    pub fn commit_soon(&mut self) -> Result<Ticket> {
        let ticket = self.commit_now()?;
        if let Some(log) = self.core.logs.get(self.log).filter(|_| ticket.end > 0) {
            log.expect(log_of(ticket.end).1);
        }
        Ok(ticket)
    }

    fn commit_now(&mut self) -> Result<Ticket> {
        if self.writes.is_empty() {
            let commit = self.newest_seen;
            self.lost = None;
            self.abort();
            return Ok(Ticket { commit, end: 0 });
        }
        if self.core.logs.count() > 0 {
            self.writes.record(&mut self.record);
        }
        let ticket = self.apply();
        if ticket.is_err() {
            self.abort();
        }
        let ticket = ticket?;
        self.locked.drain(..).for_each(|(word, _)| self.core.locks.unlock(word, ticket.commit));
        self.purge_later(ticket.commit);
        self.abort();
        self.lost = None;
        self.tally.commits += 1;
        self.purge(PURGES)?;
        Ok(ticket)
    }

    /// Waits until a commit is visible and durable.
    ///
    /// # Errors
    /// Where the log fails before.
    pub fn wait(&self, ticket: Ticket) -> Result<()> {
        let (reads, logs) = (ticket.end == 0, &self.core.logs);
        if reads && self.core.durable_commit() >= ticket.commit {
            return Ok(());
        }
        // It only read: what it saw must be durable before anybody hears of it. With several logs what a commit has read
        // may be in another one than its own record.
        let end = if reads && logs.count() > 0 { self.core.sequence.end_of(ticket.commit) } else { ticket.end };
        let goal = Goal { commit: ticket.commit, end, all: reads || logs.are_several() };
        if self.trees.park_until(goal) {
            return self.core.check();
        }
        let mut spins = 0;
        while self.core.sequence.visible() < ticket.commit {
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
                continue;
            }
            self.core.check()?;
            self.trees.pause();
        }
        if !self.trees.cooperates() {
            return self.core.wait(goal);
        }
        while let Some((log, position)) = self.core.awaited(goal) {
            logs.check()?;
            log.ask_if_idle(position);
            self.trees.pause();
        }
        Ok(())
    }

    /// Removes up to `most` rows that were deleted and that no snapshot asks for any more.
    ///
    /// # Errors
    /// Where a page cannot be had.
    pub fn purge(&mut self, most: usize) -> Result<()> {
        if self.purges.is_empty() {
            return Ok(());
        }
        let gone = self.core.oldest().min(self.core.durable_commit());
        for _ in 0..most.min(self.purges.len()) {
            let Some(purge) = self.purges.pop_front() else { return Ok(()) };
            if purge.commit > gone {
                self.purges.push_front(purge);
                return Ok(());
            }
            self.remove(purge)?;
        }
        Ok(())
    }

    /// Takes over deleted rows that others left behind.
    pub fn adopt_purges(&mut self) {
        self.purges.extend(self.core.take_purges());
    }

    fn remove(&mut self, purge: Purge) -> Result<()> {
        let word = self.core.locks.word(hash::of(purge.table, &purge.key));
        let holder = Holder { age: purge.commit, session: self.slot };
        let Ok(commit) = self.core.locks.lock(word, holder) else {
            self.purges.push_back(purge);
            return Ok(());
        };
        let permit = self.trees.permit();
        let removed =
            self.trees.change(&permit, purge.table, &purge.key, &mut |row, _| match row.and_then(Stamp::split) {
                Some((stamp, _)) if stamp.deleted && stamp.commit == purge.commit => Decision::Remove,
                _ => Decision::Keep,
            });
        self.core.locks.unlock(word, commit);
        removed
    }

    /// Draws a number, writes the record and changes the trees.
    fn apply(&mut self) -> Result<Ticket> {
        loop {
            let permit = self.trees.permit();
            self.core.check()?;
            if !self.core.sequence.has_room(|| self.core.reach()) {
                drop(permit);
                self.trees.pause();
                continue;
            }
            let log = self.core.logs.get(self.log);
            let position = match log {
                None => 0,
                Some(log) => match log.reserve(self.slot, self.record.len())? {
                    Ok(position) => position,
                    Err(full) => {
                        drop(permit);
                        self.wait_for_room(full)?;
                        continue;
                    }
                },
            };
            let commit = self.core.sequence.take();
            if let Some(log) = log {
                let changes = self.writes.len() as u32;
                record::seal(&mut self.record, log.identity(), position, commit, RecordKind::Commit, changes);
                log.fill(self.slot, position, &self.record);
            }
            let end = log.map_or(0, |_| end_in(self.log, position + self.record.len() as u64));
            let oldest = self.core.oldest_about(commit);
            if let Err(error) = change_trees(self.core, &self.trees, &mut self.writes, &permit, (commit, oldest)) {
                let what = "a commit was in the log and could not be carried out";
                self.core.stop(Failure::of(what, &error));
                return self.core.check().map(|()| Ticket { commit, end });
            }
            self.core.sequence.applied(commit, end);
            return Ok(Ticket { commit, end });
        }
    }

    fn wait_for_room(&self, full: Full) -> Result<()> {
        match (full, self.core.logs.get(self.log)) {
            (Full::Area, _) => self.trees.need_checkpoint(),
            (Full::Ring, Some(log)) => {
                log.ask(log.durable() + 1);
                self.trees.pause();
                Ok(())
            }
            (Full::Ring, None) => Ok(()),
        }
    }

    fn purge_later(&mut self, commit: u64) {
        for index in 0..self.writes.len() {
            let write = self.writes.write(index);
            if write.deleted {
                self.purges.push_back(Purge { commit, table: write.table, key: self.writes.key(index).to_vec() });
            }
        }
    }
}

fn change_trees<T: Trees>(
    core: &Core,
    trees: &T,
    writes: &mut Writes,
    permit: &T::Permit<'_>,
    (commit, oldest): (u64, u64),
) -> Result<()> {
    let keep = core.slots.shared();
    let (mut last, mut last_table) = (Finger::default(), u16::MAX);
    for index in 0..writes.len() {
        let Write { hash, table, finger, deleted, .. } = writes.write(index);
        // Rows of one leaf come one after the other: the one before has changed the leaf, and knows it.
        let near = table == last_table && (finger.is_none() || finger.is_near(&last));
        last = if near { last.at_slot_of(&finger) } else { finger };
        last_table = table;
        let (key, row) = writes.stamped(index, commit);
        let new = (!deleted).then(|| &row[ROW_HEADER..]);
        trees.replace(permit, table, (key, row), &mut last, &mut |old| {
            if let Some((stamp, value)) = old.and_then(Stamp::split).filter(|_| keep) {
                let value = (!stamp.deleted).then_some(value);
                let replaced = Replaced { table, key, value, new, made: stamp.commit, by: commit };
                core.versions.keep(hash, &replaced, oldest);
            }
        })?;
    }
    Ok(())
}
