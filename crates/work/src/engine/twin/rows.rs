//! Single rows and scans in virtual time: each thread is an actor, with its tasks.

use std::cell::RefCell;

use assay_record::WorkRecord;
use assay_workload::Gate;

use super::{Play, result};
use crate::{
    engine::{
        Watch,
        rows::{Counts, Reader, Rows, wrong_rows},
        seen::record,
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
    let done = || counts.iter().map(|one| one.reads.count() + one.changes.count()).sum();
    let (reader, marks) = (RefCell::new(Reader::new(&counts)), RefCell::new(Vec::new()));
    let mark = || marks.borrow_mut().push(reader.borrow_mut().read());
    let edges = play.window(bodies, &stop, &done, &mark, watch)?;
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    let mut marks = marks.into_inner();
    let Some(closed) = marks.pop() else { unreachable!("the window was closed") };
    let seen = closed.since(&marks[0], result::window(play));
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
