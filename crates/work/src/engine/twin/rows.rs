//! Single rows and scans in virtual time: each thread is an actor, with its tasks.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use assay_instruments::tally::{Snapshot, Sum};
use assay_record::WorkRecord;
use assay_workload::Gate;

use super::{Play, result};
use crate::{
    engine::{
        Watch,
        rows::{Counts, Rows, wrong_rows},
        seen::{RowsWindow, record},
        shape::RowsShape,
    },
    error::Result,
};

pub(super) fn run(play: &Play<'_>, watch: &mut Watch<'_>) -> Result<WorkRecord> {
    let (job, shape) = (play.job, RowsShape::of(&play.job.workload));
    let counts: Vec<Counts> = (0..job.threads).map(|_| Counts::default()).collect();
    let (stop, failed) = (Gate::new(job.threads), RefCell::new(None));
    let mut bodies: Vec<Box<dyn FnOnce() + '_>> = Vec::new();
    let (database, acknowledged) = (play.database, None);
    let rows = Rows { database, job, shape, counts: &counts, clock: None, acknowledged };
    for thread in 0..job.threads {
        let (rows, stop, failed) = (&rows, &stop, &failed);
        bodies.push(Box::new(move || {
            if let Err(error) = rows.tasks(thread, stop, || ()) {
                failed.borrow_mut().get_or_insert(error);
                stop.shut();
            }
        }));
    }
    let readers: RefCell<Vec<(Snapshot, Snapshot)>> = RefCell::new(counts.iter().map(|_| Default::default()).collect());
    let drain = || {
        let (mut reads, mut changes) = (Sum::default(), Sum::default());
        for (counts, (read, changed)) in counts.iter().zip(readers.borrow_mut().iter_mut()) {
            counts.reads.drain_into(read, &mut reads);
            counts.changes.drain_into(changed, &mut changes);
        }
        (reads, changes)
    };
    let total = |pick: fn(&Counts) -> &AtomicU64| counts.iter().map(|one| pick(one).load(Relaxed)).sum::<u64>();
    let done = || counts.iter().map(|one| one.reads.count() + one.changes.count()).sum();
    let marks = RefCell::new(Vec::new());
    let mark = |_closes: bool| {
        let (reads, changes) = drain();
        let totals = (total(|one| &one.bytes), total(|one| &one.conflicts));
        marks.borrow_mut().push((reads, changes, totals));
    };
    let edges = play.window(bodies, &stop, &done, &mark, watch)?;
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    let mut marks = marks.into_inner();
    let Some((reads, changes, (bytes, conflicts))) = marks.pop() else { unreachable!("the window was closed") };
    let before = marks[0].2;
    let window = result::window(play);
    let seen = RowsWindow { window, reads, changes, bytes: bytes - before.0, conflicts: conflicts - before.1 };
    let mut record = record(
        job,
        (play.database.logs(), [false; 2]),
        seen,
        vec![wrong_rows(&counts)],
        (play.began, play.prepared),
        shape,
    );
    result::complete(play, &mut record, &edges);
    Ok(record)
}
