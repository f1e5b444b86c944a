//! Starts the workers, lets somebody steer them, and joins them.

use std::thread;

use crate::{
    error::WorkloadError,
    gate::{Gate, Milestone, Worker},
};

/// A kind of work. Compiled for each: nothing is called through a table.
pub trait Work: Sync {
    /// What a worker brings back.
    type Outcome: Send;
    /// Why one could not work.
    type Error: Send;

    /// All that a worker does, from first to last, on a thread of its own.
    ///
    /// # Errors
    /// What ended it; the others are told to end too.
    fn work(&self, worker: &mut Worker<'_>) -> Result<Self::Outcome, Self::Error>;

    /// A worker that could not be started, or was lost.
    fn lost(&self, error: WorkloadError) -> Self::Error;

    /// Name of a worker's thread.
    fn name(&self, worker: u32) -> String {
        format!("worker-{worker}")
    }

    /// Lets the others end where a worker has failed and they look at something else than the gate.
    fn failed(&self) {}
}

/// Lets workers work while `control` steers them, and returns what they brought back, in their order, and what it saw.
///
/// # Errors
/// The panic of a worker, or else the first error.
pub fn drive<W: Work, T>(
    work: &W,
    workers: u32,
    control: impl FnOnce(&Gate) -> T,
) -> Result<(Vec<W::Outcome>, T), W::Error> {
    let gate = &Gate::new(workers);
    thread::scope(|scope| {
        let ends = Ends(gate);
        let mut threads = Vec::with_capacity(workers as usize);
        let mut refused = None;
        for number in 0..workers {
            let builder = thread::Builder::new().name(work.name(number));
            match builder.spawn_scoped(scope, move || AtWork::new(work, gate, number).work()) {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    refused = Some(WorkloadError::System { action: "starting a worker thread".to_owned(), source });
                    gate.shut();
                    work.failed();
                    break;
                }
            }
        }
        let seen = if refused.is_none() { Some(control(gate)) } else { None };
        drop(ends);
        // Each is waited for: a scope whose thread panicked unseen panics itself.
        let ended: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        let mut outcomes = Vec::with_capacity(ended.len());
        let mut failure = None;
        for (number, one) in (0..).zip(ended) {
            match one {
                Ok(Ok(outcome)) => outcomes.push(outcome),
                Ok(Err(error)) => failure = failure.or(Some(error)),
                Err(panic) => refused = refused.or(Some(WorkloadError::of_panic(work.name(number), &*panic))),
            }
        }
        match (refused.map(|error| work.lost(error)).or(failure), seen) {
            (None, Some(seen)) => Ok((outcomes, seen)),
            (Some(error), _) => Err(error),
            (None, None) => unreachable!("only who was refused a thread sees nothing"),
        }
    })
}

/// Lets workers do something of which no time is measured, such as a load, each its part.
///
/// # Errors
/// The panic of a worker, or else the first error.
pub fn in_parallel<T: Send, E: Send>(
    workers: u32,
    lost: fn(WorkloadError) -> E,
    part: impl Fn(&mut Worker<'_>) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    in_parallel_under(|gate| gate.wait_for(Milestone::Finished), workers, lost, part)
}

/// The same where `control` looks on: when it returns, workers that look at the gate end.
///
/// # Errors
/// As [`in_parallel`].
pub fn in_parallel_under<T: Send, E: Send>(
    control: impl FnOnce(&Gate),
    workers: u32,
    lost: fn(WorkloadError) -> E,
    part: impl Fn(&mut Worker<'_>) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    drive(&Parts { part, lost }, workers, control).map(|(outcomes, ())| outcomes)
}

struct Parts<F, E> {
    part: F,
    lost: fn(WorkloadError) -> E,
}

impl<T: Send, E: Send, F: Fn(&mut Worker<'_>) -> Result<T, E> + Sync> Work for Parts<F, E> {
    type Outcome = T;
    type Error = E;

    fn work(&self, worker: &mut Worker<'_>) -> Result<T, E> {
        (self.part)(worker)
    }

    fn lost(&self, error: WorkloadError) -> E {
        (self.lost)(error)
    }
}

/// Shuts the gate when it goes: where the control panics too, no worker waits for ever.
struct Ends<'g>(&'g Gate);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.shut();
    }
}

/// A worker on its thread; where it does not end well, the others end.
struct AtWork<'w, W: Work> {
    work: &'w W,
    worker: Worker<'w>,
    ended_well: bool,
}

impl<'w, W: Work> AtWork<'w, W> {
    fn new(work: &'w W, gate: &'w Gate, number: u32) -> Self {
        Self { work, worker: Worker::new(gate, number), ended_well: false }
    }

    fn work(mut self) -> Result<W::Outcome, W::Error> {
        let done = self.work.work(&mut self.worker);
        self.ended_well = done.is_ok();
        done
    }
}

impl<W: Work> Drop for AtWork<'_, W> {
    fn drop(&mut self) {
        if !self.ended_well {
            self.worker.gate().shut();
            self.work.failed();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::*;

    fn told(error: WorkloadError) -> String {
        error.to_string()
    }

    #[test]
    fn workers_bring_back_their_outcomes_in_order() {
        assert_eq!(in_parallel(3, told, |worker| Ok::<_, String>(worker.number() * 2)), Ok(vec![0, 2, 4]));
    }

    #[test]
    fn a_panic_is_an_error_in_words_and_nobody_waits() {
        for stage in 0..3 {
            let done = in_parallel(3, told, |worker| {
                assert!(stage > 0 || worker.number() != 1, "page 7 is torn");
                worker.is_warm();
                assert!(stage > 1 || worker.number() != 1, "page 7 is torn");
                // Nobody opens: only the panic ends the others' wait.
                if worker.number() != 1 {
                    assert!(!worker.begin());
                }
                assert!(worker.number() != 1, "page 7 is torn");
                Ok::<(), String>(())
            });
            let said = done.unwrap_err();
            assert!(said.contains("worker-1 ended unexpectedly (page 7 is torn)"), "{said}");
        }
    }

    #[test]
    fn an_error_of_one_ends_the_others() {
        let done = in_parallel(2, told, |worker| {
            if worker.number() == 1 {
                return Err("the disk is full".to_owned());
            }
            while !worker.gate().is_shut() {
                std::thread::yield_now();
            }
            Ok(())
        });
        assert_eq!(done, Err("the disk is full".to_owned()));
    }

    #[test]
    fn who_steers_may_panic_and_workers_end() {
        let ended = AtomicBool::new(false);
        let work = Parts {
            part: |worker: &mut Worker<'_>| {
                let begun = worker.begin();
                ended.store(!begun, Relaxed);
                Ok::<(), String>(())
            },
            lost: told,
        };
        let steered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            drop(drive(&work, 1, |_| panic!("no window")));
        }));
        assert!(steered.is_err() && ended.load(Relaxed));
    }
}
