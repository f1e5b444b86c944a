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
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use assay_buffer::{
    Counters, Tier,
    stage::{self, Cpu, Stage},
};
use assay_engine::{
    Database, Disks, Options,
    files::tail_bytes,
    log::{Pace, tail::PMEM_HEADER},
};
use assay_pmem::{Mapped, Medium};
use assay_record::{Event, Verdict, WorkRecord};
use assay_scene::{Shared, TwinDisk, TwinMemory};
use assay_workload::Gate;

use self::{learn::Computed, result::Edge};
use super::{
    Watch,
    job::{EngineJob, Workload},
    on_twins::OnTwins,
    place::{options, tier},
};
use crate::error::{Result, WorkError};

/// Pieces of a window: its series, and how CPU time spreads.
const PIECES: u32 = 20;
/// Actors beside the workload's: log, checkpoints, control.
const OTHERS: u32 = 3;

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
        let held = job.workload.held_bytes();
        let data_station = scene.lock().add(&twins.data, held, job.seed)?;
        let (data_bytes, log_base) = (job.workload.data_bytes(), job.workload.data_bytes());
        let (log_station, log_base) = match &twins.log {
            Some(log) => (scene.lock().add(log, job.log_bytes, job.seed ^ 1)?, 0),
            None => (data_station, log_base),
        };
        let tail_station = match &twins.tail {
            Some(tail) => Some(scene.lock().add(tail, tail_bytes(job.log_bytes), job.seed ^ 2)?),
            None => None,
        };
        let tier_station = match (&twins.tier, &job.tier) {
            (Some(tier), Some(wanted)) => Some(scene.lock().add(tier, wanted.bytes, job.seed ^ 3)?),
            _ => None,
        };
        let most = (assay_engine::files::memory_bytes().unwrap_or(u64::MAX / 2) as f64 * 0.9) as u64
            - job.pool_bytes.min(1 << 40);
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
    let tables = if matches!(job.workload, Workload::Tpcc { .. }) { assay_engine::kv::TABLES } else { 1 };
    // One thread and nobody else: the same rows are then always in the same places.
    let alone = Options { pace: Pace::Asked, ..options.clone() };
    let database = Database::create(set.disks(job)?, &alone, tables, job.seed)?;
    match job.workload {
        Workload::Tpcc { warehouses, small } => tpcc::load(&database, warehouses, small, watch)?,
        Workload::Ycsb { .. } | Workload::Scan { .. } | Workload::Ledger { .. } => {
            super::rows::load(&database, super::shape::RowsShape::of(&job.workload), 1, &|| Ok(()), watch)?;
        }
    }
    Ok(database.close()?)
}

/// Brings pages into the pool, as many as there is room for with the tier's pages, spread over all.
fn preheat(database: &Database, tier: u64) -> Result<()> {
    let (pool, scheduler) = (database.pool(), database.scheduler()?);
    let room = u64::from(pool.frames()) * 15 / 16 + tier;
    let step = pool.pages().div_ceil(room.max(1)).max(1);
    for page in (1..=pool.pages()).step_by(step as usize) {
        scheduler.worker().fault(page)?;
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
        stop: &Gate,
        count: &dyn Fn() -> u64,
        mark: &dyn Fn(bool),
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Edge>> {
        let (job, stage) = (self.job, self.stage);
        let failed = |error| WorkError::job(format!("no stack could be had: {error}"), "ask for fewer threads");
        let mut actors = Vec::with_capacity(bodies.len());
        for body in bodies {
            // SAFETY: all actors that are begun here are joined below, whatever happens before.
            match unsafe { stage.spawn_borrowing("worker", body) } {
                Ok(actor) => actors.push(actor),
                Err(error) => {
                    stop.shut();
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
            if watch.interrupted.load(Relaxed) || stop.is_shut() {
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
        stop.shut();
        actors.iter().for_each(|&actor| stage.join(actor));
        self.counters[1].set(self.database.counters());
        self.computed.set(Computed::of(&edges));
        Ok(edges)
    }
}
