//! Rules on the window, with their figures: four seconds of 40 intervals unless said.

use super::*;

const SHORT: ReasonCode = ReasonCode::WindowTooShort;
const STEADY: ReasonCode = ReasonCode::NotSteady;
const LOST: ReasonCode = ReasonCode::SteadinessLost;

#[test]
fn a_window_of_less_than_a_second_is_told() {
    let lasted = |measured_s| judged(move |run, _| run.measured_s = measured_s);
    let evidence = "the window lasted 400 ms, less than a second";
    told(&lasted(0.4), SHORT, evidence, &[("measured_s", 0.4), ("latencies", 240_000.0)]);
    expect(&lasted(0.99), SHORT, None);
    expect(&lasted(0.989), SHORT, SUSPECT);
    let cut = judged(|run, class| (run.stop, class.latencies) = (Some(Stop::Interrupted), 3));
    expect(&cut, SHORT, None);
}

#[test]
fn values_must_be_many_and_lie_beyond_what_is_decided_by() {
    let with =
        |latencies, objective| judged(move |_, class| (class.latencies, class.objective) = (latencies, objective));
    let numbers = |latencies| [("measured_s", 4.0), ("latencies", latencies)];
    told(&with(99, None), SHORT, "only 99 operations completed in the window", &numbers(99.0));
    expect(&with(100, None), SHORT, None);
    let evidence = "the objective is about p99, and of 400 operations only 4 lie beyond it";
    told(&with(400, Some(Metric::P99Ns)), SHORT, evidence, &numbers(400.0));
    let evidence = "the objective is about p99.9, and of 4000 operations only 4 lie beyond it";
    told(&with(4000, Some(Metric::P999Ns)), SHORT, evidence, &numbers(4000.0));
    for (latencies, metric, wanted) in [
        (1000, Metric::P99Ns, None),
        (999, Metric::P99Ns, SUSPECT),
        (10_000, Metric::P999Ns, None),
        (9_999, Metric::P999Ns, SUSPECT),
        (100, Metric::P50Ns, None),
    ] {
        expect(&with(latencies, Some(metric)), SHORT, wanted);
    }
}

/// A window of four seconds of intervals with so many operations.
fn flow(operations: &[u64], burst: u32) -> Verdict {
    let intervals: Vec<IntervalPoint> = flat(operations.len() as u32, 0, 4.0 / operations.len() as f64)
        .into_iter()
        .zip(operations)
        .map(|(point, &operations)| IntervalPoint { operations, ..point })
        .collect();
    judged(move |_, class| (class.intervals, class.burst) = (intervals, burst))
}

#[test]
fn changes_of_level_are_told_with_both_levels() {
    let evidence = "throughput fell after 2.0 s from 10 k/s to 4 k/s, by 60 %, and stayed there";
    let numbers = [("at_s", 2.0), ("before", 10_000.0), ("after", 4_000.0), ("kept_share", 0.4)];
    told(&flow(&[[1000; 20], [400; 20]].concat(), 1), LOST, evidence, &numbers);
    let evidence = "throughput rose after 2.0 s from 4 k/s to 10 k/s";
    let numbers = [("at_s", 2.0), ("before", 4_000.0), ("after", 10_000.0)];
    told(&flow(&[[400; 20], [1000; 20]].concat(), 1), STEADY, evidence, &numbers);
}

/// Forty values from 1000 to 1390 or back have a mean of 1195; fifths lie 320 apart, the ends of the line 390.
#[test]
fn a_drift_is_told_with_its_direction() {
    let mut operations: Vec<u64> = (0..40).map(|index| 1000 + 10 * index).collect();
    for (direction, drift) in [("rose", 390.0 / 1195.0), ("fell", -390.0 / 1195.0)] {
        let evidence = format!(
            "the best and the worst fifth of the window differ by 27 % of the mean, and throughput {direction} by 33 % over it"
        );
        let numbers = [("spread_share", 320.0 / 1195.0), ("drift_share", drift)];
        told(&flow(&operations, 1), STEADY, &evidence, &numbers);
        operations.reverse();
    }
}

/// Nothing for two of sixteen intervals, and what was due then with the next two: 16,000 in four seconds.
#[test]
fn a_stall_is_told_and_a_pause_between_bursts_is_none() {
    let usual = [800, 1200].repeat(3);
    let operations = [usual.clone(), vec![0, 0, 2000, 2000], usual].concat();
    let evidence = "from 1.5 s on nothing completed for 0.5 s, in which 2000 operations do on the average";
    let numbers = [("at_s", 1.5), ("stalled_s", 0.5), ("expected", 2000.0)];
    told(&flow(&operations, 1), STEADY, evidence, &numbers);
    // Two bursts would have been due.
    expect(&flow(&operations, 999), STEADY, SUSPECT);
    expect(&flow(&operations, 1001), STEADY, None);
}

/// A class with a rate whose operations take `before` and then `after` ns.
fn slowed(threads: u32, rate: f64, before: f64, after: f64) -> Verdict {
    judged(move |_, class| {
        (class.threads, class.asked_rate, class.intervals) = (threads, Some(rate), flat(40, 6000, 0.1));
        for (index, point) in class.intervals.iter_mut().enumerate() {
            point.mean_ns = if index < 20 { before } else { after };
        }
    })
}

#[test]
fn latency_that_rises_at_a_rate_is_told_as_speed() {
    let evidence = "speed (the reciprocal of latency) fell after 2.0 s from one per 500 us to one per 2 ms, by 75 %, and \
        stayed there";
    let numbers = [("at_s", 2.0), ("before", 2000.0), ("after", 500.0), ("kept_share", 0.25)];
    told(&slowed(2, 60_000.0, 500_000.0, 2_000_000.0), LOST, evidence, &numbers);
}

/// A thread that does an operation a millisecond lets its CPU sleep: 20 us more or less are no news of the target then.
#[test]
fn what_a_sleeping_cpu_adds_is_no_loss() {
    for (threads, rate, after, wanted) in [
        (2, 2_000.0, 24_999.0, None),
        (2, 2_000.0, 25_000.0, SUSPECT),
        (2, 2_001.0, 24_999.0, SUSPECT),
        (1, 1_000.0, 24_999.0, None),
        (0, 1_000.0, 24_999.0, None),
        (1, 1_001.0, 24_999.0, SUSPECT),
    ] {
        expect(&slowed(threads, rate, 5_000.0, after), LOST, wanted);
    }
}

#[test]
fn edges_that_lie_apart_by_a_fiftieth_are_told() {
    let apart = |edge_skew_ns| judged(move |run, _| run.edge_skew_ns = edge_skew_ns);
    let evidence = "the edges of the classes' windows lie up to 200 ms apart, 5.0 % of the window";
    let numbers = [("edge_skew_ns", 2e8), ("skew_share", 0.05)];
    told(&apart(200_000_000), ReasonCode::WindowsDiffer, evidence, &numbers);
    expect(&apart(80_000_001), ReasonCode::WindowsDiffer, SUSPECT);
    expect(&apart(79_999_999), ReasonCode::WindowsDiffer, None);
}

#[test]
fn an_interruption_is_told_with_what_was_asked_for() {
    let cut = judged(|run, _| (run.stop, run.measured_s) = (Some(Stop::Interrupted), 1.5));
    let evidence = "the run was interrupted after 1.5 s of a window of 4.0 s";
    told(&cut, ReasonCode::Interrupted, evidence, &[("measured_s", 1.5), ("asked_s", 4.0)]);
    expect(&judged(|run, _| run.stop = None), ReasonCode::Interrupted, None);
}
