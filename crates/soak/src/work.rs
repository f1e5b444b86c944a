//! Works until it dies.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use assay_workload::{Gate, Milestone, Work, Worker, WorkloadError, drive};

use crate::{
    check::count,
    error::SoakError,
    job::SoakJob,
    journal::{self, Journal},
    store::{Hand, Store, Visit},
    turn::Keys,
};

/// Works through turns on a store.
pub(crate) struct Turns<'a> {
    pub job: &'a SoakJob,
    pub stopped: &'a AtomicBool,
    pub at_work: &'a (dyn Fn() + Sync),
}

impl Visit for Turns<'_> {
    type Out = ();

    fn visit<S: Store>(self, store: &S) -> Result<(), SoakError> {
        let acknowledged = journal::read(&self.job.journal, self.job.threads)?;
        let (counted, holds) = count(self.job, store, &acknowledged)?;
        if counted.lost + counted.corrupt > 0 {
            return Err(SoakError::Differs { what: counted.examples.join("; ") });
        }
        let journal = Journal::begin(&self.job.journal, &holds)?;
        let threads = self.job.threads;
        let hands = Hands { turns: &self, store, journal: &journal, holds, waited_for: AtomicU32::new(threads) };
        drive(&hands, threads, |gate| gate.wait_for(Milestone::Finished)).map(drop)
    }
}

/// Hands on a store, as the driver has them work.
struct Hands<'a, S> {
    turns: &'a Turns<'a>,
    store: &'a S,
    journal: &'a Journal,
    /// The turn that each thread goes on from.
    holds: Vec<u64>,
    waited_for: AtomicU32,
}

impl<S: Store> Work for Hands<'_, S> {
    type Outcome = ();
    type Error = SoakError;

    fn work(&self, worker: &mut Worker<'_>) -> Result<(), SoakError> {
        self.turns(worker.number(), worker.gate())
    }

    fn lost(&self, error: WorkloadError) -> SoakError {
        error.into()
    }
}

impl<S: Store> Hands<'_, S> {
    fn turns(&self, thread: u32, gate: &Gate) -> Result<(), SoakError> {
        let (Turns { job, stopped, at_work }, from) = (self.turns, self.holds[thread as usize]);
        let (keys, batch) = (Keys { thread, keys: job.keys }, self.store.batch());
        let last = job.turns.map_or(u64::MAX, |turns| from + turns);
        let (mut hand, mut key, mut turn) = (self.store.hand()?, Vec::new(), from);
        while turn < last && !gate.is_shut() && !stopped.load(Ordering::Relaxed) {
            let until = turn.saturating_add(batch).min(last);
            for turn in turn + 1..=until {
                keys.key(keys.slot(turn), &mut key);
                hand.set(&key, keys.value(turn).as_deref())?;
            }
            if batch > 1 {
                self.store.make_durable()?;
            }
            self.journal.acknowledge(thread, until).map_err(SoakError::file("writing the journal", &job.journal))?;
            if turn == from && self.waited_for.fetch_sub(1, Ordering::Relaxed) == 1 {
                at_work();
            }
            turn = until;
        }
        Ok(())
    }
}
