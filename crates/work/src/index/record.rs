//! From what was seen to the record.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use assay_index::{About, Moved};
use assay_instruments::{
    distribution::distribution,
    tally::Sum,
    work::{work_run, work_verdict},
};
use assay_record::{
    FORMAT_VERSION, Figure, Method, NotMeasured, Provenance, Reason, ReasonCode, Severity, Subject, Unit, WorkCheck,
    WorkKind, WorkPart, WorkRecord, WorkTarget, Workload,
};
use serde_json::{Value, json};

use super::{
    count::Cost,
    load::Loaded,
    outcome::{Counts, ThreadOutcome},
    seconds,
    workers::Worked,
};
use crate::index::{
    job::{IndexJob, Window},
    workload::{Entries, Operation, Picker, Stream},
};

/// Steps by which the generator's own cost is found.
const GENERATOR_STEPS: u64 = 200_000;

/// What was seen around the window.
pub(super) struct Seen {
    pub(super) began: Instant,
    pub(super) prepared: Duration,
    pub(super) loaded: Option<Loaded>,
    pub(super) recovery: Duration,
    pub(super) reopened: Option<Duration>,
    pub(super) used_before: u64,
    pub(super) used_after: u64,
    pub(super) anatomy: Vec<(&'static str, f64)>,
    pub(super) checks: Vec<WorkCheck>,
    pub(super) counted: Option<[Cost; Operation::COUNT]>,
}

impl Seen {
    pub(super) fn new(began: Instant, loaded: Option<Loaded>, recovery: Duration) -> Self {
        Self {
            began,
            prepared: Duration::ZERO,
            loaded,
            recovery,
            reopened: None,
            used_before: 0,
            used_after: 0,
            anatomy: Vec::new(),
            checks: Vec::new(),
            counted: None,
        }
    }
}

type Figures = BTreeMap<String, Figure>;

/// The record of a run.
pub(super) fn record(job: &IndexJob, about: &About, seen: Seen, worked: Worked) -> WorkRecord {
    let provenance = provenance(about);
    let parts = parts(job, &seen, &worked, provenance);
    let mut checks = effects(&worked);
    checks.extend(seen.checks.iter().cloned());
    let targets = vec![target(job, about)];
    let mut reasons = worked.window.reasons.clone();
    reasons.extend(worked.interrupted.then(interrupted));
    let verdict = work_verdict(reasons, &checks, &parts, &targets);
    WorkRecord {
        version: FORMAT_VERSION,
        kind: WorkKind::Index,
        run: work_run(seen.began, seen.prepared),
        subject: Subject {
            name: job.index.name().to_owned(),
            version: about.version.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
            settings: settings(job, about),
        },
        workload: workload(job),
        targets,
        durability: about.durability.to_owned(),
        environment: worked.window.environment.clone(),
        measured_s: measured_s(&worked),
        figures: figures(job, &seen, &worked, provenance),
        parts,
        intervals: worked.intervals.clone(),
        cpu: Some(worked.window.cpu.clone()),
        driver_cpu: None,
        devices: worked.window.devices.clone(),
        checks,
        not_measured: not_measured(&seen, &worked),
        verdict,
    }
}

/// What the figures are worth.
pub(super) fn provenance(about: &About) -> Provenance {
    if about.emulated { Provenance::Emulated } else { Provenance::Measured }
}

fn measured_s(worked: &Worked) -> f64 {
    worked.outcomes.iter().map(|outcome| outcome.worked_s).fold(0.0, f64::max)
}

fn target(job: &IndexJob, about: &About) -> WorkTarget {
    if let Some(twin) = &job.twin {
        return WorkTarget { role: "data".to_owned(), target: twin.data.label.clone(), emulated: false };
    }
    let place = job.pool_file.as_ref().unwrap_or(&job.target).display();
    let name = match &job.as_if {
        Some(as_if) => format!("{place}, as slow as {}", as_if.twin),
        None => place.to_string(),
    };
    WorkTarget { role: "data".to_owned(), target: name, emulated: about.emulated }
}

fn settings(job: &IndexJob, about: &About) -> BTreeMap<String, Value> {
    let mut settings = about.settings.clone();
    settings.extend(job.options.clone());
    if let Some(as_if) = &job.as_if {
        settings.insert("as_if".to_owned(), json!(as_if));
    }
    settings
}

fn workload(job: &IndexJob) -> Workload {
    let mut parameters = BTreeMap::from([
        ("keys", json!(job.keys)),
        ("threads", json!(job.threads)),
        ("distribution", json!(job.distribution().describe())),
        ("key_bytes", json!([job.sizes.key.least, job.sizes.key.most])),
        ("value_bytes", json!([job.sizes.value.least, job.sizes.value.most])),
        ("warmup_s", json!(job.warmup_s)),
        ("pinned", json!(job.pin)),
        ("timed_one_in", json!(job.timed_one_in())),
        ("batch", json!(job.batch)),
        ("split", json!(job.split)),
        ("seed", json!(job.seed)),
    ]);
    if job.workload.scans() {
        parameters.insert("scan_length", json!(job.scan_length));
    }
    match job.window {
        Window::Seconds(seconds) => parameters.insert("window_s", json!(seconds)),
        Window::Operations(operations) => parameters.insert("window_operations", json!(operations)),
    };
    let parameters = parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Workload { name: job.workload.name().to_owned(), parameters }
}

fn figures(job: &IndexJob, seen: &Seen, worked: &Worked, provenance: Provenance) -> Figures {
    let mut all = Figures::new();
    let mut put = |name: &str, value: f64, unit: Unit, method: Method| {
        all.insert(name.to_owned(), Figure::new(value, unit, provenance, method));
    };
    let rate = |outcome: &ThreadOutcome| outcome.operations() as f64 / outcome.worked_s.max(1e-9);
    let done = |outcome: &ThreadOutcome| outcome.counts.iter().map(|counts| counts.succeeded).sum::<u64>() as f64;
    put("ops_per_s", worked.outcomes.iter().map(rate).sum(), Unit::OpsPerSecond, Method::Loop);
    let succeeded = worked.outcomes.iter().map(|outcome| done(outcome) / outcome.worked_s.max(1e-9)).sum();
    put("succeeded_per_s", succeeded, Unit::OpsPerSecond, Method::Loop);
    put(
        "cycles_per_op",
        worked.window.cpu.cycles_per_op.value,
        Unit::CyclesPerOp,
        worked.window.cpu.cycles_per_op.method,
    );
    let operations: u64 = worked.outcomes.iter().map(ThreadOutcome::operations).sum();
    let cpu_s = worked.window.cpu.user_s.value + worked.window.cpu.kernel_s.value;
    put("cpu_ns_per_op", cpu_s * 1e9 / operations.max(1) as f64, Unit::Nanoseconds, Method::Rusage);
    put(
        "cpu_utilisation",
        cpu_s / (worked.window.measured_s * f64::from(job.threads)).max(1e-9),
        Unit::Ratio,
        Method::Derived,
    );
    if let Some(loaded) = seen.loaded {
        put("load_ops_per_s", loaded.keys as f64 / seconds(loaded.took), Unit::OpsPerSecond, Method::Loop);
        put("load_s", seconds(loaded.took), Unit::Seconds, Method::Loop);
    }
    put("recovery_s", seconds(seen.recovery), Unit::Seconds, Method::Loop);
    if let Some(reopened) = seen.reopened {
        put("recovery_after_run_s", seconds(reopened), Unit::Seconds, Method::Loop);
    }
    put("used_bytes", seen.used_after as f64, Unit::Bytes, Method::KernelAccounting);
    let payload = job.keys as f64 * job.sizes.entry_bytes();
    put("space_amplification", seen.used_before as f64 / payload, Unit::Ratio, Method::Derived);
    put("generator_ns_per_op", generator_ns(job), Unit::Nanoseconds, Method::Loop);
    for &(name, value) in &seen.anatomy {
        put(name, value, unit_of(name), Method::Derived);
    }
    if let Some(counted) = &seen.counted {
        all.extend(per_operation(counted.iter().fold(Cost::default(), |sum, cost| sum.plus(cost)), provenance));
    }
    moved(worked, operations).into_iter().for_each(|(name, figure)| _ = all.insert(name.to_owned(), figure));
    all
}

/// Pages that the window moved between pool and drive, by operation, and how many requests were in flight.
fn moved(worked: &Worked, operations: u64) -> Vec<(&'static str, Figure)> {
    let each = worked.outcomes.iter().map(|outcome| outcome.moved);
    let Some(moved) = each.sum::<Option<Moved>>() else { return Vec::new() };
    let figure = |value, unit| Figure::new(value, unit, Provenance::Measured, Method::Loop);
    let per = |count: u64| figure(count as f64 / operations.max(1) as f64, Unit::PerOp);
    let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
    let asked = moved.hits + moved.read;
    vec![
        ("reads_per_op", per(moved.read)),
        ("writes_per_op", per(moved.written)),
        ("pool_hit_ratio", figure(share(moved.hits, asked), Unit::Ratio)),
        ("mean_depth_of_a_thread_count", figure(share(moved.depth_sum, moved.requests), Unit::Count)),
    ]
}

/// Names end in their unit.
fn unit_of(name: &str) -> Unit {
    match name.rsplit('_').next() {
        Some("bytes") => Unit::Bytes,
        Some("ratio") => Unit::Ratio,
        Some("s") => Unit::Seconds,
        _ => Unit::Count,
    }
}

impl Cost {
    fn plus(self, other: &Self) -> Self {
        Self {
            operations: self.operations + other.operations,
            flushes: self.flushes + other.flushes,
            fences: self.fences + other.fences,
            blocks_read: self.blocks_read + other.blocks_read,
            blocks_written: self.blocks_written + other.blocks_written,
        }
    }
}

/// Flushes and fences are counted; blocks are those that a module would have seen behind caches of 8 MiB.
fn per_operation(cost: Cost, provenance: Provenance) -> Figures {
    if cost.operations == 0 {
        return Figures::new();
    }
    let per = |count: u64, provenance, method| {
        Figure::new(count as f64 / cost.operations as f64, Unit::PerOp, provenance, method)
    };
    BTreeMap::from([
        ("flushes_per_op".to_owned(), per(cost.flushes, provenance, Method::Loop)),
        ("fences_per_op".to_owned(), per(cost.fences, provenance, Method::Loop)),
        ("blocks_read_per_op".to_owned(), per(cost.blocks_read, Provenance::Modelled, Method::Simulation)),
        ("blocks_written_per_op".to_owned(), per(cost.blocks_written, Provenance::Modelled, Method::Simulation)),
    ])
}

fn parts(job: &IndexJob, seen: &Seen, worked: &Worked, provenance: Provenance) -> Vec<WorkPart> {
    let mix = job.workload.mix();
    let one = |operation: Operation| {
        let counts = total(worked, operation);
        let service = worked.service.iter().find(|(which, _)| *which == operation).map(|(_, sum)| sum);
        let mut figures = Figures::new();
        let all = counts.succeeded + counts.empty + counts.failed;
        let rate = all as f64 / measured_s(worked).max(1e-9);
        figures.insert("ops_per_s".to_owned(), Figure::new(rate, Unit::OpsPerSecond, provenance, Method::Loop));
        let share = service.map_or(0, Sum::count) as f64 / all.max(1) as f64;
        figures.insert("timed_share".to_owned(), Figure::new(share, Unit::Ratio, provenance, Method::Loop));
        if let Some(counted) = &seen.counted {
            figures.extend(per_operation(counted[operation as usize], provenance));
        }
        WorkPart {
            name: operation.name().to_owned(),
            succeeded: counts.succeeded,
            empty: counts.empty,
            failed: counts.failed,
            service: service.map(|sum| distribution(sum, provenance)),
            response: None,
            overdue: None,
            figures,
            facts: BTreeMap::new(),
        }
    };
    Operation::ALL.into_iter().filter(|&operation| mix.has(operation)).map(one).collect()
}

fn total(worked: &Worked, operation: Operation) -> Counts {
    worked.outcomes.iter().map(|outcome| outcome.counts[operation as usize]).fold(Counts::default(), |sum, one| {
        Counts {
            succeeded: sum.succeeded + one.succeeded,
            empty: sum.empty + one.empty,
            failed: sum.failed + one.failed,
        }
    })
}

/// Completed is not succeeded: every operation must have had the effect that the ids say it has.
fn effects(worked: &Worked) -> Vec<WorkCheck> {
    let check = |name: &str, passed: bool, evidence: String| WorkCheck { name: name.to_owned(), passed, evidence };
    let (mut all, mut without) = (0, 0);
    for operation in Operation::ALL {
        let counts = total(worked, operation);
        all += counts.succeeded + counts.empty;
        without += if operation == Operation::Missing { counts.succeeded } else { counts.empty };
    }
    let looked_at: u64 = worked.outcomes.iter().map(|outcome| outcome.looked_at).sum();
    let wrong: u64 = worked.outcomes.iter().map(|outcome| outcome.wrong_values).sum();
    let mut checks = vec![
        check("effects", without == 0, format!("{without} of {all} operations had not the effect that they must have")),
        check("values", wrong == 0, format!("{wrong} of {looked_at} values that were looked at were not their key's")),
    ];
    let failures: Vec<&str> = worked.outcomes.iter().filter_map(|outcome| outcome.failure.as_deref()).collect();
    if let Some(first) = failures.first() {
        let evidence = format!("operations of {} threads failed, the first because: {first}", failures.len());
        checks.push(check("failures", false, evidence));
    }
    checks
}

fn interrupted() -> Reason {
    Reason {
        code: ReasonCode::Interrupted,
        severity: Severity::Suspect,
        class: None,
        evidence: "the window was ended from outside".to_owned(),
        fix: "run it again".to_owned(),
        numbers: BTreeMap::new(),
    }
}

fn not_measured(seen: &Seen, worked: &Worked) -> Vec<NotMeasured> {
    let uncounted = || NotMeasured {
        what: "flushes, fences and media blocks per operation".to_owned(),
        reason: "no pass on a counting medium was made".to_owned(),
        fix: "use an index in persistent memory, and let it count operations".to_owned(),
    };
    let uncounted = seen.counted.is_none().then(uncounted);
    uncounted.into_iter().chain(worked.window.not_measured.iter().cloned()).collect()
}

/// What it costs to pick an operation and to make its key and value, without an index; it is part of every operation.
fn generator_ns(job: &IndexJob) -> f64 {
    let territory = job.territory(0);
    let Ok(picker) = Picker::new(job.distribution(), territory.picked()) else { return 0.0 };
    let mut stream = Stream::new(job.workload.mix(), picker, territory, job.seed);
    let entries = Entries::new(job.sizes, job.seed);
    let (mut key, mut value) = (vec![0; job.sizes.key.most.max(8)], vec![0; job.sizes.value.most.max(8)]);
    let start = Instant::now();
    for number in 0..GENERATOR_STEPS {
        let Some(step) = stream.step() else { break };
        std::hint::black_box(entries.key(step.id, &mut key));
        if matches!(step.operation, Operation::Insert | Operation::Update | Operation::ReadModifyWrite) {
            std::hint::black_box(entries.value(step.id, number as u32, &mut value));
        }
    }
    start.elapsed().as_nanos() as f64 / GENERATOR_STEPS as f64
}
