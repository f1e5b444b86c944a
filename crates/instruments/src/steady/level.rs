//! Levels, steps and straight lines in a series of equally spaced values.

/// The shortest level that counts: a tenth of the series, and never less than three points.
const SHORTEST_SHARE: usize = 10;
const SHORTEST: usize = 3;
/// Weight of the penalty on a further level: how many times the noise's variance, times the logarithm of the length, a
/// step must save. 2 is the criterion of Schwarz for independent noise; storage is autocorrelated, so more is asked.
const PENALTY: f64 = 4.0;
/// Noise is taken to have a memory of at most this (lag-one autocorrelation); more is a change of level, not noise.
const MEMORY_AT_MOST: f64 = 0.8;

/// Mean; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split {
    /// Index of the first value after it.
    pub at: usize,
    /// Mean of the level that ends here.
    pub before: f64,
    /// Mean of everything after it.
    pub after: f64,
    /// First index of the level that ends here.
    start: usize,
}

impl Split {
    /// Difference of the levels by its standard error. Neighbouring values resemble each other, so fewer of them are
    /// independent than there are.
    pub fn significance(&self, values: &[f64]) -> f64 {
        let (left, right) = (&values[self.start..self.at], &values[self.at..]);
        let residuals: Vec<f64> =
            left.iter().map(|x| x - self.before).chain(right.iter().map(|x| x - self.after)).collect();
        let variance = residuals.iter().map(|x| x * x).sum::<f64>() / (residuals.len() as f64 - 2.0).max(1.0);
        let error = (variance * inflation(&residuals) * (1.0 / left.len() as f64 + 1.0 / right.len() as f64)).sqrt();
        ratio((self.after - self.before).abs(), error)
    }
}

/// A straight line through equally spaced values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TrendLine {
    /// Rise per value.
    slope: f64,
    /// Value at the middle.
    middle: f64,
    count: usize,
}

impl TrendLine {
    /// The line of least squares.
    pub fn through(values: &[f64]) -> Self {
        let (centre, middle) = (centre(values.len()), mean(values));
        let products: f64 = values.iter().enumerate().map(|(i, y)| (i as f64 - centre) * (y - middle)).sum();
        Self { slope: ratio_or_zero(products, spread_of_indices(values.len())), middle, count: values.len() }
    }

    /// Rise from the first to the last value.
    pub fn excursion(&self) -> f64 {
        self.slope * self.count.saturating_sub(1) as f64
    }

    fn residuals(&self, values: &[f64]) -> Vec<f64> {
        let centre = centre(self.count);
        values.iter().enumerate().map(|(i, y)| y - self.middle - self.slope * (i as f64 - centre)).collect()
    }

    /// Sum of squared distances.
    pub fn squares(&self, values: &[f64]) -> f64 {
        self.residuals(values).iter().map(|x| x * x).sum()
    }

    /// Slope by its standard error, autocorrelation taken into account.
    pub fn significance(&self, values: &[f64]) -> f64 {
        let residuals = self.residuals(values);
        let variance = self.squares(values) / (self.count as f64 - 2.0).max(1.0);
        ratio(self.slope.abs(), (variance * inflation(&residuals) / spread_of_indices(self.count)).sqrt())
    }
}

fn centre(count: usize) -> f64 {
    (count as f64 - 1.0) / 2.0
}

fn spread_of_indices(count: usize) -> f64 {
    let n = count as f64;
    n * (n * n - 1.0) / 12.0
}

/// `a / b`; infinite where `b` vanishes and `a` does not.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 {
        a / b
    } else if a > 0.0 {
        f64::INFINITY
    } else {
        0.0
    }
}

fn ratio_or_zero(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// How much autocorrelation inflates the variance of a mean: (1 + r) / (1 - r) for noise with a memory of one step.
fn inflation(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|x| x * x).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let memory = ratio_or_zero(products, squares).clamp(0.0, MEMORY_AT_MOST);
    (1.0 + memory) / (1.0 - memory)
}

/// How far the parts of a series lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    /// Largest minus smallest mean of a part.
    pub range: f64,
    /// Standard error of a part's mean, from the noise inside the parts.
    pub error: f64,
}

/// Compares `parts` parts of equal length; there are more values than parts.
pub(super) fn spread_of_parts(values: &[f64], parts: usize) -> Spread {
    let part = |index: usize| &values[index * values.len() / parts..(index + 1) * values.len() / parts];
    let means: Vec<f64> = (0..parts).map(|index| mean(part(index))).collect();
    let residuals: Vec<f64> =
        (0..parts).flat_map(|index| part(index).iter().map(|x| x - means[index]).collect::<Vec<_>>()).collect();
    let (least, most) = means.iter().fold((f64::MAX, f64::MIN), |(least, most), &one| (least.min(one), most.max(one)));
    let freedom = (values.len() - parts).max(1) as f64;
    let variance = residuals.iter().map(|x| x * x).sum::<f64>() / freedom;
    let error = (variance * inflation(&residuals) * parts as f64 / values.len() as f64).sqrt();
    Spread { range: most - least, error }
}

/// Changes of level, by binary segmentation: the best step is taken when it saves more than a penalty, then both halves
/// are searched. In order of time.
pub(super) fn splits(values: &[f64]) -> Vec<Split> {
    let shortest = (values.len() / SHORTEST_SHARE).max(SHORTEST);
    let penalty = PENALTY * noise_variance(values) * (values.len().max(2) as f64).ln();
    let mut bounds = vec![0, values.len()];
    divide(&Sums::of(values), 0, values.len(), shortest, penalty, &mut bounds);
    bounds.sort_unstable();
    let inner = bounds.windows(3).map(|window| (window[0], window[1]));
    inner.map(|(start, at)| Split { at, before: mean(&values[start..at]), after: mean(&values[at..]), start }).collect()
}

fn divide(sums: &Sums, start: usize, end: usize, shortest: usize, penalty: f64, bounds: &mut Vec<usize>) {
    let Some((at, saved)) = best_step(sums, start, end, shortest) else { return };
    if saved <= penalty {
        return;
    }
    bounds.push(at);
    divide(sums, start, at, shortest, penalty, bounds);
    divide(sums, at, end, shortest, penalty, bounds);
}

/// The step inside a range that saves most squares, and how many.
fn best_step(sums: &Sums, start: usize, end: usize, shortest: usize) -> Option<(usize, f64)> {
    let whole = sums.squares(start, end);
    let candidates = start + shortest..(end + 1).saturating_sub(shortest);
    candidates
        .map(|at| (at, whole - sums.squares(start, at) - sums.squares(at, end)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Squares that are left when one step describes the whole series.
pub(super) fn squares_of_best_step(values: &[f64]) -> f64 {
    let sums = Sums::of(values);
    let whole = sums.squares(0, values.len());
    best_step(&sums, 0, values.len(), SHORTEST).map_or(whole, |(_, saved)| whole - saved)
}

/// Mean of the end of the series: the last third of what follows `at`, and never fewer than three points.
pub(super) fn last_level(values: &[f64], at: usize) -> f64 {
    let length = ((values.len() - at) / 3).max(SHORTEST).min(values.len());
    mean(&values[values.len() - length..])
}

/// Variance of the noise, from differences of neighbours: a change of level adds to one of them only. The median makes
/// it indifferent to that one.
pub(super) fn noise_variance(values: &[f64]) -> f64 {
    let mut differences: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    differences.sort_by(f64::total_cmp);
    let median = differences.get(differences.len() / 2).copied().unwrap_or(0.0);
    // A normal variable's median absolute value is 0.6745 of its deviation; a difference has twice the variance.
    let deviation = median / 0.6745;
    deviation * deviation / 2.0
}

/// Running sums, so that the squares of any range cost nothing.
struct Sums {
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Sums {
    /// Values are taken relative to their mean: squares of large numbers would swallow their differences.
    fn of(values: &[f64]) -> Self {
        let middle = mean(values);
        let running = |power: i32| {
            let mut sum = 0.0;
            let rest = values.iter().map(move |x| {
                sum += (x - middle).powi(power);
                sum
            });
            std::iter::once(0.0).chain(rest).collect()
        };
        Self { first: running(1), second: running(2) }
    }

    fn squares(&self, start: usize, end: usize) -> f64 {
        let sum = self.first[end] - self.first[start];
        (self.second[end] - self.second[start] - sum * sum / (end - start).max(1) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_exactly() {
        let values: Vec<f64> = (0..20).map(|i| 5.0 + 0.5 * f64::from(i)).collect();
        let line = TrendLine::through(&values);
        assert!((line.excursion() - 9.5).abs() < 1e-9);
        assert!(line.squares(&values) < 1e-9);
        assert!(line.significance(&values) > 1e6);
    }

    #[test]
    fn two_steps_are_found_where_they_are() {
        let values: Vec<f64> = (0..60).map(|i| [10.0, 20.0, 5.0][i / 20] + 0.01 * (i % 3) as f64).collect();
        let found = splits(&values);
        assert_eq!(found.iter().map(|split| split.at).collect::<Vec<_>>(), [20, 40]);
        assert!((found[1].before - 20.01).abs() < 0.01 && (found[1].after - 5.01).abs() < 0.01);
    }

    #[test]
    fn a_constant_series_has_no_steps_and_no_slope() {
        let values = vec![7.0; 30];
        assert!(splits(&values).is_empty());
        assert_eq!(TrendLine::through(&values).excursion(), 0.0);
        assert_eq!(TrendLine::through(&values).significance(&values), 0.0);
        assert!(splits(&[]).is_empty());
    }

    /// Levels of 2 and 12 after a value that belongs to neither; residuals -1, 0, 1 and 3, 0, -1, -2.
    #[test]
    fn a_change_of_level_is_held_against_its_standard_error() {
        let split = Split { at: 4, before: 2.0, after: 12.0, start: 1 };
        let found = split.significance(&[100.0, 1.0, 2.0, 3.0, 15.0, 12.0, 11.0, 10.0]);
        // Squares sum up to 16, products of neighbours to 3 + 2: a memory of 5/16, five degrees of freedom.
        let error = (16.0 / 5.0 * (21.0 / 11.0) * (1.0 / 3.0 + 1.0 / 4.0_f64)).sqrt();
        assert!((found - 10.0 / error).abs() < 1e-9, "{found}");
    }

    /// A line that rises by 2 a step, with residuals 2, 1, -3, -3, 1, 2 that lie across no line.
    #[test]
    fn a_line_has_the_slope_of_least_squares_and_its_standard_error() {
        let values = [7.0, 8.0, 6.0, 8.0, 14.0, 17.0];
        let line = TrendLine::through(&values);
        assert!((line.excursion() - 10.0).abs() < 1e-12 && (line.squares(&values) - 28.0).abs() < 1e-9);
        // Products of neighbours sum up to 7, a memory of 1/4; the squares of the indices about their middle to 17.5.
        let error = (28.0 / 4.0 * (1.25 / 0.75) / 17.5_f64).sqrt();
        assert!((line.significance(&values) - 2.0 / error).abs() < 1e-9);
    }

    #[test]
    fn a_ratio_to_nothing_is_infinite_or_nothing() {
        assert_eq!([ratio(3.0, 2.0), ratio(3.0, 0.0), ratio(0.0, 0.0)], [1.5, f64::INFINITY, 0.0]);
        assert_eq!([ratio_or_zero(3.0, 2.0), ratio_or_zero(3.0, 0.0)], [1.5, 0.0]);
        assert_eq!([mean(&[]), mean(&[1.0, 2.0, 6.0])], [0.0, 3.0]);
    }

    #[test]
    fn noise_has_a_memory_of_four_fifths_at_most() {
        assert!((inflation(&[1.0; 100]) - 1.8 / 0.2).abs() < 1e-9);
        assert_eq!(inflation(&[1.0, -1.0, 1.0, -1.0]), 1.0, "and none below zero");
    }

    /// Seven values make parts of two, two and three, with means of 2, 6 and 12; residuals -1, 1, 2, -2, -3, 0, 3.
    #[test]
    fn parts_lie_as_far_apart_as_their_means() {
        let spread = spread_of_parts(&[1.0, 3.0, 8.0, 4.0, 9.0, 12.0, 15.0], 3);
        assert_eq!(spread.range, 10.0);
        // Squares sum up to 28 with four degrees of freedom, products of neighbours to 3.
        let error = (28.0 / 4.0 * (31.0 / 25.0) * 3.0 / 7.0_f64).sqrt();
        assert!((spread.error - error).abs() < 1e-9, "{spread:?}");
    }

    #[test]
    fn noise_is_the_median_difference_of_neighbours() {
        // Differences of 1, 2, 3 and 4: the upper of the middle two counts.
        let deviation = 3.0 / 0.6745;
        assert!((noise_variance(&[0.0, 1.0, 3.0, 6.0, 10.0]) - deviation * deviation / 2.0).abs() < 1e-9);
        assert_eq!(noise_variance(&[5.0]), 0.0);
    }

    /// Twenty values that swing by 1 have differences of 1, a noise of (1 / 0.6745)^2 / 2 and a penalty of four times that
    /// times ln 20: 13.17. A step in their middle saves five times its square.
    #[test]
    fn a_step_must_save_more_than_the_penalty() {
        let stepped =
            |step: f64| -> Vec<f64> { (0..20).map(|i| f64::from(i % 2) + if i < 10 { 0.0 } else { step }).collect() };
        assert!(splits(&stepped(1.62)).is_empty());
        assert_eq!(splits(&stepped(1.63)).iter().map(|split| (split.at, split.start)).collect::<Vec<_>>(), [(10, 0)]);
    }

    #[test]
    fn a_range_is_divided_where_that_saves_more_than_the_penalty_and_not_as_much() {
        let divided = |penalty| {
            let mut bounds = Vec::new();
            // Two levels about their mean of 3: squares of 24.
            divide(&Sums::of(&[1.0, 1.0, 1.0, 5.0, 5.0, 5.0]), 0, 6, 3, penalty, &mut bounds);
            bounds
        };
        assert_eq!((divided(23.9), divided(24.0)), (vec![3], vec![]));
    }

    #[test]
    fn no_level_is_shorter_than_a_tenth() {
        // Five values of sixty are no level: six are taken for it.
        let values: Vec<f64> = (0..60).map(|i| if i < 5 { 100.0 } else { f64::from(i % 2) }).collect();
        assert_eq!(splits(&values)[0].at, 6);
    }

    #[test]
    fn the_best_step_leaves_the_shortest_level_on_both_sides() {
        let best = |values: &[f64], start| best_step(&Sums::of(values), start, values.len(), 3).map(|(at, _)| at);
        assert_eq!(best(&[0.0, 0.0, 0.0, 0.0, 0.0, 6.0, 6.0, 6.0], 0), Some(5));
        assert_eq!(best(&[50.0, 50.0, 6.0, 6.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0], 2), Some(5));
        assert_eq!(best(&[0.0, 0.0, 9.0, 9.0, 9.0], 0), None);
    }

    #[test]
    fn a_step_saves_what_its_levels_explain() {
        let values = [1.0, 2.0, 3.0, 15.0, 12.0, 11.0, 10.0];
        let (at, saved) = best_step(&Sums::of(&values), 0, 7, 3).unwrap();
        // Levels of three and of four values that lie 10 apart: 3 * 4 / 7 * 10^2.
        assert!(at == 3 && (saved - 1200.0 / 7.0).abs() < 1e-9, "{at} {saved}");
        assert!((squares_of_best_step(&values) - 16.0).abs() < 1e-9);
        assert!((squares_of_best_step(&[1.0, 3.0]) - 2.0).abs() < 1e-12, "where no step fits, those about the mean");
    }

    #[test]
    fn the_last_level_is_a_third_of_what_follows_and_three_values_at_least() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!([last_level(&values, 5), last_level(&values, 18)], [18.0, 19.0]);
    }

    #[test]
    fn squares_of_a_range_are_exact_beside_large_values() {
        let sums = Sums::of(&[1e9 + 100.0, 1e9 + 1.0, 1e9 + 3.0, 1e9 + 2.0]);
        assert!((sums.squares(1, 4) - 2.0).abs() < 1e-6, "{}", sums.squares(1, 4));
    }
}
