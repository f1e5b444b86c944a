//! Single rows and scans: threads, each with cooperative tasks.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use assay_buffer::stage;
use assay_engine::{Database, Session, handle::Handle};
use assay_instruments::{
    clock::Clock,
    tally::{Latencies, Snapshot, Sum},
    work::{Done, WorkPlace, WorkWatch, WorkWindow},
};
use assay_record::{Event, Provenance, WorkCheck, WorkRecord};
use assay_workload::{AtEdges, Gate, Observe, WindowPlan, Work, Worker, WorkloadError, drive, in_parallel};
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use super::{
    Doings, Watch,
    job::EngineJob,
    kept,
    ledger::{self, Acknowledged},
    place::Place,
    recovery,
    seen::{RowsWindow, record},
    shape::{AccessKind, RowsShape, TABLE},
    targets, tiers,
};
use crate::error::{Result, WorkError};

/// Rows of one transaction of a load.
const LOAD_ROWS: u64 = 500;
/// Rows of a scan's part: the operation that is counted and timed.
const SCAN_ROWS: u64 = 10_000;

/// What one thread counts.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub reads: Latencies,
    pub changes: Latencies,
    pub conflicts: AtomicU64,
    pub bytes: AtomicU64,
    pub wrong: AtomicU64,
}

pub(super) fn run(job: &EngineJob, place: &mut Place, watch: &mut Watch<'_>) -> Result<WorkRecord> {
    let began = Instant::now();
    let shape = RowsShape::of(&job.workload);
    let ledger = shape.kind == AccessKind::Ledger;
    let (database, there) = place.database(job, if ledger { ledger::TABLES } else { 1 })?;
    let acknowledged = job.keep.as_ref().filter(|_| ledger).map(|keep| Acknowledged::open(keep)).transpose()?;
    if let Some(acknowledged) = &acknowledged {
        ledger::demand(&database, acknowledged)?;
    }
    if !there && !ledger {
        load(&database, shape, job.threads, &|| place.room(job), watch)?;
    }
    if there && !ledger {
        kept::demand(&database, shape)?;
    }
    database.complete()?;
    let prepared = began.elapsed();
    let (before, counters) = (Doings::of(&database), database.counters());
    let counts: Vec<Counts> = (0..job.threads).map(|_| Counts::default()).collect();
    let seen = work(&database, job, shape, &counts, (place, acknowledged.as_ref()), watch)?;
    let after = Doings::of(&database);
    let checks = match &acknowledged {
        Some(acknowledged) => ledger::check(&database, acknowledged)?,
        None => vec![wrong_rows(&counts)],
    };
    let mut record = record(job, (database.logs(), place.emulated()), seen, checks, (began, prepared), shape);
    let transactions = record.parts.iter().map(|part| part.succeeded).sum();
    after.figures(&before, transactions, &mut record.figures);
    recovery(&database, &mut record.figures);
    if job.tier.is_some() {
        tiers(database.pool(), &counters, &database.counters(), &mut record.figures);
    }
    if job.keep.is_some() {
        database.close()?;
    }
    Ok(record)
}

/// A value says whose it is, so that a wrong one is noticed.
fn fill(value: &mut [u8], row: u64, change: u64) {
    value.fill(row as u8 ^ change as u8);
    value[..8].copy_from_slice(&row.to_le_bytes());
}

/// Loads as long as there is room.
pub(super) fn load(
    database: &Database,
    shape: RowsShape,
    threads: u32,
    room: &(impl Fn() -> Result<()> + Sync),
    watch: &mut Watch<'_>,
) -> Result<()> {
    (watch.emit)(Event::Progress { stage: "load".to_owned(), done: 0.0, detail: String::new() });
    let part = shape.rows.div_ceil(u64::from(threads));
    in_parallel(threads, WorkError::from, |worker| {
        let first = u64::from(worker.number()) * part;
        load_part(database, shape, first..(first + part).min(shape.rows), room)
    })?;
    Ok(database.checkpoint()?)
}

fn load_part(
    database: &Database,
    shape: RowsShape,
    rows: std::ops::Range<u64>,
    room: &impl Fn() -> Result<()>,
) -> Result<()> {
    let (mut session, mut value) = (database.session()?, vec![0; shape.value_bytes]);
    for first in rows.clone().step_by(LOAD_ROWS as usize) {
        room()?;
        loop {
            session.begin()?;
            let group = first..(first + LOAD_ROWS).min(rows.end);
            let loaded = group.into_iter().try_for_each(|row| {
                fill(&mut value, row, 0);
                session.put(TABLE, &row.to_be_bytes(), &value)
            });
            match loaded.and_then(|()| session.commit()) {
                // Rows of two loaders may share a lock's word.
                Err(error) if error.is_passing() => session.abort(),
                other => break other?,
            }
        }
    }
    Ok(())
}

fn work(
    database: &Database,
    job: &EngineJob,
    shape: RowsShape,
    counts: &[Counts],
    (place, acknowledged): (&Place, Option<&Acknowledged>),
    watch: &mut Watch<'_>,
) -> Result<RowsWindow> {
    let clock = Clock::new();
    let length = Duration::from_secs_f64(job.duration_s);
    let plan = WindowPlan {
        warm_up: Duration::from_secs_f64(job.warmup_s),
        length,
        interval: length,
        at_edges: AtEdges::Pass,
        interrupted: watch.interrupted,
    };
    let places = targets(job, place.emulated())
        .into_iter()
        .map(|target| WorkPlace { role: target.role, path: target.target.into() })
        .collect();
    let mut readings = Readings { clock, places, reader: Reader::new(counts), open: None, window: None };
    let rows = Rows { database, job, shape, counts, clock: Some(clock), acknowledged };
    drive(&rows, job.threads, |gate| {
        plan.run(gate, &mut readings);
    })?;
    Ok(readings.window.expect("a window that was steered was closed"))
}

/// Rows of the engine, as the driver has them read and changed.
pub(super) struct Rows<'a> {
    pub database: &'a Database,
    pub job: &'a EngineJob,
    pub shape: RowsShape,
    pub counts: &'a [Counts],
    /// What operations are timed by; the stage's time where there is none.
    pub clock: Option<Clock>,
    /// Where a ledger notes what was acknowledged.
    pub acknowledged: Option<&'a Acknowledged>,
}

impl Work for Rows<'_> {
    type Outcome = ();
    type Error = WorkError;

    fn work(&self, worker: &mut Worker<'_>) -> Result<()> {
        let (thread, stop) = (worker.number(), worker.gate());
        self.tasks(thread, stop, || worker.is_warm())
    }

    fn lost(&self, error: WorkloadError) -> WorkError {
        error.into()
    }
}

impl Rows<'_> {
    /// All tasks of a thread, from first to last; `there` is called when they can begin.
    pub fn tasks(&self, thread: u32, stop: &Gate, there: impl FnOnce()) -> Result<()> {
        let Self { database, job, shape, clock, acknowledged, .. } = *self;
        let counts = &self.counts[thread as usize];
        let scheduler = database.scheduler()?;
        there();
        let failed = std::cell::RefCell::new(None);
        scheduler.run(job.tasks as usize, |task| {
            let seed = job.seed ^ u64::from(thread) << 32 ^ (task as u64) << 8;
            let part = (u64::from(thread * job.tasks) + task as u64, job.threads * job.tasks);
            let done = scheduler
                .session()
                .map_err(WorkError::from)
                .and_then(|session| Task { session, shape, counts, clock, stop, seed, part, acknowledged }.work());
            if let Err(error) = done {
                failed.borrow_mut().get_or_insert(error);
                stop.shut();
            }
        })?;
        failed.into_inner().map_or(Ok(()), Err)
    }
}

/// Reads what threads have counted.
pub(super) struct Reader<'a> {
    counts: &'a [Counts],
    /// How far each thread's histograms have been read.
    seen: Vec<(Snapshot, Snapshot)>,
}

/// One reading.
pub(super) struct Reading {
    /// Since the reading before.
    reads: Sum,
    changes: Sum,
    /// From the beginning.
    bytes: u64,
    conflicts: u64,
}

impl<'a> Reader<'a> {
    pub fn new(counts: &'a [Counts]) -> Self {
        Self { counts, seen: counts.iter().map(|_| Default::default()).collect() }
    }

    pub fn read(&mut self) -> Reading {
        let (mut reads, mut changes) = (Sum::default(), Sum::default());
        for (counts, (read, changed)) in self.counts.iter().zip(&mut self.seen) {
            counts.reads.drain_into(read, &mut reads);
            counts.changes.drain_into(changed, &mut changes);
        }
        let total = |pick: fn(&Counts) -> &AtomicU64| self.counts.iter().map(|one| pick(one).load(Relaxed)).sum();
        Reading { reads, changes, bytes: total(|one| &one.bytes), conflicts: total(|one| &one.conflicts) }
    }
}

impl Reading {
    /// What a window came to that opened at an earlier one.
    pub fn since(self, opened: &Self, window: WorkWindow) -> RowsWindow {
        let Self { reads, changes, bytes, conflicts } = self;
        RowsWindow { window, reads, changes, bytes: bytes - opened.bytes, conflicts: conflicts - opened.conflicts }
    }
}

/// What the controller reads at the edges of the window.
struct Readings<'a> {
    clock: Clock,
    places: Vec<WorkPlace>,
    reader: Reader<'a>,
    open: Option<(WorkWatch, Reading)>,
    window: Option<RowsWindow>,
}

impl Observe for Readings<'_> {
    fn open(&mut self) {
        self.open = Some((WorkWatch::open(self.clock, &self.places), self.reader.read()));
    }

    fn begin(&mut self) {
        let Some((watch, opened)) = &mut self.open else { return };
        watch.restart();
        *opened = self.reader.read();
    }

    fn interval(&mut self, _at_s: f64) {}

    fn close(&mut self, _at_s: f64) {
        let Some((watch, opened)) = self.open.take() else { return };
        let closed = self.reader.read();
        let (done, bytes) = (closed.reads.count() + closed.changes.count(), closed.bytes - opened.bytes);
        let done = Done { bytes, ..Done::operations(done, Provenance::Measured) };
        self.window = Some(closed.since(&opened, watch.close(&done)));
    }
}

/// One task of a thread.
struct Task<'a> {
    session: Session<'a, Handle<'a>>,
    shape: RowsShape,
    counts: &'a Counts,
    clock: Option<Clock>,
    stop: &'a Gate,
    seed: u64,
    /// Its number, and how many there are.
    part: (u64, u32),
    acknowledged: Option<&'a Acknowledged>,
}

impl Task<'_> {
    /// Now, in ticks of its clock or nanoseconds of the stage, where others who are behind go on first.
    #[inline]
    fn now(&self) -> u64 {
        self.clock.map_or_else(|| stage::turn().unwrap_or(0), |clock| clock.now())
    }

    /// Nanoseconds since `start`.
    #[inline]
    fn since(&self, start: u64) -> u64 {
        let passed = self.now() - start;
        self.clock.map_or(passed, |clock| clock.ticks_to_ns(passed))
    }

    fn work(mut self) -> Result<()> {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        match (self.shape.kind, self.acknowledged) {
            (AccessKind::Scans, _) => return self.scan(),
            (AccessKind::Ledger, Some(acknowledged)) => return self.write_down(acknowledged),
            _ => {}
        }
        let zipf = (self.shape.zipf > 0.0).then(|| Zipf::new(self.shape.rows as f64, self.shape.zipf));
        let zipf = zipf.and_then(std::result::Result::ok);
        let (mut value, mut change) = (Vec::new(), 0);
        while !self.stop.is_shut() {
            let row = match &zipf {
                // Popular rows lie apart, as in YCSB.
                Some(zipf) => {
                    (zipf.sample(&mut chance) as u64 - 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % self.shape.rows
                }
                None => chance.next_u64() % self.shape.rows,
            };
            let reads = (chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 <= self.shape.read_share;
            let start = self.now();
            if reads {
                self.read(row, &mut value)?;
            } else {
                change += 1;
                self.change(row, change, &mut value)?;
            }
            let latency = self.since(start);
            if reads { self.counts.reads.record(latency) } else { self.counts.changes.record(latency) }
        }
        Ok(())
    }

    fn read(&mut self, row: u64, value: &mut Vec<u8>) -> Result<()> {
        self.session.begin()?;
        let there = self.session.get(TABLE, &row.to_be_bytes(), value)?;
        self.session.commit()?;
        if !there || value.get(..8) != Some(&row.to_le_bytes()[..]) {
            self.counts.wrong.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    fn change(&mut self, row: u64, change: u64, value: &mut Vec<u8>) -> Result<()> {
        value.resize(self.shape.value_bytes, 0);
        fill(value, row, change);
        loop {
            self.session.begin()?;
            let done = self.session.put(TABLE, &row.to_be_bytes(), value).and_then(|()| self.session.commit());
            match done {
                Err(error) if error.is_passing() => {
                    self.session.abort();
                    self.counts.conflicts.fetch_add(1, Relaxed);
                }
                other => return Ok(other?),
            }
        }
    }

    fn write_down(self, acknowledged: &Acknowledged) -> Result<()> {
        let mut writer = ledger::Writer::begin(self.session, acknowledged, self.part.0 as u32)?;
        while !self.stop.is_shut() {
            let start = Instant::now();
            let conflicts = writer.write(self.shape.value_bytes)?;
            self.counts.conflicts.fetch_add(conflicts, Relaxed);
            self.counts.changes.record(start.elapsed().as_nanos() as u64);
        }
        Ok(())
    }

    fn scan(&mut self) -> Result<()> {
        let (rows, (number, parts)) = (self.shape.rows, self.part);
        let mut first = rows / u64::from(parts) * number;
        while !self.stop.is_shut() {
            let start = self.now();
            let end = (first + SCAN_ROWS).min(rows);
            let (mut visited, mut bytes) = (0, 0);
            self.session.begin()?;
            self.session.scan(TABLE, &first.to_be_bytes(), &end.to_be_bytes(), false, |key, value| {
                visited += 1;
                bytes += (key.len() + value.len()) as u64;
                true
            })?;
            self.session.commit()?;
            self.counts.wrong.fetch_add(u64::from(visited != end - first), Relaxed);
            self.counts.bytes.fetch_add(bytes, Relaxed);
            self.counts.reads.record(self.since(start));
            first = if end == rows { 0 } else { end };
        }
        Ok(())
    }
}

pub(super) fn wrong_rows(counts: &[Counts]) -> WorkCheck {
    let wrong: u64 = counts.iter().map(|one| one.wrong.load(Relaxed)).sum();
    let evidence = format!("{wrong} of the reads found a row that is not there, or another one");
    WorkCheck { name: "rows".to_owned(), passed: wrong == 0, evidence }
}
