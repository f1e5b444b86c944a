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
use assay_scene::{Cast, PIECES, PlayLength, Shared, TwinDisk, TwinMemory};
use assay_workload::{Gate, Observe};

use self::{learn::Computed, result::Edge};
use super::{
    Watch,
    job::{EngineJob, Workload},
    on_twins::OnTwins,
    place::{options, tier},
};
use crate::error::{Result, WorkError};

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
        // What lies on a drive that is followed page by page is laid there when it is loaded.
        let held_there = if twins.is_exact() { 1 } else { held };
        let data_station = scene.lock().add(&twins.data, held_there, job.seed)?;
        let beside = if twins.log.is_none() && job.durability.logs() { job.log_bytes } else { 0 };
        let room = (twins.data.target.capacity_bytes() as u64).saturating_sub(beside) / 65536 * 65536;
        let data_bytes = job.workload.data_bytes().min(room);
        let log_base = data_bytes;
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
    /// `mark` is called when the window opens and when it closes. The edges of the window's pieces.
    fn window(
        &self,
        bodies: Vec<Box<dyn FnOnce() + '_>>,
        stop: &Gate,
        count: &dyn Fn() -> u64,
        mark: &dyn Fn(),
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Edge>> {
        let failed = |error| WorkError::job(format!("no stack could be had: {error}"), "ask for fewer threads");
        let cast = Cast::begin(self.stage, bodies).map_err(failed)?;
        let interrupted = watch.interrupted;
        let goes_on = || !interrupted.load(Relaxed) && !stop.is_shut();
        let length = PlayLength::Seconds(self.job.duration_s);
        let mut seen = Pieces { play: self, actors: cast.actors(), count, mark, edges: Vec::new(), watch };
        cast.play(self.job.warmup_s, length, &goes_on, &mut seen);
        let edges = seen.edges;
        stop.shut();
        cast.join();
        self.counters[1].set(self.database.counters());
        self.computed.set(Computed::of(&edges));
        Ok(edges)
    }
}

/// What is seen of a window while it is played.
struct Pieces<'a, 'w> {
    play: &'a Play<'a>,
    actors: &'a [usize],
    count: &'a dyn Fn() -> u64,
    mark: &'a dyn Fn(),
    edges: Vec<Edge>,
    watch: &'a mut Watch<'w>,
}

impl Observe for Pieces<'_, '_> {
    fn open(&mut self) {}

    fn begin(&mut self) {
        (self.mark)();
        self.edges.push(Edge::now(self.play, self.actors, (self.count)()));
    }

    fn interval(&mut self, _at_s: f64) {
        self.edges.push(Edge::now(self.play, self.actors, (self.count)()));
        let done = (self.edges.len() - 1) as f64 / f64::from(PIECES);
        let detail = format!("{:.0} transactions/s (modelled)", Edge::rate(&self.edges[self.edges.len() - 2..]));
        (self.watch.emit)(Event::Progress { stage: "drive".to_owned(), done, detail });
    }

    fn close(&mut self, _at_s: f64) {
        (self.mark)();
    }
}
