//! The record of a run, and the verdict on it.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use assay_instruments::{
    distribution::distribution,
    steady::{Limits, Steadiness, assess, throughput},
    work::{WorkWindow, work_run, work_verdict},
};
use assay_record::{
    FORMAT_VERSION, Figure, Method, NotMeasured, Provenance, Reason, ReasonCode, Severity, Unit, WorkCheck, WorkKind,
    WorkPart, WorkRecord, WorkTarget, Workload,
};

use crate::{
    about::{About, Ceiling},
    driver::{Driven, KindSum},
    input::Mix,
    kind::Kind,
    order::{Drive, Order, Pace},
    tally::{LINES, NAMED_PAYMENTS, ORDERS, REMOTE_LINES, REMOTE_PAYMENTS, SKIPPED_DELIVERIES},
};

/// Largest share of the server's CPU that the driver may use beside it.
const DRIVER_SHARE: f64 = 0.2;
/// Least share of an asked rate that counts as reached.
const RATE_REACHED: f64 = 0.95;
/// Standard errors by which a random share may lie outside of the specification's bounds.
const SIGMAS: f64 = 4.0;

pub(crate) struct Parts<'a> {
    pub(crate) order: &'a Order,
    pub(crate) about: About,
    pub(crate) began: Instant,
    pub(crate) prepared: Duration,
    pub(crate) load: Option<Duration>,
    pub(crate) ceiling: Option<Ceiling>,
    pub(crate) driven: Option<Driven>,
    /// The machine, where nothing was driven.
    pub(crate) window: Option<WorkWindow>,
    pub(crate) checks: Vec<WorkCheck>,
}

type Figures = BTreeMap<String, Figure>;

fn measured(value: f64, unit: Unit, method: Method) -> Figure {
    Figure::new(value, unit, Provenance::Measured, method)
}

fn counted(value: f64, unit: Unit) -> Figure {
    measured(value, unit, Method::Loop)
}

fn derived(value: f64, unit: Unit) -> Figure {
    measured(value, unit, Method::Derived)
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

pub(crate) fn record(parts: Parts<'_>) -> WorkRecord {
    let Parts { order, about, began, prepared, load, ceiling, driven, window, checks } = parts;
    let mut figures = Figures::new();
    if let Some(load) = load {
        figures.insert("load_s".to_owned(), counted(load.as_secs_f64(), Unit::Seconds));
    }
    let mut reasons = Vec::new();
    let mut not_measured = Vec::new();
    let mut work = Vec::new();
    let mut intervals = Vec::new();
    let (mut server, mut interrupted) = (None, false);
    let window = match (driven, window) {
        (Some(driven), _) => {
            if let Some(asked) = &order.drive {
                figures.extend(throughput_figures(&driven, asked, ceiling, &about));
                reasons.extend(findings(&driven, asked, &about));
                not_measured.extend(missing(&driven, &about));
            }
            work = Kind::ALL.iter().zip(&driven.kinds).map(|(kind, sum)| part(*kind, sum, &driven)).collect();
            intervals = driven.intervals;
            (server, interrupted) = (driven.server, driven.interrupted);
            Some(driven.window)
        }
        (None, window) => window,
    };
    let targets = targets(order);
    if let Some(window) = &window {
        take_over(window, about.in_process || server.is_some(), &mut reasons, &mut not_measured);
    }
    if interrupted {
        reasons.push(reason(
            ReasonCode::Interrupted,
            Severity::Suspect,
            "it was interrupted".to_owned(),
            "run it again",
        ));
    }
    let verdict = work_verdict(reasons, &checks, &work, &targets);
    let (cpu, driver_cpu) = match (&window, server) {
        (Some(window), Some(server)) => (Some(server.cpu), Some(window.cpu.clone())),
        (Some(window), None) if about.in_process => (Some(window.cpu.clone()), None),
        (Some(window), None) => (None, Some(window.cpu.clone())),
        (None, _) => (None, None),
    };
    WorkRecord {
        version: FORMAT_VERSION,
        kind: WorkKind::Database,
        run: work_run(began, prepared),
        subject: about.subject,
        workload: workload(order),
        targets,
        durability: about.durability,
        environment: window.as_ref().map(|window| window.environment.clone()).unwrap_or_default(),
        measured_s: if order.drive.is_some() { window.as_ref().map_or(0.0, |window| window.measured_s) } else { 0.0 },
        figures,
        parts: work,
        intervals,
        cpu,
        driver_cpu,
        devices: window.map(|window| window.devices).unwrap_or_default(),
        checks,
        not_measured,
        verdict,
    }
}

/// Takes over what the window found. A server's bytes are not this process's, nor is its CPU time. Where its own account is
/// known (`told`) the window was judged with it; where not, nobody can tell whose they were.
fn take_over(window: &WorkWindow, told: bool, reasons: &mut Vec<Reason>, not_measured: &mut Vec<NotMeasured>) {
    if !told {
        not_measured.push(NotMeasured {
            what: "CPU time and device bytes of others".to_owned(),
            reason: "the server's processes are not known, so what it used itself cannot be told from others'"
                .to_owned(),
            fix: "let Assay start the server on this machine".to_owned(),
        });
    }
    let foreign = |reason: &&Reason| {
        matches!(reason.code, ReasonCode::ForeignLoad | ReasonCode::DeviceBytesDiffer | ReasonCode::CpuTaken)
    };
    not_measured.extend(window.not_measured.iter().filter(|_| told).cloned());
    reasons.extend(window.reasons.iter().filter(|reason| told || !foreign(reason)).cloned());
}

fn targets(order: &Order) -> Vec<WorkTarget> {
    let sites = order.sites.iter();
    sites
        .map(|site| WorkTarget { role: site.role.clone(), target: site.target.clone(), emulated: site.emulated })
        .collect()
}

fn workload(order: &Order) -> Workload {
    let mut parameters = BTreeMap::new();
    let mut set = |name: &str, value: serde_json::Value| parameters.insert(name.to_owned(), value);
    set("warehouses", order.scale.warehouses.into());
    set("items", order.scale.items.into());
    set("customers_per_district", order.scale.customers.into());
    set("seed", order.seed.into());
    set("load_seed", order.load_seed.into());
    if let Some(drive) = &order.drive {
        set("terminals", drive.terminals.into());
        set("terminals_per_thread", drive.per_thread.into());
        set("ramp_s", drive.ramp_s.into());
        set("measure_s", drive.measure_s.into());
        for (name, value) in [
            ("pace", serde_json::to_value(drive.pace)),
            ("choice", serde_json::to_value(drive.choice)),
            ("mix", serde_json::to_value(drive.mix)),
        ] {
            set(name, value.unwrap_or_default());
        }
    }
    let name = if order.drive.is_some() { "tpcc" } else { "tpcc-load" };
    Workload { name: name.to_owned(), parameters }
}

fn throughput_figures(driven: &Driven, asked: &Drive, ceiling: Option<Ceiling>, about: &About) -> Figures {
    let seconds = driven.window.measured_s;
    let committed: u64 = driven.kinds.iter().map(|kind| kind.committed).sum();
    let done: u64 = driven.kinds.iter().map(|kind| kind.committed + kind.rolled_back).sum();
    let conflicts: u64 = driven.kinds.iter().map(|kind| kind.conflicts).sum();
    let orders = driven.kinds[Kind::NewOrder as usize].committed as f64;
    let audit = &driven.audit;
    let mut figures = Figures::new();
    let mut set = |name: &str, figure: Figure| figures.insert(name.to_owned(), figure);
    set("transactions_per_s", counted(committed as f64 / seconds, Unit::OpsPerSecond));
    set("new_orders_per_s", counted(orders / seconds, Unit::OpsPerSecond));
    set("new_orders_per_min", counted(orders / seconds * 60.0, Unit::Count));
    set("conflicts_per_transaction", derived(ratio(conflicts, done), Unit::PerOp));
    set("warehouses_touched", counted(f64::from(driven.touched), Unit::Count));
    set("rollback_share", derived(rollback_share(driven), Unit::Ratio));
    set("lines_per_order", derived(ratio(audit[LINES], audit[ORDERS]), Unit::Count));
    set("remote_line_share", derived(ratio(audit[REMOTE_LINES], audit[LINES]), Unit::Ratio));
    let payments = done_of(driven, Kind::Payment);
    set("remote_payment_share", derived(ratio(audit[REMOTE_PAYMENTS], payments), Unit::Ratio));
    set("named_payment_share", derived(ratio(audit[NAMED_PAYMENTS], payments), Unit::Ratio));
    set("skipped_deliveries", counted(audit[SKIPPED_DELIVERIES] as f64, Unit::Count));
    if let Pace::Rate { per_s, .. } = asked.pace {
        set("asked_per_s", counted(per_s, Unit::OpsPerSecond));
    }
    if let Some(lateness) = driven.lateness.as_ref().filter(|lateness| lateness.count() > 0) {
        set("lateness_p99_ns", counted(lateness.percentile(99.0) as f64, Unit::Nanoseconds));
    }
    if let Some(ceiling) = ceiling {
        set("driver_ceiling_per_s", counted(ceiling.per_s, Unit::OpsPerSecond));
    }
    figures.extend(cpu_figures(driven, ceiling, about, done));
    figures
}

fn cpu_figures(driven: &Driven, ceiling: Option<Ceiling>, about: &About, done: u64) -> Figures {
    let own = &driven.window.cpu;
    let own_s = own.user_s.value + own.kernel_s.value;
    let mut figures = Figures::new();
    let mut set = |name: &str, figure: Figure| figures.insert(name.to_owned(), figure);
    match (&driven.server, ceiling) {
        (Some(server), _) => {
            set("driver_cpu_s", measured(own_s, Unit::Seconds, Method::Rusage));
            set("server_cpu_s", measured(server.cpu_s(), Unit::Seconds, Method::KernelAccounting));
            set("driver_cpu_ratio", derived(own_s / server.cpu_s().max(1e-9), Unit::Ratio));
            let moved = [("process_read_bytes", server.read_bytes), ("process_written_bytes", server.written_bytes)];
            for (name, bytes) in moved {
                if let Some(bytes) = bytes {
                    set(name, measured(bytes as f64, Unit::Bytes, Method::KernelAccounting));
                }
            }
        }
        (None, Some(ceiling)) if about.in_process => {
            let share = ceiling.cpu_s * done as f64 / own_s.max(1e-9);
            set("driver_cpu_ratio", derived(share.min(1.0), Unit::Ratio));
        }
        _ => {}
    }
    let devices = &driven.window.devices;
    if !devices.is_empty() {
        let sum = |bytes: fn(&assay_record::DeviceCounters) -> f64| devices.iter().map(bytes).sum::<f64>();
        let figure = |value| measured(value, Unit::Bytes, Method::KernelAccounting);
        set("device_read_bytes", figure(sum(|device| device.read_bytes.value)));
        set("device_written_bytes", figure(sum(|device| device.written_bytes.value)));
        let busiest = devices.iter().map(|device| device.utilisation.value).fold(0.0, f64::max);
        set("device_utilisation", measured(busiest, Unit::Ratio, Method::KernelAccounting));
    }
    if let (true, Some(io)) = (about.in_process, driven.window.io) {
        set("process_read_bytes", measured(io.read as f64, Unit::Bytes, Method::KernelAccounting));
        set("process_written_bytes", measured(io.written as f64, Unit::Bytes, Method::KernelAccounting));
    }
    figures
}

fn done_of(driven: &Driven, kind: Kind) -> u64 {
    let sum = &driven.kinds[kind as usize];
    sum.committed + sum.rolled_back
}

fn rollback_share(driven: &Driven) -> f64 {
    ratio(driven.kinds[Kind::NewOrder as usize].rolled_back, done_of(driven, Kind::NewOrder))
}

fn part(kind: Kind, sum: &KindSum, driven: &Driven) -> WorkPart {
    let mut figures = Figures::new();
    let per_s = sum.committed as f64 / driven.window.measured_s;
    figures.insert("transactions_per_s".to_owned(), counted(per_s, Unit::OpsPerSecond));
    figures.insert("conflicts".to_owned(), counted(sum.conflicts as f64, Unit::Count));
    let all: u64 = Kind::ALL.iter().map(|kind| done_of(driven, *kind)).sum();
    figures.insert("mix_share".to_owned(), derived(ratio(done_of(driven, kind), all), Unit::Ratio));
    WorkPart {
        name: kind.name().to_owned(),
        succeeded: sum.committed,
        empty: sum.rolled_back,
        failed: sum.failed,
        service: Some(distribution(&sum.service, Provenance::Measured)),
        response: sum.response.as_ref().map(|response| distribution(response, Provenance::Measured)),
        overdue: sum.overdue,
        figures,
        facts: BTreeMap::new(),
    }
}

/// The audit of the mix (clause 9.2.2.5). Bounds are widened by what chance does to a window of this length; none where
/// the mix is another one, or there is only one warehouse to be remote from.
pub(crate) fn audit(driven: &Driven, asked: &Drive) -> Option<WorkCheck> {
    if asked.mix != Mix::default() || driven.interrupted {
        return None;
    }
    let audit = &driven.audit;
    let payments = done_of(driven, Kind::Payment);
    let mut wrong = Vec::new();
    let mut expect = |what: &str, seen: f64, expected: f64, slack: f64, count: u64| {
        let error = (expected * (1.0 - expected) / count.max(1) as f64).sqrt();
        if (seen - expected).abs() > slack + SIGMAS * error {
            wrong.push(format!("{what} {:.2} % where {:.0} % are due", seen * 100.0, expected * 100.0));
        }
    };
    expect("rolled back", rollback_share(driven), 0.01, 0.001, audit[ORDERS]);
    expect("customers named", ratio(audit[NAMED_PAYMENTS], payments), 0.6, 0.03, payments);
    if driven.touched > 1 {
        expect("remote lines", ratio(audit[REMOTE_LINES], audit[LINES]), 0.01, 0.0005, audit[LINES]);
        expect("remote payments", ratio(audit[REMOTE_PAYMENTS], payments), 0.15, 0.01, payments);
    }
    let lines = ratio(audit[LINES], audit[ORDERS]);
    // Uniform over 5 to 15: standard deviation 3.16.
    if (lines - 10.0).abs() > 0.5 + SIGMAS * 3.16 / (audit[ORDERS].max(1) as f64).sqrt() {
        wrong.push(format!("{lines:.2} lines an order where 10 are due"));
    }
    let evidence = if wrong.is_empty() {
        format!("{} orders of {lines:.2} lines and {payments} payments are as clause 9.2.2.5 wants them", audit[ORDERS])
    } else {
        wrong.join("; ")
    };
    Some(WorkCheck { name: "mix-audit".to_owned(), passed: wrong.is_empty(), evidence })
}

fn reason(code: ReasonCode, severity: Severity, evidence: String, fix: &str) -> Reason {
    Reason { code, severity, class: None, evidence, fix: fix.to_owned(), numbers: BTreeMap::new() }
}

fn findings(driven: &Driven, asked: &Drive, about: &About) -> Vec<Reason> {
    let found = [rate(driven, asked), driver_bound(driven, asked, about), steadiness(driven)];
    found.into_iter().flatten().collect()
}

fn rate(driven: &Driven, asked: &Drive) -> Option<Reason> {
    let Pace::Rate { per_s, .. } = asked.pace else { return None };
    let done: u64 = Kind::ALL.iter().map(|kind| done_of(driven, *kind)).sum();
    let seen = done as f64 / driven.window.measured_s;
    // Chance moves the count of a short window.
    let slack = SIGMAS * (per_s / driven.window.measured_s).sqrt();
    (seen < RATE_REACHED * per_s - slack).then(|| {
        let evidence = format!("{seen:.1} transactions/s were done of {per_s:.1} that were asked for");
        reason(ReasonCode::RateNotReached, Severity::Suspect, evidence, "ask for a lower rate, or use more terminals")
    })
}

/// Where a rate was kept, or terminals think, the schedule sets the pace: at a low one most of the driver's CPU is what
/// the machine takes to wake a thread up.
fn driver_bound(driven: &Driven, asked: &Drive, about: &About) -> Option<Reason> {
    if asked.pace != Pace::Closed && rate(driven, asked).is_none() {
        return None;
    }
    let server = driven.server.as_ref().filter(|_| !about.in_process)?;
    let own = driven.window.cpu.user_s.value + driven.window.cpu.kernel_s.value;
    let ratio = own / server.cpu_s().max(1e-9);
    (ratio > DRIVER_SHARE && own > 0.1).then(|| {
        let evidence = format!("the driver used {:.0} % of the CPU that the server used beside it", ratio * 100.0);
        let fix = "use a release build; where it stays, run the driver on another machine by a connection string";
        reason(ReasonCode::GeneratorBound, Severity::Suspect, evidence, fix)
    })
}

fn steadiness(driven: &Driven) -> Option<Reason> {
    let (code, evidence) = match assess(&throughput(&driven.intervals), Limits::THROUGHPUT) {
        Steadiness::Steady => return None,
        Steadiness::NeverSteady { spread, drift } => {
            let (spread, drift) = (spread * 100.0, drift * 100.0);
            let text = format!(
                "throughput never settled: fifths of the window differ by {spread:.0} %, it moved {drift:.0} %"
            );
            (ReasonCode::NotSteady, text)
        }
        Steadiness::Rose { at_s, before, after } => {
            let text = format!("throughput rose from {before:.0} to {after:.0} transactions/s at {at_s:.0} s");
            (ReasonCode::NotSteady, text)
        }
        Steadiness::Stalled { at_s, for_s, .. } => {
            (ReasonCode::NotSteady, format!("from {at_s:.1} s on no transaction ended for {for_s:.1} s"))
        }
        Steadiness::Lost { at_s, before, after } => {
            let text =
                format!("throughput fell from {before:.0} to {after:.0} transactions/s at {at_s:.0} s and stayed down");
            (ReasonCode::SteadinessLost, text)
        }
    };
    Some(reason(code, Severity::Suspect, evidence, "use a longer ramp-up, and a longer window"))
}

fn missing(driven: &Driven, about: &About) -> Vec<NotMeasured> {
    let mut found = Vec::new();
    let mut lacks = |what: &str, reason: &str, fix: &str| {
        found.push(NotMeasured { what: what.to_owned(), reason: reason.to_owned(), fix: fix.to_owned() });
    };
    if driven.intervals.len() < assay_instruments::steady::INTERVALS_AT_LEAST {
        lacks("steadiness", "the window has fewer than ten intervals", "measure for longer");
    }
    if !about.in_process && driven.server.is_none() {
        lacks("CPU of the server", "its process is not on this machine, or not known", "let Assay start the server");
    }
    if driven.window.devices.is_empty() {
        lacks("device bytes", "there is no block device beneath the targets", "use a folder on a device");
    }
    found
}
