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
