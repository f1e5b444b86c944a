//! The threads that work, and the one that tells them when.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use assay_instruments::Watch;
use assay_instruments::{
    clock::Clock,
    counters::{ThreadCounters, ThreadUse},
    tally::{Latencies, Snapshot, Sum},
    work::{Done, WorkWatch, WorkWindow},
};
use assay_record::{Event, IntervalPoint, IntervalSample, Provenance};

use super::{
    act::Hands,
    batch::{Batch, since},
    gate::{AtWork, GLANCE, Gate, Stage},
};
use crate::{
    error::IndexError,
    index::{Index, Moved, Session},
    job::{IndexJob, Window},
    workload::{Entries, Mix, Operation, Picker, Step, Stream, Territory},
};

/// Operations between two looks at the gate.
const BATCH: u32 = 32;
/// Failures after which a thread gives up.
const FAILURES_AT_MOST: u64 = 100;
const INTERVAL: Duration = Duration::from_millis(250);
const LOOK: Duration = Duration::from_millis(5);

/// Operations of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) succeeded: u64,
    pub(super) empty: u64,
    pub(super) failed: u64,
}

/// What one thread did in the window.
pub(super) struct Outcome {
    pub(super) counts: [Counts; Operation::COUNT],
    pub(super) territory: Territory,
    /// Seconds from its first operation to its last.
    pub(super) worked_s: f64,
    /// Values that were looked at and were not the key's.
    pub(super) wrong_values: u64,
    pub(super) looked_at: u64,
    pub(super) exhausted: bool,
    pub(super) failure: Option<String>,
    /// Pages that the window moved, where the index lies on a drive.
    pub(super) moved: Option<Moved>,
    pub(super) used: ThreadUse,
}

/// What all of them did.
pub(super) struct Crew {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) window: WorkWindow,
    pub(super) service: Vec<(Operation, Sum)>,
    pub(super) intervals: Vec<IntervalPoint>,
    pub(super) interrupted: bool,
}

/// What a thread and the controller share. One line for each thread: the thread writes, the controller reads.
#[repr(align(128))]
pub(super) struct Desk {
    done: AtomicU64,
    latencies: [Option<Latencies>; Operation::COUNT],
}

struct Plan<'a> {
    job: &'a IndexJob,
    clock: Clock,
    gate: &'a Gate,
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
    open: impl FnOnce() -> WorkWatch,
) -> Result<Crew, IndexError> {
    let gate = Gate::default();
    Picker::new(job.distribution(), job.territory(0).picked())?;
    let plan = Plan { job, clock, gate: &gate };
    let desks: Vec<Desk> = (0..job.threads).map(|_| Desk::new(job.workload.mix())).collect();
    std::thread::scope(|scope| {
        let work = |(thread, desk)| {
            let plan = &plan;
            scope.spawn(move || work(index, plan, thread as u64, desk))
        };
        let threads: Vec<_> = desks.iter().enumerate().map(work).collect();
        let (watched, mut series, length_s) = control(&plan, &desks, watch, open);
        // Each is waited for: a scope whose thread panicked unseen panics itself.
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join().map_err(|panic| broken(&*panic))).collect();
        let outcomes: Vec<Outcome> = ended.into_iter().collect::<Result<_, _>>()?;
        let operations = outcomes.iter().map(Outcome::operations).sum();
        let ended = outcomes.iter().map(|outcome| outcome.used.clone()).collect();
        let window = watched.close(&Done { ended, ..Done::operations(operations, provenance) });
        // Only now: it takes time, which is none of the window's.
        series.gather(&desks, length_s);
        let service = series.service();
        let interrupted = watch.interrupted.load(Relaxed);
        Ok(Crew { outcomes, window, service, intervals: series.points, interrupted })
    })
}

/// What a panic says of the index.
pub(super) fn broken(panic: &(dyn std::any::Any + Send)) -> IndexError {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    IndexError::Damaged { what: format!("a thread met what cannot be ({})", said.unwrap_or("it said nothing")) }
}

impl Outcome {
    pub(super) fn operations(&self) -> u64 {
        self.counts.iter().map(|counts| counts.succeeded + counts.empty + counts.failed).sum()
    }
}

impl Desk {
    pub(super) fn new(mix: Mix) -> Self {
        let latencies = Operation::ALL.map(|operation| mix.has(operation).then(Latencies::new));
        Self { done: AtomicU64::new(0), latencies }
    }

    /// So many operations are done.
    pub(super) fn did(&self, done: u64) {
        self.done.store(done, Relaxed);
    }

    #[inline(always)]
    pub(super) fn took(&self, operation: Operation, ns: u64) {
        if let Some(latencies) = &self.latencies[operation as usize] {
            latencies.record(ns);
        }
    }
}

/// What the controller has gathered.
pub(super) struct Series {
    seen: Vec<[Option<Snapshot>; Operation::COUNT]>,
    sums: [Option<Sum>; Operation::COUNT],
    operations: u64,
    at_s: f64,
    pub(super) points: Vec<IntervalPoint>,
}

impl Series {
    pub(super) fn new(desks: &[Desk]) -> Self {
        let has = |desk: &Desk, operation: Operation| desk.latencies[operation as usize].is_some();
        let seen = |desk: &Desk| Operation::ALL.map(|operation| has(desk, operation).then(Snapshot::default));
        let sums =
            Operation::ALL.map(|operation| desks.first().is_some_and(|desk| has(desk, operation)).then(Sum::default));
        Self { seen: desks.iter().map(seen).collect(), sums, operations: 0, at_s: 0.0, points: Vec::new() }
    }

    pub(super) fn gather(&mut self, desks: &[Desk], at_s: f64) {
        let mut interval = Sum::default();
        for (desk, seen) in desks.iter().zip(&mut self.seen) {
            let parts = desk.latencies.iter().zip(seen).zip(&mut self.sums);
            for ((latencies, seen), sum) in parts {
                if let (Some(latencies), Some(seen), Some(sum)) = (latencies, seen, sum) {
                    let mut fresh = Sum::default();
                    latencies.drain_into(seen, &mut fresh);
                    interval.merge(&fresh);
                    sum.merge(&fresh);
                }
            }
        }
        let operations: u64 = desks.iter().map(|desk| desk.done.load(Relaxed)).sum();
        self.points.push(IntervalPoint {
            at_s,
            length_s: at_s - self.at_s,
            operations: operations - self.operations,
            bytes: 0,
            mean_ns: interval.mean(),
            p50_ns: interval.percentile(50.0),
            p99_ns: interval.percentile(99.0),
            max_ns: interval.histogram().max(),
        });
        (self.operations, self.at_s) = (operations, at_s);
    }

    pub(super) fn service(&self) -> Vec<(Operation, Sum)> {
        let one = |operation: Operation| self.sums[operation as usize].clone().map(|sum| (operation, sum));
        Operation::ALL.into_iter().filter_map(one).collect()
    }
}

/// Warms up, opens the window and shuts it when its time is over; answers with its length, s, when all had ended.
fn control(
    plan: &Plan<'_>,
    desks: &[Desk],
    watch: &mut Watch<'_>,
    open: impl FnOnce() -> WorkWatch,
) -> (WorkWatch, Series, f64) {
    let (gate, threads) = (plan.gate, plan.job.threads);
    warm_up_all(plan, watch);
    let mut series = Series::new(desks);
    let mut watched = open();
    gate.call();
    gate.wait_for(Stage::Ready, threads);
    watched.restart();
    let opened = std::time::Instant::now();
    gate.open();
    gate.wait_for(Stage::Begun, threads);
    let begun = std::time::Instant::now();
    let goes_on = || gate.goes_on() && !gate.are_all(Stage::Finished, threads);
    while begun.elapsed() < plan.length() && goes_on() && !watch.interrupted.load(Relaxed) {
        std::thread::sleep(LOOK.min(plan.length().saturating_sub(begun.elapsed())));
        let at_s = opened.elapsed().as_secs_f64();
        if at_s - series.at_s >= INTERVAL.as_secs_f64() {
            series.gather(desks, at_s);
            tell(watch, &series);
        }
    }
    gate.shut();
    while !gate.are_all(Stage::Finished, threads) {
        std::thread::sleep(GLANCE);
    }
    (watched, series, opened.elapsed().as_secs_f64())
}

/// Waits until the threads are there and have warmed up.
fn warm_up_all(plan: &Plan<'_>, watch: &Watch<'_>) {
    let began = std::time::Instant::now();
    let warm_up = Duration::from_secs_f64(plan.job.warmup_s);
    let waits = || began.elapsed() < warm_up && plan.gate.goes_on() && !watch.interrupted.load(Relaxed);
    while !plan.gate.are_all(Stage::Warm, plan.job.threads) || waits() {
        std::thread::sleep(GLANCE);
    }
}

fn tell(watch: &mut Watch<'_>, series: &Series) {
    let Some(point) = series.points.last() else { return };
    let sample = IntervalSample {
        class: "index".to_owned(),
        operations: point.operations,
        bytes: 0,
        mean_ns: point.mean_ns,
        max_ns: point.max_ns,
    };
    (watch.emit)(Event::Interval { at_s: point.at_s, classes: vec![sample] });
}

/// What one thread does from first to last.
fn work<I: Index>(index: &I, plan: &Plan<'_>, thread: u64, desk: &Desk) -> Outcome {
    if plan.job.pin {
        pin(thread as usize);
    }
    let mut at_work = AtWork::new(plan.gate);
    let job = plan.job;
    let territory = job.territory(thread);
    let mut hands = Hands::new(Entries::new(job.sizes, job.seed), &job.sizes, thread, job.scan_length);
    let mut session = index.session_of(thread as usize % index.parts());
    let picker = Picker::new(job.distribution(), territory.picked()).expect("the law was tried before");
    let mut counters = ThreadCounters::accounts(plan.clock.tsc_hz());
    let calm = job.workload.mix().without_growth();
    let mut stream = Stream::new(calm, picker.clone(), territory, job.seed ^ 0xAAAA);
    at_work.is_warm();
    while plan.gate.is_warming() {
        if job.warmup_s == 0.0 {
            std::thread::yield_now();
            continue;
        }
        warm_up(&mut session, &mut stream, &mut hands);
    }
    let stream = Stream::new(job.workload.mix(), picker, territory, job.seed);
    let batch = Batch::new(Entries::new(job.sizes, job.seed), &job.sizes, job.batch);
    at_work.begin();
    counters.start();
    let before = session.moved();
    let mut outcome = if job.batch > 1 {
        measure_batches(&mut session, plan, stream, (&mut hands, batch), desk)
    } else {
        measure(&mut session, plan, stream, &mut hands, desk)
    };
    outcome.used = counters.stop();
    outcome.moved = session.moved().zip(before).map(|(after, before)| after.since(&before));
    outcome
}

fn warm_up(session: &mut impl Session, stream: &mut Stream, hands: &mut Hands) {
    for _ in 0..BATCH {
        if let Some(step) = stream.step() {
            // What fails here fails in the window too, and is counted there.
            let _ = hands.act(session, &step);
        }
    }
}

/// The measured loop: no allocation, no lock, no system call; one operation of `sample_every` is timed.
///
/// Lookups have a loop of their own, in which nothing is asked that only other operations answer otherwise: the shorter it
/// is, the more of them a CPU has under way while it waits for memory.
fn measure<S: Session>(session: &mut S, plan: &Plan<'_>, stream: Stream, hands: &mut Hands, desk: &Desk) -> Outcome {
    match stream.only() {
        Some(Operation::Lookup) => lookups(session, plan, stream, hands, desk),
        Some(Operation::Missing) => misses(session, plan, stream, hands, desk),
        _ => measured_loop(session, plan, stream, hands, desk, None),
    }
}

#[inline(never)]
fn lookups<S: Session>(session: &mut S, plan: &Plan<'_>, stream: Stream, hands: &mut Hands, desk: &Desk) -> Outcome {
    measured_loop(session, plan, stream, hands, desk, Some(Operation::Lookup))
}

#[inline(never)]
fn misses<S: Session>(session: &mut S, plan: &Plan<'_>, stream: Stream, hands: &mut Hands, desk: &Desk) -> Outcome {
    measured_loop(session, plan, stream, hands, desk, Some(Operation::Missing))
}

/// `only` is the stream's one operation where the caller knows it, a constant to the compiler.
#[inline(always)]
fn measured_loop<S: Session>(
    session: &mut S,
    plan: &Plan<'_>,
    mut stream: Stream,
    hands: &mut Hands,
    desk: &Desk,
    only: Option<Operation>,
) -> Outcome {
    let mut outcome = Outcome::new(stream.territory());
    let (clock, every, quota) = (plan.clock, plan.job.sample_every, plan.quota());
    let (start, mut done) = (clock.now(), 0_u64);
    'window: while (plan.gate.is_measuring() || done == 0) && done < quota {
        for _ in 0..u64::from(BATCH).min(quota - done) {
            let Some(step) = stream.step_of(only) else {
                outcome.exhausted = true;
                break 'window;
            };
            let timed = is_timed(&step, every);
            let before = if timed { clock.now() } else { 0 };
            let result = hands.act(session, &step);
            if timed {
                let took = clock.ticks_to_ns(clock.now().wrapping_sub(before));
                desk.took(step.operation, took);
                outcome.look_at(&step, &result, hands);
            }
            done += 1;
            if !outcome.count(&step, result, &mut stream) {
                break 'window;
            }
        }
        desk.done.store(done, Relaxed);
    }
    desk.done.store(done, Relaxed);
    outcome.worked_s = clock.ticks_to_ns(clock.now().wrapping_sub(start)) as f64 / 1e9;
    outcome.territory = stream.territory();
    outcome
}

/// The measured loop where lookups wait together.
fn measure_batches<S: Session>(
    session: &mut S,
    plan: &Plan<'_>,
    mut stream: Stream,
    (hands, mut batch): (&mut Hands, Batch),
    desk: &Desk,
) -> Outcome {
    let mut outcome = Outcome::new(stream.territory());
    let (clock, every, quota) = (plan.clock, plan.job.sample_every, plan.quota());
    let (start, mut done) = (clock.now(), 0_u64);
    while (plan.gate.is_measuring() || done == 0) && done < quota {
        let Some(step) = stream.step() else {
            outcome.exhausted = true;
            break;
        };
        done += 1;
        let timed = is_timed(&step, every);
        let goes_on = if Batch::takes(&step) {
            !batch.add(step, timed) || batch.look_up(session, since(clock), &mut outcome, desk, &mut stream)
        } else {
            let before = clock.now();
            let result = hands.act(session, &step);
            if timed {
                desk.took(step.operation, clock.ticks_to_ns(clock.now().wrapping_sub(before)));
                outcome.look_at(&step, &result, hands);
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

/// Of so many operations one is timed, by chance.
#[inline(always)]
fn is_timed(step: &Step, every: u32) -> bool {
    ((step.random & 0xFFFF_FFFF) * u64::from(every)) >> 32 == 0
}

impl Plan<'_> {
    /// How long the window is to be.
    fn length(&self) -> Duration {
        match self.job.window {
            Window::Seconds(seconds) => Duration::from_secs_f64(seconds),
            Window::Operations(_) => Duration::MAX,
        }
    }

    /// Operations of each thread.
    fn quota(&self) -> u64 {
        match self.job.window {
            Window::Operations(all) => all.div_ceil(u64::from(self.job.threads)),
            Window::Seconds(_) => u64::MAX,
        }
    }
}

impl Outcome {
    pub(super) fn new(territory: Territory) -> Self {
        Self {
            counts: [Counts::default(); Operation::COUNT],
            territory,
            worked_s: 0.0,
            wrong_values: 0,
            looked_at: 0,
            exhausted: false,
            failure: None,
            moved: None,
            used: ThreadUse::default(),
        }
    }

    /// Looks whether a value that was found is the key's.
    #[inline(always)]
    pub(super) fn look_at(&mut self, step: &Step, result: &Result<bool, IndexError>, hands: &Hands) {
        if matches!(result, Ok(true)) {
            self.look_at_value(step.operation, || hands.found_is_good(step.id));
        }
    }

    /// The same of a value that was found.
    #[inline(always)]
    pub(super) fn look_at_value(&mut self, operation: Operation, is_good: impl FnOnce() -> bool) {
        if matches!(operation, Operation::Lookup | Operation::ReadModifyWrite) {
            self.looked_at += 1;
            self.wrong_values += u64::from(!is_good());
        }
    }

    /// Counts an operation; `false` where the thread gives up.
    #[inline(always)]
    pub(super) fn count(&mut self, step: &Step, result: Result<bool, IndexError>, stream: &mut Stream) -> bool {
        let counts = &mut self.counts[step.operation as usize];
        match result {
            Ok(true) => counts.succeeded += 1,
            Ok(false) => counts.empty += 1,
            Err(error) => {
                counts.failed += 1;
                let most = if error.is_full() { 1 } else { FAILURES_AT_MOST };
                let give_up = counts.failed >= most;
                self.failure.get_or_insert_with(|| error.to_string());
                return !give_up;
            }
        }
        match step.operation {
            Operation::Insert => stream.added(),
            Operation::Remove => stream.removed(),
            _ => {}
        }
        true
    }
}

/// Keeps the calling thread to one of the CPUs that it may use.
fn pin(thread: usize) {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let cpus: Vec<usize> = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    if let Some(&cpu) = cpus.get(thread % cpus.len().max(1)) {
        let mut one = rustix::thread::CpuSet::new();
        one.set(cpu);
        // Refused, the thread wanders as before.
        let _ = rustix::thread::sched_setaffinity(None, &one);
    }
}
