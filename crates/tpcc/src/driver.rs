//! Drives the terminals: ramp-up, the window, its series, and what came of it.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use assay_instruments::{
    clock::Clock,
    tally::{AtLeast, Latencies, Snapshot, Sum},
    work::{Done, WorkPlace, WorkWatch, WorkWindow},
};
use assay_record::{IntervalPoint, Overdue, Provenance};
use assay_workload::{AtEdges, Observe, WindowPlan, Work, Worker, WorkloadError};

use crate::{
    edges::Edges,
    error::{Result, TpccError},
    input::Asker,
    kind::Kind,
    order::{Drive, Pace, Site},
    random::{NonUniform, stream_seed},
    scale::Scale,
    server::{ServerUse, ServerWatch},
    store::{Store, TerminalWork},
    tally::{AUDITED, Tally, touched},
    terminal::{SharedTerminals, Terminal},
};

/// What a kind of transaction came to in the window.
#[derive(Debug, Default)]
pub struct KindSum {
    /// From the start of the first try to the end of the last.
    pub service: Sum,
    /// From the intended start.
    pub response: Option<Sum>,
    /// What was due in the window and ended after it; the distributions hold it, the counts do not.
    pub overdue: Option<Overdue>,
    /// Committed.
    pub committed: u64,
    /// Rolled back by rule.
    pub rolled_back: u64,
    /// Failed.
    pub failed: u64,
    /// Tries that met another transaction.
    pub conflicts: u64,
}

/// What a drive came to.
#[derive(Debug)]
pub struct Driven {
    /// The window.
    pub window: WorkWindow,
    /// By kind, in the order of [`Kind::ALL`].
    pub kinds: [KindSum; 5],
    /// The series of all kinds together.
    pub intervals: Vec<IntervalPoint>,
    /// Counters of the audit in the window.
    pub audit: [u64; AUDITED],
    /// Late starts that were the driver's own.
    pub lateness: Option<Sum>,
    /// Warehouses that were used, ramp-up included.
    pub touched: u32,
    /// Orders delivered, ramp-up included.
    pub delivered: u64,
    /// Orders taken, ramp-up included.
    pub ordered: u64,
    /// What the server used in the window.
    pub server: Option<ServerUse>,
    /// It was interrupted.
    pub interrupted: bool,
}

/// What surrounds a drive.
pub struct Surroundings<'a> {
    /// Where the store's parts lie.
    pub sites: &'a [Site],
    /// First process of the server.
    pub server_pid: Option<u32>,
    /// Gets the share done, and transactions per second of the last interval.
    pub progress: &'a mut dyn FnMut(f64, f64),
    /// Set where the user wants to end it.
    pub interrupted: &'a AtomicBool,
}

/// Drives a store that was loaded with `load_seed`.
///
/// # Errors
/// Where a terminal ended with an error, or the drive cannot be.
pub fn drive<S: Store>(
    store: &S,
    scale: &Scale,
    drive: &Drive,
    seeds: (u64, u64),
    around: &mut Surroundings<'_>,
) -> Result<Driven> {
    let open = matches!(drive.pace, Pace::Rate { .. });
    let tallies: Vec<Tally> = (0..drive.terminals).map(|_| Tally::new(scale.warehouses, open)).collect();
    let (seed, load_seed) = seeds;
    let constants = NonUniform::for_run(&NonUniform::for_load(load_seed), seed);
    let askers: Vec<Asker> = (0..drive.terminals)
        .map(|terminal| {
            let own = stream_seed(seed, u64::from(terminal) + 1);
            Asker::new(*scale, drive.choice, &drive.mix, constants, terminal, own)
        })
        .collect::<Result<_>>()?;
    let clock = Clock::new();
    let each = if S::TAKES_TURNS { drive.per_thread } else { 1 };
    let edges = Edges::ahead();
    let date = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    let began = (clock.now(), date);
    let threads = Terminals {
        store,
        drive,
        tallies: &tallies,
        askers: askers.into_iter().map(|asker| Mutex::new(Some(asker))).collect(),
        edges: &edges,
        clock,
        began,
        each,
        seed,
    };
    let plan = WindowPlan {
        warm_up: Duration::from_secs_f64(drive.ramp_s),
        length: Duration::from_secs_f64(drive.measure_s),
        interval: Duration::from_secs_f64(drive.interval_s.min(drive.measure_s)),
        at_edges: if open { AtEdges::Drain } else { AtEdges::Pass },
        interrupted: around.interrupted,
    };
    let mut controller = Controller::new(drive, &tallies, &edges, clock, around);
    assay_workload::drive(&threads, drive.terminals.div_ceil(each), |gate| plan.run(gate, &mut controller))?;
    Ok(controller.driven(open))
}

/// The terminals of a drive, each thread some of them.
struct Terminals<'a, S> {
    store: &'a S,
    drive: &'a Drive,
    tallies: &'a [Tally],
    /// What each will ask for.
    askers: Vec<Mutex<Option<Asker>>>,
    edges: &'a Edges,
    clock: Clock,
    /// Ticks at which schedules begin, and microseconds since 1970 at that moment.
    began: (u64, i64),
    /// Terminals of a thread.
    each: u32,
    seed: u64,
}

impl<S: Store> Work for Terminals<'_, S> {
    type Outcome = ();
    type Error = TpccError;

    fn work(&self, worker: &mut Worker<'_>) -> Result<()> {
        // Sessions are opened in the ramp-up.
        worker.is_warm();
        let Self { store, drive, edges, clock, began: (began, date), each, .. } = *self;
        let shared = SharedTerminals { clock, began, date, gate: worker.gate(), edges, drive };
        let first = worker.number() * each;
        store.run_terminals(first..(first + each).min(drive.terminals), &Bench { terminals: self, shared })
    }

    fn lost(&self, error: WorkloadError) -> TpccError {
        TpccError::Workload(error)
    }
}

/// The terminals of one thread.
struct Bench<'a, S> {
    terminals: &'a Terminals<'a, S>,
    shared: SharedTerminals<'a>,
}

impl<S: Store> TerminalWork<S> for Bench<'_, S> {
    fn work<'s>(&self, number: u32, session: S::Session<'s>) -> Result<()>
    where
        S: 's,
    {
        let Terminals { askers, tallies, seed, .. } = self.terminals;
        let asker = askers[number as usize].lock().unwrap_or_else(PoisonError::into_inner).take();
        let asker = asker.expect("a store asks for each terminal once");
        let ended = Terminal::new(session, &self.shared, asker, &tallies[number as usize]).work(number, *seed);
        if ended.is_err() {
            self.shared.gate.shut();
        }
        ended
    }
}

/// Reads what terminals count.
struct Controller<'a, 's> {
    drive: &'a Drive,
    tallies: &'a [Tally],
    edges: &'a Edges,
    clock: Clock,
    around: &'a mut Surroundings<'s>,
    readers: Readers,
    sums: Sums,
    intervals: Vec<IntervalPoint>,
    open: Option<OpenWindow>,
    closed: Option<ClosedWindow>,
}

/// What was read where the window opened.
struct OpenWindow {
    watch: WorkWatch,
    server: Option<ServerWatch>,
    counts: Counts,
    ticks: u64,
}

/// What the window came to, and what had been counted when it closed.
struct ClosedWindow {
    window: WorkWindow,
    server: Option<ServerUse>,
    before: Counts,
    after: Counts,
    interrupted: bool,
}

/// What the controller has read of one histogram of every terminal.
#[derive(Default)]
struct Reader {
    seen: Vec<Snapshot>,
}

impl Reader {
    fn drain<'t>(&mut self, histograms: impl Iterator<Item = &'t Latencies>, into: &mut Sum) {
        for (at, histogram) in histograms.enumerate() {
            if self.seen.len() == at {
                self.seen.push(Snapshot::default());
            }
            histogram.drain_into(&mut self.seen[at], into);
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Counts {
    kinds: [[u64; 4]; 5],
    audit: [u64; AUDITED],
}

impl Observe for Controller<'_, '_> {
    fn open(&mut self) {
        let site = |site: &Site| WorkPlace { role: site.role.clone(), path: site.path.clone() };
        let places: Vec<WorkPlace> = self.around.sites.iter().map(site).collect();
        self.readers.drain(self.tallies, &mut Default::default());
        let watch = WorkWatch::open(self.clock, &places);
        self.open = Some(OpenWindow { watch, server: None, counts: Counts::default(), ticks: 0 });
    }

    fn begin(&mut self) {
        let (counts, ticks) = (self.counts(), self.clock.now());
        let Some(open) = &mut self.open else { return };
        open.watch.restart();
        open.server = self.around.server_pid.map(ServerWatch::open);
        self.readers.drain(self.tallies, &mut Default::default());
        (open.counts, open.ticks) = (counts, ticks);
    }

    fn interval(&mut self, at_s: f64) {
        let last_s = self.intervals.last().map_or(0.0, |point| point.at_s);
        let point = self.readers.interval(self.tallies, &mut self.sums, at_s, at_s - last_s);
        (self.around.progress)(at_s / self.drive.measure_s, point.operations as f64 / point.length_s.max(1e-9));
        self.intervals.push(point);
    }

    fn close(&mut self, at_s: f64) {
        let Some(OpenWindow { watch, server, counts: before, ticks }) = self.open.take() else { return };
        // Before the last reading: what ends from here on was due in the window, or is none of it.
        self.edges.shut(self.clock, ticks);
        self.interval(at_s);
        let after = self.counts();
        let operations = self.sums.kinds.iter().map(|sum| sum.service.count()).sum();
        let server = server.map(|server| server.close(operations, self.clock.hz()));
        let mut done = Done::operations(operations, Provenance::Measured);
        if let Some(server) = &server {
            // Each transaction may be flushed, and make a file system write its journal.
            (done.server, done.flushes) = (Some(server.account()), operations);
        }
        let (window, interrupted) = (watch.close(&done), self.around.interrupted.load(Relaxed));
        self.closed = Some(ClosedWindow { window, server, before, after, interrupted });
    }
}

impl<'a, 's> Controller<'a, 's> {
    fn new(
        drive: &'a Drive,
        tallies: &'a [Tally],
        edges: &'a Edges,
        clock: Clock,
        around: &'a mut Surroundings<'s>,
    ) -> Self {
        let (readers, sums, intervals) = (Readers::default(), Sums::default(), Vec::new());
        Self { drive, tallies, edges, clock, around, readers, sums, intervals, open: None, closed: None }
    }

    /// What the drive came to, when all terminals have ended; at a rate with what was due in the window and done after it.
    fn driven(mut self, at_a_rate: bool) -> Driven {
        let closed = self.closed.take().expect("a window that was steered was closed");
        let ClosedWindow { window, server, before, after, interrupted } = closed;
        let mut kinds = std::mem::take(&mut self.sums.kinds);
        for (at, kind) in kinds.iter_mut().enumerate() {
            [kind.committed, kind.rolled_back, kind.failed, kind.conflicts] =
                std::array::from_fn(|counter| after.kinds[at][counter] - before.kinds[at][counter]);
        }
        let mut driven = Driven {
            window,
            kinds,
            intervals: std::mem::take(&mut self.intervals),
            audit: std::array::from_fn(|at| after.audit[at] - before.audit[at]),
            lateness: self.sums.lateness.take(),
            touched: touched(self.tallies),
            delivered: self.tallies.iter().map(|tally| tally.delivered.load(Relaxed)).sum(),
            ordered: self.tallies.iter().map(|tally| tally.of(Kind::NewOrder).committed.load(Relaxed)).sum(),
            server,
            interrupted,
        };
        if at_a_rate {
            self.account(&mut driven, &after);
        }
        driven
    }

    /// Adds what terminals counted after the window, when all have ended.
    fn account(&mut self, driven: &mut Driven, at_close: &Counts) {
        let waited = self.edges.closed().map_or(0, |close| self.clock.now().saturating_sub(close));
        let waited_s = self.clock.ticks_to_ns(waited) as f64 / 1e9;
        let (mut after, counts) = (Sums::default(), self.counts());
        self.readers.drain(self.tallies, &mut after);
        for (at, (kind, after)) in driven.kinds.iter_mut().zip(&after.kinds).enumerate() {
            let [committed, rolled_back, failed, _] =
                std::array::from_fn(|counter| counts.kinds[at][counter] - at_close.kinds[at][counter]);
            let never = self.never(at);
            kind.service.merge(&after.service);
            if let Some(response) = &after.response {
                let all = kind.response.get_or_insert_default();
                all.merge(response);
                all.at_least.add(never);
            }
            kind.failed += failed;
            let (completed, missing) = (committed + rolled_back, never.count);
            kind.overdue = (completed + missing > 0).then_some(Overdue { completed, missing, waited_s });
        }
    }

    /// Transactions of a kind that were never begun.
    fn never(&self, kind: usize) -> AtLeast {
        let mut all = AtLeast::default();
        let known = self.tallies.iter().filter_map(|tally| tally.kinds[kind].never.lock().ok());
        known.for_each(|one| all.add(*one));
        all
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        let add = |to: &mut u64, from: &AtomicU64| *to += from.load(Relaxed);
        for tally in self.tallies {
            for (to, kind) in counts.kinds.iter_mut().zip(&tally.kinds) {
                let from = [&kind.committed, &kind.rolled_back, &kind.failed, &kind.conflicts];
                to.iter_mut().zip(from).for_each(|(to, from)| add(to, from));
            }
            counts.audit.iter_mut().zip(&tally.audit).for_each(|(to, from)| add(to, from));
        }
        counts
    }
}

#[derive(Default)]
struct Sums {
    kinds: [KindSum; 5],
    lateness: Option<Sum>,
}

#[derive(Default)]
struct Readers {
    service: [Reader; 5],
    response: [Reader; 5],
    lateness: Reader,
}

impl Readers {
    fn drain(&mut self, tallies: &[Tally], sums: &mut Sums) {
        for (at, sum) in sums.kinds.iter_mut().enumerate() {
            self.service[at].drain(tallies.iter().map(|tally| &tally.kinds[at].service), &mut sum.service);
            if tallies.iter().any(|tally| tally.kinds[at].response.is_some()) {
                let histograms = tallies.iter().filter_map(|tally| tally.kinds[at].response.as_ref());
                self.response[at].drain(histograms, sum.response.get_or_insert_default());
            }
        }
        if tallies.iter().any(|tally| tally.lateness.is_some()) {
            let histograms = tallies.iter().filter_map(|tally| tally.lateness.as_ref());
            self.lateness.drain(histograms, sums.lateness.get_or_insert_default());
        }
    }

    fn interval(&mut self, tallies: &[Tally], sums: &mut Sums, at_s: f64, length_s: f64) -> IntervalPoint {
        let mut fresh = Sums::default();
        self.drain(tallies, &mut fresh);
        let mut all = Sum::default();
        let seen = |(_, more): &(&mut KindSum, &KindSum)| more.service.count() > 0;
        for (kind, more) in sums.kinds.iter_mut().zip(&fresh.kinds).filter(seen) {
            all.merge(&more.service);
            kind.service.merge(&more.service);
            if let Some(response) = &more.response {
                kind.response.get_or_insert_default().merge(response);
            }
        }
        if let Some(lateness) = &fresh.lateness {
            sums.lateness.get_or_insert_default().merge(lateness);
        }
        IntervalPoint {
            at_s,
            length_s,
            operations: all.count(),
            bytes: 0,
            mean_ns: all.mean(),
            p50_ns: all.histogram().value_at_percentile(50.0),
            p99_ns: all.histogram().value_at_percentile(99.0),
            max_ns: all.histogram().max(),
        }
    }
}
