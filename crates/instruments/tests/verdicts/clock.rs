//! Rules on clocks, frequencies and time in which nothing ran, with their figures: windows of four seconds.

use super::*;

const CLOCK: ReasonCode = ReasonCode::ClockUnreliable;
const FREQUENCY: ReasonCode = ReasonCode::FrequencyChanged;

#[test]
fn a_clock_that_drifts_is_told_with_its_direction() {
    let drift = |drift| judged(move |run, _| run.clock_drift = drift);
    let fast = "the clock that times operations ran 0.2 % fast against the kernel's";
    told(&drift(0.002), CLOCK, fast, &[("drift", 0.002)]);
    let slow = "the clock that times operations ran 0.4 % slow against the kernel's";
    told(&drift(-0.004), CLOCK, slow, &[("drift", -0.004)]);
    let unknown = "the clock that times operations ran 100 % fast against the kernel's";
    told(&drift(f64::INFINITY), CLOCK, unknown, &[("drift", 1.0)]);
    for (share, wanted) in [(0.00099, None), (0.001, SUSPECT), (0.0099, SUSPECT), (0.01, INVALID)] {
        expect(&drift(share), CLOCK, wanted);
        expect(&drift(-share), CLOCK, wanted);
    }
}

#[test]
fn probes_that_differ_by_a_tenth_are_told() {
    let probed = |before: (f64, f64), after: (f64, f64)| {
        let probe = |(hz, spread)| Some(FrequencyProbe { hz, spread });
        judged(move |run, _| (run.frequency_before, run.frequency_after) = (probe(before), probe(after)))
    };
    let slower = "the CPU ran at about 2.50 GHz before the window and at 2 GHz after it, 20 % slower";
    let numbers = [("before_hz", 2.5e9), ("after_hz", 2e9), ("change_share", -0.2)];
    told(&probed((2.5e9, 0.05), (2e9, 0.05)), FREQUENCY, slower, &numbers);
    let faster = "the CPU ran at about 2 GHz before the window and at 2.50 GHz after it, 25 % faster";
    let numbers = [("before_hz", 2e9), ("after_hz", 2.5e9), ("change_share", 0.25)];
    told(&probed((2e9, 0.01), (2.5e9, 0.01)), FREQUENCY, faster, &numbers);
    expect(&probed((2e9, 0.01), (2.19e9, 0.01)), FREQUENCY, None);
    expect(&probed((2e9, 0.01), (2.21e9, 0.01)), FREQUENCY, SUSPECT);
    expect(&probed((2e9, 0.01), (1.81e9, 0.01)), FREQUENCY, None);
    expect(&probed((2.5e9, 0.051), (2e9, 0.01)), FREQUENCY, None);
    expect(&probed((2.5e9, 0.01), (2e9, 0.051)), FREQUENCY, None);
}

#[test]
fn what_the_machine_took_away_is_counted() {
    let throttled = |throttled, throttled_s| {
        judged(move |run, _| run.system.throttle = Some(Throttle { periods: 40, throttled, throttled_s }))
    };
    let evidence = "the CPU quota of the control group stopped the process in 20 of 40 periods, for 1.50 s in all";
    told(&throttled(20, 1.5), FREQUENCY, evidence, &[("throttled_s", 1.5), ("throttled_periods", 20.0)]);
    for (periods, seconds, wanted) in [(1, 0.04, SUSPECT), (1, 0.039, None), (0, 1.5, None)] {
        expect(&throttled(periods, seconds), FREQUENCY, wanted);
    }
    let hot = |events| judged(move |run, _| run.system.thermal_events = Some(events));
    told(&hot(3), FREQUENCY, "CPUs slowed down 3 times because they were too hot", &[("thermal_events", 3.0)]);
    expect(&hot(0), FREQUENCY, None);
    let stolen = |share| judged(move |run, _| run.system.stolen_share = Some(share));
    let evidence = "the hypervisor gave 5.0 % of the CPU time to somebody else while this machine had work";
    told(&stolen(0.05), FREQUENCY, evidence, &[("stolen_share", 0.05)]);
    expect(&stolen(0.049), FREQUENCY, None);
    let evidence = "the process could use 4 CPUs when it began and 3 for a part of the time: CPUs were taken offline, or it \
        was bound to fewer";
    let numbers = [("cpus_before", 4.0), ("cpus_least", 3.0)];
    told(&judged(|run, _| run.usable_cpus = Some((4, 3))), FREQUENCY, evidence, &numbers);
    expect(&judged(|run, _| run.usable_cpus = Some((4, 4))), FREQUENCY, None);
}

#[test]
fn a_standstill_is_told_from_a_tenth_of_a_second_on() {
    let still = |seconds| judged(move |run, _| run.stood_still_s = seconds);
    let evidence = "the process stood still for 600 ms of the window, 15 %: it neither ran nor waited for a CPU, so a signal \
        stopped it, its control group was frozen, or the machine was paused";
    told(&still(0.6), ReasonCode::ProcessStopped, evidence, &[("stood_still_s", 0.6)]);
    expect(&still(0.1), ReasonCode::ProcessStopped, SUSPECT);
    expect(&still(0.099), ReasonCode::ProcessStopped, None);
}

#[test]
fn a_clock_that_wandered_is_told_where_it_came_back() {
    let away = |excursion_s, measured_s, drift| {
        judged(move |run, _| {
            (run.clock_excursion_s, run.measured_s, run.clock_drift) = (excursion_s, measured_s, drift)
        })
    };
    let evidence = "the clock that times operations was 30 ms away from the kernel's within the window, though both agree at \
        its end";
    told(&away(0.03, 4.0, 0.0), CLOCK, evidence, &[("excursion_s", 0.03)]);
    for (excursion_s, measured_s, wanted) in
        [(0.004, 4.0, SUSPECT), (0.0039, 4.0, None), (0.001, 0.5, SUSPECT), (0.00099, 0.5, None)]
    {
        expect(&away(excursion_s, measured_s, 0.0), CLOCK, wanted);
    }
    let both = away(0.03, 4.0, 0.001);
    assert!(both.reasons.iter().all(|reason| !reason.numbers.contains_key("excursion_s")), "{:?}", both.reasons);
}

#[test]
fn sleep_is_told_from_a_hundredth_of_a_second_on() {
    let slept = |seconds| judged(move |run, _| run.suspended_s = seconds);
    told(&slept(2.0), CLOCK, "the machine slept for 2 s while it was measured", &[("suspended_s", 2.0)]);
    expect(&slept(0.01), CLOCK, SUSPECT);
    expect(&slept(0.0099), CLOCK, None);
}
