//! What the log costs, measured side by side with the same bytes written by the queue alone: `log_speed FOLDER`.
//!
//! Each pair takes turns in one run, on the same file system, by the same path and with the same flushes, so that a busy
//! machine disturbs both alike; ratios are of medians over the turns.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use assay_buffer::disk::{Access, Action, Completion, Disk, Drive, Memory, ONE, Queue, Request};
use assay_engine::{
    Durability,
    log::{
        Area, Full, Log, Pace, Tail, Writer,
        area::FRONT,
        record::{self, HEADER, Kind},
    },
};

type Failure = Box<dyn std::error::Error>;

const TURNS: usize = 7;
const TURN: Duration = Duration::from_millis(700);
const RING: u64 = 16 << 20;
const LOG_BYTES: u64 = 256 << 20;
const IDENTITY: u64 = 1;
/// Bytes of one write where nobody waits for each.
const CHUNK: u64 = 1 << 20;
const DEPTH: u32 = 16;

fn main() -> Result<(), Failure> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name a folder on the drive")?);
    let made = tempfile::Builder::new().prefix("assay-log-speed-").tempdir_in(folder)?;
    let drive = |name: &str| -> Result<Arc<dyn Disk>, Failure> {
        let drive = Drive::create(&[made.path().join(name)], LOG_BYTES + FRONT, Access::default())?;
        // Both have all their space before: a flush has no map of extents to write.
        Area::plan(&drive, IDENTITY, RING)?.create(&drive)?;
        Ok(Arc::new(drive))
    };
    let (ours, theirs) = (drive("ours")?, drive("theirs")?);
    for (durability, said) in [(Durability::Fdatasync, "fdatasync"), (Durability::Plp, "no flush")] {
        for bytes in [4 << 10, 16 << 10, 64 << 10] {
            let (mut log, mut raw) = (Appender::new(&ours, durability)?, Raw::new(&theirs, durability)?);
            let what = format!("appends of {} KiB, each waited for, {said}", bytes >> 10);
            compare(&what, "/s", 1.0, || log.each(bytes), || raw.each(bytes))?;
        }
        let (mut log, mut raw) = (Appender::new(&ours, durability)?, Raw::new(&theirs, durability)?);
        let what = format!("appends of 4 KiB, each MiB waited for, {said}");
        compare(&what, " MB/s", 1e-6, || log.stream(), || raw.stream())?;
    }
    Ok(())
}

/// Takes turns at two things and prints how fast each was.
fn compare(
    what: &str,
    unit: &str,
    scale: f64,
    mut ours: impl FnMut() -> Result<f64, Failure>,
    mut theirs: impl FnMut() -> Result<f64, Failure>,
) -> Result<(), Failure> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        a.push(ours()?);
        b.push(theirs()?);
    }
    let spread = |values: &[f64]| format!("{:.0} to {:.0}", values[0] * scale, values[values.len() - 1] * scale);
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let (log, raw) = (a[TURNS / 2], b[TURNS / 2]);
    println!(
        "{what}: log {:.0}{unit} ({}), queue {:.0}{unit} ({}), ratio {:.2}",
        log * scale,
        spread(&a),
        raw * scale,
        spread(&b),
        log / raw
    );
    Ok(())
}

/// Calls `step` for a turn: the sum of what it returns, per second.
fn rate(mut step: impl FnMut() -> Result<u64, Failure>) -> Result<f64, Failure> {
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < TURN {
        done += step()?;
    }
    Ok(done as f64 / start.elapsed().as_secs_f64())
}

/// One who commits.
struct Appender {
    log: Arc<Log>,
    _writer: Writer,
    record: Vec<u8>,
    commit: u64,
}

impl Appender {
    fn new(disk: &Arc<dyn Disk>, durability: Durability) -> Result<Self, Failure> {
        let tail = Tail::Volatile(Arc::new(Memory::new(RING as usize)?));
        let log = Arc::new(Log::new(Area::open(&**disk)?, tail, durability, Pace::Eager, 0));
        let writer = Writer::start(Arc::clone(&log), Arc::clone(disk))?;
        Ok(Self { log, _writer: writer, record: Vec::new(), commit: 0 })
    }

    /// Appends a record of so many bytes: where it ends.
    fn append(&mut self, bytes: usize) -> Result<u64, Failure> {
        self.commit += 1;
        self.record.clear();
        self.record.resize(bytes, 7);
        loop {
            match self.log.reserve(0, bytes)? {
                Ok(position) => {
                    let (identity, commit) = (self.log.identity(), self.commit);
                    record::seal(&mut self.record, identity, position, commit, Kind::Commit, 1);
                    self.log.fill(0, position, &self.record);
                    return Ok(position + bytes as u64);
                }
                Err(Full::Area) => self.log.forget_before(self.log.durable()),
                Err(Full::Ring) => self.log.wait(self.log.durable() + 1)?,
            }
        }
    }

    /// Commits one after the other, each in a batch of `bytes`.
    fn each(&mut self, bytes: usize) -> Result<f64, Failure> {
        self.log.forget_before(self.log.durable());
        rate(|| {
            // The mark of the next batch is in this one's blocks.
            let end = self.append(bytes - HEADER)?;
            self.log.wait(end)?;
            Ok(1)
        })
    }

    /// Commits that nobody waits for one by one: bytes a second.
    fn stream(&mut self) -> Result<f64, Failure> {
        let (before, start) = (self.log.written().bytes, Instant::now());
        let mut end = 0;
        while start.elapsed() < TURN {
            for _ in 0..CHUNK >> 12 {
                end = self.append(4 << 10)?;
            }
            self.log.wait(end.saturating_sub(u64::from(DEPTH - 1) * CHUNK))?;
        }
        self.log.wait(end)?;
        Ok((self.log.written().bytes - before) as f64 / start.elapsed().as_secs_f64())
    }
}

/// The queue alone.
struct Raw {
    queue: Box<dyn Queue>,
    done: Vec<Completion>,
    flushes: bool,
    position: u64,
}

impl Raw {
    fn new(disk: &Arc<dyn Disk>, durability: Durability) -> Result<Self, Failure> {
        let memory = Arc::new(Memory::new((CHUNK * u64::from(DEPTH)) as usize)?);
        let flushes = durability.flushes();
        Ok(Self { queue: disk.queue(DEPTH, &memory)?, done: Vec::new(), flushes, position: 0 })
    }

    fn write(&mut self, bytes: u64) {
        let (offset, memory) =
            (FRONT + self.position % LOG_BYTES, (self.position % (CHUNK * u64::from(DEPTH))) as usize);
        let request = Request { action: Action::Write, offset, memory, bytes: bytes as u32, token: 0 };
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
            unsafe { self.queue.push(Request::flush(0)) };
        }
        self.reap_all()
    }

    fn each(&mut self, bytes: usize) -> Result<f64, Failure> {
        rate(|| {
            self.write(bytes as u64);
            self.reap_all()?;
            self.flush()?;
            Ok(1)
        })
    }

    /// Writes of a MiB; with flushes one after each, else several at a time.
    fn stream(&mut self) -> Result<f64, Failure> {
        rate(|| {
            if self.flushes {
                self.write(CHUNK);
                self.reap_all()?;
                self.flush()?;
                return Ok(CHUNK);
            }
            (0..DEPTH).for_each(|_| self.write(CHUNK));
            self.reap_all()?;
            Ok(CHUNK * u64::from(DEPTH))
        })
    }
}
