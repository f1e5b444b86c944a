//! The hardware counters: did they leave alone what they counted, and do they tell of the same work as CPU time?

use assay_record::{Reason, ReasonCode, Severity};

use super::{
    observation::{ClassObservation, RunObservation},
    reason::{of_class, with},
    words::{hertz, percent, time},
};
use crate::counters::BENDS_FROM;

/// CPU seconds below which the accounts of threads are too coarse to be held against a counter.
pub const COUNTED_AT_LEAST_S: f64 = 0.02;

/// The counters ran in the window and took more of it than they may.
pub(super) fn counting_bends(class: &ClassObservation) -> Option<Reason> {
    let seen = class.counting?;
    let added_ns = seen.added_ns_per_op?;
    let share = added_ns / seen.ns_per_op.max(1e-9);
    if share <= BENDS_FROM {
        return None;
    }
    let (plain_ns, switch_added_ns) = seen.switch_ns;
    let evidence = format!(
        "hardware counters ran in the window: a context switch takes {} without them and {} with them, which is {} for \
         each operation of {}, or {}",
        time(plain_ns),
        time(plain_ns + switch_added_ns),
        time(added_ns),
        time(seen.ns_per_op),
        percent(share)
    );
    let fix = "leave counting to auto or give it a window of its own (counting = \"own-window\"): the judged window then \
               runs without counters";
    let numbers = [
        ("added_ns_per_op", added_ns),
        ("ns_per_op", seen.ns_per_op),
        ("switch_plain_ns", plain_ns),
        ("switch_counted_ns", plain_ns + switch_added_ns),
        ("switches_per_op", seen.switches_per_op),
    ];
    Some(with(of_class(&class.name, ReasonCode::CountingBends, Severity::Suspect, evidence, fix), &numbers))
}

/// Counted cycles and CPU time of the same operations would need a clock that this machine cannot have.
pub(super) fn counters_disagree(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    let (cycles, cpu_s) = class.counting?.two_instruments?;
    let (lowest, highest) = run.plausible_hz?;
    let hz = cycles / cpu_s;
    if cpu_s < COUNTED_AT_LEAST_S || (lowest..=highest).contains(&hz) {
        return None;
    }
    let operations = class.operations().max(1) as f64;
    let evidence = format!(
        "counters say {:.0} cycles for an operation and its CPU time is {}: that would be a clock of {}, and this machine's \
         lies between {} and {}",
        cycles / operations,
        time(cpu_s * 1e9 / operations),
        hertz(hz),
        hertz(lowest),
        hertz(highest)
    );
    let fix =
        "do not trust cycles here; compare CPU seconds, and count by the kernel's accounts (counting = \"accounts\")";
    let numbers = [
        ("cycles_per_op", cycles / operations),
        ("cpu_ns_per_op", cpu_s * 1e9 / operations),
        ("implied_hz", hz),
        ("lowest_hz", lowest),
        ("highest_hz", highest),
    ];
    Some(with(of_class(&class.name, ReasonCode::CountersDisagree, Severity::Suspect, evidence, fix), &numbers))
}
