//! From what workers counted to the record.

use std::sync::atomic::Ordering::Relaxed;

use assay_instruments::{
    clock::ClockPair,
    counters::{CpuTotals, HelperTotals, Work, cpu_use},
    distribution::distribution,
    environment::own_provenance,
    series::Series,
};
use assay_record::{
    Arrivals, Class, ClassResult, CpuUse, Distribution, FORMAT_VERSION, Figure, Method, Metric, ObjectiveOutcome,
    Provenance, Record, RunInfo, Unit, Verdict, WindowOutcome,
};

use super::{
    judge::{self, Judged},
    part::{Finished, Part, total},
    workers::ThreadOutcome,
};
use crate::arrivals::total_rate;

impl Finished<'_> {
    /// The record.
    pub fn record(mut self) -> Record {
        self.close_series();
        let helpers = self.around.helpers(self.job, &self.outcomes);
        let parts: Vec<Part<'_>> = (0..self.job.classes.len()).map(|index| self.part(index, helpers[index])).collect();
        let mut classes: Vec<ClassResult> =
            parts.iter().zip(&self.watched.series).map(|(part, series)| self.class_result(part, series)).collect();
        let window = self.window();
        let devices = self.around.device_counters();
        let Judged { reasons, depths } = judge::judged(&self, &parts, &classes, &window, &devices);
        for (class, depth) in classes.iter_mut().zip(depths) {
            class.achieved_depth.value = depth;
        }
        Record {
            version: FORMAT_VERSION,
            run: RunInfo {
                id: assay_instruments::run_id(),
                started_at: assay_instruments::rfc3339(self.began.elapsed()),
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
        let outcomes: Vec<&ThreadOutcome> =
            self.outcomes.iter().filter(|outcome| outcome.class_index == index).collect();
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
        let trims = part.class.operation == assay_record::Operation::Trim;
        let cpu = part.cpu(self.counting, operations, bytes, self.clock.hz());
        ClassResult {
            name: part.class.name.clone(),
            operations,
            reads: operations - writes,
            writes: if trims { 0 } else { writes },
            bytes,
            bandwidth: figure(bandwidth, Unit::BytesPerSecond),
            ops_rate: figure(rate, Unit::OpsPerSecond),
            asked_rate: total_rate(&part.class.arrivals, part.class.threads)
                .map(|rate| Figure::new(rate, Unit::OpsPerSecond, Provenance::Assumed, Method::Derived)),
            asked_depth: part.class.threads * part.class.depth,
            achieved_depth: Figure::new(
                part.achieved_depth(part.in_service(series.total.sum as f64, self.clock.hz())),
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
            opened_monotonic_ns: self.when(self.watched.opened, self.watched.open),
            closed_monotonic_ns: self.when(self.watched.closed, self.watched.close),
        }
    }

    /// An edge of the window on the kernel's clock, where a job that begins by it has others to be held against.
    fn when(&self, read: ClockPair, edge: u64) -> Option<u64> {
        self.job.start_monotonic_ns.map(|_| self.clock.monotonic_ns(read, edge))
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
