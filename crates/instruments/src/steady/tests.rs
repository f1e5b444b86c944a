//! What a series is made of before it is judged, and the bounds of the judgement from both sides.

use super::*;

const LENGTH_S: f64 = 0.5;

fn series(values: &[f64]) -> Vec<SeriesPoint> {
    let at = |index: usize| (index + 1) as f64 * LENGTH_S;
    values
        .iter()
        .enumerate()
        .map(|(index, &value)| SeriesPoint { at_s: at(index), length_s: LENGTH_S, value })
        .collect()
}

fn judged(values: &[f64], limits: Limits) -> Steadiness {
    assess(&series(values), limits)
}

/// Limits that nothing passes: each test tightens what it is about.
const WIDE: Limits = Limits { drop: 0.9, drift: 10.0, spread: 10.0 };

/// Ten values from 115 to 205, ten apart: a mean of 160, a line that rises by 90, fifths whose means lie 80 apart.
fn rising() -> Vec<f64> {
    (0..10).map(|i| 115.0 + 10.0 * f64::from(i)).collect()
}

fn steps(levels: &[(usize, f64)]) -> Vec<f64> {
    levels.iter().flat_map(|&(count, value)| vec![value; count]).collect()
}

#[test]
fn a_line_and_fifths_may_lie_as_far_apart_as_the_limits_and_no_further() {
    let never = |limits| match judged(&rising(), limits) {
        Steadiness::NeverSteady { spread, drift } => Some((spread, drift)),
        Steadiness::Steady => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(never(Limits { drift: 0.5625, ..WIDE }), None, "90 of 160");
    assert_eq!(never(Limits { drift: 0.56, ..WIDE }), Some((0.5, 0.5625)));
    assert_eq!(never(Limits { spread: 0.5, ..WIDE }), None, "80 of 160");
    assert_eq!(never(Limits { spread: 0.49, ..WIDE }), Some((0.5, 0.5625)));
}

#[test]
fn a_fall_is_a_drift_below_zero() {
    let falling: Vec<f64> = rising().into_iter().rev().collect();
    let limits = Limits { drop: 0.2, drift: 0.5, ..WIDE };
    assert_eq!(judged(&falling, limits), Steadiness::NeverSteady { spread: 0.5, drift: -0.5625 });
}

/// A straight rise looks like a step from the mean of its first half to that of its second, which is 4.08 of its standard
/// errors high. The line describes it better, and is told where it is one too many.
#[test]
fn a_straight_rise_is_a_step_only_where_it_is_no_drift() {
    let limits = Limits { drop: 0.2, ..WIDE };
    assert_eq!(judged(&rising(), limits), Steadiness::Rose { at_s: 2.5, before: 135.0, after: 185.0 });
    let never = Steadiness::NeverSteady { spread: 0.5, drift: 0.5625 };
    assert_eq!(judged(&rising(), Limits { drift: 0.5, ..limits }), never);
    assert_eq!(judged(&rising(), Limits { spread: 0.4, ..limits }), never);
}

#[test]
fn a_step_is_told_as_one_though_it_is_a_drift_too() {
    let limits = Limits { drop: 0.2, drift: 0.1, spread: 0.1 };
    let rose = Steadiness::Rose { at_s: 5.0, before: 100.0, after: 200.0 };
    assert_eq!(judged(&steps(&[(10, 100.0), (10, 200.0)]), limits), rose);
    let lost = Steadiness::Lost { at_s: 5.0, before: 200.0, after: 100.0 };
    assert_eq!(judged(&steps(&[(10, 200.0), (10, 100.0)]), limits), lost);
}

#[test]
fn nine_values_say_nothing_and_ten_do() {
    let limits = Limits { drop: 0.2, ..WIDE };
    assert_eq!(judged(&steps(&[(5, 100.0), (4, 200.0)]), limits), Steadiness::Steady);
    let rose = Steadiness::Rose { at_s: 2.5, before: 100.0, after: 200.0 };
    assert_eq!(judged(&steps(&[(5, 100.0), (5, 200.0)]), limits), rose);
}

/// Residuals 11, -10, 8, -6, -3 and back: they follow no line, have no memory, and squares of 660. The standard error of the
/// slope is the root of 660 / 8 / 82.5, which is one.
#[test]
fn a_drift_exceeds_three_standard_errors() {
    let residuals = [11.0, -10.0, 8.0, -6.0, -3.0, -3.0, -6.0, 8.0, -10.0, 11.0];
    let sloped = |slope: f64| -> Vec<f64> {
        residuals.iter().zip(0..).map(|(residual, i)| 100.5 + slope * (f64::from(i) - 4.5) + residual).collect()
    };
    let limits = Limits { drift: 0.1, ..WIDE };
    assert_eq!(judged(&sloped(3.0), limits), Steadiness::Steady);
    assert!(matches!(judged(&sloped(3.5), limits), Steadiness::NeverSteady { .. }));
}

/// Fifths of two values that lie 5 off their mean: the error of a mean is the root of 10 * 25 / 5 * 5 / 10, which is five.
#[test]
fn fifths_differ_by_more_than_noise_lets_them() {
    let apart = |range: f64| -> Vec<f64> {
        [100.0, 100.0 + range, 100.0, 100.0, 100.0].iter().flat_map(|mean| [mean - 5.0, mean + 5.0]).collect()
    };
    let limits = Limits { spread: 0.1, ..WIDE };
    assert_eq!(judged(&apart(23.0), limits), Steadiness::Steady, "4.6 standard errors");
    assert!(matches!(judged(&apart(23.5), limits), Steadiness::NeverSteady { .. }));
}

#[test]
fn a_level_is_lost_where_it_lies_lower_than_the_limit_and_in_the_end_too() {
    let limits = Limits { drop: 0.2, ..WIDE };
    let lost = |levels: &[(usize, f64)]| matches!(judged(&steps(levels), limits), Steadiness::Lost { .. });
    assert!(!lost(&[(10, 1000.0), (10, 800.0)]), "a fifth is the limit");
    assert!(lost(&[(10, 1000.0), (10, 799.0)]));
    // A mean of 800 after the first level, though it ends lower.
    assert!(!lost(&[(10, 1000.0), (6, 850.0), (3, 700.0)]));
    assert!(lost(&[(10, 1000.0), (6, 848.0), (3, 700.0)]));
    // A mean of 590 after the first level, though it ends at 800.
    assert!(!lost(&[(10, 1000.0), (7, 500.0), (3, 800.0)]));
    assert!(lost(&[(10, 1000.0), (7, 500.0), (3, 798.0)]));
}

/// Two hundred operations a second, of which those of the first 0.4 s were done in the 0.4 s after them.
#[test]
fn a_load_that_catches_up_after_a_stall_and_falls_back_to_its_rate_lost_nothing() {
    let caught_up = |rate: f64| judged(&steps(&[(4, 0.0), (4, 400.0), (12, rate)]), Limits::THROUGHPUT);
    assert!(!matches!(caught_up(200.0), Steadiness::Lost { .. } | Steadiness::Steady), "{:?}", caught_up(200.0));
    assert!(!matches!(caught_up(160.0), Steadiness::Lost { .. }), "four fifths of the mean before it");
    assert!(matches!(caught_up(159.0), Steadiness::Lost { .. }));
}

#[test]
fn what_is_much_shorter_than_usual_or_no_number_is_left_out() {
    let mut made = series(&[10.0; 14]);
    (made[3].length_s, made[8].length_s, made[9].length_s) = (0.24, 0.24, 0.25);
    (made[4].value, made[5].at_s) = (f64::NAN, f64::INFINITY);
    let left: Vec<f64> = prepare(&made).iter().map(|point| point.at_s).collect();
    assert_eq!(left, [0.5, 1.0, 1.5, 3.5, 4.0, 5.0, 5.5, 6.0, 6.5, 7.0], "half of the usual length is enough");
}

#[test]
fn long_series_are_averaged_to_sixty_points_and_a_rest_counts_from_more_than_half() {
    for (count, left) in [(60, 60), (61, 30), (120, 60), (121, 40), (122, 41)] {
        assert_eq!(prepare(&series(&vec![1.0; count])).len(), left, "of {count}");
    }
}

/// Differences of 1 are a noise of 1 / 0.6745 / sqrt(2), of which four make a spike: 4.19.
#[test]
fn a_single_value_that_stands_out_is_taken_for_its_neighbour() {
    let with = |value: f64| {
        let mut values: Vec<f64> = (0..11).map(|i| 100.0 + f64::from(i % 2)).collect();
        values[4] = value;
        prepare(&series(&values)).iter().map(|point| point.value).collect::<Vec<_>>()
    };
    assert_eq!(with(105.1)[4], 105.1);
    assert_eq!(with(105.3)[3..6], [101.0, 101.0, 101.0]);
}

#[test]
fn merged_intervals_have_the_mean_over_their_time() {
    let point = |at_s, length_s, value| SeriesPoint { at_s, length_s, value };
    assert_eq!(merged(&[point(1.0, 1.0, 10.0), point(3.0, 2.0, 40.0)]), point(3.0, 3.0, 30.0));
    assert_eq!(merged(&[point(1.0, 0.0, 10.0)]), point(1.0, 0.0, 0.0));
}

#[test]
fn an_interval_begins_its_length_before_its_end() {
    assert_eq!(begin_of(&SeriesPoint { at_s: 3.0, length_s: 0.5, value: 1.0 }), 2.5);
}

fn intervals(of: &[(u64, f64)]) -> Vec<IntervalPoint> {
    let at = |index: usize| (index + 1) as f64 * LENGTH_S;
    let point = |(index, &(operations, mean_ns)): (usize, &(u64, f64))| {
        let (at_s, length_s) = (at(index), LENGTH_S);
        IntervalPoint { at_s, length_s, operations, bytes: 0, mean_ns, p50_ns: 0, p99_ns: 0, max_ns: 0 }
    };
    of.iter().enumerate().map(point).collect()
}

#[test]
fn speed_is_that_of_intervals_with_an_operation_and_a_time() {
    let seen = speed(&intervals(&[(3, 2000.0), (0, 500.0), (2, 0.0), (1, 4000.0)]));
    let seen: Vec<(f64, f64)> = seen.iter().map(|point| (point.at_s, point.value)).collect();
    assert_eq!(seen, [(0.5, 5e5), (2.0, 2.5e5)]);
    let rates: Vec<f64> = throughput(&intervals(&[(3, 2000.0), (0, 500.0)])).iter().map(|point| point.value).collect();
    assert_eq!(rates, [6.0, 0.0]);
}

/// Seven intervals make fifths of one, one, two, one and two.
#[test]
fn the_range_of_latency_leaves_out_what_is_no_number() {
    let made = |third: f64| {
        latency_range_ns(&intervals(&[(1, 30.0), (1, 40.0), (1, 50.0), (3, 10.0), (1, third), (2, 90.0), (1, 60.0)]))
    };
    // Means of 30, 40, (50 + 3 * 10) / 4, `third` and (2 * 90 + 60) / 3.
    assert_eq!(made(100.0), 80.0);
    assert_eq!(made(f64::INFINITY), 60.0);
}

#[test]
fn five_intervals_have_a_range_of_latency_and_four_have_none() {
    let made = intervals(&[(1, 10.0), (1, 20.0), (1, 30.0), (1, 40.0), (1, 60.0)]);
    assert_eq!([latency_range_ns(&made), latency_range_ns(&made[..4])], [50.0, 0.0]);
}
