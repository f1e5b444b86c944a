//! The load: did it press as it was asked to, and was it the target that set the pace?

use assay_record::{Cache, Overdue, PathKind, Reason, ReasonCode, Severity};

use super::{
    device::of_devices,
    observation::{ClassObservation, Lateness, RunObservation},
    reason::{of_class, of_run, with},
    words::{percent, rate, time},
};

/// Share of the depth asked for that must be in flight in the mean.
pub const DEPTH_REACHED: f64 = 0.8;
/// Share of the window inside the submitting call from which operations are done there rather than in flight.
pub const SUBMIT_SHARE: f64 = 0.5;
/// Share of the depth that the device itself must see where submission takes most of the time. Merging and counting in
/// ticks make it lower than what the loop sees, so the bound is low.
pub const DEVICE_DEPTH: f64 = 0.3;
/// Shortfall of a rate that is not worth a word.
pub const RATE_SHORTFALL: f64 = 0.05;
/// Excess of a rate that cannot be: the schedule is ours.
pub const RATE_EXCESS: f64 = 0.1;
/// Standard deviations of a Poisson count that chance explains.
pub const RATE_DEVIATIONS: f64 = 3.0;
/// Lateness by the generator's own fault, as a share of the latency at the same percentile, that bends the figure.
pub const LATE_SHARE: f64 = 0.25;
/// Lateness below this is what a timer and a wake-up cost, ns.
pub const LATE_AT_LEAST_NS: u64 = 20_000;
/// Share of the null path's rate from which the generator takes a visible part of the time: the target alone would
/// be faster by a third.
pub const GENERATOR_SHARE: f64 = 0.25;
/// A thread with operations in flight is bound by what it does itself only when it is this busy.
pub const BUSY_SHARE: f64 = 0.9;

/// The mean number of operations in flight stayed below the depth asked for.
pub(super) fn depth_not_reached(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    // A rate sets the depth by itself, and with a depth of one there is nothing to reach.
    if class.asked_rate.is_some() || class.depth <= 1 || class.null() || class.operations() == 0 {
        return None;
    }
    in_flight_too_few(run, class).or_else(|| done_while_submitted(run, class))
}

fn in_flight_too_few(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    let asked = f64::from(class.threads) * f64::from(class.depth);
    let possible = f64::from(class.threads) * depth_with_batches(class);
    let reached = depth_reached(run, class);
    if reached >= DEPTH_REACHED * possible {
        return None;
    }
    let evidence = format!(
        "{asked} operations in flight were asked for ({} threads, depth {}), {:.1} were in flight in the mean",
        class.threads, class.depth, reached
    );
    let fix = "ask for the depth that was reached, or use a path that keeps operations in flight (io_uring or \
        libaio with direct I/O)";
    let numbers = [("asked_depth", asked), ("achieved_depth", reached)];
    Some(with(of_class(&class.name, ReasonCode::DepthNotReached, Severity::Suspect, evidence, fix), &numbers))
}

/// Mean operations in flight. The loop takes those inside the submitting call for not in flight; for direct operations the
/// device's own counter knows better: on a fast device submission takes long and holds nothing up.
pub fn depth_reached(run: &RunObservation, class: &ClassObservation) -> f64 {
    let asked = f64::from(class.threads) * f64::from(class.depth);
    let had_many = device_saw(run, class).is_some_and(|seen| seen >= DEVICE_DEPTH * asked);
    if class.direct() && had_many { class.in_service.max(class.achieved_depth) } else { class.achieved_depth }
}

/// Mean depth that a thread can keep when it submits in batches: the queue runs down by a batch before it is filled.
fn depth_with_batches(class: &ClassObservation) -> f64 {
    let (depth, batch) = (f64::from(class.depth), f64::from(class.batch.clamp(1, class.depth)));
    (depth - (batch - 1.0)).max(depth / 2.0)
}

/// Operations that are done inside the submitting call never overlap, whatever the counters of the loop say: what
/// buffered libaio does always, `io_uring` with data that is in memory, and both when the kernel has to wait.
fn done_while_submitted(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    let share = class.submit_share.filter(|&share| class.queued() && share >= SUBMIT_SHARE)?;
    let asked = f64::from(class.threads) * f64::from(class.depth);
    let inside = format!("{} of the window passed inside the submitting call", percent(share));
    let (evidence, severity) = if class.buffered() {
        // Data in memory was asked for, and this is how io_uring serves it: known, not wrong.
        let expected = run.cache == Cache::Warm && class.path.kind == PathKind::IoUring;
        let evidence =
            format!("{inside}, through the page cache: operations ran one after another, not {asked} at a time");
        (evidence, if expected { Severity::Note } else { Severity::Suspect })
    } else {
        let seen = device_saw(run, class).filter(|&seen| seen < DEVICE_DEPTH * asked)?;
        (
            format!("{inside}, and the device saw {seen:.1} requests in flight where {asked} were asked for"),
            Severity::Suspect,
        )
    };
    let fix = "use direct I/O (direct = true), or ask for depth 1";
    let numbers = [("submit_share", share), ("asked_depth", asked), ("achieved_depth", class.achieved_depth)];
    Some(with(of_class(&class.name, ReasonCode::DepthNotReached, severity, evidence, fix), &numbers))
}

/// Mean requests that the devices of a class saw in flight; none where none has counters. Others' requests on the same
/// device add to it, so they can only silence the rule.
fn device_saw(run: &RunObservation, class: &ClassObservation) -> Option<f64> {
    of_devices(run, class, |one| one.mean_in_flight.value)
}

/// The rate asked for was not reached, or was passed.
pub(super) fn rate_not_reached(class: &ClassObservation) -> Option<Reason> {
    let asked = class.asked_rate.filter(|&rate| rate > 0.0 && class.active_s > 0.0)?;
    let (due, done) = (asked * class.active_s, class.operations() as f64);
    let tolerance = rate_tolerance(class, due);
    let excess = done > due * (1.0 + RATE_EXCESS) + tolerance;
    if !excess && done >= due * (1.0 - RATE_SHORTFALL) - tolerance {
        return None;
    }
    let reached = done / class.active_s;
    let evidence =
        format!("{} were asked for and {} were done, {} of it", rate(asked), rate(reached), percent(reached / asked));
    let fix = if excess {
        "report this as a defect of the generator: a schedule cannot be passed"
    } else {
        "ask for a rate that the target can serve, or give the class more threads or depth"
    };
    let numbers = [("asked_ops_per_s", asked), ("achieved_ops_per_s", reached), ("achieved_share", reached / asked)];
    Some(with(of_class(&class.name, ReasonCode::RateNotReached, Severity::Suspect, evidence, fix), &numbers))
}

/// Operations that were due never ended: the slowest of them are not known.
pub(super) fn operations_missing(class: &ClassObservation) -> Option<Reason> {
    let found = missing(class.operations(), &class.overdue?)?;
    Some(Reason { class: Some(class.name.clone()), ..found })
}

/// The same of any work, of which so many operations were counted in the window.
pub(crate) fn missing(operations: u64, overdue: &Overdue) -> Option<Reason> {
    if overdue.missing == 0 {
        return None;
    }
    let missing = overdue.missing as f64;
    let all = (operations + overdue.completed + overdue.missing) as f64;
    let evidence = format!(
        "{missing} operations, {} of all that were due, had not ended {} after the window closed; latencies that they \
         can move are lower bounds",
        percent(missing / all),
        time(overdue.waited_s * 1e9)
    );
    let fix = "ask for a rate that the target can serve, and look for what held the target up at the end of the window";
    let numbers = [("missing_operations", missing), ("missing_share", missing / all), ("waited_s", overdue.waited_s)];
    Some(with(of_run(ReasonCode::OperationsMissing, Severity::Suspect, evidence, fix), &numbers))
}

/// Operations by which a count may differ from the mean of its schedule: chance, a burst at either edge of the window,
/// and what is in flight at the end.
fn rate_tolerance(class: &ClassObservation, due: f64) -> f64 {
    let chance = if class.poisson { RATE_DEVIATIONS * due.sqrt() } else { 0.0 };
    let in_flight = f64::from(class.threads) * f64::from(class.depth);
    chance + f64::from(class.burst.max(1)) + in_flight
}

/// Operations started later than their schedule through the generator's own fault.
pub(super) fn generator_late(class: &ClassObservation) -> Option<Reason> {
    let late = class.lateness.filter(|_| !class.null())?;
    let (share, Lateness { percentile, late_ns, response_ns, service_ns }) = (late.share(), late);
    if late_ns < LATE_AT_LEAST_NS || share < LATE_SHARE {
        return None;
    }
    let evidence = format!(
        "one operation in {:.0} started {} or more after it was due though the class could have started it; one in as \
         many answered after {} or more, and was served in {}: {} of the response time can be the generator's",
        100.0 / (100.0 - percentile),
        time(late_ns as f64),
        time(response_ns as f64),
        time(service_ns as f64),
        percent(share)
    );
    let fix = "run fewer threads than CPUs, keep other work off this machine, and set the performance governor";
    let numbers = [
        ("percentile", percentile),
        ("lateness_ns", late_ns as f64),
        ("response_ns", response_ns as f64),
        ("service_ns", service_ns as f64),
        ("lateness_share", share),
    ];
    Some(with(of_class(&class.name, ReasonCode::GeneratorLate, Severity::Suspect, evidence, fix), &numbers))
}

/// The generator, not the target, set the pace.
pub(super) fn generator_bound(class: &ClassObservation) -> Option<Reason> {
    let ceiling = class.null_ops_per_s.filter(|&ceiling| ceiling > 0.0 && !class.null() && class.active_s > 0.0)?;
    let each = class.operations() as f64 / class.active_s / f64::from(class.threads.max(1));
    let share = each / ceiling;
    if share < GENERATOR_SHARE || keeps_its_rate(class) || waits_for_the_target(class) {
        return None;
    }
    let evidence = format!(
        "each thread did {}, {} of the {} that it does on the null path: that share of the time was the generator's \
         own",
        rate(each),
        percent(share),
        rate(ceiling)
    );
    let fix = "use larger operations, or more threads on more CPUs; take the figure as a lower bound";
    let numbers = [("thread_ops_per_s", each), ("null_ops_per_s", ceiling), ("generator_share", share)];
    Some(with(of_class(&class.name, ReasonCode::GeneratorBound, Severity::Suspect, evidence, fix), &numbers))
}

/// The schedule sets the pace, and it was kept.
fn keeps_its_rate(class: &ClassObservation) -> bool {
    class.asked_rate.is_some() && rate_not_reached(class).is_none()
}

/// Operations in flight hide the generator behind the target until the thread has no time left. Blocking paths hide
/// nothing: there the generator's time adds to every operation.
fn waits_for_the_target(class: &ClassObservation) -> bool {
    class.queued() && class.busy_share.is_some_and(|busy| busy < BUSY_SHARE)
}
