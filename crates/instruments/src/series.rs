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
