//! Time in which nothing ran, and clocks that were wrong for a while.

use assay_record::{Reason, ReasonCode, Severity};

use super::{
    machine::{DRIFT_SUSPECT, is_throttled},
    observation::RunObservation,
    reason::{of_run, with},
    words::{percent, time},
};

/// Standstill in the window that bends a figure: every percentile that a second has room for holds it.
pub const STOPPED_AT_LEAST_S: f64 = 0.1;
/// Difference between the clocks within a window that two readings cannot explain, s.
pub const EXCURSION_AT_LEAST_S: f64 = 0.001;
/// Sleep of the machine that is worth a word, s: the kernel's clocks are read one after the other.
pub const SUSPENDED_AT_LEAST_S: f64 = 0.01;

/// The process stood still: it was stopped, frozen, or the machine was. Where a quota stopped it, that is said of its own.
pub(super) fn process_stopped(run: &RunObservation) -> Option<Reason> {
    let seconds = run.stood_still_s;
    if seconds < STOPPED_AT_LEAST_S || is_throttled(run) {
        return None;
    }
    let evidence = format!(
        "the process stood still for {} of the window, {}: it neither ran nor waited for a CPU, so a signal stopped it, its \
         control group was frozen, or the machine was paused",
        time(seconds * 1e9),
        percent(seconds / run.measured_s.max(1e-9))
    );
    let fix = "do not stop, freeze or migrate what is being measured, and run it again; on a virtual machine ask who pauses \
        it (snapshots, migration, a host with too little CPU)";
    Some(with(of_run(ReasonCode::ProcessStopped, Severity::Suspect, evidence, fix), &[("stood_still_s", seconds)]))
}

/// The clock went wrong within the window and was right again at its end.
pub(super) fn clock_wandered(run: &RunObservation) -> Option<Reason> {
    let limit = EXCURSION_AT_LEAST_S.max(DRIFT_SUSPECT * run.measured_s);
    // A clock that is wrong in the end, too, has its reason already.
    if run.clock_excursion_s < limit || run.clock_drift.abs() >= DRIFT_SUSPECT {
        return None;
    }
    let evidence = format!(
        "the clock that times operations was {} away from the kernel's within the window, though both agree at its end",
        time(run.clock_excursion_s * 1e9)
    );
    Some(with(unreliable(evidence), &[("excursion_s", run.clock_excursion_s)]))
}

/// The machine slept.
pub(super) fn machine_slept(run: &RunObservation) -> Option<Reason> {
    if run.suspended_s < SUSPENDED_AT_LEAST_S {
        return None;
    }
    let evidence = format!("the machine slept for {} while it was measured", time(run.suspended_s * 1e9));
    Some(with(unreliable(evidence), &[("suspended_s", run.suspended_s)]))
}

fn unreliable(evidence: String) -> Reason {
    let fix = "check the kernel's clock source (it should be tsc), and keep the machine from sleeping and from moving to \
        another host while it measures";
    of_run(ReasonCode::ClockUnreliable, Severity::Suspect, evidence, fix)
}
