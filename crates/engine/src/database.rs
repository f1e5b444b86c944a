//! A database: its pages, its logs, its sessions; made, opened, closed.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use assay_buffer::{Counters, Pool, stage};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use crate::{
    background::Background,
    core::Core,
    durability::Durability,
    error::{EngineError, Result},
    forest::Forest,
    handle::Handle,
    log::{Log, Logs, Pace, Writer, Written, area::BLOCK},
    options::{Disks, Options},
    parts::{Planned, check_parts, found, plan_logs, streams},
    recovery::recover,
    scheduler::Scheduler,
    session::Session,
    shared::{Shared, start},
    superblock::{Superblock, TABLES_AT_MOST},
};

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

/// An open database.
pub struct Database {
    background: Option<Background>,
    // Dropped in this order: the checkpointing thread waits for the log.
    checkpointer: Option<stage::Handle>,
    writers: Vec<Writer>,
    shared: Arc<Shared>,
    recovered: Recovered,
    completion: Completion,
    /// Files that other processes are kept from as long as this is open.
    held: Vec<std::fs::File>,
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
        let logs = plan_logs(disks.logs, disks.tails, options, identity)?;
        let pool = over(Pool::create(disks.data, options.pool)?, options)?;
        let forest = {
            let worker = pool.brief_worker()?;
            Forest::create(&worker, tables)?
        };
        for Planned { area, disk, tail } in &logs {
            area.create(&**disk)?;
            tail.claim(area.seal());
        }
        let superblock = Superblock {
            identity,
            begins: vec![0; logs.len()],
            commit: 0,
            durability: options.durability,
            closed: false,
            roots: forest.roots(),
        };
        Self::assemble(pool, forest, logs, options, superblock, Recovered::default())
    }

    /// Opens a database: everything that was acknowledged is there, and nothing of what was not is there in part.
    ///
    /// # Errors
    /// Where none is there, or another version's; where something of it is missing or damaged.
    pub fn open(disks: Disks, options: &Options) -> Result<Self> {
        let began = Instant::now();
        let name = disks.data.name().to_owned();
        let pool = over(Pool::open(Arc::clone(&disks.data), options.pool)?, options)?;
        let superblock = Superblock::parse(&pool.owner_bytes(), &name)?;
        let forest = Forest::open(&pool, &superblock.roots);
        check_parts(&superblock, &disks, options, &name)?;
        let mut recovered = Recovered { closed: superblock.closed, ..Recovered::default() };
        let mut next = superblock.clone();
        let mut logs = Vec::new();
        if !superblock.begins.is_empty() {
            let in_memory = superblock.durability == Durability::Pmem && !superblock.closed;
            logs = found(&superblock, disks.logs, disks.tails, in_memory, &name)?;
            let threads = if options.pace == Pace::Asked { 1 } else { options.recovery_threads };
            let hand = || Handle::recovering(&pool, &forest);
            let ends = recover(&mut streams(&logs, &superblock.begins, in_memory)?, superblock.commit, threads, hand)?;
            recovered.commits = ends.commits;
            recovered.log_bytes = ends.positions.iter().zip(&superblock.begins).map(|(end, begin)| end - begin).sum();
            // Nothing that was under way when power failed lies beyond two rounds of the tail: each log goes on where no
            // piece of a lost record can ever be taken for one of its own, whatever commit it was of. What was left out of
            // several logs lies before that as well: its numbers are given out again, and nobody reads it any more.
            let goes_on = |(end, log): (&u64, &Planned)| end.next_multiple_of(BLOCK) + 2 * log.area.ring;
            next.begins = ends.positions.iter().zip(&logs).map(goes_on).collect();
            next.commit = superblock.commit.max(ends.commit);
            logs.iter().for_each(|log| log.tail.claim(log.area.seal()));
        }
        next.durability = options.durability;
        next.closed = false;
        let mut database = Self::assemble(pool, forest, logs, options, next, recovered)?;
        database.recovered.took = began.elapsed();
        Ok(database)
    }

    fn assemble(
        pool: Pool,
        forest: Forest,
        logs: Vec<Planned>,
        options: &Options,
        superblock: Superblock,
        recovered: Recovered,
    ) -> Result<Self> {
        {
            let worker = pool.brief_worker()?;
            worker.checkpoint(|| superblock.to_bytes(), || Ok(()))?;
        }
        let (mut running, mut disks) = (Vec::new(), Vec::new());
        let logged = logs.into_iter().filter(|_| options.durability.logs());
        for (Planned { area, disk, tail }, &begin) in logged.zip(&superblock.begins) {
            running.push(Log::new(area, tail, options.durability, options.pace, begin));
            disks.push(disk);
        }
        let core = Arc::new(Core::new(Logs::of(running), superblock.commit, options.versions_bytes, options.pace)?);
        let writer = |(log, disk): (&Arc<Log>, _)| Writer::start(Arc::clone(log), disk);
        let writers = core.logs.iter().zip(disks).map(writer).collect::<Result<_>>()?;
        let shared = Arc::new(Shared::new(pool, core, forest, options.pace, superblock));
        let completion = Completion::default();
        let mut database =
            Self { background: None, checkpointer: None, writers, shared, recovered, completion, held: Vec::new() };
        if options.pace == Pace::Eager {
            database.checkpointer = Some(start(&database.shared)?);
        }
        if let Some(rate) = options.write_rate_bytes_per_s {
            database.background = Some(Background::start(&database.shared, rate)?);
        }
        Ok(database)
    }

    /// The log is written when somebody waits for it alone, and nobody else makes checkpoints.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.shared.pace == Pace::Asked
    }

    /// Keeps files, which are locked, as long as the database is open.
    pub(crate) fn hold(&mut self, files: Vec<std::fs::File>) {
        self.held = files;
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
    pub fn session(&self) -> Result<Session<'_, Handle<'_>>> {
        Session::new(&self.shared.core, Handle::of(&self.shared)?)
    }

    /// Tasks for the calling thread.
    ///
    /// # Errors
    /// Where there are too many threads, or the disk gives no queue.
    pub fn scheduler(&self) -> Result<Scheduler<'_>> {
        Scheduler::new(&self.shared)
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
        self.writers.clear();
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

    /// Logs that it has, whether they are written or not.
    pub fn logs(&self) -> usize {
        self.shared.logs()
    }

    /// What the logs have written so far.
    pub fn log_written(&self) -> Written {
        self.shared.core.logs.written()
    }

    /// What the pool's ended workers have counted.
    pub fn counters(&self) -> Counters {
        self.shared.pool.counters()
    }

    /// Checkpoints since it was opened.
    pub fn checkpoints(&self) -> u64 {
        self.shared.checkpoints()
    }

    /// The pool beneath.
    pub fn pool(&self) -> &Pool {
        &self.shared.pool
    }

    /// What makes its commits durable.
    pub fn durability(&self) -> Durability {
        self.shared.durability()
    }

    fn stop_checkpointer(&mut self) {
        self.shared.stop();
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

/// The pool with the memory below that was asked for.
fn over(pool: Pool, options: &Options) -> Result<Pool> {
    Ok(match &options.tier {
        Some(tier) => pool.over(tier.clone())?,
        None => pool,
    })
}
