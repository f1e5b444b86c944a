//! Scans: rows of a range as a snapshot sees them, with the transaction's own changes among them.

use crate::{
    error::Result,
    hash,
    row::{ROW_HEADER, Stamp},
    session::{Session, too_short},
    trees::Trees,
};

/// Rows of the first batch; each next one has four times as many, up to the most.
const FIRST: usize = 16;
const MOST: usize = 1024;

/// Rows that were copied out of a tree, so that nothing is held while they are looked at.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where each begins, and bytes of its key.
    rows: Vec<(u32, u16)>,
    own: Vec<u32>,
    value: Vec<u8>,
    from: Vec<u8>,
    below: Vec<u8>,
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    fn push(&mut self, key: &[u8], row: &[u8]) {
        self.rows.push((self.bytes.len() as u32, key.len() as u16));
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(row);
    }

    fn key(&self, index: usize) -> &[u8] {
        let (at, key) = self.rows[index];
        &self.bytes[at as usize..at as usize + key as usize]
    }

    fn row(&self, index: usize) -> &[u8] {
        let (at, key) = self.rows[index];
        let end = self.rows.get(index + 1).map_or(self.bytes.len(), |next| next.0 as usize);
        &self.bytes[at as usize + key as usize..end]
    }

    /// The rest of the range begins behind the last row.
    fn go_on(&mut self, down: bool) {
        let Some(&(at, key)) = self.rows.last() else { return };
        let last = at as usize..at as usize + key as usize;
        if down {
            self.below.clear();
            self.below.extend_from_slice(&self.bytes[last]);
        } else {
            self.from.clear();
            self.from.extend_from_slice(&self.bytes[last]);
            self.from.push(0);
        }
    }
}

impl<T: Trees> Session<'_, T> {
    /// Visits the rows with `from <= key < below` as the transaction sees them, up or down, until `visit` says `false`.
    ///
    /// # Errors
    /// Where a page cannot be had, or the snapshot is too old.
    pub fn scan(
        &mut self,
        table: u16,
        from: &[u8],
        below: &[u8],
        down: bool,
        mut visit: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        self.read_much = true;
        let mut batch = std::mem::take(&mut self.scan);
        let result = self.scan_with(&mut batch, table, from, below, down, &mut visit);
        self.scan = batch;
        result
    }

    fn scan_with(
        &mut self,
        batch: &mut Batch,
        table: u16,
        from: &[u8],
        below: &[u8],
        down: bool,
        visit: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        batch.from.clear();
        batch.from.extend_from_slice(from);
        batch.below.clear();
        batch.below.extend_from_slice(below);
        let mut own = std::mem::take(&mut batch.own);
        self.writes.range(table, from, below, &mut own);
        if down {
            own.reverse();
        }
        let mut next_own = 0;
        let mut limit = FIRST;
        let result = loop {
            if let Err(error) = self.fill(batch, table, down, limit) {
                break Err(error);
            }
            match self.merge(batch, table, down, &own, &mut next_own, visit) {
                Ok(true) if batch.rows.len() == limit => {}
                Ok(true) => break self.visit_own(&own[next_own..], visit),
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
            batch.go_on(down);
            limit = (limit * 4).min(MOST);
        };
        batch.own = own;
        result
    }

    fn fill(&self, batch: &mut Batch, table: u16, down: bool, limit: usize) -> Result<()> {
        batch.clear();
        if batch.from >= batch.below {
            return Ok(());
        }
        let (from, below) = (std::mem::take(&mut batch.from), std::mem::take(&mut batch.below));
        let result = self.trees.scan(table, (&from, &below), down, limit, &mut |key, row| batch.push(key, row));
        (batch.from, batch.below) = (from, below);
        result
    }

    /// Visits a batch and the own changes among it; whether to go on.
    fn merge(
        &mut self,
        batch: &mut Batch,
        table: u16,
        down: bool,
        own: &[u32],
        next_own: &mut usize,
        visit: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<bool> {
        for index in 0..batch.rows.len() {
            let mut replaced = false;
            while let Some(&write) = own.get(*next_own) {
                let order = self.writes.key(write as usize).cmp(batch.key(index));
                let order = if down { order.reverse() } else { order };
                if order.is_gt() {
                    break;
                }
                *next_own += 1;
                replaced = order.is_eq();
                let value = self.writes.value(write as usize);
                if value.is_some_and(|value| !visit(self.writes.key(write as usize), value)) {
                    return Ok(false);
                }
            }
            if !replaced && !self.visit_row(batch, index, table, visit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn visit_row(
        &mut self,
        batch: &mut Batch,
        index: usize,
        table: u16,
        visit: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<bool> {
        let mut value = std::mem::take(&mut batch.value);
        let (key, row) = (batch.key(index), batch.row(index));
        let Some((stamp, _)) = Stamp::split(row) else { return Err(too_short(table)) };
        let mut go_on = true;
        if stamp.commit <= self.snapshot {
            self.newest_seen = self.newest_seen.max(stamp.commit);
            if !stamp.deleted {
                go_on = visit(key, &row[ROW_HEADER..]);
            } else if stamp.commit <= self.core.opened {
                self.purge_later(stamp.commit, table, key);
            }
        } else if self.older(hash::of(table, key), table, key, &mut value)? {
            go_on = visit(key, &value);
        }
        batch.value = value;
        Ok(go_on)
    }

    fn visit_own(&self, own: &[u32], visit: &mut impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        for &write in own {
            let value = self.writes.value(write as usize);
            if value.is_some_and(|value| !visit(self.writes.key(write as usize), value)) {
                break;
            }
        }
        Ok(())
    }
}
