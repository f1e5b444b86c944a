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
