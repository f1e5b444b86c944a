//! Works until it dies.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::{
    check::count,
    error::SoakError,
    job::SoakJob,
    journal::{self, Journal},
    store::{Hand, Store, Visit},
    turn::Keys,
};

/// Threads that work on a store.
pub(crate) struct Work<'a> {
    pub job: &'a SoakJob,
    pub stopped: &'a AtomicBool,
    pub at_work: &'a (dyn Fn() + Sync),
}

impl Visit for Work<'_> {
    type Out = ();

    fn visit<S: Store>(self, store: &S) -> Result<(), SoakError> {
        let acknowledged = journal::read(&self.job.journal, self.job.threads)?;
        let (counted, holds) = count(self.job, store, &acknowledged)?;
        if counted.lost + counted.corrupt > 0 {
            return Err(SoakError::Differs { what: counted.examples.join("; ") });
        }
        let journal = Journal::begin(&self.job.journal, &holds)?;
        let crew = &Crew { work: &self, store, journal: &journal, waited_for: AtomicU32::new(self.job.threads) };
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..).zip(&holds).map(|(thread, from)| scope.spawn(move || crew.thread(thread, *from))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("a worker panicked"))
        })
    }
}

/// What the threads share.
struct Crew<'a, S> {
    work: &'a Work<'a>,
    store: &'a S,
    journal: &'a Journal,
    waited_for: AtomicU32,
}

impl<S: Store> Crew<'_, S> {
    fn thread(&self, thread: u32, from: u64) -> Result<(), SoakError> {
        let done = self.turns(thread, from);
        if done.is_err() {
            // The others need not go on.
            self.work.stopped.store(true, Ordering::Relaxed);
        }
        done
    }

    fn turns(&self, thread: u32, from: u64) -> Result<(), SoakError> {
        let job = self.work.job;
        let (keys, batch) = (Keys { thread, keys: job.keys }, self.store.batch());
        let last = job.turns.map_or(u64::MAX, |turns| from + turns);
        let (mut hand, mut key, mut turn) = (self.store.hand()?, Vec::new(), from);
        while turn < last && !self.work.stopped.load(Ordering::Relaxed) {
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
                (self.work.at_work)();
            }
            turn = until;
        }
        Ok(())
    }
}
