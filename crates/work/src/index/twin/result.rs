//! What a play in virtual time leaves: figures with their bands, and what set the pace.

use std::collections::BTreeMap;

use assay_record::{Figure, Method, Provenance, Reason, Unit, Verdict, Widths, WorkRecord};
use assay_scene::{SATURATED, cpu_width, spread};
use assay_twin::reason;
use serde_json::json;

use super::{Around, window::Edge};
use crate::index::{job::IndexJob, on_twin::OnTwin};

/// From so many times the time that accesses take alone on, the modules are what is waited for.
const CROWDED: f64 = 1.5;

/// Figures of this machine that say nothing of the twin's.
const HERE: [&str; 8] = [
    "cycles_per_op",
    "cpu_ns_per_op",
    "cpu_utilisation",
    "load_ops_per_s",
    "load_s",
    "recovery_s",
    "recovery_after_run_s",
    "generator_ns_per_op",
];

/// What set the pace, and by how much.
struct Pace {
    bound_by: &'static str,
    /// Shares of the threads' time: computing, and waiting for modules or the drive, and for each other.
    shares: [f64; 3],
    /// Time of accesses over what they would take alone.
    crowding: f64,
    width: f64,
    spread: f64,
}

impl Pace {
    fn of(job: &IndexJob, twin: &OnTwin, record: &WorkRecord, [first, last]: &[Edge; 2]) -> Self {
        let (used, passed) = (last.used.since(&first.used), last.passed.since(&first.passed));
        let parts = [used.cpu + used.core, used.device, used.others];
        let whole = parts.iter().sum::<u64>().max(1) as f64;
        let shares = parts.map(|part| part as f64 / whole);
        let window = (last.at - first.at).max(1) as f64;
        let busy = last.done.since(&first.done).busy as f64 / window;
        let crowding = passed.waited as f64 / passed.alone.max(1) as f64;
        let crowded = if job.index.in_pmem() { crowding >= CROWDED } else { busy >= SATURATED };
        let band = &twin.data.target.twin().band;
        let device = if crowded { band.bandwidth.value } else { band.latency.value };
        let rates: Vec<f64> = record.intervals.iter().map(|point| point.operations as f64 / point.length_s).collect();
        let spread = spread(&rates);
        let [computing, waiting, others] = shares;
        let width = (computing * cpu_width(&twin.data.host) + (waiting + others) * device).max(0.02) + spread;
        let bound_by = bound_by(shares, crowded || !job.index.in_pmem());
        Self { bound_by, shares, crowding, width, spread }
    }
}

fn bound_by([computing, waiting, others]: [f64; 3], crowded: bool) -> &'static str {
    if computing >= waiting.max(others) {
        "cpu"
    } else if others > waiting {
        "locks"
    } else if crowded {
        "device"
    } else {
        "latency"
    }
}

/// Turns a record that was made as if it had been measured into what it is.
pub(super) fn complete(
    (job, twin, around): (&IndexJob, &OnTwin, &Around),
    mut record: WorkRecord,
    edges: &[Edge; 2],
    (told, against): (String, Option<Reason>),
) -> WorkRecord {
    let pace = Pace::of(job, twin, &record, edges);
    record.cpu = None;
    record.not_measured.clear();
    record.figures.retain(|name, _| !HERE.contains(&name.as_str()));
    record.figures.values_mut().for_each(|figure| model(figure, pace.width));
    for part in &mut record.parts {
        for distribution in part.service.iter_mut() {
            distribution.provenance = Provenance::Modelled;
            distribution.widths = Some(Widths { latency: pace.width, tail: twin.data.target.twin().band.tail.value });
        }
        part.figures.values_mut().for_each(|figure| model(figure, pace.width));
    }
    for (name, figure) in figures((job, twin), &record, edges, &pace) {
        record.figures.insert(name.to_owned(), figure);
    }
    let window_s = (edges[1].at - edges[0].at).max(1) as f64 / 1e12;
    record.devices = vec![edges[1].done.since(&edges[0].done).counters(&twin.data.label, window_s)];
    let trace = format!("{:016x}", around.scene.lock().trace());
    let host = &twin.data.host;
    for (name, value) in [
        ("bound_by", json!(pace.bound_by)),
        ("host", json!(host.name)),
        ("io_trace", json!(trace)),
        ("cpu_time", json!(told)),
    ] {
        record.subject.settings.insert(name.to_owned(), value);
    }
    if job.index.in_pmem() {
        record.subject.settings.insert("cpu_cache_bytes".to_owned(), json!(twin.cache_bytes));
    }
    let reasons = record.verdict.reasons.drain(..).chain([note((job, twin), &pace)]).chain(against);
    record.verdict = Verdict::from_reasons(reasons.collect());
    record
}

/// A figure of the play.
fn model(figure: &mut Figure, width: f64) {
    (figure.provenance, figure.method) = (Provenance::Modelled, Method::Simulation);
    if figure.unit == Unit::OpsPerSecond {
        *figure = figure.clone().within(width);
    }
}

fn figures(
    (job, twin): (&IndexJob, &OnTwin),
    record: &WorkRecord,
    [first, last]: &[Edge; 2],
    pace: &Pace,
) -> Vec<(&'static str, Figure)> {
    let modelled = |value: f64, unit| Figure::new(value, unit, Provenance::Modelled, Method::Simulation);
    let operations = record.intervals.iter().map(|point| point.operations).sum::<u64>().max(1) as f64;
    let (used, passed) = (last.used.since(&first.used), last.passed.since(&first.passed));
    let window_ps = (last.at - first.at).max(1) as f64 * f64::from(job.threads);
    let cpu_ns = used.cpu as f64 / 1e3 / operations;
    // A thread that waits for memory keeps its CPU.
    let stalled = if job.index.in_pmem() { used.device } else { 0 };
    let [computing, waiting, others] = pace.shares;
    let mut all = vec![
        ("cpu_ns_per_op", modelled(cpu_ns, Unit::Nanoseconds)),
        ("cycles_per_op", modelled(cpu_ns * twin.data.host.clock_hz.value / 1e9, Unit::CyclesPerOp)),
        ("cpu_utilisation", modelled((used.cpu + stalled) as f64 / window_ps, Unit::Ratio)),
        ("cpu_share", modelled(computing, Unit::Ratio)),
        ("device_wait_share", modelled(waiting, Unit::Ratio)),
        ("lock_wait_share", modelled(others, Unit::Ratio)),
        ("spread_of_the_pieces", modelled(pace.spread, Unit::Ratio)),
    ];
    if job.index.in_pmem() {
        let [touched, missed] = [0, 1].map(|way| (last.lines[way] - first.lines[way]) as f64);
        let per = |count: f64| modelled(count / operations, Unit::PerOp);
        all.extend([
            ("lines_read_per_op", per(passed.read_bytes as f64 / 64.0)),
            ("lines_written_per_op", per(passed.written_bytes as f64 / 64.0)),
            ("waited_fences_per_op", per(passed.fences as f64)),
            ("cpu_cache_hit_ratio", modelled(1.0 - missed / touched.max(1.0), Unit::Ratio)),
            ("memory_wait_ns_per_op", modelled(passed.waited as f64 / 1e3 / operations, Unit::Nanoseconds)),
            ("memory_crowding_ratio", modelled(pace.crowding, Unit::Ratio)),
        ]);
    }
    all
}

fn note((job, twin): (&IndexJob, &OnTwin), pace: &Pace) -> Reason {
    let [computing, waiting, others] = pace.shares.map(|share| (share * 100.0).round());
    let evidence = format!(
        "the index ran in virtual time on {} with the host {}, bound by {} (of its {} threads' time {computing} % were CPU, \
         {waiting} % waits for {}, {others} % waits for each other); throughput is expected within {:.0} %",
        twin.data.label,
        twin.data.host.name,
        pace.bound_by,
        job.threads,
        if job.index.in_pmem() { "memory" } else { "pages" },
        pace.width * 100.0,
    );
    reason::modelled(None, evidence, BTreeMap::from([("band".to_owned(), pace.width)]))
}
