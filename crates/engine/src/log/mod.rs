//! The log: one endless sequence of records, kept in a ring of memory and written round and round on a disk.
//!
//! Those who commit reserve a range of positions by one atomic step and copy their record there; nobody waits for
//! another's copy. One at a time writes: it closes the block, writes everything up to there, flushes, and says how far the
//! log is durable. What arrives meanwhile is the next batch: there is no timer. A batch
//! ends at a block's end and the next one begins with a mark, so no block that was durable is ever written again in the
//! same round, and a mark that can be read proves that everything before it was durable.
//!
//! **Who writes.** Who waits for the log and has nothing else to do writes itself, where nobody is writing: one commit costs
//! one write and one flush, and no thread is woken. Those who come meanwhile sleep until it is done; the first of them
//! that is not in the batch writes the next one. The log's own thread writes for those who do not wait or have other things
//! to do, and what is long.

pub mod area;
pub mod logs;
pub mod merge;
mod reader;
pub mod record;
pub mod tail;
mod turn;
mod writer;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst, fence},
    },
    time::Duration,
};

use assay_buffer::stage::Signal;

pub use area::Area;
pub use logs::Logs;
pub use reader::{End, Reader};
pub use tail::Tail;
pub use writer::Writer;

use self::{
    record::{HEADER, RecordKind},
    turn::{DirectWriter, Lead},
};
use crate::{
    durability::Durability,
    error::{EngineError, Failure, Result},
    slots::SESSIONS_AT_MOST,
};

const IDLE: u64 = u64::MAX;
/// Kept free in ring and area for the padding and the mark of the batch that is being closed.
const SLACK: u64 = 2 * area::BLOCK;
/// The writer's place among those who fill ranges.
const WRITER: usize = SESSIONS_AT_MOST;

/// Where a session copies to at this moment.
#[derive(Debug)]
#[repr(align(64))]
struct Filling(AtomicU64);

/// What the writing thread is asked for.
#[derive(Debug, Default)]
struct Bell {
    /// Write up to here, whatever else.
    wanted: u64,
    stop: bool,
}

/// When the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// When somebody waits for it, or much is there.
    Eager,
    /// When somebody waits for it alone: simulations are repeatable that way.
    Asked,
}

/// Why a range cannot be reserved now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The ring waits for the disk.
    Ring,
    /// The area waits for a checkpoint.
    Area,
}

/// What the log did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes written to the disk.
    pub bytes: u64,
    /// Batches; each one is one group commit.
    pub batches: u64,
    /// Flushes of the disk.
    pub flushes: u64,
}

/// The log of an open database.
pub struct Log {
    area: Area,
    tail: Tail,
    durability: Durability,
    pace: Pace,
    /// First position that nobody has reserved.
    reserved: AtomicU64,
    /// Below, the disk has it for good.
    written: AtomicU64,
    /// Below, a crash takes nothing.
    durable: AtomicU64,
    /// First position that a recovery needs.
    begin: AtomicU64,
    filling: Box<[Filling]>,
    /// One past the highest session that ever reserved.
    sessions: AtomicUsize,
    /// Somebody has the turn to write.
    writing: AtomicBool,
    direct: Mutex<Option<DirectWriter>>,
    /// Those who sleep until a turn has ended, or are about to.
    sleepers: AtomicUsize,
    asleep: AtomicBool,
    bell: Mutex<Bell>,
    work: Signal,
    done: Signal,
    failure: OnceLock<Failure>,
    /// There are other logs.
    several: bool,
    /// Of several logs: all commits up to here are durable, which marks say.
    acknowledged: Arc<AtomicU64>,
    bytes: AtomicU64,
    batches: AtomicU64,
    flushes: AtomicU64,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Log").field("area", &self.area).field("written", &self.written()).finish_non_exhaustive()
    }
}

impl Log {
    /// A log that goes on at `position`, a multiple of a block; a recovery would begin there.
    pub fn new(area: Area, tail: Tail, durability: Durability, pace: Pace, position: u64) -> Self {
        let log = Self {
            area,
            tail,
            durability,
            pace,
            reserved: AtomicU64::new(position + HEADER as u64),
            written: AtomicU64::new(position),
            durable: AtomicU64::new(position),
            begin: AtomicU64::new(position),
            filling: (0..=SESSIONS_AT_MOST).map(|_| Filling(AtomicU64::new(IDLE))).collect(),
            sessions: AtomicUsize::new(0),
            writing: AtomicBool::new(false),
            direct: Mutex::default(),
            sleepers: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            bell: Mutex::default(),
            work: Signal::new(),
            done: Signal::new(),
            failure: OnceLock::new(),
            several: false,
            acknowledged: Arc::default(),
            bytes: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
        };
        log.mark(position);
        log
    }

    /// The same as one of several, whose marks say up to which commit all are durable.
    #[must_use]
    pub fn telling(self, acknowledged: Arc<AtomicU64>) -> Self {
        Self { several: true, acknowledged, ..self }
    }

    /// Bytes of the longest record.
    pub fn record_bytes_at_most(&self) -> usize {
        (self.area.ring.min(self.tail.bytes()) / 2) as usize
    }

    /// Reserves a range for `session`, which then calls [`Log::fill`] without waiting for anything.
    ///
    /// # Errors
    /// Where the log has failed or the record is too long; the inner one where there is no room now.
    pub fn reserve(&self, session: usize, bytes: usize) -> Result<std::result::Result<u64, Full>> {
        self.check()?;
        if bytes > self.record_bytes_at_most() {
            return Err(EngineError::TooLarge { bytes, most: self.record_bytes_at_most() });
        }
        if session >= self.sessions.load(SeqCst) {
            self.sessions.fetch_max(session + 1, SeqCst);
        }
        let filling = &self.filling[session].0;
        let mut start = self.reserved.load(SeqCst);
        loop {
            let end = start + bytes as u64;
            if end + SLACK > self.begin.load(SeqCst) + self.area.bytes {
                return Ok(Err(Full::Area));
            }
            if end + SLACK > self.written.load(SeqCst) + self.tail.bytes() {
                self.wake();
                return Ok(Err(Full::Ring));
            }
            // Prefetch before it is reserved: whoever sees the reservation sees that the range is not filled.
            filling.store(start, SeqCst);
            match self.reserved.compare_exchange(start, end, SeqCst, SeqCst) {
                Ok(_) => return Ok(Ok(start)),
                Err(now) => start = now,
            }
            filling.store(IDLE, SeqCst);
        }
    }

    /// Copies a sealed record to the position that was reserved for it.
    pub fn fill(&self, session: usize, position: u64, record: &[u8]) {
        // SAFETY: the range was reserved by this session, and `reserve` left alone what is not written out yet.
        unsafe { self.tail.append(position, record) };
        self.filling[session].0.store(IDLE, SeqCst);
        if self.pace == Pace::Eager && self.due() {
            self.wake();
        }
    }

    /// Identity to seal records with.
    pub fn identity(&self) -> u64 {
        self.area.seal()
    }

    /// First position that nobody has reserved.
    pub fn reserved(&self) -> u64 {
        self.reserved.load(SeqCst)
    }

    /// Below, a crash takes nothing.
    pub fn durable(&self) -> u64 {
        if self.durability == Durability::Pmem { self.filled() } else { self.durable.load(SeqCst) }
    }

    /// A recovery will begin at `position` from now on: what is before may be written over.
    pub fn forget_before(&self, position: u64) {
        self.begin.fetch_max(position, SeqCst);
    }

    /// Share of the area that a recovery would have to read.
    pub fn fullness(&self) -> f64 {
        (self.reserved() - self.begin.load(SeqCst)) as f64 / self.area.bytes as f64
    }

    /// What was written so far.
    pub fn written(&self) -> Written {
        let [bytes, batches, flushes] = [&self.bytes, &self.batches, &self.flushes].map(|count| count.load(SeqCst));
        Written { bytes, batches, flushes }
    }

    /// Whether the log still works.
    ///
    /// # Errors
    /// [`EngineError::Stopped`] where it does not.
    pub fn check(&self) -> Result<()> {
        match self.failure.get() {
            None => Ok(()),
            Some(failure) => Err(failure.error()),
        }
    }

    /// Says that the log works no longer, and wakes those who wait for it.
    pub fn stop(&self, failure: Failure) {
        let _first = self.failure.set(failure);
        drop(self.bell());
        self.done.notify_all();
        self.work.notify_all();
    }

    /// Blocks until the log is durable up to `position`: writes it, where nobody else does.
    ///
    /// # Errors
    /// Where it fails before.
    pub fn wait(&self, position: u64) -> Result<()> {
        while self.durable() < position {
            self.check()?;
            self.go_on(position, None);
        }
        self.check()
    }

    /// Blocks until the log is durable up to `position`, or has failed, or something was written, or some time is over.
    pub fn rest(&self, position: u64, most: Duration) {
        if self.durable() < position && self.check().is_ok() {
            self.go_on(position, Some(most));
        }
    }

    /// Writes, or waits for the one who does.
    fn go_on(&self, position: u64, most: Option<Duration>) {
        let lead = self.lead();
        if lead == Lead::Done {
            return;
        }
        if lead == Lead::Ask {
            self.ask(position);
        }
        let busy = || lead == Lead::Ask || self.writing.load(SeqCst);
        self.sleep(most, || self.durable() < position && self.check().is_ok() && busy());
    }

    /// Sleeps until somebody's turn to write has ended, unless `still` says that there is nothing to wait for.
    fn sleep(&self, most: Option<Duration>, still: impl Fn() -> bool) {
        let bell = self.bell();
        self.sleepers.fetch_add(1, SeqCst);
        // See the end of a turn.
        fence(SeqCst);
        if still() {
            match most {
                None => drop(self.done.wait(&self.bell, bell)),
                Some(most) => drop(self.done.wait_timeout(&self.bell, bell, most)),
            }
        }
        self.sleepers.fetch_sub(1, SeqCst);
    }

    /// Blocks until everything that is reserved now is durable.
    ///
    /// # Errors
    /// As [`Log::wait`].
    pub fn sync(&self) -> Result<()> {
        // The last range may be the mark of a batch that nobody has added to: a batch that is being written ends before
        // it, and no other follows unless somebody adds to it.
        self.wait(self.reserved() - HEADER as u64)
    }

    /// Asks for everything up to `position` to be written, without waiting.
    pub fn ask(&self, position: u64) {
        let mut bell = self.bell();
        bell.wanted = bell.wanted.max(position);
        drop(bell);
        self.work.notify_one();
    }

    /// As [`Log::ask`], where nobody is writing.
    pub fn ask_if_idle(&self, position: u64) {
        if !self.writing.load(SeqCst) && self.durable() < position {
            self.ask(position);
        }
    }

    /// A commit that ends at `position` was made, and nobody waits for it yet: it is written soon.
    pub fn expect(&self, position: u64) {
        if self.pace == Pace::Eager && self.durability != Durability::Pmem {
            self.ask(position);
        }
    }

    /// Below, every range is filled.
    fn filled(&self) -> u64 {
        let reserved = self.reserved.load(SeqCst);
        let sessions = &self.filling[..self.sessions.load(SeqCst)];
        let all = sessions.iter().chain([&self.filling[WRITER]]);
        all.map(|filling| filling.0.load(SeqCst)).fold(reserved, u64::min)
    }

    fn mark(&self, position: u64) {
        let mut mark = [0; HEADER];
        record::seal(&mut mark, self.area.seal(), position, self.acknowledged.load(SeqCst), RecordKind::Mark, 0);
        // SAFETY: the range was reserved for a mark, which only those make who have a turn.
        unsafe { self.tail.append(position, &mark) };
    }

    /// Of several logs: says in the mark that a batch begins with up to which commit all are durable now. In a turn, before the
    /// batch is written. In persistent memory the mark is as good as written, and stays as it was made.
    fn tell(&self, from: u64) {
        if self.several && matches!(self.tail, Tail::Volatile(_)) {
            self.mark(from);
        }
    }

    /// Whether the writer has something to do unasked: so much that it is better written now than all at once.
    fn due(&self) -> bool {
        self.backlog() >= self.tail.bytes() / 16
    }

    /// About how much is to be written.
    fn backlog(&self) -> u64 {
        // Others go on between the two looks.
        self.reserved().saturating_sub(self.written.load(SeqCst))
    }

    fn wake(&self) {
        if self.asleep.load(SeqCst) {
            drop(self.bell());
            self.work.notify_one();
        }
    }

    fn bell(&self) -> MutexGuard<'_, Bell> {
        self.bell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
