//! A stretch of a window in which nothing completed.

use super::{SeriesPoint, Steadiness};

/// A stretch of at least this share of the window moves the mean by as much.
const SHARE: f64 = 0.1;
/// By chance nothing completes where so many operations were to be expected once in a million windows or less.
const EXPECTED: f64 = 15.0;

/// The longest stretch without a completion, where it is a tenth of the window or more and its operations cannot be
/// absent by chance. What is due then completes all at once afterwards, so that fifths of the window need not differ.
/// `None`, too, for a series of latencies, which has no empty intervals.
pub(super) fn find(series: &[SeriesPoint]) -> Option<Steadiness> {
    let window_s: f64 = series.iter().map(|point| point.length_s).sum();
    let operations: f64 = series.iter().map(|point| point.value * point.length_s).sum();
    let empty = series.split(|point| point.value > 0.0).filter(|stretch| !stretch.is_empty());
    let (at_s, for_s) = empty.map(edges).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let expected = operations / window_s * for_s;
    (for_s >= SHARE * window_s && expected >= EXPECTED).then_some(Steadiness::Stalled { at_s, for_s, expected })
}

/// Begin and length of a stretch, s.
fn edges(stretch: &[SeriesPoint]) -> (f64, f64) {
    let for_s = stretch.iter().map(|point| point.length_s).sum();
    ((stretch[0].at_s - stretch[0].length_s).max(0.0), for_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds of intervals of half a second, of which `from..until` are empty.
    fn window(value: f64, from: usize, until: usize) -> Vec<SeriesPoint> {
        let at = |index: usize| (index + 1) as f64 * 0.5;
        let value = |index| if (from..until).contains(&index) { 0.0 } else { value };
        (0..20).map(|index| SeriesPoint { at_s: at(index), length_s: 0.5, value: value(index) }).collect()
    }

    #[test]
    fn a_stretch_of_a_tenth_of_the_window_is_a_stall() {
        // 18 intervals of 50 operations, 90 a second.
        let stalled = Steadiness::Stalled { at_s: 2.5, for_s: 1.0, expected: 90.0 };
        assert_eq!(find(&window(100.0, 5, 7)), Some(stalled));
        assert_eq!(find(&window(100.0, 5, 6)), None);
        assert_eq!(find(&window(100.0, 0, 0)), None);
    }

    #[test]
    fn the_longest_stretch_is_told() {
        let mut series = window(100.0, 10, 13);
        (series[2].value, series[3].value) = (0.0, 0.0);
        // 15 intervals of 50 operations, 75 a second.
        assert_eq!(find(&series), Some(Steadiness::Stalled { at_s: 5.0, for_s: 1.5, expected: 112.5 }));
    }

    #[test]
    fn operations_whose_absence_chance_explains_are_no_stall() {
        // 16 intervals of 9.375 a second are 75 operations, of which 15 were due in two seconds.
        assert_eq!(find(&window(9.375, 0, 4)), Some(Steadiness::Stalled { at_s: 0.0, for_s: 2.0, expected: 15.0 }));
        assert_eq!(find(&window(9.25, 0, 4)), None);
    }
}
