//! Whether a window was steady: an early stop while it runs, and a judgement on the whole of it afterwards.
//!
//! The early stop is the rule of SNIA's Solid State Storage Performance Test Specification: over the last five rounds,
//! the spread stays within 20 % of the average and the best straight line rises or falls by at most 10 % of it. The
//! judgement works on the complete series of a window: it looks for a level that dropped and stayed down (a write cache
//! that ran full, garbage collection, burst credits), for a drift, and for a series that never settled.

mod detector;
mod level;
mod stall;
#[cfg(test)]
mod tests;

pub use detector::{Interval, SteadyDetector};

use assay_record::IntervalPoint;

use level::{Split, TrendLine, mean};

/// One point of a series: throughput, or anything else where more is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesPoint {
    /// Seconds since the window opened, at the interval's end.
    pub at_s: f64,
    /// Length of the interval, s.
    pub length_s: f64,
    /// Value over the interval, per second or otherwise independent of its length.
    pub value: f64,
}

/// How far a series may stray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// A level that lies lower by more than this share of the one before, to the end of the window, is lost steadiness.
    pub drop: f64,
    /// Rise or fall of the straight line over the window, relative to the mean.
    pub drift: f64,
    /// Difference between the best and the worst fifth of the window, relative to the mean.
    pub spread: f64,
}

impl Limits {
    /// For throughput. Drop and drift are those of the SNIA rule. The spread is wider than its 20 %: its rounds are
    /// minutes, ours are fifths of a window of seconds, and on a virtual machine with busy neighbours those of a closed
    /// loop that nobody would call unsteady were seen to differ by up to 20 %.
    pub const THROUGHPUT: Self = Self { drop: 0.2, drift: 0.1, spread: 0.3 };
    /// For the reciprocal of latency, where the rate is given and latency is what is measured. Means of latencies have
    /// heavy tails; these bounds are reached when latency rises by half.
    pub const SPEED: Self = Self { drop: 0.33, drift: 0.33, spread: 0.6 };
}

/// What a window was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steadiness {
    /// Nothing was found against it (also where there are too few points to tell).
    Steady,
    /// It drifted, or jumped about.
    NeverSteady {
        /// Difference between the best and the worst fifth of the window, relative to the mean.
        spread: f64,
        /// Rise (or fall, negative) of the straight line over the window, relative to the mean.
        drift: f64,
    },
    /// It stepped up.
    Rose {
        /// When, seconds since the window opened.
        at_s: f64,
        /// Mean value of the level that ended there.
        before: f64,
        /// Mean value of all that came after.
        after: f64,
    },
    /// It was steady and then dropped, and stayed down.
    Lost {
        /// When, seconds since the window opened.
        at_s: f64,
        /// Mean value before.
        before: f64,
        /// Mean value after.
        after: f64,
    },
    /// For a while nothing completed at all.
    Stalled {
        /// When that began, seconds since the window opened.
        at_s: f64,
        /// How long it was, s, in whole intervals.
        for_s: f64,
        /// What completes in that time on the average of the window.
        expected: f64,
    },
}

/// Fewer intervals than this say nothing about steadiness.
pub const INTERVALS_AT_LEAST: usize = 10;
/// Longer series are averaged down to this many points: the question is about levels, not about single intervals.
const POINTS_AT_MOST: usize = 60;
/// A value this many standard deviations of the noise from both its neighbours is a spike.
const SPIKE: f64 = 4.0;
/// Parts that the spread compares, as SNIA's rule compares five rounds.
const PARTS: usize = 5;
/// A drift, and a change of level, must exceed its standard error by this factor, autocorrelation taken into account.
const DRIFT_SIGNIFICANCE: f64 = 3.0;
const LEVEL_SIGNIFICANCE: f64 = 4.0;
/// Means of five parts of pure noise lie this many standard errors apart in one of a hundred windows (the studentised
/// range of five).
const SPREAD_SIGNIFICANCE: f64 = 4.6;

/// Judges a complete series. Points of much less than the usual length (a last, cut interval) are ignored.
pub fn assess(series: &[SeriesPoint], limits: Limits) -> Steadiness {
    let points = prepare(series);
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let average = mean(&values);
    if points.len() < INTERVALS_AT_LEAST || average <= 0.0 {
        return Steadiness::Steady;
    }
    let line = TrendLine::through(&values);
    let splits = level::splits(&values);
    if let Some(lost) = find_loss(&points, &values, &splits, &line, limits) {
        return lost;
    }
    let drift = line.excursion() / average;
    let spread = level::spread_of_parts(&values, PARTS);
    let scattered = spread.range > limits.spread * average && spread.range > SPREAD_SIGNIFICANCE * spread.error;
    let drifted = drift.abs() > limits.drift && line.significance(&values) > DRIFT_SIGNIFICANCE;
    // A slow rise looks like a step, too: where a straight line describes it better, that is said.
    let step_is_better = level::squares_of_best_step(&values) <= line.squares(&values);
    match find_rise(&points, &values, &splits, limits) {
        Some(rose) if step_is_better || !(drifted || scattered) => rose,
        _ if drifted || scattered => Steadiness::NeverSteady { spread: spread.range / average, drift },
        _ => stall::find(series).unwrap_or(Steadiness::Steady),
    }
}

/// Throughput of a class's intervals, operations per second.
pub fn throughput(intervals: &[IntervalPoint]) -> Vec<SeriesPoint> {
    points(intervals, |point| Some(point.operations as f64 / point.length_s))
}

/// Reciprocal of the mean service time, 1/s; intervals without an operation are left out.
pub fn speed(intervals: &[IntervalPoint]) -> Vec<SeriesPoint> {
    points(intervals, |point| (point.operations > 0 && point.mean_ns > 0.0).then(|| 1e9 / point.mean_ns))
}

/// Distance between the lowest and the highest mean service time of the fifths of a window, ns; 0 where there are too few
/// intervals to tell.
pub fn latency_range_ns(intervals: &[IntervalPoint]) -> f64 {
    if intervals.len() < PARTS {
        return 0.0;
    }
    let means = (0..PARTS).filter_map(|part| {
        let of = &intervals[part * intervals.len() / PARTS..(part + 1) * intervals.len() / PARTS];
        let operations: u64 = of.iter().map(|point| point.operations).sum();
        let sum: f64 = of.iter().map(|point| point.operations as f64 * point.mean_ns).sum();
        (operations > 0 && sum.is_finite()).then(|| sum / operations as f64)
    });
    let (low, high) = means.fold((f64::INFINITY, 0.0_f64), |(low, high), mean| (low.min(mean), high.max(mean)));
    (high - low).max(0.0)
}

fn points(intervals: &[IntervalPoint], value: impl Fn(&IntervalPoint) -> Option<f64>) -> Vec<SeriesPoint> {
    let usable = intervals.iter().filter(|point| point.length_s > 0.0);
    usable
        .filter_map(|point| Some(SeriesPoint { at_s: point.at_s, length_s: point.length_s, value: value(point)? }))
        .collect()
}

/// A clear drop that lasts to the end. A slow decline looks like a step, too: what a straight line describes better
/// than one step is a drift.
fn find_loss(
    points: &[SeriesPoint],
    values: &[f64],
    splits: &[Split],
    line: &TrendLine,
    limits: Limits,
) -> Option<Steadiness> {
    let bound = 1.0 - limits.drop;
    let lasting = |split: &&Split| {
        // A load with a rate catches up after a stall, and falls back to its rate then: nothing is lost.
        let before = split.before.min(mean(&values[..split.at]));
        split.after < bound * before
            && level::last_level(values, split.at) < bound * split.before
            && split.significance(values) > LEVEL_SIGNIFICANCE
    };
    let split = clearest(values, splits, lasting)?;
    if line.squares(values) < level::squares_of_best_step(values) {
        return None;
    }
    Some(Steadiness::Lost { at_s: begin_of(&points[split.at]), before: split.before, after: split.after })
}

/// A clear step up.
fn find_rise(points: &[SeriesPoint], values: &[f64], splits: &[Split], limits: Limits) -> Option<Steadiness> {
    let rising = |split: &&Split| {
        split.after > split.before / (1.0 - limits.drop) && split.significance(values) > LEVEL_SIGNIFICANCE
    };
    let split = clearest(values, splits, rising)?;
    Some(Steadiness::Rose { at_s: begin_of(&points[split.at]), before: split.before, after: split.after })
}

/// The clearest change of those that are wanted: a spurious step just before the real one mixes both levels, and is less
/// clear.
fn clearest<'a>(values: &[f64], splits: &'a [Split], wanted: impl Fn(&&Split) -> bool) -> Option<&'a Split> {
    splits.iter().filter(wanted).max_by(|a, b| a.significance(values).total_cmp(&b.significance(values)))
}

/// When an interval began, s since the window opened.
fn begin_of(point: &SeriesPoint) -> f64 {
    (point.at_s - point.length_s).max(0.0)
}

/// Drops cut intervals, replaces single outliers by their neighbours, averages down to a handy number of points.
fn prepare(series: &[SeriesPoint]) -> Vec<SeriesPoint> {
    let mut lengths: Vec<f64> = series.iter().map(|point| point.length_s).collect();
    lengths.sort_by(f64::total_cmp);
    let usual = lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);
    let good =
        |point: &&SeriesPoint| point.length_s >= usual / 2.0 && point.value.is_finite() && point.at_s.is_finite();
    let whole: Vec<SeriesPoint> = series.iter().filter(good).copied().collect();
    let group = whole.len().div_ceil(POINTS_AT_MOST).max(1);
    without_spikes(&whole).chunks(group).filter(|chunk| chunk.len() * 2 > group).map(merged).collect()
}

/// Replaces a single value that stands out from both neighbours by far more than the noise: one interval with a hiccup
/// does not make a level. The others stay as they are, for a filter would make noise look like memory.
fn without_spikes(points: &[SeriesPoint]) -> Vec<SeriesPoint> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let bound = SPIKE * level::noise_variance(&values).sqrt();
    let mut smooth = points.to_vec();
    for (index, window) in values.windows(3).enumerate() {
        let mut sorted = [window[0], window[1], window[2]];
        sorted.sort_by(f64::total_cmp);
        if (window[1] - sorted[1]).abs() > bound {
            smooth[index + 1].value = sorted[1];
        }
    }
    smooth
}

fn merged(chunk: &[SeriesPoint]) -> SeriesPoint {
    let length_s: f64 = chunk.iter().map(|point| point.length_s).sum();
    let weighted: f64 = chunk.iter().map(|point| point.value * point.length_s).sum();
    let at_s = chunk.last().map_or(0.0, |point| point.at_s);
    SeriesPoint { at_s, length_s, value: if length_s > 0.0 { weighted / length_s } else { 0.0 } }
}
