//! The threads that work, and the one that tells them when.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use assay_index::{Index, IndexError, Session};
use assay_instruments::Watch;
use assay_instruments::{
    clock::Clock,
    counters::ThreadCounters,
    tally::Sum,
    work::{Done, WorkPlace, WorkWatch, WorkWindow},
};
use assay_record::{Event, IntervalPoint, IntervalSample, Provenance};
use assay_workload::{AtEdges, Observe, WindowPlan, Work, Worker, WorkloadError, drive, pin};

use super::{
    act::Buffers,
    batch::{Batch, since},
    desk::{Desk, Series},
    outcome::ThreadOutcome,
    shift::{BATCH, Shift},
    turn::Turn,
};
use crate::index::{
    job::{IndexJob, Window},
    workload::{Entries, Operation, Picker, Stream},
};

const INTERVAL: Duration = Duration::from_millis(250);

/// What all of them did.
pub(super) struct Worked {
    pub(super) outcomes: Vec<ThreadOutcome>,
    pub(super) window: WorkWindow,
    pub(super) service: Vec<(Operation, Sum)>,
    pub(super) intervals: Vec<IntervalPoint>,
    pub(super) interrupted: bool,
}

/// Warms up, opens the window, closes it.
///
/// # Errors
/// Where the distribution cannot be, or the index is so damaged that a thread could not go on.
pub(super) fn run(
    index: &impl Index,
    job: &IndexJob,
    (clock, provenance): (Clock, Provenance),
    watch: &mut Watch<'_>,
    place: WorkPlace,
) -> Result<Worked, IndexError> {
    Picker::new(job.distribution(), job.territory(0).picked())?;
    let desks: Vec<Desk> = (0..job.threads).map(|_| Desk::new(job.workload.mix())).collect();
    let plan = WindowPlan {
        warm_up: Duration::from_secs_f64(job.warmup_s),
        length: length(job),
        interval: INTERVAL,
        at_edges: AtEdges::Halt,
        interrupted: watch.interrupted,
    };
    let mut readings = Readings { clock, place, desks: &desks, series: Series::new(&desks), watch, window: None };
    let operations = Operations { index, job, clock, desks: &desks };
    let (outcomes, length_s) = drive(&operations, job.threads, |gate| plan.run(gate, &mut readings))?;
    let done = outcomes.iter().map(ThreadOutcome::operations).sum();
    let ended = outcomes.iter().map(|outcome| outcome.used.clone()).collect();
    let window = readings.window.take().unwrap_or_else(|| readings.opened());
    let window = window.close(&Done { ended, ..Done::operations(done, provenance) });
    // Only now: it takes time, which is none of the window's.
    let mut series = readings.series;
    series.gather(&desks, length_s);
    let service = series.service();
    let interrupted = plan.interrupted.load(Relaxed);
    Ok(Worked { outcomes, window, service, intervals: series.points, interrupted })
}

/// What a panic says of the index.
pub(super) fn broken(panic: &(dyn std::any::Any + Send)) -> IndexError {
    met(assay_workload::said(panic))
}

fn met(said: &str) -> IndexError {
    IndexError::Damaged { what: format!("a thread met what cannot be ({said})") }
}

/// A thread that could not be started, or was lost.
pub(super) fn lost(error: WorkloadError) -> IndexError {
    match &error {
        WorkloadError::Panicked { said, .. } => met(said),
        _ => IndexError::NotPossible { reason: error.to_string(), fix: error.fix() },
    }
}

/// What the controller reads at the edges of the window, and in between.
struct Readings<'a, 'w> {
    clock: Clock,
    place: WorkPlace,
    desks: &'a [Desk],
    series: Series,
    watch: &'a mut Watch<'w>,
    window: Option<WorkWatch>,
}

impl Readings<'_, '_> {
    fn opened(&self) -> WorkWatch {
        WorkWatch::open(self.clock, std::slice::from_ref(&self.place))
    }
}

impl Observe for Readings<'_, '_> {
    fn open(&mut self) {
        self.window = Some(self.opened());
    }

    fn begin(&mut self) {
        self.window.iter_mut().for_each(WorkWatch::restart);
    }

    fn interval(&mut self, at_s: f64) {
        self.series.gather(self.desks, at_s);
        let Some(point) = self.series.points.last() else { return };
        let sample = IntervalSample {
            class: "index".to_owned(),
            operations: point.operations,
            bytes: 0,
            mean_ns: point.mean_ns,
            max_ns: point.max_ns,
        };
        (self.watch.emit)(Event::Interval { at_s: point.at_s, classes: vec![sample] });
    }

    fn close(&mut self, _at_s: f64) {}
}

/// Operations on an index, as the driver has them done.
struct Operations<'a, I> {
    index: &'a I,
    job: &'a IndexJob,
    clock: Clock,
    desks: &'a [Desk],
}

impl<I: Index> Work for Operations<'_, I> {
    type Outcome = ThreadOutcome;
    type Error = IndexError;

    fn work(&self, worker: &mut Worker<'_>) -> Result<ThreadOutcome, IndexError> {
        let Self { index, job, clock, desks } = *self;
        if job.pin {
            pin::settle_anywhere(worker.number());
        }
        let thread = u64::from(worker.number());
        let shift = Shift { job, clock, gate: worker.gate(), desk: &desks[thread as usize] };
        let territory = job.territory(thread);
        let mut buffers = Buffers::new(Entries::new(job.sizes, job.seed), &job.sizes, thread, job.scan_length);
        let mut session = index.session_of(thread as usize % index.parts());
        let picker = Picker::new(job.distribution(), territory.picked())?;
        let mut counters = ThreadCounters::accounts(clock.tsc_hz());
        let calm = job.workload.mix().without_growth();
        let mut stream = Stream::new(calm, picker.clone(), territory, job.seed ^ 0xAAAA);
        worker.is_warm();
        while shift.gate.is_warming() {
            if job.warmup_s == 0.0 {
                std::thread::yield_now();
                continue;
            }
            warm_up(&mut session, &mut stream, &mut buffers);
        }
        let stream = Stream::new(job.workload.mix(), picker, territory, job.seed);
        let batch = Batch::new(Entries::new(job.sizes, job.seed), &job.sizes, job.batch);
        worker.begin();
        counters.start();
        let before = session.moved();
        let mut outcome = if job.batch > 1 {
            measure_batches(&mut session, &shift, stream, (&mut buffers, batch))
        } else {
            measure_one_by_one(&mut session, &shift, stream, &mut buffers)
        };
        outcome.used = counters.stop();
        outcome.moved = session.moved().zip(before).map(|(after, before)| after.since(&before));
        Ok(outcome)
    }

    fn lost(&self, error: WorkloadError) -> IndexError {
        lost(error)
    }
}

fn warm_up(session: &mut impl Session, stream: &mut Stream, buffers: &mut Buffers) {
    for _ in 0..BATCH {
        if let Some(step) = stream.step() {
            // What fails here fails in the window too, and is counted there.
            let _ = buffers.act(session, &step);
        }
    }
}

/// The measured loop of this stream: no allocation, no lock, no system call; few operations are timed.
fn measure_one_by_one<S: Session>(
    session: &mut S,
    shift: &Shift<'_>,
    stream: Stream,
    buffers: &mut Buffers,
) -> ThreadOutcome {
    let only = stream.only();
    let mut turn = Turn::new(session, shift, stream, buffers);
    let start = shift.clock.now();
    match only {
        Some(Operation::Lookup) => turn.measure_reads::<false>(),
        Some(Operation::Missing) => turn.measure_reads::<true>(),
        _ => turn.measure(),
    }
    shift.desk.did(turn.done);
    turn.outcome.worked_s = shift.clock.ticks_to_ns(shift.clock.now().wrapping_sub(start)) as f64 / 1e9;
    turn.outcome.territory = turn.stream.territory();
    turn.outcome
}

/// The measured loop where lookups wait together.
fn measure_batches<S: Session>(
    session: &mut S,
    shift: &Shift<'_>,
    mut stream: Stream,
    (buffers, mut batch): (&mut Buffers, Batch),
) -> ThreadOutcome {
    let mut outcome = ThreadOutcome::new(stream.territory());
    let (clock, mut sampler, quota, desk) = (shift.clock, shift.sampler(&stream), shift.quota(), shift.desk);
    let (start, mut done) = (clock.now(), 0_u64);
    while (shift.gate.is_open() || done == 0) && done < quota {
        let Some(step) = stream.step() else {
            outcome.exhausted = true;
            break;
        };
        done += 1;
        let timed = sampler.is_due();
        let goes_on = if Batch::takes(&step) {
            !batch.add(step, timed) || batch.look_up(session, since(clock), &mut outcome, desk, &mut stream)
        } else {
            let before = clock.now();
            let result = buffers.act(session, &step);
            if timed {
                desk.took(step.operation, clock.ticks_to_ns(clock.now().wrapping_sub(before)));
                outcome.look_at(&step, &result, buffers);
            }
            outcome.count(&step, result, &mut stream)
        };
        desk.done.store(done, Relaxed);
        if !goes_on {
            break;
        }
    }
    batch.look_up(session, since(clock), &mut outcome, desk, &mut stream);
    outcome.worked_s = clock.ticks_to_ns(clock.now().wrapping_sub(start)) as f64 / 1e9;
    outcome.territory = stream.territory();
    outcome
}

/// How long the window is to be.
fn length(job: &IndexJob) -> Duration {
    match job.window {
        Window::Seconds(seconds) => Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
        Window::Operations(_) => Duration::MAX,
    }
}
