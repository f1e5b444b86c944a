//! What the log costs, measured side by side with the same bytes written without it: `log_speed FOLDER`.
//!
//! Those who take turns in one run, on the same file system and with the same flushes: the log with its committers; two
//! logs, on which half of them commit each and wait for all commits before their own; as many threads that write the same
//! blocks through queues of their own; and as many that write them by blocking calls. A busy machine disturbs all alike.
//! Ratios are of medians over the turns, to the faster of the two.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use assay_buffer::disk::{Access, Action, Completion, Disk, DiskRequest, Drive, Memory, ONE, Queue};
use assay_engine::{
    Durability,
    core::{Core, Goal},
    log::{
        Area, Full, Log, Logs, Pace, Tail, Writer,
        area::{BLOCK, FRONT},
        logs::end_in,
        record::{self, HEADER, RecordKind},
    },
};
use assay_record::PathKind;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const TURNS: usize = 7;
const TURN: Duration = Duration::from_millis(300);
const RING: u64 = 16 << 20;
const LOG_BYTES: u64 = 256 << 20;
const IDENTITY: u64 = 1;
/// Bytes of one write where nobody waits for each.
const CHUNK: u64 = 1 << 20;
const DEPTH: u32 = 16;
/// Bytes of a record, and how many threads commit, each waiting for its own.
const CASES: [(u64, usize); 7] =
    [(100, 1), (100, 2), (100, 8), (4 << 10, 1), (4 << 10, 2), (4 << 10, 8), (64 << 10, 1)];

fn main() -> Result<(), Failure> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name a folder on the drive")?);
    let made = tempfile::Builder::new().prefix("assay-log-speed-").tempdir_in(folder)?;
    let drives = Drives {
        log: drive(made.path(), "log", PathKind::IoUring)?,
        two: [drive(made.path(), "first", PathKind::IoUring)?, drive(made.path(), "second", PathKind::IoUring)?],
        queue: drive(made.path(), "queue", PathKind::IoUring)?,
        calls: drive(made.path(), "calls", PathKind::Pread)?,
    };
    for (durability, said) in [(Durability::Fdatasync, "fdatasync"), (Durability::Plp, "no flush")] {
        for (bytes, threads) in CASES {
            let what = format!("{bytes} B, {threads} committers, {said}");
            let [log, two, queue, calls] = drives.speeds(durability, threads > 1, |one| one.each(bytes, threads))?;
            show(&what, ("/s", 1.0), (log, two), &[("queue", queue), ("calls", calls)]);
        }
        let [log, two, queue, _] = drives.speeds(durability, false, |one| one.stream())?;
        show(&format!("4096 B, a MiB at a time, {said}"), (" MB/s", 1e-6), (log, two), &[("queue", queue)]);
    }
    Ok(())
}

fn drive(folder: &Path, name: &str, path: PathKind) -> Result<Arc<dyn Disk>, Failure> {
    let access = Access { path, ..Access::default() };
    let drive = Drive::create(&[folder.join(name)], LOG_BYTES + FRONT, access)?;
    // All have all their space before: a flush has no map of extents to write.
    Area::plan(&drive, IDENTITY, RING)?.create(&drive)?;
    Ok(Arc::new(drive))
}

/// A file for each contestant.
struct Drives {
    log: Arc<dyn Disk>,
    two: [Arc<dyn Disk>; 2],
    queue: Arc<dyn Disk>,
    calls: Arc<dyn Disk>,
}

type Speeds = Vec<f64>;

impl Drives {
    /// What each does in its turns: log, two logs where they are asked for, queue, calls.
    fn speeds(
        &self,
        durability: Durability,
        several: bool,
        turn: impl Fn(&mut dyn Speed) -> Result<f64, Failure>,
    ) -> Result<[Speeds; 4], Failure> {
        let mut log = Logged::new(&self.log, durability)?;
        let mut two = Twofold::new(&self.two, durability)?;
        let mut raw = [&self.queue, &self.calls].map(|disk| Raw { disk: Arc::clone(disk), durability });
        let (mut ours, mut both, mut queue, mut calls) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            ours.push(turn(&mut log)?);
            if several {
                both.push(turn(&mut two)?);
            }
            queue.push(turn(&mut raw[0])?);
            calls.push(turn(&mut raw[1])?);
        }
        Ok([ours, both, queue, calls])
    }
}

fn show(what: &str, (unit, scale): (&str, f64), (mut log, mut two): (Speeds, Speeds), raws: &[(&str, Speeds)]) {
    let spread = |values: &mut Speeds| {
        values.sort_by(f64::total_cmp);
        let [least, median, most] = [0, values.len() / 2, values.len() - 1].map(|at| values[at] * scale);
        (median, format!("{median:.0}{unit} ({least:.0} to {most:.0})"))
    };
    let (ours, said) = spread(&mut log);
    let (mut line, mut best) = (format!("{what}: log {said}"), 0.0_f64);
    for (name, values) in raws {
        let (median, said) = spread(&mut values.clone());
        line += &format!(", {name} {said}");
        best = best.max(median);
    }
    line += &format!(", ratio {:.2}", ours / best);
    if !two.is_empty() {
        let (median, said) = spread(&mut two);
        line += &format!("; two logs {said}, ratio {:.2}, to one log {:.2}", median / best, median / ours);
    }
    println!("{line}");
}

/// What can be asked of each contestant: one turn.
trait Speed {
    /// Commits a second of `threads` that wait for each of theirs.
    fn each(&mut self, bytes: u64, threads: usize) -> Result<f64, Failure>;

    /// Commits that nobody waits for one by one: bytes a second.
    fn stream(&mut self) -> Result<f64, Failure>;
}

/// Calls `step` for a turn: the sum of what it returns, per second.
fn rate(mut step: impl FnMut() -> Result<u64, Failure>) -> Result<f64, Failure> {
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < TURN {
        done += step()?;
    }
    Ok(done as f64 / start.elapsed().as_secs_f64())
}

/// The sum of the rates of `threads`.
fn together(threads: usize, one: impl Fn(usize) -> Result<f64, Failure> + Sync) -> Result<f64, Failure> {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn({
                    let one = &one;
                    move || one(thread)
                })
            })
            .collect();
        all.into_iter().map(|thread| thread.join().map_err(|_| "a thread has panicked")?).sum()
    })
}

/// Those who commit.
struct Logged {
    log: Arc<Log>,
    _writer: Writer,
}

impl Logged {
    fn new(disk: &Arc<dyn Disk>, durability: Durability) -> Result<Self, Failure> {
        let tail = Tail::Volatile(Arc::new(Memory::new(RING as usize)?));
        let log = Arc::new(Log::new(Area::open(&**disk)?, tail, durability, Pace::Eager, 0));
        let writer = Writer::start(Arc::clone(&log), Arc::clone(disk))?;
        Ok(Self { log, _writer: writer })
    }

    /// Appends a record: where it ends.
    fn append(&self, thread: usize, record: &mut [u8]) -> Result<u64, Failure> {
        loop {
            match self.log.reserve(thread, record.len())? {
                Ok(position) => {
                    record::seal(record, self.log.identity(), position, position, RecordKind::Commit, 1);
                    self.log.fill(thread, position, record);
                    return Ok(position + record.len() as u64);
                }
                Err(Full::Area) => self.log.forget_before(self.log.durable()),
                Err(Full::Ring) => self.log.wait(self.log.durable() + 1)?,
            }
        }
    }
}

/// A record that fills so many bytes together with the mark of the next batch, which is in this one's blocks.
fn record(bytes: u64) -> Vec<u8> {
    vec![7; (bytes as usize).next_multiple_of(8) - if bytes % BLOCK == 0 { HEADER } else { 0 }]
}

impl Speed for Logged {
    fn each(&mut self, bytes: u64, threads: usize) -> Result<f64, Failure> {
        self.log.forget_before(self.log.durable());
        together(threads, |thread| {
            let mut record = record(bytes);
            rate(|| {
                let end = self.append(thread, &mut record)?;
                self.log.wait(end)?;
                Ok(1)
            })
        })
    }

    fn stream(&mut self) -> Result<f64, Failure> {
        let (before, start) = (self.log.written().bytes, Instant::now());
        let (mut end, mut record) = (0, vec![7; 4 << 10]);
        while start.elapsed() < TURN {
            for _ in 0..CHUNK >> 12 {
                end = self.append(0, &mut record)?;
            }
            self.log.wait(end.saturating_sub(u64::from(DEPTH - 1) * CHUNK))?;
        }
        self.log.wait(end)?;
        Ok((self.log.written().bytes - before) as f64 / start.elapsed().as_secs_f64())
    }
}

/// Those who commit on two logs, with numbers.
struct Twofold {
    core: Core,
    _writers: Vec<Writer>,
}

impl Twofold {
    fn new(disks: &[Arc<dyn Disk>; 2], durability: Durability) -> Result<Self, Failure> {
        let mut logs = Vec::new();
        for disk in disks {
            let tail = Tail::Volatile(Arc::new(Memory::new(RING as usize)?));
            logs.push(Log::new(Area::open(&**disk)?, tail, durability, Pace::Eager, 0));
        }
        let core = Core::new(Logs::of(logs), 0, 0, Pace::Eager)?;
        let writer = |(log, disk): (&Arc<Log>, &Arc<dyn Disk>)| Writer::start(Arc::clone(log), Arc::clone(disk));
        let writers = core.logs.iter().zip(disks).map(writer).collect::<Result<_, _>>()?;
        Ok(Self { core, _writers: writers })
    }

    /// Commits a record and waits for it and for all before it.
    fn commit(&self, thread: usize, record: &mut [u8]) -> Result<u64, Failure> {
        let (which, core) = (thread % 2, &self.core);
        let log = core.logs.get(which).ok_or("there are two logs")?;
        let position = loop {
            match log.reserve(thread, record.len())? {
                Ok(position) => break position,
                Err(Full::Area) => log.forget_before(log.durable()),
                Err(Full::Ring) => log.wait(log.durable() + 1)?,
            }
        };
        let (commit, end) = (core.sequence.take(), end_in(which, position + record.len() as u64));
        record::seal(record, log.identity(), position, commit, RecordKind::Commit, 1);
        log.fill(thread, position, record);
        core.sequence.applied(commit, end);
        while core.sequence.visible() < commit {
            std::hint::spin_loop();
        }
        core.wait(Goal { commit, end, all: true })?;
        Ok(1)
    }
}

impl Speed for Twofold {
    fn each(&mut self, bytes: u64, threads: usize) -> Result<f64, Failure> {
        self.core.logs.iter().for_each(|log| log.forget_before(log.durable()));
        together(threads, |thread| {
            let mut record = record(bytes);
            rate(|| self.commit(thread, &mut record))
        })
    }

    fn stream(&mut self) -> Result<f64, Failure> {
        Err("what nobody waits for is measured on one log".into())
    }
}

/// Those who write without a log.
struct Raw {
    disk: Arc<dyn Disk>,
    durability: Durability,
}

impl Raw {
    /// One of `threads`: each has a part of the file.
    fn hand(&self, thread: usize, threads: usize) -> Result<Handle, Failure> {
        let memory = Arc::new(Memory::new((CHUNK * u64::from(DEPTH)) as usize)?);
        let part = LOG_BYTES / threads as u64;
        Ok(Handle {
            queue: self.disk.queue(DEPTH, &memory)?,
            done: Vec::new(),
            flushes: self.durability.flushes(),
            base: FRONT + thread as u64 * part,
            part,
            position: 0,
        })
    }
}

/// A thread's queue.
struct Handle {
    queue: Box<dyn Queue>,
    done: Vec<Completion>,
    flushes: bool,
    base: u64,
    part: u64,
    position: u64,
}

impl Handle {
    fn write(&mut self, bytes: u64) {
        let memory = (self.position % (CHUNK * u64::from(DEPTH))) as usize;
        let offset = self.base + self.position % self.part;
        let request = DiskRequest { action: Action::Write, offset, memory, bytes: bytes as u32, token: 0 };
        // SAFETY: nobody looks at the memory of these writes or changes it.
        unsafe { self.queue.push(request) };
        self.position += bytes;
    }

    fn reap_all(&mut self) -> Result<(), Failure> {
        while self.queue.in_flight() > 0 {
            self.queue.reap(ONE, &mut self.done)?;
        }
        self.done.drain(..).try_for_each(|done| done.result)?;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if self.flushes {
            // SAFETY: a flush uses no memory.
            unsafe { self.queue.push(DiskRequest::flush(0)) };
        }
        self.reap_all()
    }
}

impl Speed for Raw {
    fn each(&mut self, bytes: u64, threads: usize) -> Result<f64, Failure> {
        together(threads, |thread| {
            let mut hand = self.hand(thread, threads)?;
            rate(|| {
                hand.write(bytes.next_multiple_of(BLOCK));
                hand.reap_all()?;
                hand.flush()?;
                Ok(1)
            })
        })
    }

    /// Writes of a MiB; with flushes one after each, else several at a time.
    fn stream(&mut self) -> Result<f64, Failure> {
        let mut hand = self.hand(0, 1)?;
        rate(|| {
            if hand.flushes {
                hand.write(CHUNK);
                hand.reap_all()?;
                hand.flush()?;
                return Ok(CHUNK);
            }
            (0..DEPTH).for_each(|_| hand.write(CHUNK));
            hand.reap_all()?;
            Ok(CHUNK * u64::from(DEPTH))
        })
    }
}
