//! How many random reads find their bytes in a page cache that fills.

use crate::{Stream, device_load::DeviceAnswer};

/// How much longer an operation takes that misses than one that finds its bytes, over the time of that; none where a rate of
/// its own limits the stream.
pub fn miss_over_hit(stream: &Stream, answer: &DeviceAnswer, misses: f64) -> f64 {
    let whole_ns = stream.in_flight() / answer.ops_per_s.max(1e-9) * 1e9;
    let waited_ns = answer.mean_ns.min(whole_ns * 0.999);
    let free = stream.rate_per_s.is_some_and(|rate| answer.ops_per_s >= 0.99 * rate);
    if free { 0.0 } else { waited_ns / misses.min(1.0) / (whole_ns - waited_ns) }
}

/// Enough to find when a window begins: the time that reads take is smooth.
const NEWTON_ROUNDS: usize = 6;

/// Mean share of random reads that find their bytes in a window, which the share `before` of the load's time precedes. At the
/// window's rate that time would do for `sets` data sets. After z of them exp(-z) of the bytes are not there yet; a read that
/// misses takes 1 + `longer` times as long, so that z of them take the time z + longer (1 - exp(-z)), and fewer are read
/// before the window than at its rate.
pub fn hits(sets: f64, before: f64, longer: f64) -> f64 {
    if sets < 1e-6 {
        return 0.0;
    }
    let counted = sets * (1.0 - before);
    let mut first = sets * before;
    for _ in 0..NEWTON_ROUNDS {
        let left = (-first).exp();
        let (gone, window) = (first + longer * (1.0 - left), counted - longer * left * (-counted).exp_m1());
        let slope = (1.0 + longer * left) * (1.0 - before) - before * longer * left * (-counted).exp_m1();
        first = (first - (gone * (1.0 - before) - window * before) / slope).clamp(0.0, sets * before);
    }
    1.0 + (-first).exp() * (-counted).exp_m1() / counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_grow_from_none_to_all() {
        let found = [0.0, 0.01, 0.1, 1.0, 10.0, 1e6].map(|sets| hits(sets, 0.0, 3.0));
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{found:?}");
        assert!((found[1] - 0.005).abs() < 1e-4 && found[5] > 0.99999, "{found:?}");
    }

    /// A play of the same: reads follow one another, and each one that misses takes longer.
    fn played(sets: f64, before: f64, longer: f64) -> f64 {
        let took = |z: f64| z + longer * (1.0 - (-z).exp());
        // The window's rate decides how long all of it takes: searched until that is `sets`.
        let (mut low, mut high) = (0.0, sets);
        for _ in 0..60 {
            let first = f64::midpoint(low, high);
            let whole = took(first) / before;
            let mut last = first;
            (0..200).for_each(|_| last -= (took(last) - whole) / (1.0 + longer * (-last).exp()));
            let rate = (last - first) / (1.0 - before);
            if rate < sets { low = first } else { high = first }
        }
        let last = low + sets * (1.0 - before);
        1.0 - ((-low).exp() - (-last).exp()) / (last - low)
    }

    #[test]
    fn a_cache_that_fills_slowly_at_first_finds_less_than_at_an_even_rate() {
        for (sets, before, longer) in [(0.5, 0.2, 1.0), (3.0, 0.17, 4.0), (3.0, 0.17, 40.0), (20.0, 0.3, 2.0)] {
            let (found, expected) = (hits(sets, before, longer), played(sets, before, longer));
            assert!((found - expected).abs() < 1e-3, "{sets}, {before}, {longer}: {found} and {expected}");
            assert!(found < hits(sets, before, 0.0), "{sets}, {before}, {longer}: {found}");
        }
    }
}
