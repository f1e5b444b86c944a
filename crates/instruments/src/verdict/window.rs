//! The window: long enough, steady, one and the same for all, and not cut short.

use assay_record::{Metric, Reason, ReasonCode, Severity, Stop};

use super::{
    observation::{ClassObservation, RunObservation},
    reason::{of_class, of_run, with},
    words::{percent, rate, time},
};
use crate::steady::{self, Limits, Steadiness};

/// A window shorter than this shows start-up rather than the target, s.
pub const WINDOW_AT_LEAST_S: f64 = 1.0;
/// The controller closes a window on an edge that it reads a little late or early: this share is no shorter window.
const EDGE_SHARE: f64 = 0.01;
/// Fewer values than this have no spread worth the name.
pub const LATENCIES_AT_LEAST: u64 = 100;
/// Values that must lie beyond a percentile for it to be more than an anecdote.
pub const BEYOND_PERCENTILE: f64 = 10.0;
/// Between operations of a thread that are at least so far apart its CPU sleeps, ns; it spins through shorter gaps.
pub const SLEEPS_FROM_GAP_NS: f64 = 1e6;
/// A CPU that sleeps between operations wakes up, raises its clock and fills its caches: what that adds to a mean latency is
/// no news of the target, ns.
pub const LATENCY_RANGE_AT_LEAST_NS: f64 = 20_000.0;
/// Distance between the classes' window edges, as a share of the window: it bends a figure by about as much.
pub const SKEW_SHARE: f64 = 0.02;

/// The window was too short for what is reported.
pub(super) fn window_too_short(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    if run.stop == Some(Stop::Interrupted) {
        return None;
    }
    let (severity, evidence) = short_time(run).or_else(|| few_values(class)).or_else(|| weak_percentile(class))?;
    let fix = "measure for longer (window.measure_s), or until more bytes are moved";
    let numbers = [("measured_s", run.measured_s), ("latencies", class.latencies as f64)];
    Some(with(of_class(&class.name, ReasonCode::WindowTooShort, severity, evidence, fix), &numbers))
}

fn short_time(run: &RunObservation) -> Option<(Severity, String)> {
    if run.measured_s >= WINDOW_AT_LEAST_S * (1.0 - EDGE_SHARE) {
        return None;
    }
    Some((Severity::Suspect, format!("the window lasted {}, less than a second", time(run.measured_s * 1e9))))
}

fn few_values(class: &ClassObservation) -> Option<(Severity, String)> {
    if class.latencies >= LATENCIES_AT_LEAST {
        return None;
    }
    Some((Severity::Suspect, format!("only {} operations completed in the window", class.latencies)))
}

/// A percentile that something is decided by must have values beyond it. Those that are merely printed carry their
/// support in the record.
fn weak_percentile(class: &ClassObservation) -> Option<(Severity, String)> {
    let (name, beyond) = match class.objective? {
        Metric::P99Ns => ("p99", 0.01),
        Metric::P999Ns => ("p99.9", 0.001),
        _ => return None,
    };
    let values = class.latencies as f64 * beyond;
    if values >= BEYOND_PERCENTILE {
        return None;
    }
    let evidence =
        format!("the objective is about {name}, and of {} operations only {values:.0} lie beyond it", class.latencies);
    Some((Severity::Suspect, evidence))
}

/// The window never became steady, or was steady and then dropped.
pub(super) fn steadiness(class: &ClassObservation) -> Option<Reason> {
    let throughput = steady::assess(&steady::throughput(&class.intervals), Limits::THROUGHPUT);
    if let Some(reason) = unsteady(class, throughput, "throughput", rate) {
        return Some(reason);
    }
    // A class that keeps its rate shows in latency what a closed one shows in throughput.
    let gap_ns = f64::from(class.threads.max(1)) / class.asked_rate? * 1e9;
    if gap_ns >= SLEEPS_FROM_GAP_NS && steady::latency_range_ns(&class.intervals) < LATENCY_RANGE_AT_LEAST_NS {
        return None;
    }
    let speed = steady::assess(&steady::speed(&class.intervals), Limits::SPEED);
    unsteady(class, speed, "speed (the reciprocal of latency)", |value| {
        format!("one per {}", time(1e9 / value.max(1e-9)))
    })
}

fn unsteady(class: &ClassObservation, found: Steadiness, what: &str, show: impl Fn(f64) -> String) -> Option<Reason> {
    match found {
        Steadiness::Steady => None,
        Steadiness::NeverSteady { spread, drift } => Some(never_steady(class, what, spread, drift)),
        Steadiness::Rose { at_s, before, after } => {
            let evidence = format!("{what} rose after {at_s:.1} s from {} to {}", show(before), show(after));
            Some(not_steady(class, evidence, &[("at_s", at_s), ("before", before), ("after", after)]))
        }
        // Between two bursts nothing is due.
        Steadiness::Stalled { expected, .. } if expected < 2.0 * f64::from(class.burst) => None,
        Steadiness::Stalled { at_s, for_s, expected } => Some(stalled(class, at_s, for_s, expected)),
        Steadiness::Lost { at_s, before, after } => {
            let evidence = format!(
                "{what} fell after {at_s:.1} s from {} to {}, by {}, and stayed there",
                show(before),
                show(after),
                percent(1.0 - after / before)
            );
            let fix = "look for a write cache that ran full, garbage collection, burst credits or heat; measure \
                long enough to report both levels apart";
            let numbers = [("at_s", at_s), ("before", before), ("after", after), ("kept_share", after / before)];
            Some(with(of_class(&class.name, ReasonCode::SteadinessLost, Severity::Suspect, evidence, fix), &numbers))
        }
    }
}

fn never_steady(class: &ClassObservation, what: &str, spread: f64, drift: f64) -> Reason {
    let direction = if drift < 0.0 { "fell" } else { "rose" };
    let evidence = format!(
        "the best and the worst fifth of the window differ by {} of the mean, and {what} {direction} by {} over it",
        percent(spread),
        percent(drift.abs())
    );
    not_steady(class, evidence, &[("spread_share", spread), ("drift_share", drift)])
}

fn not_steady(class: &ClassObservation, evidence: String, numbers: &[(&str, f64)]) -> Reason {
    let fix = "warm up longer (window.warmup_s), measure longer, or precondition the device";
    with(of_class(&class.name, ReasonCode::NotSteady, Severity::Suspect, evidence, fix), numbers)
}

fn stalled(class: &ClassObservation, at_s: f64, for_s: f64, expected: f64) -> Reason {
    let evidence = format!(
        "from {at_s:.1} s on nothing completed for {for_s:.1} s, in which {expected:.0} operations do on the average"
    );
    let fix = "look for a frozen file system, a device that answers late (dmesg) or a suspended process; measure for \
               longer where the device does so by itself";
    let numbers = [("at_s", at_s), ("stalled_s", for_s), ("expected", expected)];
    with(of_class(&class.name, ReasonCode::NotSteady, Severity::Suspect, evidence, fix), &numbers)
}

/// The classes' windows did not coincide.
pub(super) fn windows_differ(run: &RunObservation) -> Option<Reason> {
    let skew_s = run.edge_skew_ns as f64 * 1e-9;
    let share = skew_s / run.measured_s.max(1e-9);
    if share < SKEW_SHARE {
        return None;
    }
    let evidence = format!(
        "the edges of the classes' windows lie up to {} apart, {} of the window",
        time(run.edge_skew_ns as f64),
        percent(share)
    );
    let fix = "use fewer threads than CPUs, or a longer window";
    let numbers = [("edge_skew_ns", run.edge_skew_ns as f64), ("skew_share", share)];
    Some(with(of_run(ReasonCode::WindowsDiffer, Severity::Suspect, evidence, fix), &numbers))
}

/// The run was interrupted; what was finished is kept.
pub(super) fn interrupted(run: &RunObservation) -> Option<Reason> {
    if run.stop != Some(Stop::Interrupted) {
        return None;
    }
    let evidence = format!("the run was interrupted after {:.1} s of a window of {:.1} s", run.measured_s, run.asked_s);
    let fix = "run it again; with --resume only what is missing is done";
    let numbers = [("measured_s", run.measured_s), ("asked_s", run.asked_s)];
    Some(with(of_run(ReasonCode::Interrupted, Severity::Suspect, evidence, fix), &numbers))
}
