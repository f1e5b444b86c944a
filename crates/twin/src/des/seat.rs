//! Classes, threads and operations of a simulation.

use std::collections::VecDeque;

use assay_instruments::tally::Tally;
use assay_load::{
    Schedule,
    generator::{FileShare, Generator, largest_size},
    overdue::Overdue,
    seat::{seed_of, tally_for},
};
use assay_record::{Class, Dataset, Job, Pattern, Sizes};

use super::{cost::Costs, translate};
use crate::{
    Host, PathKey, Stream, StreamPath, Target, TwinError,
    host::Demand,
    simulated::{PS_PER_S, Picoseconds, Request},
};

/// A class while it runs.
#[derive(Debug)]
pub struct ClassSeat {
    /// CPU times.
    pub costs: Costs,
    /// The stream that bounds are judged by.
    pub stream: Stream,
    /// Which of the machines serves it.
    pub machine: usize,
    /// What was counted in the window.
    pub tally: Tally,
    /// What was due in the window and ended after it.
    pub overdue: Overdue,
    /// Writes of a thread between two flushes; none where there are none.
    pub flush_every: Option<u32>,
    /// A latency of flushes is recorded apart.
    pub flush_apart: bool,
    /// The device's time is CPU time.
    pub load_store: bool,
    /// Threads never sleep while they wait.
    pub spins: bool,
    /// What it writes is written twice: new blocks are zeroed.
    pub zeroes: bool,
    /// Threads that run: fewer than asked where load and store need more cores than there are.
    pub threads: u32,
    /// Operations in flight per thread.
    pub depth: u32,
    /// Operations per submission.
    pub batch: u32,
    /// Operations are due at instants that nobody's answers move.
    pub open: bool,
    /// Its threads pause between operations.
    pub thinks: bool,
    /// Offsets are consecutive.
    pub sequential: bool,
    /// When its threads begin.
    pub begin: Picoseconds,
    /// Bytes after which it stops; 0 where it does not.
    pub bytes_at_most: u64,
    /// It reached them.
    pub full: bool,
    /// CPU time used in the window, ps.
    pub cpu: Picoseconds,
    /// Submissions in the window.
    pub submissions: u64,
    /// Times a thread slept in the window.
    pub sleeps: u64,
    /// Bytes read from and written to the device in the window.
    pub device_bytes: [u64; 2],
    /// Requests at the device in the window: reads, writes, flushes.
    pub device_requests: [u64; 3],
    /// Time of requests at the device, ps: what is in flight there, times time.
    pub device_time: u128,
    /// Data set: index of its page cache where the path goes through one.
    pub pages: Option<usize>,
    /// Workers of the kernel that do its work; none where its own threads do.
    pub workers: Option<Workers>,
}

/// Workers of the kernel, each of which does one operation at a time.
#[derive(Clone, Debug, Default)]
pub struct Workers {
    /// How many there are.
    pub count: u32,
    /// Those that have nothing to do, by their numbers among all who run.
    pub free: Vec<u32>,
    /// Operations that wait for one, and since when.
    pub waiting: VecDeque<(u32, Picoseconds)>,
}

/// A thread.
#[derive(Debug)]
pub struct ThreadSeat {
    /// Its class.
    pub class: u32,
    /// Where its file begins on the target, bytes.
    pub base: u64,
    /// Length of its file, bytes.
    pub file_bytes: u64,
    /// Where on the target its first operation was, where it reads or writes in order; where its data begin otherwise.
    pub start: u64,
    /// Its stream of operations.
    pub generator: Generator,
    /// Its schedule; none where arrivals are closed and nobody thinks.
    pub schedule: Option<Schedule>,
    /// When its CPU work ends.
    pub free_at: Picoseconds,
    /// Flights that wait for work.
    pub idle: Vec<u32>,
    /// A timer for the next due instant is set.
    pub timer: bool,
    /// Writes since the last flush.
    pub unflushed: u32,
    /// Bytes of them that lie in the page cache.
    pub dirty_bytes: u64,
    /// Read-ahead of a sequential buffered reader: bytes asked for, arrived, used.
    pub ahead: [u64; 3],
    /// Flights that wait for read-ahead, with the bytes up to which it must have arrived.
    pub starved: Vec<(u64, u32)>,
}

/// What a flight waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Its next station in the device.
    #[default]
    Device,
    /// The device has finished.
    Done,
    /// Its flush: next station in the device.
    Flush,
    /// The device has finished the flush.
    Flushed,
    /// Its thread has done its part of a flush, and waits for a commit of the journal.
    Joining,
    /// The journal's thread, which wakes it as the last one.
    Woken,
    /// A read-ahead or write-back on its way; nobody's operation.
    Behind,
    /// The device has finished it.
    BehindDone,
    /// The CPU work of an operation that needs no device.
    Ready,
}

/// An operation in flight.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flight {
    /// Its thread.
    pub thread: u32,
    /// Who does its work: its thread, or a worker of the kernel.
    pub runs_on: u32,
    /// What it waits for.
    pub phase: Phase,
    /// It writes.
    pub write: bool,
    /// Flushes still to be made for it.
    pub flushes_left: u8,
    /// Bytes of the operation.
    pub bytes: u32,
    /// What the device sees.
    pub request: Request,
    /// Start of the operation.
    pub start: Picoseconds,
    /// Arrival at the device.
    pub sent: Picoseconds,
    /// Intended start.
    pub due: Picoseconds,
    /// Start of the flush.
    pub flush_start: Picoseconds,
}

/// Where data sets begin on their targets, bytes, in the job's order.
///
/// # Errors
/// Where they do not fit.
pub fn layout(job: &Job, targets: &[(String, Target)]) -> Result<Vec<u64>, TwinError> {
    let mut ends = vec![0u64; targets.len()];
    let mut begins = Vec::with_capacity(job.datasets.len());
    for dataset in &job.datasets {
        let index = targets.iter().position(|(id, _)| *id == dataset.target).unwrap_or(0);
        begins.push(ends[index]);
        let bytes = dataset.bytes.saturating_mul(u64::from(dataset.files));
        ends[index] = ends[index].saturating_add(bytes).next_multiple_of(1 << 20);
    }
    for (end, (id, target)) in ends.iter().zip(targets) {
        let capacity = target.capacity_bytes();
        // Rounding between data sets is ours and no reason to refuse.
        if *end as f64 > capacity + job.datasets.len() as f64 * (1 << 20) as f64 {
            let field = format!("the data sets on {id} ({})", target.twin().name);
            let fix = format!("make them smaller, or use a target of more than {capacity:.0} bytes");
            return Err(TwinError::field(field, format!("{end} bytes in all"), fix));
        }
    }
    Ok(begins)
}

/// The seat of a class on its machine.
///
/// # Errors
/// Where host or target cannot do what the class asks.
pub fn class_seat(
    job: &Job,
    class: &Class,
    target: &Target,
    machine: usize,
    host: &Host,
    file_system: Option<&str>,
) -> Result<ClassSeat, TwinError> {
    let stream = translate::stream(job, class, target, file_system)?;
    stream.validate()?;
    let key = stream.path.key;
    let workers = Demand::of(host, &stream)?.workers.min(stream.in_flight());
    let workers = (key == PathKey::IoUringBuffered && workers.is_finite())
        .then(|| Workers { count: workers.max(1.0) as u32, ..Workers::default() });
    let begin_s = if class.start_s > 0.0 { job.window.warmup_s + class.start_s } else { 0.0 };
    Ok(ClassSeat {
        costs: Costs::of(host, &stream, &translate::sizes(class))?,
        machine,
        tally: tally_for(class),
        overdue: Overdue::new(tally_for(class)),
        flush_every: translate::flush_every(class),
        flush_apart: assay_load::seat::flush_every(class).is_some(),
        load_store: stream.path.is_copied(),
        spins: key.spins(),
        zeroes: stream.zeroes(),
        threads: class.threads,
        depth: if key.is_blocking() { 1 } else { stream.depth },
        batch: if key.is_blocking() { 1 } else { stream.batch },
        open: stream.rate_per_s.is_some(),
        thinks: class.think.is_some(),
        sequential: class.pattern == Pattern::Sequential,
        begin: (begin_s * PS_PER_S) as Picoseconds,
        bytes_at_most: job.window.bytes_at_most,
        full: false,
        cpu: 0,
        submissions: 0,
        sleeps: 0,
        device_bytes: [0; 2],
        device_requests: [0; 3],
        device_time: 0,
        pages: None,
        workers,
        stream,
    })
}

/// A seat on a host where an operation costs `cpu_ps` and nothing else: for the engine's own ceiling, and its tests.
pub fn ceiling_seat(class: &Class, cpu_ps: Picoseconds) -> ClassSeat {
    let path = StreamPath::plain(PathKey::Libaio);
    let mut stream = Stream::closed(&class.name, 0.0, largest_size(&class.size) as f64, path);
    (stream.threads, stream.depth) = (class.threads, class.depth);
    stream.rate_per_s = assay_load::total_rate(&class.arrivals, class.threads);
    ClassSeat {
        costs: Costs::flat(largest_size(&class.size) as u32, cpu_ps),
        machine: 0,
        tally: tally_for(class),
        overdue: Overdue::new(tally_for(class)),
        flush_every: None,
        flush_apart: false,
        load_store: false,
        spins: true,
        zeroes: false,
        threads: class.threads,
        depth: class.depth,
        batch: class.batch,
        open: stream.rate_per_s.is_some(),
        thinks: class.think.is_some(),
        sequential: class.pattern == Pattern::Sequential,
        begin: 0,
        bytes_at_most: 0,
        full: false,
        cpu: 0,
        submissions: 0,
        sleeps: 0,
        device_bytes: [0; 2],
        device_requests: [0; 3],
        device_time: 0,
        pages: None,
        workers: None,
        stream,
    }
}

/// One thread of a class: the same stream of operations that a measured run would see.
pub fn thread_seat(job: &Job, index: usize, thread: u32, dataset: &Dataset, begin: u64) -> ThreadSeat {
    let class = &job.classes[index];
    let files = dataset.files.max(1);
    let sharing = class.threads / files + u32::from(thread % files < class.threads % files);
    let mixes = matches!(class.size, Sizes::Mix(_));
    let share = FileShare {
        bytes: dataset.bytes.max(largest_size(&class.size)),
        index: thread / files,
        of: sharing.max(1),
        stripe: if mixes { dataset.stripe_bytes } else { 0 },
        order: seed_of(job.seed, index, u32::MAX),
    };
    let mut generator = Generator::new(class, share, seed_of(job.seed, index, thread));
    let first = if class.pattern == Pattern::Sequential { generator.clone().step().offset } else { 0 };
    let schedule = Schedule::of(class, thread, PS_PER_S, generator.rng());
    ThreadSeat {
        class: index as u32,
        base: begin + u64::from(thread % files) * dataset.bytes,
        file_bytes: share.bytes,
        start: begin + u64::from(thread % files) * dataset.bytes + first,
        generator,
        schedule,
        free_at: 0,
        idle: Vec::new(),
        timer: false,
        unflushed: 0,
        dirty_bytes: 0,
        ahead: [0; 3],
        starved: Vec::new(),
    }
}
