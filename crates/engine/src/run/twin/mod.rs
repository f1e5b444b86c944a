//! The engine on twins: its own code, in virtual time.
//!
//! Filling the database takes no virtual time: that happens on ordinary threads, and disks of this module answer those at
//! once. Then the database is opened again on a stage ([`assay_buffer::stage`]), pages are brought into the pool, and the
//! workload's threads begin as actors beside the log's writer and the one who makes checkpoints.

mod learn;
mod result;
mod rows;
mod tpcc;

use std::{
    cell::Cell,
    path::PathBuf,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use assay_buffer::{
    Counters, Tier,
    stage::{self, Cpu, Stage},
};
use assay_pmem::{Mapped, Medium};
use assay_record::{Event, Verdict, WorkRecord};
use assay_scene::{Shared, TwinDisk, TwinMemory};
use assay_twin::{Driven, TwinError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{learn::Computed, result::Edge};
use super::{
    Watch,
    job::{EngineJob, Workload},
    place::{options, tier},
};
use crate::{
    database::Database,
    error::{EngineError, Result},
    files::tail_bytes,
    log::{Pace, tail::PMEM_HEADER},
    options::{Disks, Options},
};

/// Pieces of a window: its series, and how CPU time spreads.
const PIECES: u32 = 20;
/// Actors beside the workload's: log, checkpoints, control.
const OTHERS: u32 = 3;

/// The twins that stand in the place of a run's folders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnTwins {
    /// What holds the pages; its host runs the engine.
    pub data: Driven,
    /// What holds the log; the pages' twin where none is given.
    #[serde(default)]
    pub log: Option<Driven>,
    /// What holds the log's tail: modules of persistent memory.
    #[serde(default)]
    pub tail: Option<Driven>,
    /// What is below the pool, where there is a tier: modules of memory.
    #[serde(default)]
    pub tier: Option<Driven>,
    /// CPU time of each turn, ns, in the place of what it takes here.
    #[serde(default)]
    pub turn_ns: Option<f64>,
    /// Folder in which it is kept what turns cost here, so that the same job gives the same play; learnt for this run alone
    /// where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<PathBuf>,
    /// Learn anew what turns cost, whatever is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub learn: bool,
}

impl OnTwins {
    /// Refuses what cannot be played.
    ///
    /// # Errors
    /// With what is wrong.
    pub fn validate(&self, job: &EngineJob) -> Result<()> {
        let parts = [Some(&self.data), self.log.as_ref(), self.tail.as_ref(), self.tier.as_ref()];
        for driven in parts.into_iter().flatten() {
            driven.target.validate().and_then(|()| driven.host.validate()).map_err(told)?;
        }
        if self.turn_ns.is_some_and(|length| !(10.0..=1e9).contains(&length)) {
            let what = format!("turns of {} ns were asked for", self.turn_ns.unwrap_or(0.0));
            return Err(EngineError::unfit(what, "ask for 10 ns to 1 s"));
        }
        let memories = [&self.tail, &self.tier].into_iter().flatten();
        if let Some(other) = memories.into_iter().find(|driven| !driven.target.twin().device.is_memory()) {
            let what = format!("{} is no memory, and the log's tail or a tier was to lie there", other.label);
            return Err(EngineError::unfit(what, "name modules of persistent memory, such as twin:pmem100-128g*6"));
        }
        if job.durability == crate::durability::Durability::Pmem && self.tail.is_none() {
            let what = "durability pmem needs persistent memory for the log's tail";
            return Err(EngineError::unfit(what, "name a twin of it, such as --pmem 'twin:pmem100-128g*6'"));
        }
        if self.tier.is_some() != job.tier.is_some() {
            return Err(EngineError::unfit("a tier has to have a twin and a size", "name both, or neither"));
        }
        if job.keep.is_some() {
            let what = "a database on a twin cannot be kept: it is in memory alone";
            return Err(EngineError::unfit(what, "leave --keep away"));
        }
        self.fits(job)
    }

    /// Refuses data that this machine's memory cannot hold.
    fn fits(&self, job: &EngineJob) -> Result<()> {
        let tier = job.tier.as_ref().map_or(0, |tier| tier.bytes);
        let wanted = held_bytes(&job.workload) + job.pool_bytes + job.log_bytes + tier;
        let there = crate::files::memory_bytes().unwrap_or(u64::MAX);
        if wanted as f64 > there as f64 * 0.9 {
            let what = format!(
                "what lies on the twin is kept in this machine's memory: about {} MiB with the pool and the log, and {} \
                 MiB are available",
                wanted >> 20,
                there >> 20
            );
            return Err(EngineError::unfit(what, "ask for fewer rows or warehouses: what counts is data over pool"));
        }
        let capacity = self.data.target.capacity_bytes();
        if wanted as f64 > capacity {
            let what = format!("about {} MiB do not fit into {} MiB of the twin", wanted >> 20, capacity as u64 >> 20);
            return Err(EngineError::unfit(what, "ask for fewer rows or warehouses, or a larger twin"));
        }
        Ok(())
    }
}

/// About what a workload's pages come to, their older copies included.
fn held_bytes(workload: &Workload) -> u64 {
    match workload {
        Workload::Tpcc { warehouses, small: true } => u64::from(*warehouses) * (8 << 20),
        Workload::Tpcc { warehouses, .. } => u64::from(*warehouses) * (260 << 20),
        Workload::Ycsb { rows, value_bytes, .. } | Workload::Scan { rows, value_bytes } => {
            rows * (u64::from(*value_bytes) + 40) * 2
        }
        // A ledger is kept, and nothing on a twin is.
        Workload::Ledger { .. } => 0,
    }
}

fn told(error: TwinError) -> EngineError {
    EngineError::unfit(error.to_string(), error.fix())
}

/// A database on twins, before it moves.
struct Set {
    scene: Shared,
    data: Arc<TwinDisk>,
    log: Option<Arc<TwinDisk>>,
    tail_station: Option<usize>,
    tier_station: Option<usize>,
    /// Stations of pages and log.
    stations: [usize; 2],
}

impl Set {
    fn build(job: &EngineJob, twins: &OnTwins) -> Result<Self> {
        let scene = Shared::new(&twins.data.host, job.threads + OTHERS, job.seed);
        let held = held_bytes(&job.workload);
        let data_station = scene.lock().add(&twins.data, held, job.seed).map_err(told)?;
        let (data_bytes, log_base) = (job.workload.data_bytes(), job.workload.data_bytes());
        let (log_station, log_base) = match &twins.log {
            Some(log) => (scene.lock().add(log, job.log_bytes, job.seed ^ 1).map_err(told)?, 0),
            None => (data_station, log_base),
        };
        let tail_station = match &twins.tail {
            Some(tail) => Some(scene.lock().add(tail, tail_bytes(job.log_bytes), job.seed ^ 2).map_err(told)?),
            None => None,
        };
        let tier_station = match (&twins.tier, &job.tier) {
            (Some(tier), Some(wanted)) => Some(scene.lock().add(tier, wanted.bytes, job.seed ^ 3).map_err(told)?),
            _ => None,
        };
        let most =
            (crate::files::memory_bytes().unwrap_or(u64::MAX / 2) as f64 * 0.9) as u64 - job.pool_bytes.min(1 << 40);
        let data = Arc::new(TwinDisk::new(&twins.data.label, data_bytes, (data_station, 0), &scene, most));
        let log = job.durability.logs().then(|| {
            let label = twins.log.as_ref().unwrap_or(&twins.data).label.clone();
            Arc::new(TwinDisk::new(&label, job.log_bytes, (log_station, log_base), &scene, most))
        });
        Ok(Self { scene, data, log, tail_station, tier_station, stations: [data_station, log_station] })
    }

    /// The tier, empty.
    fn tier(&self, job: &EngineJob) -> Result<Option<Tier>> {
        let (Some(station), Some(wanted)) = (self.tier_station, &job.tier) else { return Ok(None) };
        let memory = Mapped::memory(wanted.bytes)?;
        Ok(Some(tier(job, Box::new(TwinMemory::new(memory, station, &self.scene)))))
    }

    /// The disks. Persistent memory is empty each time: the database was closed before.
    fn disks(&self, job: &EngineJob) -> Result<Disks> {
        let tails = match self.tail_station {
            Some(station) => {
                let memory = Mapped::memory(tail_bytes(job.log_bytes) + PMEM_HEADER)?;
                vec![Box::new(TwinMemory::new(memory, station, &self.scene)) as Box<dyn Medium>]
            }
            None => Vec::new(),
        };
        let logs = self.log.iter().map(|log| Arc::clone(log) as _).collect();
        Ok(Disks { data: Arc::clone(&self.data) as _, logs, tails })
    }
}

/// Runs a job on twins. What turns cost is settled before: the same job gives the same play.
///
/// # Errors
/// Where it cannot be played, or the database stops.
pub(super) fn run(job: &EngineJob, twins: &OnTwins, watch: &mut Watch<'_>) -> Result<WorkRecord> {
    let declared = twins.turn_ns.map(|turn_ns| (Cpu::Fixed { turn_ns }, learn::declared(turn_ns), None));
    let (cpu, told, against) = match declared {
        Some(declared) => declared,
        None => learn::costs(job, twins, watch)?.into_parts(),
    };
    let (mut record, _) = play(job, twins, cpu, watch)?;
    record.subject.settings.insert("cpu_time".to_owned(), told.into());
    if let Some(reason) = against {
        let reasons = record.verdict.reasons.drain(..).chain([reason]).collect();
        record.verdict = Verdict::from_reasons(reasons);
    }
    Ok(record)
}

/// Plays a job; the record, and what was computed in its window.
fn play(job: &EngineJob, twins: &OnTwins, cpu: Cpu, watch: &mut Watch<'_>) -> Result<(WorkRecord, Computed)> {
    let began = Instant::now();
    let set = Set::build(job, twins)?;
    let options = options(job)?;
    fill(job, &set, &options, watch)?;
    let stage = Rc::new(Stage::new(Box::new(set.scene.clone()), cpu));
    let _entered = stage::enter(&stage);
    let options = Options { tier: set.tier(job)?, ..options };
    let database = Database::open(set.disks(job)?, &options)?;
    preheat(&database, job.tier.as_ref().map_or(0, |tier| tier.bytes / database.pool().page_bytes() as u64))?;
    let prepared = began.elapsed();
    let counters = [Cell::new(database.counters()), Cell::default()];
    let computed = Cell::default();
    let play = Play { job, twins, set: &set, stage: &stage, database: &database, began, prepared, counters, computed };
    let record = match job.workload {
        Workload::Tpcc { warehouses, small } => tpcc::run(&play, warehouses, small, watch),
        Workload::Ycsb { .. } | Workload::Scan { .. } | Workload::Ledger { .. } => rows::run(&play, watch),
    }?;
    Ok((record, play.computed.take()))
}

/// Makes and loads the database, and closes it.
fn fill(job: &EngineJob, set: &Set, options: &Options, watch: &mut Watch<'_>) -> Result<()> {
    let tables = if matches!(job.workload, Workload::Tpcc { .. }) { crate::kv::TABLES } else { 1 };
    // One thread and nobody else: the same rows are then always in the same places.
    let alone = Options { pace: Pace::Asked, ..options.clone() };
    let database = Database::create(set.disks(job)?, &alone, tables, job.seed)?;
    match job.workload {
        Workload::Tpcc { warehouses, small } => tpcc::load(&database, warehouses, small, watch)?,
        Workload::Ycsb { .. } | Workload::Scan { .. } | Workload::Ledger { .. } => {
            super::rows::load(&database, super::shape::Shape::of(&job.workload), 1, &|| Ok(()), watch)?;
        }
    }
    database.close()
}

/// Brings pages into the pool, as many as there is room for with the tier's pages, spread over all.
fn preheat(database: &Database, tier: u64) -> Result<()> {
    let (pool, crew) = (database.pool(), database.crew()?);
    let room = u64::from(pool.frames()) * 15 / 16 + tier;
    let step = pool.pages().div_ceil(room.max(1)).max(1);
    for page in (1..=pool.pages()).step_by(step as usize) {
        crew.worker().fault(page)?;
    }
    Ok(())
}

/// A run, as it is played.
struct Play<'a> {
    job: &'a EngineJob,
    twins: &'a OnTwins,
    set: &'a Set,
    stage: &'a Rc<Stage>,
    database: &'a Database,
    began: Instant,
    prepared: Duration,
    /// What the pool's workers had counted before the first actor began, and after the last had ended.
    counters: [Cell<Counters>; 2],
    computed: Cell<Computed>,
}

impl Play<'_> {
    /// Plays `bodies`, one actor each, through warm-up and window; `count` says how many transactions were done so far, and
    /// `mark` is called when the window opens (`false`) and when it closes. The edges of the window's pieces.
    fn window(
        &self,
        bodies: Vec<Box<dyn FnOnce() + '_>>,
        stop: &AtomicBool,
        count: &dyn Fn() -> u64,
        mark: &dyn Fn(bool),
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Edge>> {
        let (job, stage) = (self.job, self.stage);
        let failed = |error| EngineError::unfit(format!("no stack could be had: {error}"), "ask for fewer threads");
        let mut actors = Vec::with_capacity(bodies.len());
        for body in bodies {
            // SAFETY: all actors that are begun here are joined below, whatever happens before.
            match unsafe { stage.spawn_borrowing("worker", body) } {
                Ok(actor) => actors.push(actor),
                Err(error) => {
                    stop.store(true, Relaxed);
                    actors.iter().for_each(|&actor| stage.join(actor));
                    return Err(failed(error));
                }
            }
        }
        let mut edges = Vec::with_capacity(PIECES as usize + 1);
        let ps = |seconds: f64| (seconds * 1e12) as u64;
        let mut until = stage.now() + ps(job.warmup_s);
        stage.play_until(until);
        mark(false);
        edges.push(Edge::now(self, &actors, count()));
        for piece in 1..=PIECES {
            if watch.interrupted.load(Relaxed) || stop.load(Relaxed) {
                break;
            }
            until += ps(job.duration_s / f64::from(PIECES));
            stage.play_until(until);
            edges.push(Edge::now(self, &actors, count()));
            let per_s = Edge::rate(&edges[edges.len() - 2..]);
            let (done, detail) =
                (f64::from(piece) / f64::from(PIECES), format!("{per_s:.0} transactions/s (modelled)"));
            (watch.emit)(Event::Progress { stage: "drive".to_owned(), done, detail });
        }
        mark(true);
        stop.store(true, Relaxed);
        actors.iter().for_each(|&actor| stage.join(actor));
        self.counters[1].set(self.database.counters());
        self.computed.set(Computed::of(&edges));
        Ok(edges)
    }
}
