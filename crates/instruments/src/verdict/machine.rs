//! The machine: its clock, its frequency, and what it took away.

use assay_record::{Reason, ReasonCode, Severity};

use super::{
    observation::RunObservation,
    reason::{graded, of_run, with},
    words::{hertz, percent},
};

/// Disagreement with the kernel's clock that its own adjustment (at most 500 parts per million) and the calibration
/// cannot explain.
pub const DRIFT_SUSPECT: f64 = 0.001;
/// Disagreement from which no time in the record can be used.
pub const DRIFT_INVALID: f64 = 0.01;
/// Change of frequency between the probes that shows in figures of CPU cost.
pub const FREQUENCY_CHANGE: f64 = 0.1;
/// A probe whose own runs lie further apart than this share is not compared.
pub const PROBE_SPREAD: f64 = 0.05;
/// Share of the window for which the CPU quota stopped this process's threads.
pub const THROTTLED_SHARE: f64 = 0.01;
/// Share of all CPU time that the hypervisor gave to somebody else.
pub const STOLEN_SHARE: f64 = 0.05;

/// The clock disagreed with the kernel's clock.
pub(super) fn clock_unreliable(run: &RunObservation) -> Option<Reason> {
    let drift = if run.clock_drift.is_finite() { run.clock_drift } else { 1.0 };
    let severity = graded(drift.abs(), DRIFT_SUSPECT, DRIFT_INVALID)?;
    let direction = if drift > 0.0 { "fast" } else { "slow" };
    let evidence =
        format!("the clock that times operations ran {} {direction} against the kernel's", percent(drift.abs()));
    let fix = "check the kernel's clock source (it should be tsc) and that the machine was neither suspended nor \
        moved to another host";
    Some(with(of_run(ReasonCode::ClockUnreliable, severity, evidence, fix), &[("drift", drift)]))
}

/// The clock frequency changed, or the CPU was throttled. One reason for each thing that was seen.
pub(super) fn frequency_changed(run: &RunObservation) -> Vec<Reason> {
    [by_probe(run), by_quota(run), by_heat(run), by_hypervisor(run), by_cpus(run)].into_iter().flatten().collect()
}

fn suspect(evidence: String, fix: &str, numbers: &[(&str, f64)]) -> Option<Reason> {
    Some(with(of_run(ReasonCode::FrequencyChanged, Severity::Suspect, evidence, fix), numbers))
}

fn by_probe(run: &RunObservation) -> Option<Reason> {
    let (before, after) = run.frequency_before.zip(run.frequency_after)?;
    let change = before.change_to(&after);
    let blurred = before.spread.max(after.spread) > PROBE_SPREAD;
    if change.abs() < FREQUENCY_CHANGE || blurred {
        return None;
    }
    let direction = if change > 0.0 { "faster" } else { "slower" };
    let evidence = format!(
        "the CPU ran at about {} before the window and at {} after it, {} {direction}",
        hertz(before.hz),
        hertz(after.hz),
        percent(change.abs())
    );
    let fix = "set the performance governor, switch turbo off, and look at cooling and power limits";
    suspect(evidence, fix, &[("before_hz", before.hz), ("after_hz", after.hz), ("change_share", change)])
}

/// The CPU quota stopped this process for long enough to show.
pub(super) fn is_throttled(run: &RunObservation) -> bool {
    let share = |seconds: f64| seconds / run.measured_s.max(1e-9);
    run.system.throttle.is_some_and(|one| one.throttled > 0 && share(one.throttled_s) >= THROTTLED_SHARE)
}

fn by_quota(run: &RunObservation) -> Option<Reason> {
    let throttle = run.system.throttle.filter(|_| is_throttled(run))?;
    let evidence = format!(
        "the CPU quota of the control group stopped the process in {} of {} periods, for {:.2} s in all",
        throttle.throttled, throttle.periods, throttle.throttled_s
    );
    let fix = "raise or remove the CPU quota of this container or service";
    suspect(evidence, fix, &[("throttled_s", throttle.throttled_s), ("throttled_periods", throttle.throttled as f64)])
}

fn by_heat(run: &RunObservation) -> Option<Reason> {
    let events = run.system.thermal_events.filter(|&events| events > 0)?;
    let evidence = format!("CPUs slowed down {events} times because they were too hot");
    suspect(
        evidence,
        "look at cooling, and let the machine cool before measuring",
        &[("thermal_events", events as f64)],
    )
}

fn by_hypervisor(run: &RunObservation) -> Option<Reason> {
    let share = run.system.stolen_share.filter(|&share| share >= STOLEN_SHARE)?;
    let evidence =
        format!("the hypervisor gave {} of the CPU time to somebody else while this machine had work", percent(share));
    let fix = "use an instance with dedicated CPUs, or measure at a quieter time";
    suspect(evidence, fix, &[("stolen_share", share)])
}

fn by_cpus(run: &RunObservation) -> Option<Reason> {
    let (first, least) = run.usable_cpus.filter(|(first, least)| least < first)?;
    let evidence = format!(
        "the process could use {first} CPUs when it began and {least} for a part of the time: CPUs were taken offline, or it \
         was bound to fewer"
    );
    let fix = "leave the CPUs and the binding of the process (taskset, cpusets) as they are while it runs";
    suspect(evidence, fix, &[("cpus_before", f64::from(first)), ("cpus_least", f64::from(least))])
}
