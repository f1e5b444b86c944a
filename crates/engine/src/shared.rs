//! What sessions and the checkpointing thread share, and that thread.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use assay_buffer::{
    BufferError, Pool, Worker,
    stage::{self, Signal},
};

use crate::{
    core::Core,
    durability::Durability,
    error::{EngineError, Failure, Result},
    forest::Forest,
    log::Pace,
    superblock::Superblock,
};

/// How often the checkpointing thread looks.
const LOOK: Duration = Duration::from_millis(5);
/// Share of the log's area that a recovery may have to read before a checkpoint is begun.
const LOG_SHARE: f64 = 0.4;
/// Share of the free space that pages written since the last checkpoint may take before the next one is begun.
const SPACE_SHARE: f64 = 0.5;

/// What sessions and the checkpointing thread share.
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    pub(crate) core: Arc<Core>,
    pub(crate) forest: Forest,
    pub(crate) pace: Pace,
    identity: u64,
    durability: Durability,
    /// Where its logs would be read from, as the superblock says, while none of them is written.
    begins: Vec<u64>,
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

impl Shared {
    /// Over a pool that was made or opened, of which the superblock says what it holds.
    pub(crate) fn new(pool: Pool, core: Arc<Core>, forest: Forest, pace: Pace, superblock: Superblock) -> Self {
        Self {
            used: AtomicU64::new(pool.used_bytes()),
            pool,
            core,
            forest,
            pace,
            identity: superblock.identity,
            durability: superblock.durability,
            begins: superblock.begins,
            checkpoints: AtomicU64::new(0),
            bell: Mutex::default(),
            rung: Signal::new(),
        }
    }

    /// Logs, whether they are written or not.
    pub(crate) fn logs(&self) -> usize {
        self.begins.len()
    }

    /// Checkpoints so far.
    pub(crate) fn checkpoints(&self) -> u64 {
        self.checkpoints.load(SeqCst)
    }

    /// What makes commits durable.
    pub(crate) fn durability(&self) -> Durability {
        self.durability
    }

    /// Lets the checkpointing thread end.
    pub(crate) fn stop(&self) {
        self.bell().stop = true;
        self.rung.notify_all();
    }

    fn bell(&self) -> MutexGuard<'_, Bell> {
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
        let (logs, mut begins, mut failed) = (&self.core.logs, self.begins.clone(), None);
        let capture = || {
            logs.iter().zip(&mut begins).for_each(|(log, begin)| *begin = log.reserved());
            let (commit, roots) = (self.core.sequence.taken(), self.forest.roots());
            let (identity, durability, begins) = (self.identity, self.durability, begins.clone());
            Superblock { identity, begins, commit, durability, closed, roots }.to_bytes()
        };
        let before_commit = || {
            // A transaction of the checkpoint that a log lost would leave a gap before those that it has.
            logs.iter().try_for_each(|log| log.sync()).map_err(|error| {
                let unfit = BufferError::unfit(error.to_string(), error.fix());
                failed = Some(error);
                unfit
            })
        };
        let made = worker.checkpoint(capture, before_commit);
        if let Some(error) = failed {
            return Err(error);
        }
        made?;
        logs.iter().zip(begins).for_each(|(log, begin)| log.forget_before(begin));
        self.used.store(self.pool.used_bytes(), SeqCst);
        self.checkpoints.fetch_add(1, SeqCst);
        Ok(())
    }

    fn is_due(&self) -> bool {
        let log = self.core.logs.fullness() > LOG_SHARE;
        let (used, after, all) = (self.pool.used_bytes(), self.used.load(SeqCst), self.pool.disk().bytes());
        let room = all.saturating_sub(after) as f64;
        log || self.pool.is_tight() || used.saturating_sub(after) as f64 > room * SPACE_SHARE
    }
}

/// Starts the checkpointing thread.
pub(crate) fn start(shared: &Arc<Shared>) -> Result<stage::Handle> {
    let shared = Arc::clone(shared);
    shared.pool.wait_for_room(true);
    let thread = stage::spawn("checkpoint", move || {
        let served = serve(&shared);
        if let Err(error) = &served {
            shared.core.stop(Failure::of("a checkpoint failed", error));
        }
        shared.pool.wait_for_room(false);
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
