//! The worker threads of a run: one per class and thread, each with a path, memory and counters of its own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use assay_path::{Arena, Blocking, OpenParameters, Opened, PathError, Queued, Segment, null::Null};
use assay_record::{Class, Layout, PathKind};

use super::gate::Gate;
use crate::{
    check::Checker,
    clock::Clock,
    counters::{ThreadCounters, ThreadUse},
    generator::{FileShare, Spread, writes},
    seat,
    tally::Tally,
    worker::{BlockingLoop, Edges, Faults, QueuedLoop, Task},
};

/// Where one worker stands.
#[derive(Debug)]
pub struct Station<'a> {
    /// The class.
    pub class: &'a Class,
    /// Index of the class in the job.
    pub class_index: usize,
    /// Thread of the class.
    pub thread: u32,
    /// Segments of the file that it uses.
    pub segments: &'a [Segment],
    /// State of the data set.
    pub layout: Layout,
    /// Page size of the spread, bytes.
    pub stripe: u64,
    /// Its share of the file.
    pub share: FileShare,
    /// Where it counts.
    pub tally: &'a Tally,
    /// Seed of the job.
    pub seed: u64,
    /// Data check; none where not asked for.
    pub checker: Option<Checker>,
}

/// What all workers of a run share.
#[derive(Debug)]
pub struct Floor {
    /// Clock of the run.
    pub clock: Clock,
    /// Edges of the window.
    pub edges: Edges,
    /// When schedules begin, ticks.
    pub begin: AtomicU64,
    /// Where workers wait for each other.
    pub gate: Gate,
    /// One of them could not open its path: none begins.
    pub failed: AtomicBool,
}

/// What one worker brings back.
#[derive(Debug)]
pub struct Outcome {
    /// Index of the class.
    pub class_index: usize,
    /// When it began to measure, ticks.
    pub start: u64,
    /// When it ended, ticks.
    pub end: u64,
    /// CPU and the like.
    pub used: ThreadUse,
    /// System calls of its path in the window.
    pub system_calls: u64,
    /// What failed.
    pub faults: Faults,
    /// The first wrong blocks, in words.
    pub examples: Vec<String>,
    /// Stand-in hardware served it.
    pub emulated: bool,
}

/// One of the two loops, over any path.
trait Engine {
    fn work(&mut self, task: &mut Task, tally: &Tally, until: &AtomicU64) -> bool;
    fn finish(&mut self, task: &mut Task);
    fn system_calls(&self) -> u64;
}

impl<P: Blocking> Engine for BlockingLoop<'_, P> {
    fn work(&mut self, task: &mut Task, tally: &Tally, until: &AtomicU64) -> bool {
        Self::work(self, task, tally, until)
    }
    fn finish(&mut self, _task: &mut Task) {}
    fn system_calls(&self) -> u64 {
        Self::system_calls(self)
    }
}

impl<P: Queued> Engine for QueuedLoop<'_, P> {
    fn work(&mut self, task: &mut Task, tally: &Tally, until: &AtomicU64) -> bool {
        Self::work(self, task, tally, until)
    }
    fn finish(&mut self, task: &mut Task) {
        self.drain(task);
    }
    fn system_calls(&self) -> u64 {
        Self::system_calls(self)
    }
}

/// Does one worker's part of a run, on the calling thread.
///
/// # Errors
/// [`PathError`] where its path cannot be opened; the other workers are told not to begin.
pub fn work(station: Station<'_>, floor: &Floor) -> Result<Outcome, PathError> {
    exact_sleeps();
    let ready = prepare(&station, floor.clock);
    if ready.is_err() {
        floor.failed.store(true, Relaxed);
    }
    floor.gate.arrive();
    let (arena, opened) = match ready {
        Ok(ready) if !floor.failed.load(Relaxed) => ready,
        Ok(_) => return Err(PathError::Interrupted { action: "waiting for the other workers" }),
        Err(error) => return Err(error),
    };
    let depth = (station.class.depth, station.class.batch);
    let emulated = matches!(&opened, Opened::Pmem(path) if path.emulated());
    match opened {
        Opened::Pread(path) => measure(BlockingLoop::new(path, &arena), station, floor, emulated),
        Opened::Mmap(path) => measure(BlockingLoop::new(path, &arena), station, floor, emulated),
        Opened::Pmem(path) => measure(BlockingLoop::new(path, &arena), station, floor, emulated),
        Opened::Null(path) if station.class.depth > 1 => {
            drop(path);
            measure(QueuedLoop::new(Null::new(depth.0), &arena, depth.0, depth.1), station, floor, emulated)
        }
        Opened::Null(path) => measure(BlockingLoop::new(path, &arena), station, floor, emulated),
        Opened::Libaio(path) => measure(QueuedLoop::new(path, &arena, depth.0, depth.1), station, floor, emulated),
        Opened::Uring(path) => measure(QueuedLoop::new(path, &arena, depth.0, depth.1), station, floor, emulated),
        Opened::Passthrough(path) => measure(QueuedLoop::new(path, &arena, depth.0, depth.1), station, floor, emulated),
        _ => Err(PathError::Unavailable {
            what: "this path".to_owned(),
            reason: "the executor does not know it".to_owned(),
            fix: "use one of those that assay list paths shows".to_owned(),
        }),
    }
}

/// A worker's sleeps end as exactly as the kernel can: its timer slack is one nanosecond instead of 50 microseconds.
fn exact_sleeps() {
    // SAFETY: the call changes a setting of the calling thread only and takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

fn prepare(station: &Station<'_>, clock: Clock) -> Result<(Arena, Opened), PathError> {
    let class = station.class;
    let plan = seat::task(class, station.share, station.thread, Spread::new(1, 1), 1, clock, 0).memory;
    let mut arena = Arena::new(plan.bytes()).map_err(|source| PathError::Io {
        action: "reserving memory for",
        path: class.name.clone().into(),
        source,
    })?;
    arena.fill_random(seat::seed_of(station.seed, station.class_index, station.thread));
    let opened = Opened::open(&OpenParameters {
        spec: &class.path,
        durability: class.durability,
        segments: station.segments,
        writes: writes(class.operation),
        layout: station.layout,
        arena: &arena,
        depth: class.depth,
        batch: class.batch,
    })?;
    Ok((arena, opened))
}

fn task_of(station: &mut Station<'_>, clock: Clock) -> Task {
    let class = station.class;
    let seed = seat::seed_of(station.seed, station.class_index, station.thread);
    let spread = Spread::new(station.segments.len(), station.stripe);
    let segments = station.segments.len() as u32;
    let mut task = seat::task(class, station.share, station.thread, spread, segments, clock, seed);
    task.growing = station.layout == Layout::Grow && class.path.kind != PathKind::Null;
    task.checker = station.checker.take();
    task
}

fn measure<E: Engine>(
    mut engine: E,
    mut station: Station<'_>,
    floor: &Floor,
    emulated: bool,
) -> Result<Outcome, PathError> {
    let clock = floor.clock;
    let mut task = task_of(&mut station, clock);
    let mut counters = ThreadCounters::open(clock.tsc_hz());
    if let Some(schedule) = &mut task.schedule {
        schedule.begin(floor.begin.load(Relaxed));
    }
    let warm = seat::tally_for(station.class);
    let mut healthy = engine.work(&mut task, &warm, &floor.edges.open);
    drop(warm);
    await_start(station.class.start_s, floor);
    let calls = engine.system_calls();
    counters.start();
    let start = clock.now();
    healthy = healthy && engine.work(&mut task, station.tally, &floor.edges.close);
    let end = clock.now();
    let used = counters.stop();
    if !healthy {
        floor.edges.close_now(end);
    }
    let system_calls = engine.system_calls() - calls;
    engine.finish(&mut task);
    let examples = task.checker.map(|checker| checker.examples).unwrap_or_default();
    let (class_index, faults) = (station.class_index, task.faults);
    Ok(Outcome { class_index, start, end, used, system_calls, faults, examples, emulated })
}

/// A class that begins later sleeps until then, or until the window closes.
fn await_start(start_s: f64, floor: &Floor) {
    if start_s <= 0.0 {
        return;
    }
    let due = floor.edges.open.load(Relaxed).saturating_add(floor.clock.ns_to_ticks((start_s * 1e9) as u64));
    let nowhere = Tally::default();
    crate::worker::Pacer::default().wait(&floor.clock, due, &floor.edges.close, &nowhere);
}
