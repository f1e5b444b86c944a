//! From what workers counted to the record.

use std::{collections::BTreeMap, sync::atomic::Ordering::Relaxed, time::Instant};

use assay_record::{
    Arrivals, Baseline, CheckOutcome, Class, ClassResult, CpuUse, Distribution, FORMAT_VERSION, Figure, Job, Method,
    Metric, ObjectiveOutcome, Operation, Overdue, Provenance, Record, RunInfo, Unit, Verdict, WindowOutcome,
};

use super::{controller::Watched, counting::Counting, crew::Outcome, identity, observe::Surroundings, stage::Stage};
use crate::{
    arrivals::total_rate,
    baseline::Ceiling,
    clock::Clock,
    counters::{CountedApart, CpuTotals, FileChanges, HelperTotals, PerfCounts, ThreadUse, Work, cpu_use},
    distribution::distribution,
    environment::own_provenance,
    series::{Series, sum_of},
    tally::{Latencies, Sum, Tally},
};

/// All that a finished run left behind.
pub struct Finished<'a> {
    /// The job.
    pub job: &'a Job,
    /// The stage.
    pub stage: &'a Stage,
    /// Ceilings of the generator, by class.
    pub ceilings: &'a [Ceiling],
    /// How CPU is counted.
    pub counting: &'a Counting,
    /// Tallies by class and thread.
    pub tallies: &'a [Vec<Tally>],
    /// The window.
    pub watched: Watched,
    /// What the workers brought back.
    pub outcomes: Vec<Outcome>,
    /// What surrounded the window.
    pub around: Surroundings,
    /// What became of the files of each data set, by its name.
    pub changes: BTreeMap<String, FileChanges>,
    /// Whether data sets that were written to keep what they are given, by name.
    pub readback: BTreeMap<String, CheckOutcome>,
    /// Clock of the run.
    pub clock: Clock,
    /// Seconds of preparation.
    pub prepared_s: f64,
    /// When the run began.
    pub began: Instant,
}

/// What belongs to one class.
pub struct Part<'a> {
    /// The class.
    pub class: &'a Class,
    /// Its tallies.
    pub tallies: &'a [Tally],
    /// Outcomes of its workers.
    pub outcomes: Vec<&'a Outcome>,
    /// Its ceiling.
    pub ceiling: Ceiling,
    /// Helpers that worked for it.
    pub helpers: HelperTotals,
    /// Provenance of its figures.
    pub provenance: Provenance,
    /// Seconds that its workers measured, mean.
    pub elapsed_s: f64,
    /// System calls of its workers.
    pub system_calls: u64,
}

impl Finished<'_> {
    /// The record.
    pub fn record(mut self) -> Record {
        self.close_series();
        let helpers = self.around.helpers(self.job, &self.outcomes);
        let parts: Vec<Part<'_>> = (0..self.job.classes.len()).map(|index| self.part(index, helpers[index])).collect();
        let classes: Vec<ClassResult> =
            parts.iter().zip(&self.watched.series).map(|(part, series)| self.class_result(part, series)).collect();
        let window = self.window();
        let devices = self.around.device_counters();
        let reasons = self.around.judge(&self, &parts, &classes, &window, &devices);
        Record {
            version: FORMAT_VERSION,
            run: RunInfo {
                id: identity::run_id(),
                started_at: identity::rfc3339(self.began.elapsed()),
                assayer_version: env!("CARGO_PKG_VERSION").to_owned(),
                wall_s: self.began.elapsed().as_secs_f64(),
                prepare_s: self.prepared_s,
            },
            job: self.job.clone(),
            environment: self.stage.environment.clone(),
            process_cpu: self.process_cpu(&classes),
            counting_cost: self.counting.cost.map(|cost| cost.recorded()),
            not_measured: self.around.not_measured(&classes, &devices, &self.outcomes, &window),
            window,
            classes,
            devices,
            verdict: Verdict::from_reasons(reasons),
        }
    }

    fn seconds(&self, ticks: u64) -> f64 {
        self.clock.ticks_to_ns(ticks) as f64 / 1e9
    }

    fn close_series(&mut self) {
        let interval_s = f64::from(self.job.window.interval_ms) / 1e3;
        let closed = self.outcomes.iter().map(|outcome| outcome.end).max().unwrap_or(self.watched.close);
        let at_s = self.seconds(closed.saturating_sub(self.watched.open));
        for (series, tallies) in self.watched.series.iter_mut().zip(self.tallies) {
            series.close(tallies, at_s, interval_s);
        }
    }

    fn part(&self, index: usize, helpers: HelperTotals) -> Part<'_> {
        let outcomes: Vec<&Outcome> = self.outcomes.iter().filter(|outcome| outcome.class_index == index).collect();
        let elapsed: f64 = outcomes.iter().map(|one| self.seconds(one.end.saturating_sub(one.start))).sum();
        Part {
            class: &self.job.classes[index],
            tallies: &self.tallies[index],
            ceiling: self.ceilings[index],
            helpers,
            provenance: if outcomes.iter().any(|one| one.emulated) { Provenance::Emulated } else { own_provenance() },
            elapsed_s: elapsed / outcomes.len().max(1) as f64,
            system_calls: outcomes.iter().map(|one| one.system_calls).sum(),
            outcomes,
        }
    }

    fn class_result(&self, part: &Part<'_>, series: &Series) -> ClassResult {
        let figure = |value, unit| Figure::new(value, unit, part.provenance, Method::Loop);
        let operations = series.total.count();
        let bytes = total(part.tallies, |tally| tally.bytes.load(Relaxed));
        let writes = total(part.tallies, |tally| tally.writes.load(Relaxed));
        let elapsed_s = part.elapsed_s.max(1e-9);
        let (response, whole) = (part.response(), part.service(&series.total));
        let service = distribution(&whole, part.provenance);
        let rate = operations as f64 / elapsed_s;
        let bandwidth = bytes as f64 / elapsed_s;
        let response = response.map(|sum| distribution(&sum, part.provenance));
        let objective = objective(part.class, response.as_ref().unwrap_or(&service), rate, bandwidth);
        let (read_service, write_service) = part.split(&whole);
        let cpu = part.cpu(self.counting, operations, bytes, self.clock.hz());
        ClassResult {
            name: part.class.name.clone(),
            operations,
            reads: operations - writes,
            writes,
            bytes,
            bandwidth: figure(bandwidth, Unit::BytesPerSecond),
            ops_rate: figure(rate, Unit::OpsPerSecond),
            asked_rate: total_rate(&part.class.arrivals, part.class.threads)
                .map(|rate| Figure::new(rate, Unit::OpsPerSecond, Provenance::Assumed, Method::Derived)),
            asked_depth: part.class.threads * part.class.depth,
            achieved_depth: Figure::new(
                part.achieved_depth(&series.total, self.clock.hz()),
                Unit::Count,
                part.provenance,
                Method::Derived,
            ),
            service,
            response,
            read_service,
            write_service,
            flush: part.distribution(|tally| tally.flush.as_ref()),
            lateness: part.distribution(|tally| tally.lateness.as_ref()),
            overdue: part.overdue(self.clock.hz()),
            baseline: part.baseline(&cpu, operations),
            cpu,
            device_read_bytes: part.device_bytes(|used| used.read_bytes, part.helpers.io.read),
            device_written_bytes: part.device_bytes(|used| used.written_bytes, part.helpers.io.written),
            errors: part.errors(),
            intervals: series.points.clone(),
            objective,
            check: part.check(),
        }
    }

    fn window(&self) -> WindowOutcome {
        let starts = || self.outcomes.iter().filter(|one| self.job.classes[one.class_index].start_s <= 0.0);
        let started = (starts().map(|one| one.start).min(), starts().map(|one| one.start).max());
        let late = started.1.unwrap_or(0).saturating_sub(started.0.unwrap_or(0));
        // An operation that is under way when the window closes ends after it, and its class is measured until then. What
        // counts is who stopped before the window closed.
        let early = starts().map(|one| self.watched.close.saturating_sub(one.end)).max().unwrap_or(0);
        let skew = late.max(early);
        WindowOutcome {
            warmup_s: self.job.window.warmup_s,
            measured_s: self.seconds(self.watched.close.saturating_sub(self.watched.open)),
            stop: self.watched.stop,
            edge_skew_ns: self.clock.ticks_to_ns(skew),
            clock_drift: self.clock.drift(self.watched.opened, self.watched.closed),
        }
    }

    fn process_cpu(&self, classes: &[ClassResult]) -> CpuUse {
        let wait_ticks: u64 = self.tallies.iter().flatten().map(|tally| tally.wait_ticks.load(Relaxed)).sum();
        let work = Work {
            operations: classes.iter().map(|class| class.operations).sum(),
            bytes: classes.iter().map(|class| class.bytes).sum(),
            wait_s: self.seconds(wait_ticks),
            system_calls: self.outcomes.iter().map(|one| one.system_calls).sum(),
            cpu_hz: self.clock.hz(),
            provenance: own_provenance(),
        };
        cpu_use(&CpuTotals::of_process(&self.around.process_use(&self.outcomes)), &work)
    }
}

fn total(tallies: &[Tally], of: fn(&Tally) -> u64) -> u64 {
    tallies.iter().map(of).sum()
}

impl Part<'_> {
    fn sum(&self, of: fn(&Tally) -> Option<&Latencies>) -> Option<Sum> {
        sum_of(self.tallies.iter().chain(self.after()).map(of))
    }

    /// What its workers counted after the close and its distributions hold: of a class with a rate all that was due. What
    /// a closed loop has in flight was due at no time; it is left out unless it never ended.
    fn after(&self) -> impl Iterator<Item = &Tally> {
        let counts = self.class.arrivals != Arrivals::Closed || self.missing() > 0;
        self.outcomes.iter().filter(move |_| counts).map(|one| &one.overdue.tally)
    }

    fn missing(&self) -> u64 {
        self.outcomes.iter().map(|one| one.overdue.missing()).sum()
    }

    fn response(&self) -> Option<Sum> {
        let mut sum = self.sum(|tally| tally.response.as_ref())?;
        self.outcomes.iter().for_each(|one| sum.at_least.add(one.overdue.response));
        Some(sum)
    }

    /// Service times: of the window, and of what was due in it.
    fn service(&self, window: &Sum) -> Sum {
        let mut sum = window.clone();
        if let Some(after) = sum_of(self.after().map(|tally| Some(&tally.service))) {
            sum.merge(&after);
        }
        self.outcomes.iter().for_each(|one| sum.at_least.add(one.overdue.service));
        sum
    }

    fn overdue(&self, hz: f64) -> Option<Overdue> {
        let missing = self.missing();
        let open = self.class.arrivals != Arrivals::Closed;
        let completed = self.outcomes.iter().filter(|_| open || missing > 0).map(|one| one.overdue.completed()).sum();
        let waited = self.outcomes.iter().map(|one| one.overdue.waited).max().unwrap_or(0);
        (completed + missing > 0).then(|| Overdue { completed, missing, waited_s: waited as f64 / hz })
    }

    fn distribution(&self, of: fn(&Tally) -> Option<&Latencies>) -> Option<Distribution> {
        self.sum(of).map(|sum| distribution(&sum, self.provenance))
    }

    /// Little's law: the time that operations spent in service, per second. For a path that blocks in its submit call the
    /// operations waited in the program, not at the device; that time does not count.
    pub fn achieved_depth(&self, service: &Sum, hz: f64) -> f64 {
        let threads = f64::from(self.class.threads);
        let waiting = self.submit_share() * f64::from(self.class.depth.saturating_sub(1)) * threads;
        let in_service = (service.sum as f64 / 1e9 + self.at_edges_s(hz)).max(0.0) / self.elapsed_s.max(1e-9);
        (in_service - waiting).max(in_service.min(threads))
    }

    /// Seconds by which the window's edges cut operations: those that it began with spent some before it, those that it
    /// ended with spent some inside it and do not count as done.
    fn at_edges_s(&self, hz: f64) -> f64 {
        let sum = |of: fn(&Outcome) -> u64| self.outcomes.iter().map(|one| of(one)).sum::<u64>() as f64;
        (sum(|one| one.unfinished) - sum(|one| one.carried_in)) / hz
    }

    /// Share of the workers' time that was spent inside the submit call.
    pub fn submit_share(&self) -> f64 {
        let ticks = total(self.tallies, |tally| tally.submit_ticks.load(Relaxed)) as f64;
        let all: u64 = self.outcomes.iter().map(|one| one.end.saturating_sub(one.start)).sum();
        ticks / (all.max(1)) as f64
    }

    /// Seconds that its workers spent waiting for an intended start without sleeping.
    pub fn wait_s(&self, hz: f64) -> f64 {
        total(self.tallies, |tally| tally.wait_ticks.load(Relaxed)) as f64 / hz
    }

    /// Accounts of its threads.
    pub fn uses(&self) -> Vec<ThreadUse> {
        self.outcomes.iter().map(|one| one.used.clone()).collect()
    }

    /// What its hardware counters counted in a window of its own; none where a thread has no count, or there are too few
    /// operations to stand for the judged window.
    fn counted_apart(&self) -> Option<CountedApart> {
        let counts: Vec<_> = self.outcomes.iter().map(|one| one.counted_apart).collect::<Option<_>>()?;
        let sum = |of: fn(&PerfCounts) -> Option<u64>| {
            counts.iter().map(|(counts, _)| of(counts).map(|count| count as f64)).sum::<Option<f64>>()
        };
        let operations = counts.iter().map(|(_, operations)| operations).sum();
        let apart = CountedApart {
            operations,
            cycles: sum(|counts| counts.cycles)?,
            instructions: sum(|counts| counts.instructions),
            tlb_misses: sum(|counts| counts.tlb_misses),
        };
        Counting::suffices(operations).then_some(apart)
    }

    /// What its threads used in the judged window, with what an operation cost in a window of its own where there was one.
    pub fn totals(&self, counting: &Counting, operations: u64) -> CpuTotals {
        let apart = self.counted_apart();
        let told = counting.told(apart.map(|apart| apart.operations), self.elapsed_s);
        let totals = CpuTotals::of_threads(&self.uses(), &self.helpers).told(told);
        apart.map_or(totals.clone(), |apart| totals.counted_apart(&apart, operations))
    }

    fn cpu(&self, counting: &Counting, operations: u64, bytes: u64, hz: f64) -> CpuUse {
        let work = Work {
            operations,
            bytes,
            wait_s: self.wait_s(hz),
            system_calls: self.system_calls,
            cpu_hz: hz,
            provenance: self.provenance,
        };
        cpu_use(&self.totals(counting, operations), &work)
    }

    fn baseline(&self, cpu: &CpuUse, operations: u64) -> Baseline {
        let figure = |value, unit, method| Figure::new(value, unit, own_provenance(), method);
        let busy = cpu.cycles_per_op.value;
        let share = if operations == 0 || busy <= 0.0 { 0.0 } else { (self.ceiling.cycles_per_op / busy).min(1.0) };
        Baseline {
            null_ops_per_s: figure(self.ceiling.ops_per_s, Unit::OpsPerSecond, Method::Loop),
            null_cycles_per_op: figure(self.ceiling.cycles_per_op, Unit::CyclesPerOp, Method::Loop),
            generator_share: figure(share, Unit::Ratio, Method::Derived),
        }
    }

    /// Service time of reads and writes apart, where the class mixes: what is not a write is a read.
    fn split(&self, service: &Sum) -> (Option<Distribution>, Option<Distribution>) {
        if !matches!(self.class.operation, Operation::Mix { write_percent: 1..=99 }) {
            return (None, None);
        }
        let Some(writes) = self.sum(|tally| tally.write_service.as_ref()) else { return (None, None) };
        let reads = service.without(&writes);
        (Some(distribution(&reads, self.provenance)), Some(distribution(&writes, self.provenance)))
    }

    fn device_bytes(&self, of: fn(&ThreadUse) -> Option<u64>, helpers: u64) -> Option<Figure> {
        let own: Option<u64> = self.outcomes.iter().map(|one| of(&one.used)).sum();
        own.map(|bytes| {
            let value = bytes.saturating_add(helpers) as f64;
            Figure::new(value, Unit::Bytes, self.provenance, Method::KernelAccounting)
        })
    }

    fn errors(&self) -> std::collections::BTreeMap<String, u64> {
        let mut errors = std::collections::BTreeMap::new();
        for (errno, count) in self.outcomes.iter().flat_map(|one| &one.faults.by_errno) {
            *errors.entry(identity::error_name(*errno)).or_default() += count;
        }
        errors
    }

    fn check(&self) -> Option<CheckOutcome> {
        let all = |of: fn(&Tally) -> u64| -> u64 {
            self.tallies.iter().chain(self.outcomes.iter().map(|one| &one.overdue.tally)).map(of).sum()
        };
        let blocks = all(|tally| tally.verified.load(Relaxed));
        let wrong = all(|tally| tally.wrong.load(Relaxed));
        let examples: Vec<String> = self.outcomes.iter().flat_map(|one| one.examples.iter().cloned()).take(5).collect();
        (blocks > 0).then_some(CheckOutcome { blocks, wrong, examples })
    }
}

/// Latency objectives are judged by response time where there is a schedule, by service time otherwise.
pub fn objective(class: &Class, latency: &Distribution, ops_per_s: f64, bytes_per_s: f64) -> Option<ObjectiveOutcome> {
    let objective = class.objective?;
    debug_assert!(class.arrivals == Arrivals::Closed || latency.count > 0 || ops_per_s == 0.0);
    let (seen, upper) = match objective.metric {
        Metric::MeanNs => (latency.mean_ns, true),
        Metric::P50Ns => (latency.p50_ns as f64, true),
        Metric::P99Ns => (latency.p99_ns as f64, true),
        Metric::P999Ns => (latency.p999_ns as f64, true),
        Metric::BandwidthBytesPerS => (bytes_per_s, false),
        Metric::OpsPerS => (ops_per_s, false),
    };
    let exact_below = latency.at_least.map_or(f64::INFINITY, |bound| bound.from_ns as f64);
    let at_least = upper && (seen >= exact_below || (objective.metric == Metric::MeanNs && latency.at_least.is_some()));
    // A class that completed nothing has met nothing, and a lower bound shows no latency to be short enough.
    let met = latency.count > 0 && if upper { seen < objective.bound && !at_least } else { seen >= objective.bound };
    Some(ObjectiveOutcome { objective, seen, at_least, met })
}
