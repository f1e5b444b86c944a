//! Limits that somebody has set, and heat: what makes a device slower than it is.

use assay_record::{DeviceCounters, Reason, ReasonCode, Severity};

use super::{
    observation::RunObservation,
    reason::{of_run, with},
    words::{bytes, rate},
};
use crate::counters::{HeatUse, LimitUse};

/// Share of a limit from which it sets the pace. The kernel lets a burst of a tenth of a second through, so what is held up
/// may show a little more than the limit, and hardly less.
pub const LIMIT_MET: f64 = 0.9;
/// Rise of a drive's temperature in a window that is worth knowing, degrees Celsius.
pub const HEAT_RISE_C: f64 = 5.0;

/// Share of the window for which a volume may be asked for more than it may serve: a burst at its beginning is none.
pub const HELD_UP: f64 = 0.01;

/// A limit of a control group was met, or one of a cloud's volume.
pub(super) fn limit_met(run: &RunObservation) -> Vec<Reason> {
    let groups = run.limits.iter().filter_map(|limit| met(run, limit));
    groups.chain(run.devices.iter().filter_map(|device| held_up(run, &device.counters))).collect()
}

/// A volume says for how long more was asked of it than it, or its instance, is allowed.
fn held_up(run: &RunObservation, device: &DeviceCounters) -> Option<Reason> {
    let (what, held) = device.held_up.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    if held.value < HELD_UP * run.measured_s {
        return None;
    }
    let whose = if what.starts_with("instance") { "the instance" } else { "the volume" };
    let kind = if what.contains("bytes") { "bytes" } else { "operations" };
    let evidence = format!(
        "{} says that for {:.1} s of the window's {:.1} s more {kind} per second were asked for than {whose} is allowed: its \
         limit, or what was left of its burst credits, set the pace",
        device.device, held.value, run.measured_s
    );
    let fix = "ask for less, provision more for the volume or the instance, or read the figure as the limit's";
    let numbers: Vec<(&str, f64)> = device.held_up.iter().map(|(what, held)| (what.as_str(), held.value)).collect();
    Some(with(of_run(ReasonCode::LimitMet, Severity::Suspect, evidence, fix), &numbers))
}

fn met(run: &RunObservation, limit: &LimitUse) -> Option<Reason> {
    if limit.is_pace() { pace_met(run, limit) } else { memory_met(limit) }
}

fn pace_met(run: &RunObservation, limit: &LimitUse) -> Option<Reason> {
    let (set, seen) = (&limit.set, limit.counted as f64 / run.measured_s.max(1e-9));
    if limit.counted == 0 || seen < LIMIT_MET * set.value {
        return None;
    }
    let show = |value: f64| if limit.in_bytes() { format!("{}/s", bytes(value)) } else { rate(value) };
    let evidence = format!(
        "the control group {} may do {} on {} ({}), and did {}: the limit set the pace",
        set.group,
        show(set.value),
        set.device,
        set.setting,
        show(seen)
    );
    let fix = "raise or remove the limit of this container or service, or ask for less than it allows";
    let numbers = [("limit_per_s", set.value), ("seen_per_s", seen)];
    Some(with(of_run(ReasonCode::LimitMet, Severity::Suspect, evidence, fix), &numbers))
}

/// Above `memory.high` the kernel holds processes up. At the limit itself it takes pages of the cache back, which is what a
/// limited cache is for.
fn memory_met(limit: &LimitUse) -> Option<Reason> {
    let (set, times) = (&limit.set, limit.counted);
    if times == 0 {
        return None;
    }
    let holds_up = set.setting == "memory.high";
    let severity = if holds_up { Severity::Suspect } else { Severity::Note };
    let does = if holds_up { "held its threads up" } else { "took pages back" };
    let evidence = format!(
        "the control group {} came to its {} of {} {times} times, and the kernel {does}",
        set.group,
        set.setting,
        bytes(set.value)
    );
    let fix = "raise the memory limit of this container or service, where the page cache is not meant to be small";
    let numbers = [("limit_bytes", set.value), ("times", times as f64)];
    Some(with(of_run(ReasonCode::LimitMet, severity, evidence, fix), &numbers))
}

/// A drive became hot.
pub(super) fn device_hot(run: &RunObservation) -> Vec<Reason> {
    run.heat.iter().filter_map(hot).collect()
}

fn hot(heat: &HeatUse) -> Option<Reason> {
    let rise = heat.after_c - heat.before_c;
    let too_hot = heat.limit_c.filter(|&limit| heat.after_c.max(heat.before_c) >= limit);
    let (severity, evidence) = match too_hot {
        Some(limit) => {
            let evidence = format!(
                "{} was at {:.0} C when the window opened and at {:.0} C when it closed, and says that {limit:.0} C is too \
                 hot: it slows down there",
                heat.device, heat.before_c, heat.after_c
            );
            (Severity::Suspect, evidence)
        }
        None if rise >= HEAT_RISE_C => {
            let evidence = format!(
                "{} warmed up from {:.0} C to {:.0} C in the window, and may slow down later",
                heat.device, heat.before_c, heat.after_c
            );
            (Severity::Note, evidence)
        }
        None => return None,
    };
    let fix =
        "look at the drive's cooling, let it cool before measuring, and measure for longer to see its lasting pace";
    let numbers =
        [("before_c", heat.before_c), ("after_c", heat.after_c), ("limit_c", heat.limit_c.unwrap_or(f64::NAN))];
    Some(with(of_run(ReasonCode::DeviceHot, severity, evidence, fix), &numbers))
}
