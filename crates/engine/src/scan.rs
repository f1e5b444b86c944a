//! Scans: rows of a range as a snapshot sees them, with the transaction's own changes among them.
//!
//! A short scan copies the rows of a leaf and looks at the copies. A long one, from its ninth leaf on or where the last scan
//! was long and ended where it begins, is one scan of the tree: its rows are looked at where the tree shows them.

use assay_btree::{Entries, Finger, Glance, Range};

use crate::{error::Result, hash, session::Session, sieve::Sieve, trees::Trees};

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
    /// Visits the rows with `from <= key < below` as the transaction sees them, up or down, until `visit` says `false`. Nothing
    /// of the engine is called from `visit`: others may wait for pages that are being read ahead.
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
        let result = self.visit_all(batch, course, &own, visit);
        batch.own = own;
        result
    }

    fn visit_all(
        &mut self,
        batch: &mut Batch,
        course: Course,
        own: &[u32],
        visit: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let finger = self.prefetched_finger(course, &batch.from);
        let mut value = std::mem::take(&mut batch.value);
        let mut sieve = Sieve {
            core: self.core,
            writes: &self.writes,
            own,
            table: course.table,
            down: course.down,
            snapshot: self.snapshot,
            newest_seen: &mut self.newest_seen,
            purges: &mut self.purges,
            value: &mut value,
        };
        let result = go_through(&self.trees, batch, (course, finger), &mut sieve, visit);
        batch.value = value;
        result
    }

    /// Where a scan up begins, if that was announced.
    fn prefetched_finger(&mut self, course: Course, from: &[u8]) -> Finger {
        if course.down || self.prefetch.is_empty() {
            return Finger::default();
        }
        self.prefetch.finger(&self.trees, hash::of(course.table, from), course.table)
    }
}

/// Visits a range by glances, and the rest of a long one by a scan.
fn go_through<T: Trees>(
    trees: &T,
    batch: &mut Batch,
    (course, mut finger): (Course, Finger),
    sieve: &mut Sieve<'_>,
    visit: &mut impl FnMut(&[u8], &[u8]) -> bool,
) -> Result<()> {
    if batch.from >= batch.below {
        return Ok(());
    }
    let start = if course.down { &batch.below } else { &batch.from };
    let (glances, mut limit) = (if trees.goes_on(start) { 0 } else { GLANCES }, FIRST);
    for _ in 0..glances {
        let more = fill(trees, batch, course, limit, finger)?;
        for index in 0..batch.rows.len() {
            if !sieve.row(batch.rows.key(index), batch.rows.value(index), visit)? {
                return Ok(());
            }
        }
        batch.go_on(course.down);
        if !more || batch.from >= batch.below {
            sieve.rest(visit);
            return Ok(());
        }
        finger = Finger::default();
        limit = (limit * 4).min(MOST);
    }
    scan_on(trees, batch, course, sieve, visit)
}

/// Visits what is left of a range as the tree shows it.
fn scan_on<T: Trees>(
    trees: &T,
    batch: &Batch,
    Course { table, down }: Course,
    sieve: &mut Sieve<'_>,
    visit: &mut impl FnMut(&[u8], &[u8]) -> bool,
) -> Result<()> {
    let mut answer = Ok(true);
    trees.scan(table, (&batch.from, &batch.below), down, usize::MAX, &mut |key, row| {
        answer = sieve.row(key, row, visit);
        matches!(answer, Ok(true))
    })?;
    if answer? {
        sieve.rest(visit);
    }
    Ok(())
}

/// Copies the next rows of the range, those that lie in one leaf; whether there may be more.
fn fill<T: Trees>(trees: &T, batch: &mut Batch, course: Course, limit: usize, finger: Finger) -> Result<bool> {
    let Course { table, down } = course;
    let Batch { rows, from, below, bound, .. } = batch;
    rows.clear();
    match trees.glance(table, Range { from, below, down, limit }, finger, rows, bound)? {
        Glance::Ended => return Ok(false),
        Glance::More => return Ok(true),
        Glance::Elsewhere => {}
    }
    trees.scan(table, (from, below), down, limit, &mut |key, row| {
        rows.push((key, &[]), row);
        true
    })?;
    batch.bound_by_last(down);
    Ok(batch.rows.len() == limit)
}
