//! The series of a class: what its workers counted, cut into intervals.

use std::sync::atomic::Ordering::Relaxed;

use assay_record::{IntervalPoint, IntervalSample};

use crate::tally::{Snapshot, Sum, Tally};

/// What the controller remembers of one class.
#[derive(Debug)]
pub struct Series {
    seen: Vec<Snapshot>,
    /// All that was counted so far.
    pub total: Sum,
    interval: Sum,
    bytes: u64,
    /// The points so far.
    pub points: Vec<IntervalPoint>,
}

impl Series {
    /// An empty series of a class with this many workers.
    pub fn new(workers: usize) -> Self {
        Self {
            seen: (0..workers).map(|_| Snapshot::default()).collect(),
            total: Sum::default(),
            interval: Sum::default(),
            bytes: 0,
            points: Vec::new(),
        }
    }

    /// Takes what the workers counted since the last call as one interval that ends at `at_s`.
    pub fn cut(&mut self, tallies: &[Tally], at_s: f64, length_s: f64) {
        self.collect(tallies);
        let bytes = tallies.iter().map(|tally| tally.bytes.load(Relaxed)).sum::<u64>();
        self.points.push(IntervalPoint {
            at_s,
            length_s,
            operations: self.interval.count(),
            bytes: bytes.saturating_sub(self.bytes),
            mean_ns: self.interval.mean(),
            p50_ns: self.interval.histogram().value_at_percentile(50.0),
            p99_ns: self.interval.histogram().value_at_percentile(99.0),
            max_ns: self.interval.histogram().max(),
        });
        self.bytes = bytes;
    }

    /// Takes the rest, after the workers ended. It belongs to the last interval where it is too short to be one.
    pub fn close(&mut self, tallies: &[Tally], at_s: f64, interval_s: f64) {
        let since = self.points.last().map_or(0.0, |point| point.at_s);
        if at_s <= since && tallies.iter().all(|tally| tally.service.count() == 0) {
            // The window never opened.
            return;
        }
        if self.points.is_empty() || at_s - since >= interval_s / 2.0 {
            self.cut(tallies, at_s, at_s - since);
            return;
        }
        self.collect(tallies);
        let bytes = tallies.iter().map(|tally| tally.bytes.load(Relaxed)).sum::<u64>();
        if let Some(last) = self.points.last_mut() {
            last.operations += self.interval.count();
            last.bytes += bytes.saturating_sub(self.bytes);
            last.length_s += at_s - since;
            last.at_s = at_s;
        }
    }

    fn collect(&mut self, tallies: &[Tally]) {
        self.interval.clear();
        for (tally, seen) in tallies.iter().zip(&mut self.seen) {
            tally.service.drain_into(seen, &mut self.interval);
        }
        self.total.merge(&self.interval);
    }

    /// The newest point as a line for the event stream.
    pub fn sample(&self, class: &str) -> IntervalSample {
        let last = self.points.last();
        IntervalSample {
            class: class.to_owned(),
            operations: last.map_or(0, |point| point.operations),
            bytes: last.map_or(0, |point| point.bytes),
            mean_ns: last.map_or(0.0, |point| point.mean_ns),
            max_ns: last.map_or(0, |point| point.max_ns),
        }
    }
}

/// Sum of one kind of latency over all workers; none where no worker records it or nothing was recorded.
pub fn sum_of<'a>(latencies: impl Iterator<Item = Option<&'a crate::tally::Latencies>>) -> Option<Sum> {
    let mut sum = Sum::default();
    for latencies in latencies.flatten() {
        latencies.drain_into(&mut Snapshot::default(), &mut sum);
    }
    (sum.count() > 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tallies() -> [Tally; 2] {
        [Tally::default(), Tally::default()]
    }

    fn done(tally: &Tally, values: &[u64]) {
        values.iter().for_each(|&value| tally.service.record(value));
        Tally::add(&tally.bytes, 4096 * values.len() as u64);
    }

    fn point(point: &IntervalPoint) -> (f64, f64, u64, u64) {
        (point.at_s, point.length_s, point.operations, point.bytes)
    }

    #[test]
    fn an_interval_has_what_was_done_since_the_one_before() {
        let (tallies, mut series) = (tallies(), Series::new(2));
        done(&tallies[0], &[100, 200]);
        done(&tallies[1], &[300]);
        series.cut(&tallies, 0.5, 0.5);
        done(&tallies[1], &[500, 700]);
        series.cut(&tallies, 1.0, 0.5);
        assert_eq!(series.points.iter().map(point).collect::<Vec<_>>(), [(0.5, 0.5, 3, 12288), (1.0, 0.5, 2, 8192)]);
        let means: Vec<f64> = series.points.iter().map(|point| point.mean_ns).collect();
        assert_eq!((means, series.points[1].max_ns), (vec![200.0, 600.0], 700));
        assert_eq!((series.total.count(), series.total.sum), (5, 1800));
        let sample = series.sample("reads");
        assert_eq!((sample.operations, sample.bytes, sample.mean_ns, sample.max_ns), (2, 8192, 600.0, 700));
    }

    /// A window of intervals of 0.5 s whose last cut was at 0.5 s, closed at `at_s` with two operations more.
    fn closed(at_s: f64) -> Series {
        let (tallies, mut series) = (tallies(), Series::new(2));
        done(&tallies[0], &[100, 200, 300]);
        series.cut(&tallies, 0.5, 0.5);
        done(&tallies[0], &[500]);
        done(&tallies[1], &[700]);
        series.close(&tallies, at_s, 0.5);
        assert_eq!(series.total.count(), 5);
        series
    }

    #[test]
    fn a_rest_belongs_to_the_last_interval_or_is_one() {
        assert_eq!(closed(0.625).points.iter().map(point).collect::<Vec<_>>(), [(0.625, 0.625, 5, 20480)]);
        // Half of an interval is one.
        for (at_s, length_s) in [(0.75, 0.25), (1.5, 1.0)] {
            let points = closed(at_s).points;
            assert_eq!(points.iter().map(point).collect::<Vec<_>>(), [(0.5, 0.5, 3, 12288), (at_s, length_s, 2, 8192)]);
        }
    }

    #[test]
    fn a_window_that_never_opened_has_no_interval_and_one_without_cuts_has_one() {
        let mut series = Series::new(2);
        series.close(&tallies(), 0.0, 0.5);
        assert!(series.points.is_empty());
        let idle = tallies();
        series.close(&idle, 0.25, 0.5);
        assert_eq!(series.points.iter().map(point).collect::<Vec<_>>(), [(0.25, 0.25, 0, 0)]);
        let (tallies, mut series) = (tallies(), Series::new(2));
        done(&tallies[0], &[100]);
        series.close(&tallies, 0.0, 0.5);
        assert_eq!(series.points[0].operations, 1, "what was done is not lost where no time is known to have passed");
    }

    #[test]
    fn a_sum_of_what_nobody_recorded_is_none() {
        let [one, other] = tallies();
        assert!(sum_of([None, one.lateness.as_ref()].into_iter()).is_none());
        assert!(sum_of([Some(&one.service)].into_iter()).is_none());
        done(&one, &[100]);
        done(&other, &[300, 500]);
        let sum = sum_of([Some(&one.service), None, Some(&other.service)].into_iter()).expect("three");
        assert_eq!((sum.count(), sum.sum), (3, 900));
    }
}
