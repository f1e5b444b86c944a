//! What a worker counts while it measures.
//!
//! One thread writes, others may read at any time: every counter is an atomic that its single writer updates with a plain
//! load and a plain store. The controller takes snapshots and subtracts them, so that the measured loop knows nothing of
//! intervals.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use hdrhistogram::Histogram;

/// Counters per power of two: 1024, so that a value is known to 0.1 % (three significant digits, as HdrHistogram lays
/// them out with 2048 in its first bucket).
const HALF: usize = 1024;
const HALF_BITS: u32 = 10;
/// Values up to 2^36 ns (68 s) have a counter of their own; larger ones are counted at the top and in `above`.
const TOP_BITS: u32 = 36;
/// Largest value with a counter of its own, ns.
pub const RANGE_NS: u64 = (1 << TOP_BITS) - 1;
const COUNTERS: usize = (TOP_BITS - HALF_BITS) as usize * HALF + HALF;

/// A latency histogram with HdrHistogram's buckets, one writer and any number of readers.
#[derive(Debug)]
pub struct Latencies {
    counts: Box<[AtomicU64]>,
    total: AtomicU64,
    sum: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    lowest: AtomicU32,
    highest: AtomicU32,
}

#[inline(always)]
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}

#[inline(always)]
fn index_of(value: u64) -> usize {
    let bucket = (64 - HALF_BITS - 1) - (value | (2 * HALF as u64 - 1)).leading_zeros();
    ((bucket as usize) << HALF_BITS) + (value >> bucket) as usize
}

fn lowest_value(index: usize) -> u64 {
    if index < 2 * HALF {
        return index as u64;
    }
    let bucket = (index >> HALF_BITS) - 1;
    ((index - (bucket << HALF_BITS)) as u64) << bucket
}

/// Largest value that is counted at an index; nothing is known of the size of those at the top.
fn highest_value(index: usize) -> u64 {
    if index + 1 >= COUNTERS { u64::MAX } else { lowest_value(index + 1) - 1 }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl Latencies {
    /// Memory that one takes, bytes.
    pub const BYTES: u64 = (COUNTERS * 8) as u64;

    /// An empty histogram.
    pub fn new() -> Self {
        Self {
            counts: (0..COUNTERS).map(|_| AtomicU64::new(0)).collect(),
            total: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
            lowest: AtomicU32::new(u32::MAX),
            highest: AtomicU32::new(0),
        }
    }

    /// Counts a value, ns. Only the thread that owns the histogram may call this.
    #[inline(always)]
    pub fn record(&self, value_ns: u64) {
        let index = index_of(value_ns.min(RANGE_NS));
        // `index_of` is below COUNTERS for every value up to RANGE_NS; `get` keeps the proof out of the unsafe world.
        if let Some(counter) = self.counts.get(index) {
            add(counter, 1);
        }
        add(&self.total, 1);
        add(&self.sum, value_ns);
        if value_ns < self.min.load(Relaxed) {
            self.new_minimum(value_ns, index);
        }
        if value_ns > self.max.load(Relaxed) {
            self.new_maximum(value_ns, index);
        }
    }

    /// Counts a value, ns, so many times. Not for the measured loop.
    #[cold]
    pub fn record_many(&self, value_ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.record(value_ns);
        add(&self.counts[index_of(value_ns.min(RANGE_NS))], times - 1);
        add(&self.total, times - 1);
        add(&self.sum, value_ns.wrapping_mul(times - 1));
    }

    #[cold]
    fn new_minimum(&self, value_ns: u64, index: usize) {
        self.min.store(value_ns, Relaxed);
        self.lowest.store(index as u32, Relaxed);
    }

    #[cold]
    fn new_maximum(&self, value_ns: u64, index: usize) {
        self.max.store(value_ns, Relaxed);
        self.highest.store(index as u32, Relaxed);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.total.load(Relaxed)
    }

    /// Adds what was counted since the last call into `into`; `seen` is the reader's memory and is brought up to date.
    ///
    /// Extremes are those of what was counted since: exact where they exceed all that the reader has seen before, else to
    /// a bucket (0.1 %).
    pub fn drain_into(&self, seen: &mut Snapshot, into: &mut Sum) {
        let sum = self.sum.load(Relaxed);
        into.sum = into.sum.wrapping_add(sum.wrapping_sub(seen.sum));
        seen.sum = sum;
        let (lowest, highest) = (self.lowest.load(Relaxed) as usize, self.highest.load(Relaxed) as usize);
        if lowest > highest {
            return;
        }
        let (mut first, mut last) = (None, 0);
        for index in lowest..=highest {
            let count = self.counts[index].load(Relaxed);
            let fresh = count.wrapping_sub(seen.counts[index]);
            if fresh != 0 {
                seen.counts[index] = count;
                into.count_at(index, fresh);
                (first, last) = (first.or(Some(index)), index);
            }
        }
        let (min, max) = (self.min.load(Relaxed), self.max.load(Relaxed));
        if let Some(first) = first {
            // A new extreme lies in the outermost counter, of which it bounds the part that was met.
            into.min = into.min.min(lowest_value(first).max(min));
            into.max = into.max.max(highest_value(last).min(max));
        }
    }
}

/// Values of which only a lower bound is known. The bounds are recorded among the other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtLeast {
    /// How many.
    pub count: u64,
    /// The smallest bound, ns: a percentile below it is exact, whatever the values are.
    pub from_ns: u64,
}

impl Default for AtLeast {
    fn default() -> Self {
        Self { count: 0, from_ns: u64::MAX }
    }
}

impl AtLeast {
    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.from_ns = self.from_ns.min(other.from_ns);
    }
}

/// What a reader of [`Latencies`] has already seen.
#[derive(Debug)]
pub struct Snapshot {
    counts: Vec<u64>,
    sum: u64,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self { counts: vec![0; COUNTERS], sum: 0 }
    }
}

/// A sum of histograms, for one reader.
#[derive(Clone, Debug)]
pub struct Sum {
    histogram: Histogram<u64>,
    /// Exact sum of all values, ns.
    pub sum: u64,
    /// Smallest value, ns; `u64::MAX` where there is none. For a part of a series it may be low by a bucket (0.1 %).
    pub min: u64,
    /// Largest value, ns, exact. For a part of a series it may be high by a bucket (0.1 %).
    pub max: u64,
    /// Values above the range.
    pub above: u64,
    /// Values of which only a lower bound is known.
    pub at_least: AtLeast,
}

impl Default for Sum {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, RANGE_NS, 3).unwrap_or_else(|_| unreachable!("constant bounds"));
        Self { histogram, sum: 0, min: u64::MAX, max: 0, above: 0, at_least: AtLeast::default() }
    }
}

impl Sum {
    fn count_at(&mut self, index: usize, count: u64) {
        let recorded = self.histogram.record_n(lowest_value(index), count);
        debug_assert!(recorded.is_ok(), "every index is in range");
        if index == COUNTERS - 1 {
            self.above += count;
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The histogram, values in ns.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok(), "equal bounds");
        self.sum = self.sum.wrapping_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.above += other.above;
        self.at_least.add(other.at_least);
    }

    /// What is left without a part of it. The extremes are those that the histogram still shows.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        let mut rest = self.clone();
        let taken = rest.histogram.subtract(&part.histogram);
        debug_assert!(taken.is_ok(), "a part of the whole");
        rest.sum = self.sum.wrapping_sub(part.sum);
        rest.above = self.above.saturating_sub(part.above);
        rest.max = rest.histogram.max().min(self.max);
        rest.min = rest.histogram.min_nz().max(self.min);
        rest
    }

    /// Exact mean, ns; 0 where there is no value.
    pub fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum as f64 / self.count() as f64 }
    }

    /// Value at a percentile (0..=100), ns, never above the exact maximum.
    pub fn percentile(&self, percentile: f64) -> u64 {
        self.histogram.value_at_percentile(percentile).min(self.max)
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
        (self.sum, self.min, self.max, self.above, self.at_least) = (0, u64::MAX, 0, 0, AtLeast::default());
    }
}

/// All that one worker counts.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Tally {
    /// From submission to completion.
    pub service: Latencies,
    /// From intended start to completion; stays empty where arrivals are closed.
    pub response: Option<Latencies>,
    /// Writes alone, where reads and writes mix.
    pub write_service: Option<Latencies>,
    /// Flushes alone.
    pub flush: Option<Latencies>,
    /// How late an idle generator started an operation.
    pub lateness: Option<Latencies>,
    /// Writes completed.
    pub writes: AtomicU64,
    /// Bytes moved.
    pub bytes: AtomicU64,
    /// Ticks spent waiting for an intended start without sleeping.
    pub wait_ticks: AtomicU64,
    /// Ticks spent inside the submit call of a queued path.
    pub submit_ticks: AtomicU64,
    /// Failed operations.
    pub errors: AtomicU64,
    /// Blocks verified.
    pub verified: AtomicU64,
    /// Blocks found wrong.
    pub wrong: AtomicU64,
}

impl Tally {
    /// Adds to a counter of this tally. Only the thread that owns the tally may call this.
    #[inline(always)]
    pub fn add(counter: &AtomicU64, amount: u64) {
        add(counter, amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum_of(values: &[u64]) -> Sum {
        let latencies = Latencies::new();
        values.iter().for_each(|value| latencies.record(*value));
        let mut sum = Sum::default();
        latencies.drain_into(&mut Snapshot::default(), &mut sum);
        sum
    }

    proptest! {
        #[test]
        fn it_counts_as_the_library_does(values in proptest::collection::vec(0..RANGE_NS, 1..300)) {
            let sum = sum_of(&values);
            let mut reference = Histogram::<u64>::new_with_bounds(1, RANGE_NS, 3).unwrap();
            for value in &values { reference.record(*value).unwrap(); }
            prop_assert_eq!(sum.histogram(), &reference);
            prop_assert_eq!(sum.sum, values.iter().sum::<u64>());
            prop_assert_eq!(sum.max, *values.iter().max().unwrap());
            prop_assert_eq!(sum.min, *values.iter().min().unwrap());
        }

        #[test]
        fn an_index_gives_back_its_value(value in 0..=RANGE_NS) {
            let lowest = lowest_value(index_of(value));
            prop_assert!(lowest <= value && value - lowest <= value / 1000 + 1);
            prop_assert_eq!(index_of(lowest), index_of(value));
        }
    }

    #[test]
    fn a_recorder_never_stores_a_value_above_its_range_as_the_smallest_one() {
        let sum = sum_of(&[100, 200, RANGE_NS * 3]);
        assert_eq!(sum.count(), 3);
        assert_eq!(sum.above, 1);
        assert_eq!(sum.max, RANGE_NS * 3);
        assert!(sum.percentile(100.0) >= RANGE_NS - RANGE_NS / 1000);
        assert_eq!(sum.min, 100);
    }

    #[test]
    fn percentiles_do_not_end_at_the_last_bucket_unsaid() {
        let sum = sum_of(&[RANGE_NS * 2; 50]);
        assert_eq!(sum.above, 50, "values beyond the range are counted apart");
        assert_eq!(sum.max, RANGE_NS * 2, "and the maximum stays exact");
        assert!((sum.mean() - (RANGE_NS * 2) as f64).abs() < 1.0);
    }

    #[test]
    fn what_came_before_a_part_is_not_its_extreme() {
        let latencies = Latencies::new();
        let (mut seen, mut ramp, mut window) = (Snapshot::default(), Sum::default(), Sum::default());
        [3, 50_000, 1_068_000_000].iter().for_each(|value| latencies.record(*value));
        latencies.drain_into(&mut seen, &mut ramp);
        assert_eq!((ramp.min, ramp.max), (3, 1_068_000_000));
        [40_000, 67_000_123].iter().for_each(|value| latencies.record(*value));
        latencies.drain_into(&mut seen, &mut window);
        assert!(window.max >= 67_000_123 && window.max < 67_100_000, "{}", window.max);
        assert!(window.min <= 40_000 && window.min > 39_900, "{}", window.min);
        let mut nothing = Sum::default();
        latencies.drain_into(&mut seen, &mut nothing);
        assert_eq!((nothing.min, nothing.max), (u64::MAX, 0));
        [2, 2_000_000_001].iter().for_each(|value| latencies.record(*value));
        latencies.drain_into(&mut seen, &mut nothing);
        assert_eq!((nothing.min, nothing.max), (2, 2_000_000_001), "what exceeds all before is exact");
    }

    #[test]
    fn parts_of_a_series_add_up_to_the_whole() {
        let latencies = Latencies::new();
        let mut seen = Snapshot::default();
        let mut whole = Sum::default();
        for part in 1..=5u64 {
            (0..part * 10).for_each(|value| latencies.record(value * 1000));
            let mut interval = Sum::default();
            latencies.drain_into(&mut seen, &mut interval);
            assert_eq!(interval.count(), part * 10);
            whole.merge(&interval);
        }
        assert_eq!(whole.count(), latencies.count());
    }

    /// Values below 2048 have a counter each; then a counter holds 2, 4, 8 values, with 1024 of them per power of two.
    #[test]
    fn counters_lie_as_the_layout_says() {
        let top = 2047 << 25;
        for (value, index, lowest, highest) in [
            (0, 0, 0, 0),
            (2047, 2047, 2047, 2047),
            (2048, 2048, 2048, 2049),
            (2049, 2048, 2048, 2049),
            (4095, 3071, 4094, 4095),
            (4096, 3072, 4096, 4099),
            (top - 1, COUNTERS - 2, 2046 << 25, top - 1),
            (RANGE_NS, COUNTERS - 1, top, u64::MAX),
        ] {
            assert_eq!(index_of(value), index, "{value}");
            assert_eq!((lowest_value(index), highest_value(index)), (lowest, highest), "{value}");
        }
        assert_eq!(RANGE_NS, 68_719_476_735, "2^36 - 1");
        assert_eq!((COUNTERS, Latencies::BYTES), (27 * 1024, 27 * 1024 * 8));
    }

    #[test]
    fn a_value_that_came_many_times_counts_as_often() {
        let (latencies, mut sum) = (Latencies::new(), Sum::default());
        latencies.record_many(9, 0);
        assert_eq!(latencies.count(), 0);
        latencies.record_many(300, 5);
        latencies.record_many(RANGE_NS + 7, 3);
        latencies.drain_into(&mut Snapshot::default(), &mut sum);
        assert_eq!((sum.count(), latencies.count(), sum.above), (8, 8, 3));
        assert_eq!((sum.sum, sum.min, sum.max), (5 * 300 + 3 * (RANGE_NS + 7), 300, RANGE_NS + 7));
    }

    #[test]
    fn values_of_one_counter_are_drained() {
        let sum = sum_of(&[5, 5, 5]);
        assert_eq!((sum.count(), sum.sum, sum.min, sum.max), (3, 15, 5, 5));
    }

    fn bounded(values: &[u64], count: u64, from_ns: u64) -> Sum {
        Sum { at_least: AtLeast { count, from_ns }, ..sum_of(values) }
    }

    #[test]
    fn sums_are_added_and_emptied() {
        let mut sum = bounded(&[100, RANGE_NS * 2], 2, 70);
        sum.merge(&bounded(&[50, RANGE_NS * 3, RANGE_NS * 3], 3, 60));
        assert_eq!((sum.count(), sum.above, sum.sum), (5, 3, 150 + 8 * RANGE_NS));
        assert_eq!((sum.min, sum.max), (50, RANGE_NS * 3));
        assert_eq!(sum.at_least, AtLeast { count: 5, from_ns: 60 });
        sum.clear();
        assert_eq!((sum.count(), sum.above, sum.sum, sum.min, sum.max), (0, 0, 0, u64::MAX, 0));
        assert_eq!(sum.at_least, AtLeast { count: 0, from_ns: u64::MAX });
    }

    #[test]
    fn a_sum_without_a_part_is_what_was_counted_beside_it() {
        let rest = sum_of(&[5, 7, 9, 11, RANGE_NS * 2, RANGE_NS * 2]).without(&sum_of(&[5, 11, RANGE_NS * 2]));
        assert_eq!((rest.count(), rest.above, rest.sum), (3, 1, 7 + 9 + RANGE_NS * 2));
        assert_eq!((rest.min, rest.max), (7, RANGE_NS), "of the largest the histogram knows no more than its range");
    }

    #[test]
    fn a_mean_is_exact_and_percentiles_are_values() {
        let sum = sum_of(&[100, 200, 600]);
        assert_eq!((sum.mean(), sum.percentile(50.0), sum.percentile(100.0)), (300.0, 200, 600));
        assert_eq!(Sum::default().mean(), 0.0);
    }

    #[test]
    fn a_counter_of_a_tally_is_added_to() {
        let tally = Tally::default();
        Tally::add(&tally.bytes, 5);
        Tally::add(&tally.bytes, 7);
        assert_eq!(tally.bytes.load(Relaxed), 12);
    }
}
