//! Limits that were met, and heat, with their figures: windows of four seconds.

use assay_instruments::counters::{HeatUse, LimitUse};
use assay_record::SetLimit;

use super::*;

const MET: ReasonCode = ReasonCode::LimitMet;

fn limited(setting: &str, device: &str, value: f64, counted: u64) -> Verdict {
    let (setting, group, device) = (setting.to_owned(), "/x".to_owned(), device.to_owned());
    judged(move |run, _| run.limits = vec![LimitUse { set: SetLimit { setting, group, device, value }, counted }])
}

#[test]
fn a_pace_is_a_limits_from_nine_tenths_of_it_on() {
    let numbers = [("limit_per_s", 1000.0), ("seen_per_s", 900.0)];
    let evidence = "the control group /x may do 1 k/s on vda (io.max riops), and did 900/s: the limit set the pace";
    told(&limited("io.max riops", "vda", 1000.0, 3600), MET, evidence, &numbers);
    expect(&limited("io.max riops", "vda", 1000.0, 3599), MET, None);
    let evidence =
        "the control group /x may do 2 MiB/s on vda (io.max rbps), and did 1.95 MiB/s: the limit set the pace";
    let numbers = [("limit_per_s", 2097152.0), ("seen_per_s", 2044928.0)];
    told(&limited("io.max rbps", "vda", 2097152.0, 4 * 2044928), MET, evidence, &numbers);
}

#[test]
fn memory_limits_are_told_by_what_the_kernel_does_there() {
    let numbers = [("limit_bytes", 1048576.0), ("times", 12.0)];
    let held = "the control group /x came to its memory.high of 1 MiB 12 times, and the kernel held its threads up";
    told(&limited("memory.high", "", 1048576.0, 12), MET, held, &numbers);
    let taken = "the control group /x came to its memory.max of 1 MiB 12 times, and the kernel took pages back";
    told(&limited("memory.max", "", 1048576.0, 12), MET, taken, &numbers);
}

#[test]
fn a_volume_tells_what_was_exceeded_for_longest() {
    let held = |all: &[(&str, f64)]| {
        let all: BTreeMap<_, _> = all.iter().map(|&(what, seconds)| (what.to_owned(), figure(seconds))).collect();
        judged(move |run, _| run.devices[0].counters.held_up = all)
    };
    let rest = "is allowed: its limit, or what was left of its burst credits, set the pace";
    for (what, more) in [
        ("volume_operations_s", "operations per second were asked for than the volume"),
        ("volume_bytes_s", "bytes per second were asked for than the volume"),
        ("instance_bytes_s", "bytes per second were asked for than the instance"),
    ] {
        let evidence = format!("vda says that for 3.5 s of the window's 4.0 s more {more} {rest}");
        let all = [("other", 1.0), (what, 3.5)];
        told(&held(&all), MET, &evidence, &all);
    }
    expect(&held(&[("volume_bytes_s", 0.04)]), MET, SUSPECT);
    expect(&held(&[("volume_bytes_s", 0.039)]), MET, None);
}

#[test]
fn heat_is_told_by_both_temperatures() {
    let heat = |before_c, after_c, limit_c| {
        let heat = HeatUse { device: "nvme0n1".to_owned(), before_c, after_c, limit_c };
        judged(move |run, _| run.heat = vec![heat])
    };
    let code = ReasonCode::DeviceHot;
    let hot = "nvme0n1 was at 70 C when the window opened and at 82 C when it closed, and says that 82 C is too hot: it \
        slows down there";
    let numbers = [("before_c", 70.0), ("after_c", 82.0), ("limit_c", 82.0)];
    told(&heat(70.0, 82.0, Some(82.0)), code, hot, &numbers);
    let warmer = "nvme0n1 warmed up from 40 C to 45 C in the window, and may slow down later";
    told(&heat(40.0, 45.0, None), code, warmer, &[("before_c", 40.0), ("after_c", 45.0)]);
    for (before_c, after_c, wanted) in
        [(40.0, 44.9, None), (82.0, 70.0, SUSPECT), (81.9, 70.0, None), (75.0, 81.9, NOTE)]
    {
        expect(&heat(before_c, after_c, Some(82.0)), code, wanted);
    }
}
