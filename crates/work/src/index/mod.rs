//! Runs a workload on an index and says what was seen.
//!
//! The order is: make, load, close, open again (which is a recovery that is timed), warm up, window, check the contents,
//! close, open and check once more, and then a pass of one thread on a medium that counts. The window itself counts
//! nothing: no flush, fence or block is counted while speed is measured.

mod act;
mod batch;
mod check;
mod count;
mod desk;
mod job;
mod load;
mod lookups;
mod on_twin;
mod outcome;
mod record;
mod sampler;
mod shift;
#[cfg(test)]
mod tests;
mod turn;
mod twin;
mod workers;
mod workload;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use assay_index::{Factory, Index, IndexError, OnFactory, with_factory};
use assay_instruments::{clock::Clock, work::WorkPlace};
use assay_record::{Event, WorkCheck, WorkRecord};

pub use assay_instruments::Watch;
pub use job::{IndexJob, JOB_VERSION, Window};
pub use on_twin::OnTwin;
pub use workload::{Distribution, WorkloadName};

use workload::Entries;

/// Runs a job on the index that it names: its record.
///
/// # Errors
/// Where the job cannot be, the target cannot be used, or the index fails.
pub fn run(job: &IndexJob, watch: &mut Watch<'_>) -> Result<WorkRecord, IndexError> {
    if let Some(twin) = &job.twin {
        return twin::play_on(job, twin, watch);
    }
    struct Run<'a, 'w>(&'a IndexJob, &'a mut Watch<'w>);
    impl OnFactory for Run<'_, '_> {
        type Out = Result<WorkRecord, IndexError>;

        fn on<F: Factory>(self, factory: &F) -> Self::Out {
            run_on(factory, self.0, self.1)
        }
    }
    with_factory(&job.setup(), Run(job, watch))?
}

/// Runs a job on what a factory makes.
///
/// # Errors
/// Where the index cannot be made, loaded or opened again.
pub fn run_on(factory: &impl Factory, job: &IndexJob, watch: &mut Watch<'_>) -> Result<WorkRecord, IndexError> {
    // A damaged index may be met for the first time by a check or a recovery, which panic as threads of the window do.
    let outcome = catch_unwind(AssertUnwindSafe(|| all_of(factory, job, watch)));
    outcome.unwrap_or_else(|panic| Err(workers::broken(&*panic)))
}

fn all_of(factory: &impl Factory, job: &IndexJob, watch: &mut Watch<'_>) -> Result<WorkRecord, IndexError> {
    let (began, clock) = (Instant::now(), Clock::new());
    let loaded = prepare(factory, job, watch)?;
    let opened = factory.open()?;
    let mut seen = record::Seen::new(began, loaded, opened.recovery);
    seen.used_before = opened.index.used_bytes();
    let place = WorkPlace { role: "data".to_owned(), path: job.target.clone() };
    let prepared = began.elapsed();
    let provenance = record::provenance(&factory.about());
    let worked = workers::run(&opened.index, job, (clock, provenance), watch, place)?;
    seen.prepared = prepared;
    look_after(factory, opened.index, job, (&mut seen, &worked), watch)?;
    Ok(record::record(job, &factory.about(), seen, worked))
}

/// What is looked at when the window has closed: contents, what another opening finds, and what operations cost where it is
/// counted.
fn look_after<F: Factory>(
    factory: &F,
    index: F::Index,
    job: &IndexJob,
    (seen, worked): (&mut record::Seen, &workers::Worked),
    watch: &mut Watch<'_>,
) -> Result<(), IndexError> {
    seen.used_after = index.used_bytes();
    seen.anatomy = index.anatomy();
    say(watch, "checking", 0.0);
    let facts = check::WindowFacts::of(job, worked);
    seen.checks = check::all(&index, job, &facts, "contents");
    let closed = closed(index);
    let is_closed = closed.passed;
    seen.checks.push(closed);
    // What is not durable would not be found again: that it is not has been said.
    if is_closed {
        let again = factory.open()?;
        seen.reopened = Some(again.recovery);
        seen.checks.extend(check::all(&again.index, job, &facts, "recovered"));
        again.index.close()?;
    }
    if is_closed && job.counted_operations > 0 && !watch.interrupted.load(Ordering::Relaxed) {
        say(watch, "counting", 0.0);
        seen.counted =
            factory.open_counted().transpose()?.map(|index| count::count(&index, job, &facts)).transpose()?;
    }
    Ok(())
}

/// Whether all that the window acknowledged was made durable when the index was closed.
fn closed(index: impl Index) -> WorkCheck {
    let (passed, evidence) = match index.close() {
        Ok(()) => (true, "everything that was acknowledged was durable when it was closed".to_owned()),
        Err(error) => (false, format!("{error}: {}", error.fix())),
    };
    WorkCheck { name: "closed".to_owned(), passed, evidence }
}

/// Makes the index and loads it, unless it is there already.
fn prepare(factory: &impl Factory, job: &IndexJob, watch: &mut Watch<'_>) -> Result<Option<load::Loaded>, IndexError> {
    if factory.is_there() {
        return Ok(None);
    }
    say(watch, "loading", 0.0);
    let index = factory.create()?;
    let loaded = load::load(factory, &index, job, &Entries::new(job.sizes, job.seed), watch.interrupted)?;
    // By name: dropped, an index that its drive does not take would be empty when it is opened again.
    index.close()?;
    say(watch, "loading", 1.0);
    Ok(Some(loaded))
}

fn say(watch: &mut Watch<'_>, stage: &str, done: f64) {
    (watch.emit)(Event::Progress { stage: stage.to_owned(), done, detail: String::new() });
}

/// Seconds, never 0.
fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64().max(1e-9)
}
