//! The threads that work, and the one that tells them when.

use std::{
    sync::atomic::{
        AtomicBool, AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    time::Duration,
};

use assay_instruments::Watch;
use assay_instruments::{
    clock::Clock,
    counters::ThreadCounters,
    tally::Sum,
    work::{Done, WorkWatch, WorkWindow},
};
use assay_record::{Event, IntervalPoint, IntervalSample, Provenance};

use super::{
    act::Hands,
    batch::{Batch, since},
    desk::{Desk, Series},
    outcome::ThreadOutcome,
};
use crate::{
    error::IndexError,
    index::{Index, Session},
    job::{IndexJob, Window},
    workload::{Entries, Operation, Picker, Step, Stream},
};

/// Operations between two looks at the gate.
const BATCH: u32 = 32;
const INTERVAL: Duration = Duration::from_millis(250);
const GLANCE: Duration = Duration::from_micros(500);

const WARM_UP: u32 = 0;
const MEASURE: u32 = 1;
const STOP: u32 = 2;

/// What all of them did.
pub(super) struct Crew {
    pub(super) outcomes: Vec<ThreadOutcome>,
    pub(super) window: WorkWindow,
    pub(super) service: Vec<(Operation, Sum)>,
    pub(super) intervals: Vec<IntervalPoint>,
    pub(super) interrupted: bool,
}

struct Gate {
    phase: AtomicU32,
    warm: AtomicU32,
    finished: AtomicU32,
    /// A thread has panicked: nobody goes on.
    broken: AtomicBool,
}

/// A thread that is at work. However it ends, a panic included, nobody waits for it afterwards.
struct AtWork<'a> {
    gate: &'a Gate,
    warm: bool,
}

impl AtWork<'_> {
    fn is_warm(&mut self) {
        self.warm = true;
        self.gate.warm.fetch_add(1, Release);
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.gate.broken.store(true, Release);
        }
        if !self.warm {
            self.is_warm();
        }
        self.gate.finished.fetch_add(1, Release);
    }
}

struct WindowPlan<'a> {
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
    let gate = Gate {
        phase: AtomicU32::new(WARM_UP),
        warm: AtomicU32::new(0),
        finished: AtomicU32::new(0),
        broken: AtomicBool::new(false),
    };
    Picker::new(job.distribution(), job.territory(0).picked())?;
    let plan = WindowPlan { job, clock, gate: &gate };
    let desks: Vec<Desk> = (0..job.threads).map(|_| Desk::new(job.workload.mix())).collect();
    std::thread::scope(|scope| {
        let work = |(thread, desk)| {
            let plan = &plan;
            scope.spawn(move || work(index, plan, thread as u64, desk))
        };
        let threads: Vec<_> = desks.iter().enumerate().map(work).collect();
        let (watched, series) = control(&plan, &desks, watch, open);
        // Each is waited for: a scope whose thread panicked unseen panics itself.
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join().map_err(|panic| broken(&*panic))).collect();
        let outcomes: Vec<ThreadOutcome> = ended.into_iter().collect::<Result<_, _>>()?;
        let operations = outcomes.iter().map(ThreadOutcome::operations).sum();
        let ended = outcomes.iter().map(|outcome| outcome.used.clone()).collect();
        let window = watched.close(&Done { ended, ..Done::operations(operations, provenance) });
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

fn control(
    plan: &WindowPlan<'_>,
    desks: &[Desk],
    watch: &mut Watch<'_>,
    open: impl FnOnce() -> WorkWatch,
) -> (WorkWatch, Series) {
    let threads = plan.job.threads;
    let interrupted = |watch: &Watch<'_>| watch.interrupted.load(Relaxed);
    let goes_on = || !plan.gate.broken.load(Acquire);
    let warm_up = Duration::from_secs_f64(plan.job.warmup_s);
    let began = std::time::Instant::now();
    while plan.gate.warm.load(Acquire) < threads || (began.elapsed() < warm_up && goes_on() && !interrupted(watch)) {
        std::thread::sleep(GLANCE);
    }
    let mut series = Series::new(desks);
    let watched = open();
    plan.gate.phase.store(MEASURE, Release);
    let until_s = match plan.job.window {
        Window::Seconds(seconds) => seconds,
        Window::Operations(_) => f64::INFINITY,
    };
    let opened = std::time::Instant::now();
    let elapsed = || opened.elapsed().as_secs_f64();
    while elapsed() < until_s && goes_on() && plan.gate.finished.load(Acquire) < threads && !interrupted(watch) {
        let left = until_s - elapsed();
        std::thread::sleep(GLANCE.max(Duration::from_millis(5)).min(Duration::from_secs_f64(left.clamp(0.0, 1.0))));
        if elapsed() - series.at_s >= INTERVAL.as_secs_f64() {
            series.gather(desks, elapsed());
            tell(watch, &series);
        }
    }
    plan.gate.phase.store(STOP, Release);
    while plan.gate.finished.load(Acquire) < threads {
        std::thread::sleep(GLANCE);
    }
    series.gather(desks, elapsed());
    (watched, series)
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
fn work<I: Index>(index: &I, plan: &WindowPlan<'_>, thread: u64, desk: &Desk) -> ThreadOutcome {
    if plan.job.pin {
        pin(thread as usize);
    }
    let mut at_work = AtWork { gate: plan.gate, warm: false };
    let job = plan.job;
    let territory = job.territory(thread);
    let mut hands = Hands::new(Entries::new(job.sizes, job.seed), &job.sizes, thread, job.scan_length);
    let mut session = index.session_of(thread as usize % index.parts());
    let picker = Picker::new(job.distribution(), territory.picked()).expect("the law was tried before");
    let mut counters = ThreadCounters::accounts(plan.clock.tsc_hz());
    let calm = job.workload.mix().without_growth();
    let mut stream = Stream::new(calm, picker.clone(), territory, job.seed ^ 0xAAAA);
    at_work.is_warm();
    while plan.gate.phase.load(Acquire) == WARM_UP {
        if job.warmup_s == 0.0 {
            std::thread::yield_now();
            continue;
        }
        warm_up(&mut session, &mut stream, &mut hands);
    }
    let stream = Stream::new(job.workload.mix(), picker, territory, job.seed);
    counters.start();
    let before = session.moved();
    let mut outcome = if job.batch > 1 {
        let batch = Batch::new(Entries::new(job.sizes, job.seed), &job.sizes, job.batch);
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
fn measure<S: Session>(
    session: &mut S,
    plan: &WindowPlan<'_>,
    mut stream: Stream,
    hands: &mut Hands,
    desk: &Desk,
) -> ThreadOutcome {
    let mut outcome = ThreadOutcome::new(stream.territory());
    let (clock, every, quota) = (plan.clock, plan.job.sample_every, plan.quota());
    let (start, mut done) = (clock.now(), 0_u64);
    'window: while plan.gate.phase.load(Relaxed) == MEASURE && done < quota {
        for _ in 0..u64::from(BATCH).min(quota - done) {
            let Some(step) = stream.step() else {
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
    plan: &WindowPlan<'_>,
    mut stream: Stream,
    (hands, mut batch): (&mut Hands, Batch),
    desk: &Desk,
) -> ThreadOutcome {
    let mut outcome = ThreadOutcome::new(stream.territory());
    let (clock, every, quota) = (plan.clock, plan.job.sample_every, plan.quota());
    let (start, mut done) = (clock.now(), 0_u64);
    while plan.gate.phase.load(Relaxed) == MEASURE && done < quota {
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

impl WindowPlan<'_> {
    /// Operations of each thread.
    fn quota(&self) -> u64 {
        match self.job.window {
            Window::Operations(all) => all.div_ceil(u64::from(self.job.threads)),
            Window::Seconds(_) => u64::MAX,
        }
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
