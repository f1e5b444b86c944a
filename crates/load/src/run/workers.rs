//! The worker threads of a run: one per class and thread, each with a path, memory and counters of its own.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use assay_instruments::{
    clock::Clock,
    counters::{HardwareCounters, PerfCounts, ThreadCounters, ThreadUse},
    tally::Tally,
};
use assay_path::{Arena, Blocking, OpenParameters, Opened, PathError, Queued, Segment};
use assay_record::{Class, Layout, PathKind};
use assay_workload::{Work, Worker, WorkloadError, pin};

use super::counting::Afterwards;
use crate::{
    check::{Checker, SecondLook},
    error::LoadError,
    generator::{FileShare, Spread, writes},
    overdue::Overdue,
    seat,
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
    /// A class of the job writes to the data set: a read may overlap a write.
    pub contended: bool,
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
    /// Hardware counters run in the judged window.
    pub count_in_window: bool,
    /// Hardware counters run in a window of its own.
    pub count_apart: bool,
    /// Until when.
    pub afterwards: Afterwards,
}

/// What one worker brings back.
#[derive(Debug)]
pub struct ThreadOutcome {
    /// Index of the class.
    pub class_index: usize,
    /// Thread of the class.
    pub thread: u32,
    /// When it began to measure, ticks.
    pub start: u64,
    /// When it ended, ticks.
    pub end: u64,
    /// CPU and the like.
    pub used: ThreadUse,
    /// What its hardware counters counted in a window of its own, and over how many operations.
    pub counted_apart: Option<(PerfCounts, u64)>,
    /// System calls of its path in the window.
    pub system_calls: u64,
    /// Time that operations in flight at the start had already spent, ticks.
    pub carried_in: u64,
    /// Time that operations in flight at the end, which do not count, had spent, ticks.
    pub unfinished: u64,
    /// What was due in the window, or in flight at its end, and ended after it.
    pub overdue: Overdue,
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
    fn settle(&mut self, task: &mut Task, edges: &Edges, overdue: &mut Overdue);
    fn drain(&mut self, task: &mut Task);
    fn system_calls(&self) -> u64;
    fn ticks_in_flight(&self, now: u64) -> u64;
}

impl<P: Blocking> Engine for BlockingLoop<'_, P> {
    fn work(&mut self, task: &mut Task, tally: &Tally, until: &AtomicU64) -> bool {
        Self::work(self, task, tally, until)
    }
    fn settle(&mut self, task: &mut Task, edges: &Edges, overdue: &mut Overdue) {
        Self::settle(self, task, edges, overdue);
    }
    fn drain(&mut self, _task: &mut Task) {}
    fn system_calls(&self) -> u64 {
        Self::system_calls(self)
    }
    fn ticks_in_flight(&self, _now: u64) -> u64 {
        0
    }
}

impl<P: Queued> Engine for QueuedLoop<'_, P> {
    fn work(&mut self, task: &mut Task, tally: &Tally, until: &AtomicU64) -> bool {
        Self::work(self, task, tally, until)
    }
    fn settle(&mut self, task: &mut Task, edges: &Edges, overdue: &mut Overdue) {
        Self::settle(self, task, edges, overdue);
    }
    fn drain(&mut self, task: &mut Task) {
        Self::drain(self, task);
    }
    fn system_calls(&self) -> u64 {
        Self::system_calls(self)
    }
    fn ticks_in_flight(&self, now: u64) -> u64 {
        Self::ticks_in_flight(self, now)
    }
}

/// All that a worker makes before it reports ready, so that nothing is left to make when the load begins.
struct Ready {
    task: Task,
    counters: ThreadCounters,
    /// Where the warm-up counts. It is kept until the end: giving memory back takes time.
    warm: Tally,
    /// What is counted after the window.
    overdue: Overdue,
    opened: Opened,
    arena: Arena,
}

/// The classes' I/O, as the driver has it done: a station for each worker, which takes it.
pub struct Stations<'a> {
    names: Vec<String>,
    stations: Vec<Mutex<Option<Station<'a>>>>,
    floor: &'a Floor,
}

impl<'a> Stations<'a> {
    /// A worker for each.
    pub fn new(stations: Vec<Station<'a>>, floor: &'a Floor) -> Self {
        let names = stations.iter().map(|station| format!("{}-{}", station.class.name, station.thread)).collect();
        Self { names, stations: stations.into_iter().map(|station| Mutex::new(Some(station))).collect(), floor }
    }

    /// How many there are.
    pub fn workers(&self) -> u32 {
        self.stations.len() as u32
    }
}

impl Work for Stations<'_> {
    /// None of a worker that never began, since another one failed.
    type Outcome = Option<ThreadOutcome>;
    type Error = LoadError;

    fn work(&self, worker: &mut Worker<'_>) -> Result<Option<ThreadOutcome>, LoadError> {
        let station = self.stations[worker.number() as usize].lock().unwrap_or_else(PoisonError::into_inner).take();
        station.map_or(Ok(None), |station| work(station, worker, self.floor))
    }

    fn lost(&self, error: WorkloadError) -> LoadError {
        error.into()
    }

    fn name(&self, worker: u32) -> String {
        self.names[worker as usize].clone()
    }

    fn failed(&self) {
        self.floor.edges.close_now(self.floor.clock.now());
    }
}

fn work(mut station: Station<'_>, worker: &mut Worker<'_>, floor: &Floor) -> Result<Option<ThreadOutcome>, LoadError> {
    exact_sleeps();
    no_signals();
    let Ready { task, counters, warm, overdue, opened, arena } = prepare(&mut station, floor)?;
    if !worker.begin() {
        return Ok(None);
    }
    let emulated = matches!(&opened, Opened::Pmem(path) if path.emulated());
    let shift = Shift { task, counters, warm, overdue, station, floor, emulated };
    let (depth, batch) = (shift.station.class.depth, shift.station.class.batch);
    let outcome = match opened {
        Opened::Pread(path) => shift.measure(BlockingLoop::new(path, &arena)),
        Opened::Mmap(path) => shift.measure(BlockingLoop::new(path, &arena)),
        Opened::Pmem(path) => shift.measure(BlockingLoop::new(path, &arena)),
        Opened::Polled(path) => shift.measure(QueuedLoop::new(path, &arena, depth, batch)),
        Opened::Null(path) if seat::is_queued(shift.station.class) => {
            shift.measure(QueuedLoop::new(path, &arena, depth, batch))
        }
        Opened::Null(path) => shift.measure(BlockingLoop::new(path, &arena)),
        Opened::Libaio(path) => shift.measure(QueuedLoop::new(path, &arena, depth, batch)),
        Opened::Uring(path) => shift.measure(QueuedLoop::new(path, &arena, depth, batch)),
        Opened::Passthrough(path) => shift.measure(QueuedLoop::new(path, &arena, depth, batch)),
        _ => {
            return Err(PathError::Unavailable {
                what: "this path".to_owned(),
                reason: "the executor does not know it".to_owned(),
                fix: "use one of those that assay list paths shows".to_owned(),
            }
            .into());
        }
    };
    Ok(Some(outcome))
}

/// A worker's sleeps end as exactly as the kernel can: its timer slack is one nanosecond instead of 50 microseconds.
fn exact_sleeps() {
    // SAFETY: the call changes a setting of the calling thread only and takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Signals are for the thread that watches: here they would cut system calls short in the middle of a measurement.
fn no_signals() {
    // SAFETY: the set is filled before it is used, and the call changes the mask of the calling thread only.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

fn prepare(station: &mut Station<'_>, floor: &Floor) -> Result<Ready, LoadError> {
    let clock = floor.clock;
    let class = station.class;
    // Before any memory is touched, so that it lies where the thread runs.
    pin::settle(class.pin.as_ref(), station.thread, &class.name)?;
    let task = task_of(station, clock);
    let mut arena = Arena::new(task.memory.bytes()).map_err(|source| PathError::Io {
        action: "reserving memory for",
        path: class.name.clone().into(),
        source,
    })?;
    arena.fill_random(seat::seed_of(station.seed, station.class_index, station.thread));
    let opened = Opened::open(&OpenParameters {
        spec: &seat::path_of(class),
        durability: class.durability,
        segments: station.segments,
        writes: writes(class.operation),
        layout: station.layout,
        arena: &arena,
        depth: class.depth,
        batch: class.batch,
    })?;
    let counters = if floor.count_in_window {
        ThreadCounters::with_hardware(clock.tsc_hz())
    } else {
        ThreadCounters::accounts(clock.tsc_hz())
    };
    let (warm, overdue) = (seat::tally_for(class), Overdue::new(seat::tally_for(class)));
    Ok(Ready { task, counters, warm, overdue, opened, arena })
}

fn task_of(station: &mut Station<'_>, clock: Clock) -> Task {
    let class = station.class;
    let seed = seat::seed_of(station.seed, station.class_index, station.thread);
    let spread = Spread::new(station.segments.len(), station.stripe);
    let segments = station.segments.len() as u32;
    let mut task = seat::task(class, station.share, station.thread, spread, segments, clock, seed);
    task.growing = station.layout == Layout::Grow && class.path.kind != PathKind::Null;
    task.checker = station.checker.take();
    task.second_look =
        station.contended.then(|| SecondLook::new(&class.path, station.segments, spread, station.layout));
    task
}

/// A worker that is ready, and what it needs to measure.
struct Shift<'a> {
    task: Task,
    counters: ThreadCounters,
    warm: Tally,
    overdue: Overdue,
    station: Station<'a>,
    floor: &'a Floor,
    emulated: bool,
}

impl Shift<'_> {
    fn measure<E: Engine>(mut self, mut engine: E) -> ThreadOutcome {
        let Floor { clock, edges, .. } = self.floor;
        let mut healthy = self.warm_up(&mut engine);
        let calls = engine.system_calls();
        self.task.faults.window_opens();
        self.counters.start();
        let start = clock.now();
        let carried_in = engine.ticks_in_flight(start);
        healthy = healthy && engine.work(&mut self.task, self.station.tally, &edges.close);
        let end = clock.now();
        let used = self.counters.stop();
        if !healthy {
            edges.close_now(end);
        }
        let unfinished = engine.ticks_in_flight(end);
        let system_calls = engine.system_calls() - calls;
        engine.settle(&mut self.task, edges, &mut self.overdue);
        let faults = std::mem::take(&mut self.task.faults);
        let counted_apart = if healthy { self.count_apart(&mut engine) } else { None };
        engine.drain(&mut self.task);
        let examples = self.task.checker.map(|checker| checker.examples).unwrap_or_default();
        let Station { class_index, thread, .. } = self.station;
        let emulated = self.emulated;
        ThreadOutcome {
            class_index,
            thread,
            start,
            end,
            used,
            counted_apart,
            system_calls,
            carried_in,
            unfinished,
            overdue: self.overdue,
            faults,
            examples,
            emulated,
        }
    }

    /// Goes on with the load after the judged window, under hardware counters that were not there before. What fails here
    /// is no failure of the run: it only leaves the accounts to say what CPU it used.
    fn count_apart<E: Engine>(&mut self, engine: &mut E) -> Option<(PerfCounts, u64)> {
        if !self.floor.count_apart {
            return None;
        }
        let until = AtomicU64::new(self.floor.afterwards.await_decision()?);
        let tally = seat::tally_for(self.station.class);
        if let Some(schedule) = &mut self.task.schedule {
            schedule.resume(self.floor.clock.now());
        }
        let counters = HardwareCounters::start();
        let healthy = engine.work(&mut self.task, &tally, &until);
        let counts = counters.stop();
        (healthy && counts.cycles.is_some()).then(|| (counts, tally.service.count()))
    }

    /// Load until the window opens; false where a failure ended it. A class that begins later only waits, and its
    /// schedule begins with it: what it did not do before is no backlog.
    fn warm_up<E: Engine>(&mut self, engine: &mut E) -> bool {
        let (floor, start_s) = (self.floor, self.station.class.start_s);
        let edges = &floor.edges;
        let late = floor.clock.ns_to_ticks((start_s * 1e9) as u64);
        let begin =
            if start_s > 0.0 { edges.open.load(Relaxed).saturating_add(late) } else { floor.begin.load(Relaxed) };
        if let Some(schedule) = &mut self.task.schedule {
            schedule.begin(begin);
        }
        if start_s > 0.0 {
            crate::worker::Pacer::default().wait(&floor.clock, begin, &edges.close, &self.warm);
            return true;
        }
        engine.work(&mut self.task, &self.warm, &edges.open)
    }
}
