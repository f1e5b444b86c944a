//! Works until it dies.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Instant,
};

use assay_instruments::Watch;
use assay_record::Event;
use assay_workload::{Milestone, Work, Worker, WorkloadError, drive};

use crate::{
    check::count,
    error::SoakError,
    job::SoakJob,
    journal::{self, Journal},
    store::{Store, StoreHandle, Visit},
    turn::Keys,
};

/// Works through turns on a store.
pub(crate) struct Turns<'a, 'w> {
    pub job: &'a SoakJob,
    pub watch: &'a mut Watch<'w>,
    pub began: Instant,
}

impl Visit for Turns<'_, '_> {
    type Out = ();

    fn visit<S: Store>(self, store: &S) -> Result<(), SoakError> {
        let Turns { job, watch, began } = self;
        let acknowledged = journal::read(&job.journal, job.threads)?;
        let (counted, holds) = count(job, store, &acknowledged)?;
        if counted.lost + counted.corrupt > 0 {
            return Err(SoakError::Differs { what: counted.examples.join("; ") });
        }
        let journal = &Journal::begin(&job.journal, &holds)?;
        let hands = Hands { job, stopped: watch.interrupted, store, journal, holds };
        let ended = drive(&hands, job.threads, |gate| {
            gate.wait_for(Milestone::Warm);
            if !gate.is_shut() {
                // Whoever kills it reads this line.
                (watch.emit)(Event::Interval { at_s: began.elapsed().as_secs_f64(), classes: Vec::new() });
            }
            gate.wait_for(Milestone::Finished);
        });
        ended.map(drop)
    }
}

/// Hands on a store, as the driver has them work: warm are those that have done a turn.
struct Hands<'a, S> {
    job: &'a SoakJob,
    stopped: &'a AtomicBool,
    store: &'a S,
    journal: &'a Journal,
    /// The turn that each thread goes on from.
    holds: Vec<u64>,
}

impl<S: Store> Work for Hands<'_, S> {
    type Outcome = ();
    type Error = SoakError;

    fn work(&self, worker: &mut Worker<'_>) -> Result<(), SoakError> {
        let (Self { job, stopped, .. }, thread) = (self, worker.number());
        let from = self.holds[thread as usize];
        let (keys, batch) = (Keys { thread, keys: job.keys }, self.store.batch());
        let last = job.turns.map_or(u64::MAX, |turns| from + turns);
        let (mut handle, mut key, mut turn) = (self.store.handle()?, Vec::new(), from);
        while turn < last && !worker.gate().is_shut() && !stopped.load(Relaxed) {
            let until = turn.saturating_add(batch).min(last);
            for turn in turn + 1..=until {
                keys.key(keys.slot(turn), &mut key);
                handle.set(&key, keys.value(turn).as_deref())?;
            }
            if batch > 1 {
                self.store.make_durable()?;
            }
            self.journal.acknowledge(thread, until).map_err(SoakError::file("writing the journal", &job.journal))?;
            worker.is_warm();
            turn = until;
        }
        Ok(())
    }

    fn lost(&self, error: WorkloadError) -> SoakError {
        error.into()
    }
}
