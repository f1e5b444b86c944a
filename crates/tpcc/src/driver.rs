//! Drives the terminals: ramp-up, the window, its series, and what came of it.

use std::{
    cell::RefCell,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use assay_instruments::{
    clock::Clock,
    tally::{AtLeast, Latencies, Snapshot, Sum},
    work::{Done, WorkPlace, WorkWatch, WorkWindow},
};
use assay_record::{IntervalPoint, Overdue, Provenance};

use crate::{
    edges::Edges,
    error::{Result, TpccError},
    input::Asker,
    kind::Kind,
    order::{Drive, Pace, Site},
    random::{NonUniform, stream_seed},
    scale::Scale,
    server::{ServerUse, ServerWatch},
    store::{Crew, Store},
    tally::{AUDITED, Tally, touched},
    terminal::{SharedTerminals, Terminal},
};

/// How often the controller looks whether it is to end: seldom, for its CPU is the driver's.
const NAP: Duration = Duration::from_millis(200);
/// How often it looks after the window whether what was due has been done.
const LOOK: Duration = Duration::from_millis(5);

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
    let threads = drive.terminals.div_ceil(each);
    let (stop, ready) = (AtomicBool::new(false), Barrier::new(threads as usize + 1));
    let edges = Edges::ahead();
    let date = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    let shared = SharedTerminals { clock, began: clock.now(), date, stop: &stop, edges: &edges, drive };
    thread::scope(|scope| {
        let mut workers = Vec::with_capacity(threads as usize);
        let mut askers = askers.into_iter();
        for thread in 0..threads {
            let terminals = thread * each..((thread + 1) * each).min(drive.terminals);
            let askers = RefCell::new(askers.by_ref().take(terminals.len()).map(Some).collect());
            let (ready, stop) = (&ready, &stop);
            let bench = Bench { shared: &shared, tallies: &tallies, askers, first: terminals.start, seed };
            workers.push(scope.spawn(move || {
                ready.wait();
                let ended = store.crew(terminals, &bench);
                if ended.is_err() {
                    stop.store(true, Relaxed);
                }
                ended
            }));
        }
        ready.wait();
        let controller = Controller { drive, tallies: &tallies, stop: &stop, edges: &edges, clock };
        let (mut driven, rest) = controller.run(around);
        if open {
            controller.settle(around.interrupted, || workers.iter().all(thread::ScopedJoinHandle::is_finished));
        }
        stop.store(true, Relaxed);
        let ends: Vec<Result<()>> =
            workers.into_iter().map(|worker| worker.join().map_err(|_| TpccError::TerminalLost)?).collect();
        ends.into_iter().collect::<Result<()>>()?;
        if open {
            controller.account(&mut driven, rest);
        }
        Ok(finish(driven, &tallies))
    })
}

/// The terminals of one thread.
struct Bench<'a> {
    shared: &'a SharedTerminals<'a>,
    tallies: &'a [Tally],
    /// What each will ask for.
    askers: RefCell<Vec<Option<Asker>>>,
    first: u32,
    seed: u64,
}

impl<S: Store> Crew<S> for Bench<'_> {
    fn work<'s>(&self, number: u32, session: S::Session<'s>) -> Result<()>
    where
        S: 's,
    {
        let asker = self.askers.borrow_mut()[(number - self.first) as usize].take();
        let Some(asker) = asker else { return Err(TpccError::TerminalLost) };
        let ended = Terminal::new(session, self.shared, asker, &self.tallies[number as usize]).work(number, self.seed);
        if ended.is_err() {
            self.shared.stop.store(true, Relaxed);
        }
        ended
    }
}

/// Counts what ended after the window, for the checks: orders and deliveries of the whole drive.
fn finish(mut driven: Driven, tallies: &[Tally]) -> Driven {
    driven.touched = touched(tallies);
    driven.delivered = tallies.iter().map(|tally| tally.delivered.load(Relaxed)).sum();
    driven.ordered = tallies.iter().map(|tally| tally.of(Kind::NewOrder).committed.load(Relaxed)).sum();
    driven
}

struct Controller<'a> {
    drive: &'a Drive,
    tallies: &'a [Tally],
    stop: &'a AtomicBool,
    edges: &'a Edges,
    clock: Clock,
}

/// What had been read and counted when the window closed.
struct Rest {
    readers: Readers,
    counts: Counts,
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

impl Controller<'_> {
    fn run(&self, around: &mut Surroundings<'_>) -> (Driven, Rest) {
        self.wait(Duration::from_secs_f64(self.drive.ramp_s), around.interrupted);
        let mut readers = Readers::default();
        readers.drain(self.tallies, &mut Default::default());
        let places: Vec<WorkPlace> =
            around.sites.iter().map(|site| WorkPlace { role: site.role.clone(), path: site.path.clone() }).collect();
        let watch = WorkWatch::open(self.clock, &places);
        // Opening takes a while: what was done meanwhile is not in the window.
        readers.drain(self.tallies, &mut Default::default());
        let server = around.server_pid.map(ServerWatch::open);
        let (before, opened) = (self.counts(), self.clock.now());
        let mut sums = Sums::default();
        let intervals = self.measure((&watch, opened), &mut readers, &mut sums, around);
        let after = self.counts();
        let operations = sums.kinds.iter().map(|sum| sum.service.count()).sum();
        let server = server.map(|server| server.close(operations, self.clock.hz()));
        let mut done = Done::operations(operations, Provenance::Measured);
        if let Some(server) = &server {
            // Each transaction may be flushed, and make a file system write its journal.
            (done.server, done.flushes) = (Some(server.account()), operations);
        }
        let window = watch.close(&done);
        let mut kinds = sums.kinds;
        for (at, kind) in kinds.iter_mut().enumerate() {
            let [committed, rolled_back, failed, conflicts] =
                std::array::from_fn(|counter| after.kinds[at][counter] - before.kinds[at][counter]);
            (kind.committed, kind.rolled_back, kind.failed, kind.conflicts) =
                (committed, rolled_back, failed, conflicts);
        }
        let driven = Driven {
            window,
            kinds,
            intervals,
            audit: std::array::from_fn(|at| after.audit[at] - before.audit[at]),
            lateness: sums.lateness,
            touched: 0,
            delivered: 0,
            ordered: 0,
            server,
            interrupted: around.interrupted.load(Relaxed),
        };
        (driven, Rest { readers, counts: after })
    }

    /// Waits until what was due in the window has been done, or is given up.
    fn settle(&self, interrupted: &AtomicBool, done: impl Fn() -> bool) {
        // Terminals end by themselves; only an interrupt or the error of one ends them earlier.
        while !done() && !self.ends(interrupted) {
            thread::sleep(LOOK);
        }
    }

    /// Adds what terminals counted after the window, when all have ended.
    fn account(&self, driven: &mut Driven, mut rest: Rest) {
        let waited = self.edges.closed().map_or(0, |close| self.clock.now().saturating_sub(close));
        let waited_s = self.clock.ticks_to_ns(waited) as f64 / 1e9;
        let (mut after, counts) = (Sums::default(), self.counts());
        rest.readers.drain(self.tallies, &mut after);
        for (at, (kind, after)) in driven.kinds.iter_mut().zip(&after.kinds).enumerate() {
            let [committed, rolled_back, failed, _] =
                std::array::from_fn(|counter| counts.kinds[at][counter] - rest.counts.kinds[at][counter]);
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

    fn measure(
        &self,
        (watch, opened): (&WorkWatch, u64),
        readers: &mut Readers,
        sums: &mut Sums,
        around: &mut Surroundings<'_>,
    ) -> Vec<IntervalPoint> {
        let mut points = Vec::new();
        let mut last_s = 0.0;
        while last_s < self.drive.measure_s && !self.ends(around.interrupted) {
            let next_s = (last_s + self.drive.interval_s).min(self.drive.measure_s);
            self.wait(Duration::from_secs_f64((next_s - watch.elapsed_s()).max(0.0)), around.interrupted);
            let at_s = watch.elapsed_s();
            if at_s >= self.drive.measure_s || self.ends(around.interrupted) {
                // Before the last reading: what ends from here on was due in the window, or is none of it.
                self.edges.shut(self.clock, opened);
            }
            let point = readers.interval(self.tallies, sums, at_s, at_s - last_s);
            (around.progress)(at_s / self.drive.measure_s, point.operations as f64 / point.length_s.max(1e-9));
            points.push(point);
            last_s = at_s;
        }
        self.edges.shut(self.clock, opened);
        points
    }

    fn ends(&self, interrupted: &AtomicBool) -> bool {
        self.stop.load(Relaxed) || interrupted.load(Relaxed)
    }

    fn wait(&self, length: Duration, interrupted: &AtomicBool) {
        let until = Instant::now() + length;
        while !self.ends(interrupted) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(NAP));
        }
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
