//! Hardware counters that slow what they count, and counters that tell of other work than CPU time does.

use assay_instruments::verdict::{COUNTED_AT_LEAST_S, CountingSeen};

use super::*;

/// Reads that take 90 us and switch once, on a machine where a switch takes 1.7 us.
fn seen(added_ns: Option<f64>, two_instruments: Option<(f64, f64)>) -> Verdict {
    judged(|run, class| {
        run.plausible_hz = Some((0.8e9, 5e9));
        class.counting = Some(CountingSeen {
            added_ns_per_op: added_ns,
            ns_per_op: 90_000.0,
            switch_ns: (1_700.0, 27_000.0),
            switches_per_op: 1.0,
            two_instruments,
        });
    })
}

#[test]
fn counters_that_take_more_than_a_hundredth_of_an_operation_bend_it() {
    let bent = seen(Some(27_000.0), None);
    expect(&bent, ReasonCode::CountingBends, SUSPECT);
    let reason = bent.reasons.iter().find(|reason| reason.code == ReasonCode::CountingBends).expect("a reason");
    for (name, value) in [("added_ns_per_op", 27_000.0), ("ns_per_op", 90_000.0), ("switch_counted_ns", 28_700.0)] {
        assert_eq!(reason.numbers.get(name), Some(&value), "{name}");
    }
    expect(&seen(Some(800.0), None), ReasonCode::CountingBends, None);
    expect(&seen(None, None), ReasonCode::CountingBends, None);
}

#[test]
fn cycles_and_cpu_time_must_be_those_of_one_clock() {
    // 48,656 cycles an operation by counter, 277,421 by CPU time at 2.6 GHz.
    let apart = seen(None, Some((48_656.0 * 1e4, 277_421.0 * 1e4 / 2.6e9)));
    expect(&apart, ReasonCode::CountersDisagree, SUSPECT);
    let reason = apart.reasons.iter().find(|reason| reason.code == ReasonCode::CountersDisagree).expect("a reason");
    assert!(reason.numbers.contains_key("cycles_per_op") && reason.numbers.contains_key("cpu_ns_per_op"));
    expect(&seen(None, Some((6e9, 1.0))), ReasonCode::CountersDisagree, SUSPECT);
    expect(&seen(None, Some((2.6e9, 1.0))), ReasonCode::CountersDisagree, None);
    let little = COUNTED_AT_LEAST_S * 0.9;
    expect(&seen(None, Some((0.1e9 * little, little))), ReasonCode::CountersDisagree, None);
    valid(&seen(None, Some((2.6e9, 1.0))));
}

#[test]
fn what_counting_adds_is_told_and_may_be_a_hundredth() {
    let evidence = "hardware counters ran in the window: a context switch takes 1.70 us without them and 28.7 us with them, \
        which is 27 us for each operation of 90 us, or 30 %";
    let numbers = [
        ("added_ns_per_op", 27_000.0),
        ("ns_per_op", 90_000.0),
        ("switch_plain_ns", 1_700.0),
        ("switch_counted_ns", 28_700.0),
        ("switches_per_op", 1.0),
    ];
    told(&seen(Some(27_000.0), None), ReasonCode::CountingBends, evidence, &numbers);
    expect(&seen(Some(900.0), None), ReasonCode::CountingBends, None);
    expect(&seen(Some(901.0), None), ReasonCode::CountingBends, SUSPECT);
}

/// Two CPU seconds for 240,000 operations.
#[test]
fn a_clock_that_cannot_be_is_told_with_what_it_would_be() {
    let evidence = "counters say 50000 cycles for an operation and its CPU time is 8.33 us: that would be a clock of 6 GHz, \
        and this machine's lies between 800 MHz and 5 GHz";
    let numbers = [
        ("cycles_per_op", 50_000.0),
        ("cpu_ns_per_op", 2e9 / 240_000.0),
        ("implied_hz", 6e9),
        ("lowest_hz", 0.8e9),
        ("highest_hz", 5e9),
    ];
    told(&seen(None, Some((12e9, 2.0))), ReasonCode::CountersDisagree, evidence, &numbers);
    for (cycles, cpu_s, wanted) in
        [(5e9, 1.0, None), (0.8e9, 1.0, None), (0.79e9, 1.0, SUSPECT), (2e6, 0.02, SUSPECT), (2e6, 0.019, None)]
    {
        expect(&seen(None, Some((cycles, cpu_s))), ReasonCode::CountersDisagree, wanted);
    }
}
