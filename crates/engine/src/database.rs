//! A database: its pages, its log, its sessions; made, opened, closed.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use assay_buffer::{
    BufferError, Config, Counters, Pool, Tier, Worker,
    disk::Disk,
    stage::{self, Signal},
};
use assay_pmem::Medium;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use crate::{
    background::Background,
    core::Core,
    crew::Crew,
    durability::Durability,
    error::{EngineError, Failure, Result},
    forest::{Forest, Hand},
    log::{Area, Log, Pace, Writer, Written, area::BLOCK},
    note::{Note, TABLES_AT_MOST},
    parts::{Planned, check_parts, plan_log, tail_of},
    recovery::recover,
    session::Session,
};

/// How often the checkpointing thread looks.
const LOOK: Duration = Duration::from_millis(20);
/// Share of the log's area that a recovery may have to read before a checkpoint is begun.
const LOG_SHARE: f64 = 0.4;
/// Share of the free space that pages written since the last checkpoint may take before the next one is begun.
const SPACE_SHARE: f64 = 0.5;

/// How a database is made or opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The pool. A checkpointing thread and the threads of a recovery are among its workers.
    pub pool: Config,
    /// What makes commits durable.
    pub durability: Durability,
    /// Whether threads of the engine's own work unasked; simulations ask.
    pub pace: Pace,
    /// Bytes of the log's tail in memory: no transaction is longer than half of it. Given when the database is made.
    pub tail_bytes: u64,
    /// Bytes of replaced versions that are kept at most.
    pub versions_bytes: usize,
    /// Threads of a recovery.
    pub recovery_threads: usize,
    /// Memory below the pool's frames.
    pub tier: Option<Tier>,
    /// Bytes per second at which dirty pages are written in the background; none where only what must be is written.
    pub write_rate_bytes_per_s: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pool: Config::default(),
            durability: Durability::Fdatasync,
            pace: Pace::Eager,
            tail_bytes: 16 << 20,
            versions_bytes: 256 << 20,
            recovery_threads: 2,
            tier: None,
            write_rate_bytes_per_s: None,
        }
    }
}

/// What a database lies on.
pub struct Disks {
    /// Its pages.
    pub data: Arc<dyn Disk>,
    /// Its log; none where nothing is to be durable but checkpoints.
    pub log: Option<Arc<dyn Disk>>,
    /// Persistent memory for the log's tail.
    pub tail: Option<Box<dyn Medium>>,
}

/// What opening a database came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// It had been closed in order.
    pub closed: bool,
    /// Commits that were carried out again.
    pub commits: u64,
    /// Bytes of the log that they took.
    pub log_bytes: u64,
    /// How long opening took: what the log has was carried out, and a checkpoint made.
    pub took: Duration,
}

/// What sessions and the checkpointing thread share.
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    pub(crate) core: Arc<Core>,
    pub(crate) forest: Forest,
    pub(crate) pace: Pace,
    identity: u64,
    durability: Durability,
    has_log: bool,
    checkpoints: AtomicU64,
    /// Bytes of the disk in use after the last checkpoint.
    used: AtomicU64,
    bell: Mutex<Bell>,
    rung: Signal,
}

#[derive(Debug, Default)]
struct Bell {
    wanted: bool,
    stop: bool,
}

/// An open database.
pub struct Database {
    background: Option<Background>,
    // Dropped in this order: the checkpointing thread waits for the log.
    checkpointer: Option<stage::Handle>,
    writer: Option<Writer>,
    shared: Arc<Shared>,
    recovered: Recovered,
    completion: Completion,
    /// A file that other processes are kept from as long as this is open.
    held: Option<std::fs::File>,
}

/// What is done once everything is in the database that is to be in it from the beginning.
type Complete = Box<dyn FnOnce() -> Result<()> + Send>;

#[derive(Default)]
struct Completion(Mutex<Option<Complete>>);

impl Database {
    /// Makes an empty database of `tables` tables, over whatever the disks hold.
    ///
    /// # Errors
    /// Where a disk fails or is too small, or there is not enough memory.
    pub fn create(disks: Disks, options: &Options, tables: usize, seed: u64) -> Result<Self> {
        if tables == 0 || tables > TABLES_AT_MOST {
            let what = format!("{tables} tables were asked for");
            return Err(EngineError::unfit(what, format!("a database has 1 to {TABLES_AT_MOST}")));
        }
        // Seeded, so that simulations repeat; databases get a seed of their own.
        let identity = Xoshiro256PlusPlus::seed_from_u64(seed).next_u64();
        let has_log = disks.log.is_some();
        let log = plan_log(disks.log, disks.tail, options, identity)?;
        let pool = over(Pool::create(disks.data, options.pool)?, options)?;
        let forest = {
            let worker = pool.brief_worker()?;
            Forest::create(&worker, tables)?
        };
        if let Some(((area, disk), tail)) = &log {
            area.create(&**disk)?;
            tail.claim(identity);
        }
        let note = Note {
            identity,
            begin: 0,
            commit: 0,
            durability: options.durability,
            closed: false,
            has_log,
            roots: forest.roots(),
        };
        Self::assemble(pool, forest, log, options, note, Recovered::default())
    }

    /// Opens a database: everything that was acknowledged is there, and nothing of what was not is there in part.
    ///
    /// # Errors
    /// Where none is there, or another version's; where something of it is missing or damaged.
    pub fn open(disks: Disks, options: &Options) -> Result<Self> {
        let began = Instant::now();
        let name = disks.data.name().to_owned();
        let pool = over(Pool::open(Arc::clone(&disks.data), options.pool)?, options)?;
        let note = Note::parse(&pool.note(), &name)?;
        let forest = Forest::open(&pool, &note.roots);
        check_parts(&note, &disks, options, &name)?;
        let mut recovered = Recovered { closed: note.closed, ..Recovered::default() };
        let mut next = note.clone();
        let mut log = None;
        if let Some(disk) = disks.log.filter(|_| note.has_log) {
            let area = Area::open(&*disk)?;
            if area.identity != note.identity {
                let what = format!("the log in {} belongs to another database than {name}", disk.name());
                let fix = "name the log that the database was made with".to_owned();
                return Err(EngineError::Foreign { what, fix });
            }
            let tail = tail_of(disks.tail, area.ring)?;
            if tail.bytes() > area.ring {
                let what = format!("the log in {} was made for a tail of {} bytes", disk.name(), area.ring);
                return Err(EngineError::unfit(what, "name no more persistent memory than that, and 4096 bytes"));
            }
            let in_memory = note.durability == Durability::Pmem && !note.closed;
            tail.check(note.identity, in_memory)?;
            let threads = if options.pace == Pace::Asked { 1 } else { options.recovery_threads };
            let hand = || Hand::recovering(&pool, &forest);
            let end = recover(area, &*disk, Some(&tail).filter(|_| in_memory), note.begin, threads, hand)?;
            recovered.commits = end.commits;
            recovered.log_bytes = end.position - note.begin;
            // Nothing that was under way when power failed lies beyond two rounds of the tail: the log goes on where no
            // piece of a lost record can ever be taken for one of its own.
            next.begin = end.position.next_multiple_of(BLOCK) + 2 * area.ring;
            next.commit = note.commit.max(end.commit);
            tail.claim(note.identity);
            log = Some(((area, disk), tail));
        }
        next.durability = options.durability;
        next.closed = false;
        let mut database = Self::assemble(pool, forest, log, options, next, recovered)?;
        database.recovered.took = began.elapsed();
        Ok(database)
    }

    fn assemble(
        pool: Pool,
        forest: Forest,
        log: Option<Planned>,
        options: &Options,
        note: Note,
        recovered: Recovered,
    ) -> Result<Self> {
        {
            let worker = pool.brief_worker()?;
            worker.checkpoint(|| note.to_bytes(), || Ok(()))?;
        }
        let (mut running, mut writer) = (None, None);
        if let Some(((area, disk), tail)) = log.filter(|_| options.durability.logs()) {
            let log = Arc::new(Log::new(area, tail, options.durability, options.pace, note.begin));
            writer = Some(Writer::start(Arc::clone(&log), disk)?);
            running = Some(log);
        }
        let core = Arc::new(Core::new(running, note.commit, options.versions_bytes, options.pace)?);
        let used = AtomicU64::new(pool.used_bytes());
        let shared = Arc::new(Shared {
            pool,
            core,
            forest,
            pace: options.pace,
            identity: note.identity,
            durability: options.durability,
            has_log: note.has_log,
            checkpoints: AtomicU64::new(0),
            used,
            bell: Mutex::default(),
            rung: Signal::new(),
        });
        let completion = Completion::default();
        let mut database =
            Self { background: None, checkpointer: None, writer, shared, recovered, completion, held: None };
        if options.pace == Pace::Eager {
            database.checkpointer = Some(start(&database.shared)?);
        }
        if let Some(rate) = options.write_rate_bytes_per_s {
            database.background = Some(Background::start(&database.shared, rate)?);
        }
        Ok(database)
    }

    /// Keeps a file, which is locked, as long as the database is open.
    pub(crate) fn hold(&mut self, file: Option<std::fs::File>) {
        self.held = file;
    }

    /// Tables.
    pub fn tables(&self) -> usize {
        self.shared.forest.roots().len()
    }

    /// What [`Database::complete`] does.
    pub(crate) fn complete_later(&self, complete: Complete) {
        *self.completion.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(complete);
    }

    /// Says that everything is in it, and durable, that is to be in it from the beginning. A database in files that was
    /// made and not completed is made anew the next time.
    ///
    /// # Errors
    /// Where that cannot be written down.
    pub fn complete(&self) -> Result<()> {
        let complete = self.completion.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        complete.map_or(Ok(()), |complete| complete())
    }

    /// Bytes of pages that the background writer has begun to write.
    pub fn written_in_background(&self) -> u64 {
        self.background.as_ref().map_or(0, Background::written_bytes)
    }

    /// A session with a worker of its own, for the calling thread.
    ///
    /// # Errors
    /// Where there are too many, or the disk gives no queue.
    pub fn session(&self) -> Result<Session<'_, Hand<'_>>> {
        Session::new(&self.shared.core, Hand::of(&self.shared)?)
    }

    /// Tasks for the calling thread.
    ///
    /// # Errors
    /// Where there are too many threads, or the disk gives no queue.
    pub fn crew(&self) -> Result<Crew<'_>> {
        Crew::new(&self.shared)
    }

    /// Makes a checkpoint now.
    ///
    /// # Errors
    /// Where something cannot be written: the checkpoint before still holds.
    pub fn checkpoint(&self) -> Result<()> {
        self.purge()?;
        let worker = self.shared.pool.brief_worker()?;
        self.shared.checkpoint(&worker, false)
    }

    /// Ends the database in order: opening it again has nothing to carry out. Sessions have ended before.
    ///
    /// # Errors
    /// Where something cannot be written; what was acknowledged is there all the same.
    pub fn close(mut self) -> Result<()> {
        drop(self.background.take());
        self.stop_checkpointer();
        self.purge()?;
        let worker = self.shared.pool.brief_worker()?;
        let closed = self.shared.checkpoint(&worker, true);
        drop(worker);
        drop(self.writer.take());
        closed
    }

    fn purge(&self) -> Result<()> {
        let mut session = self.session()?;
        session.adopt_purges();
        session.purge(usize::MAX)
    }

    /// What opening it came to.
    pub fn recovered(&self) -> Recovered {
        self.recovered
    }

    /// What the log has written so far.
    pub fn log_written(&self) -> Written {
        self.shared.core.log.as_ref().map_or_else(Written::default, |log| log.written())
    }

    /// What the pool's ended workers have counted.
    pub fn counters(&self) -> Counters {
        self.shared.pool.counters()
    }

    /// Checkpoints since it was opened.
    pub fn checkpoints(&self) -> u64 {
        self.shared.checkpoints.load(SeqCst)
    }

    /// The pool beneath.
    pub fn pool(&self) -> &Pool {
        &self.shared.pool
    }

    /// What makes its commits durable.
    pub fn durability(&self) -> Durability {
        self.shared.durability
    }

    fn stop_checkpointer(&mut self) {
        self.shared.bell().stop = true;
        self.shared.rung.notify_all();
        if let Some(thread) = self.checkpointer.take() {
            // A failure has stopped the database already.
            thread.join();
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        drop(self.background.take());
        self.stop_checkpointer();
    }
}

impl Shared {
    fn bell(&self) -> std::sync::MutexGuard<'_, Bell> {
        self.bell.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the checkpointing thread for a checkpoint.
    pub(crate) fn ring(&self) {
        self.bell().wanted = true;
        self.rung.notify_one();
    }

    /// Makes a checkpoint.
    pub(crate) fn checkpoint(&self, worker: &Worker<'_>, closed: bool) -> Result<()> {
        self.core.check()?;
        let (log, mut begin, mut failed) = (self.core.log.as_ref(), 0, None);
        let capture = || {
            begin = log.map_or(0, |log| log.reserved());
            let (commit, roots) = (self.core.sequence.taken(), self.forest.roots());
            let (identity, durability, has_log) = (self.identity, self.durability, self.has_log);
            Note { identity, begin, commit, durability, closed, has_log, roots }.to_bytes()
        };
        let before_commit = || {
            // A transaction of the checkpoint that the log lost would leave a gap before those that it has.
            log.map_or(Ok(()), |log| log.sync()).map_err(|error| {
                let told = BufferError::unfit(error.to_string(), error.fix());
                failed = Some(error);
                told
            })
        };
        let made = worker.checkpoint(capture, before_commit);
        if let Some(error) = failed {
            return Err(error);
        }
        made?;
        if let Some(log) = log {
            log.forget_before(begin);
        }
        self.used.store(self.pool.used_bytes(), SeqCst);
        self.checkpoints.fetch_add(1, SeqCst);
        Ok(())
    }

    fn is_due(&self) -> bool {
        let log = self.core.log.as_ref().is_some_and(|log| log.fullness() > LOG_SHARE);
        let (used, after, all) = (self.pool.used_bytes(), self.used.load(SeqCst), self.pool.disk().bytes());
        let room = all.saturating_sub(after) as f64;
        log || used.saturating_sub(after) as f64 > room * SPACE_SHARE
    }
}

fn start(shared: &Arc<Shared>) -> Result<stage::Handle> {
    let shared = Arc::clone(shared);
    let thread = stage::spawn("checkpoint", move || {
        if let Err(error) = serve(&shared) {
            shared.core.stop(Failure::of("a checkpoint failed", &error));
        }
    });
    thread.map_err(|error| EngineError::unfit(format!("no thread could be had: {error}"), "end other processes"))
}

fn serve(shared: &Shared) -> Result<()> {
    let worker = shared.pool.brief_worker()?;
    loop {
        let wanted = {
            let bell = shared.bell();
            let mut bell = shared.rung.wait_timeout(&shared.bell, bell, LOOK);
            if bell.stop {
                return Ok(());
            }
            std::mem::take(&mut bell.wanted)
        };
        if wanted || shared.is_due() {
            shared.checkpoint(&worker, false)?;
        }
    }
}

/// The pool with the memory below that was asked for.
fn over(pool: Pool, options: &Options) -> Result<Pool> {
    Ok(match &options.tier {
        Some(tier) => pool.over(tier.clone())?,
        None => pool,
    })
}
