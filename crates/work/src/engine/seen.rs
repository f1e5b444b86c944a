//! What was seen of single rows and scans, as a record.

use std::time::{Duration, Instant};

use assay_instruments::{
    distribution::distribution,
    tally::Sum,
    work::{work_run, work_verdict},
};
use assay_record::{
    FORMAT_VERSION, Figure, Provenance, Unit, WorkCheck, WorkKind, WorkPart, WorkRecord, Workload as Work,
};
use serde_json::json;

use super::{
    Figures, counted, derived,
    job::EngineJob,
    shape::{AccessKind, RowsShape},
    subject, targets,
};

pub(super) struct RowsWindow {
    pub window: assay_instruments::work::WorkWindow,
    pub reads: Sum,
    pub changes: Sum,
    pub bytes: u64,
    pub conflicts: u64,
}

pub(super) fn record(
    job: &EngineJob,
    (logs, emulated): (usize, [bool; 2]),
    seen: RowsWindow,
    checks: Vec<WorkCheck>,
    (began, prepared): (Instant, Duration),
    shape: RowsShape,
) -> WorkRecord {
    let measured_s = seen.window.measured_s;
    let done = seen.reads.count() + seen.changes.count();
    let mut figures = Figures::new();
    let mut set = |name: &str, figure: Figure| figures.insert(name.to_owned(), figure);
    set("transactions_per_s", counted(done as f64 / measured_s, Unit::OpsPerSecond));
    set("conflicts_per_transaction", derived(seen.conflicts as f64 / done.max(1) as f64, Unit::PerOp));
    if shape.kind == AccessKind::Scans {
        set("bandwidth_bytes_per_s", counted(seen.bytes as f64 / measured_s, Unit::BytesPerSecond));
    }
    let per = |bytes: f64| derived(bytes / done.max(1) as f64, Unit::PerOp);
    set("device_read_bytes_per_transaction", per(seen.window.devices.iter().map(|one| one.read_bytes.value).sum()));
    let written: f64 = seen.window.devices.iter().map(|one| one.written_bytes.value).sum();
    set("device_written_bytes_per_transaction", per(written));
    let changed = seen.changes.count() * (shape.value_bytes as u64 + 8);
    if changed > 0 {
        set("write_amplification", derived(written / changed as f64, Unit::Ratio));
    }
    set("cycles_per_transaction", derived(seen.window.cpu.cycles_per_op.value, Unit::CyclesPerOp));
    let kinds = if shape.kind == AccessKind::Scans { ["scan", "change"] } else { ["read", "change"] };
    let parts: Vec<WorkPart> = kinds
        .into_iter()
        .zip([&seen.reads, &seen.changes])
        .filter(|(_, sum)| sum.count() > 0)
        .map(|(name, sum)| part(name, sum, measured_s))
        .collect();
    let targets = targets(job, emulated);
    WorkRecord {
        version: FORMAT_VERSION,
        kind: WorkKind::Engine,
        run: work_run(began, prepared),
        subject: subject(job, logs),
        workload: workload(job),
        durability: job.durability.name().to_owned(),
        environment: seen.window.environment,
        measured_s,
        figures,
        intervals: Vec::new(),
        cpu: Some(seen.window.cpu),
        driver_cpu: None,
        devices: seen.window.devices,
        not_measured: seen.window.not_measured,
        verdict: work_verdict(seen.window.reasons, &checks, &parts, &targets),
        targets,
        parts,
        checks,
    }
}

fn part(name: &str, sum: &Sum, measured_s: f64) -> WorkPart {
    let per_s = counted(sum.count() as f64 / measured_s, Unit::OpsPerSecond);
    WorkPart {
        name: name.to_owned(),
        succeeded: sum.count(),
        empty: 0,
        failed: 0,
        service: Some(distribution(sum, Provenance::Measured)),
        response: None,
        overdue: None,
        figures: Figures::from([("transactions_per_s".to_owned(), per_s)]),
        facts: Default::default(),
    }
}

fn workload(job: &EngineJob) -> Work {
    let document = serde_json::to_value(&job.workload).unwrap_or_default();
    let mut parameters: std::collections::BTreeMap<String, serde_json::Value> =
        document.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
    parameters.remove("kind");
    parameters.insert("threads".to_owned(), json!(job.threads));
    parameters.insert("tasks".to_owned(), json!(job.tasks));
    parameters.insert("warmup_s".to_owned(), json!(job.warmup_s));
    parameters.insert("seed".to_owned(), json!(job.seed));
    Work { name: job.workload.name().to_owned(), parameters }
}
