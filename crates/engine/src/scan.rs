//! Scans: rows of a range as a snapshot sees them, with the transaction's own changes among them.

use assay_btree::{Entries, Finger, Glance, Range};

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
/// Batches that are copied out of a leaf each. What is longer is gone through by a scan, which reads ahead.
const GLANCES: usize = 8;

/// Rows that were copied out of a tree, so that nothing is held while they are looked at.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    rows: Entries,
    own: Vec<u32>,
    value: Vec<u8>,
    from: Vec<u8>,
    below: Vec<u8>,
    /// Where the range goes on behind these rows.
    bound: Vec<u8>,
}

/// What is asked of a scan.
#[derive(Clone, Copy)]
struct Course {
    table: u16,
    down: bool,
}

impl Batch {
    /// The rest of the range.
    fn go_on(&mut self, down: bool) {
        std::mem::swap(if down { &mut self.below } else { &mut self.from }, &mut self.bound);
    }

    /// The range goes on behind the last row.
    fn bound_by_last(&mut self, down: bool) {
        self.bound.clear();
        let Some(last) = self.rows.len().checked_sub(1) else { return };
        self.bound.extend_from_slice(self.rows.key(last));
        if !down {
            self.bound.push(0);
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
        let result = self.scan_with(&mut batch, Course { table, down }, (from, below), &mut visit);
        self.scan = batch;
        result
    }

    fn scan_with(
        &mut self,
        batch: &mut Batch,
        course: Course,
        (from, below): (&[u8], &[u8]),
        visit: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        batch.from.clear();
        batch.from.extend_from_slice(from);
        batch.below.clear();
        batch.below.extend_from_slice(below);
        let mut own = std::mem::take(&mut batch.own);
        self.writes.range(course.table, from, below, &mut own);
        if course.down {
            own.reverse();
        }
        let result = self.visit_batches(batch, course, &own, visit);
        batch.own = own;
        result
    }

    fn visit_batches(
        &mut self,
        batch: &mut Batch,
        course: Course,
        own: &[u32],
        visit: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let mut finger = self.announced_finger(course, &batch.from);
        let (mut next_own, mut limit) = (0, FIRST);
        for number in 0.. {
            let more = self.fill(batch, course, limit, (number < GLANCES).then_some(finger))?;
            if !self.merge(batch, course, own, &mut next_own, visit)? {
                return Ok(());
            }
            if !more {
                break;
            }
            batch.go_on(course.down);
            finger = Finger::default();
            limit = (limit * 4).min(MOST);
        }
        self.visit_own(&own[next_own..], visit)
    }

    /// Where a scan up begins, if that was announced.
    fn announced_finger(&mut self, course: Course, from: &[u8]) -> Finger {
        if course.down || self.announced.is_empty() {
            return Finger::default();
        }
        self.announced.finger(&self.trees, hash::of(course.table, from), course.table)
    }

    /// Copies the next rows of the range; whether there may be more. With a finger, those that lie in one leaf.
    fn fill(&self, batch: &mut Batch, course: Course, limit: usize, glance: Option<Finger>) -> Result<bool> {
        let Course { table, down } = course;
        let Batch { rows, from, below, bound, .. } = batch;
        rows.clear();
        if from >= below {
            return Ok(false);
        }
        if let Some(finger) = glance {
            match self.trees.glance(table, Range { from, below, down, limit }, finger, rows, bound)? {
                Glance::Ended => return Ok(false),
                Glance::More => return Ok(true),
                Glance::Elsewhere => {}
            }
        }
        self.trees.scan(table, (from, below), down, limit, &mut |key, row| rows.push((key, &[]), row))?;
        batch.bound_by_last(down);
        Ok(batch.rows.len() == limit)
    }

    /// Visits a batch and the own changes among it; whether to go on.
    fn merge(
        &mut self,
        batch: &mut Batch,
        Course { table, down }: Course,
        own: &[u32],
        next_own: &mut usize,
        visit: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<bool> {
        for index in 0..batch.rows.len() {
            let mut replaced = false;
            while let Some(&write) = own.get(*next_own) {
                let order = self.writes.key(write as usize).cmp(batch.rows.key(index));
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
        let (key, row) = (batch.rows.key(index), batch.rows.value(index));
        let Some((stamp, newest)) = Stamp::split(row) else { return Err(too_short(table)) };
        let mut go_on = true;
        if stamp.commit <= self.snapshot {
            self.newest_seen = self.newest_seen.max(stamp.commit);
            if !stamp.deleted {
                go_on = visit(key, &row[ROW_HEADER..]);
            } else if stamp.commit <= self.core.opened {
                self.purge_later(stamp.commit, table, key);
            }
        } else {
            value.clear();
            value.extend_from_slice(newest);
            if self.older(hash::of(table, key), table, key, (stamp, &mut value))? {
                go_on = visit(key, &value);
            }
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
