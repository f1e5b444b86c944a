//! The threads that work, and the one that tells them when.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

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
    gate::{AtWork, GLANCE, StartGate, ThreadProgress},
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
const LOOK: Duration = Duration::from_millis(5);

/// What all of them did.
pub(super) struct Crew {
    pub(super) outcomes: Vec<ThreadOutcome>,
    pub(super) window: WorkWindow,
    pub(super) service: Vec<(Operation, Sum)>,
    pub(super) intervals: Vec<IntervalPoint>,
    pub(super) interrupted: bool,
}

struct WindowPlan<'a> {
    job: &'a IndexJob,
    clock: Clock,
    gate: &'a StartGate,
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
    let gate = StartGate::default();
    Picker::new(job.distribution(), job.territory(0).picked())?;
    let plan = WindowPlan { job, clock, gate: &gate };
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
        let outcomes: Vec<ThreadOutcome> = ended.into_iter().collect::<Result<_, _>>()?;
        let operations = outcomes.iter().map(ThreadOutcome::operations).sum();
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

/// Warms up, opens the window and shuts it when its time is over; answers with its length, s, when all had ended.
fn control(
    plan: &WindowPlan<'_>,
    desks: &[Desk],
    watch: &mut Watch<'_>,
    open: impl FnOnce() -> WorkWatch,
) -> (WorkWatch, Series, f64) {
    let (gate, threads) = (plan.gate, plan.job.threads);
    warm_up_all(plan, watch);
    let mut series = Series::new(desks);
    let mut watched = open();
    gate.call();
    gate.wait_for(ThreadProgress::Ready, threads);
    watched.restart();
    let opened = std::time::Instant::now();
    gate.open();
    gate.wait_for(ThreadProgress::Begun, threads);
    let begun = std::time::Instant::now();
    let goes_on = || gate.goes_on() && !gate.are_all(ThreadProgress::Finished, threads);
    while begun.elapsed() < plan.length() && goes_on() && !watch.interrupted.load(Relaxed) {
        std::thread::sleep(LOOK.min(plan.length().saturating_sub(begun.elapsed())));
        let at_s = opened.elapsed().as_secs_f64();
        if at_s - series.at_s >= INTERVAL.as_secs_f64() {
            series.gather(desks, at_s);
            tell(watch, &series);
        }
    }
    gate.shut();
    while !gate.are_all(ThreadProgress::Finished, threads) {
        std::thread::sleep(GLANCE);
    }
    (watched, series, opened.elapsed().as_secs_f64())
}

/// Waits until the threads are there and have warmed up.
fn warm_up_all(plan: &WindowPlan<'_>, watch: &Watch<'_>) {
    let began = std::time::Instant::now();
    let warm_up = Duration::from_secs_f64(plan.job.warmup_s);
    let waits = || began.elapsed() < warm_up && plan.gate.goes_on() && !watch.interrupted.load(Relaxed);
    while !plan.gate.are_all(ThreadProgress::Warm, plan.job.threads) || waits() {
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
fn work<I: Index>(index: &I, plan: &WindowPlan<'_>, thread: u64, desk: &Desk) -> ThreadOutcome {
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
    'window: while (plan.gate.is_measuring() || done == 0) && done < quota {
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

impl WindowPlan<'_> {
    /// How long the window is to be.
    fn length(&self) -> Duration {
        match self.job.window {
            Window::Seconds(seconds) => Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
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
