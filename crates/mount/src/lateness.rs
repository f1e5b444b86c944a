//! How late answers were: answered minus due, by class.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Bytes are read.
    Read,
    /// Bytes are written, or given up.
    Write,
    /// Bytes are made durable.
    Flush,
}

/// Names of the classes, in their order.
pub const NAMES: [&str; 3] = ["reads", "writes", "flushes"];
/// A request that is later than this share of its time was played late.
pub const LATE_SHARE: f64 = 0.05;
/// Longer waits are counted as this long, ns.
const MOST_NS: u64 = 600_000_000_000;

/// Counts of one class.
#[derive(Debug)]
struct One {
    late: Histogram<u64>,
    time: Histogram<u64>,
    late_ns: u128,
    time_ns: u128,
}

/// Counts of all classes.
#[derive(Debug)]
pub struct Lateness([One; 3]);

/// What is told of a class. Times in ns of this machine's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatenessSummary {
    /// Reads, writes or flushes.
    pub class: String,
    /// Requests that were answered.
    pub count: u64,
    /// Answered minus due.
    pub late_p50_ns: u64,
    /// The same of the slowest in a hundred.
    pub late_p99_ns: u64,
    /// The same of the slowest.
    pub late_max_ns: u64,
    /// From being seen to being due: what the drive takes.
    pub time_p50_ns: u64,
    /// The same of the slowest in a hundred.
    pub time_p99_ns: u64,
    /// All lateness over all time of requests.
    pub late_share: f64,
}

impl Default for Lateness {
    fn default() -> Self {
        let histogram = || Histogram::new_with_bounds(1, MOST_NS, 3).expect("bounds are in order");
        Self(std::array::from_fn(|_| One { late: histogram(), time: histogram(), late_ns: 0, time_ns: 0 }))
    }
}

impl Lateness {
    /// A request that was seen, due and answered at these moments, ns.
    pub fn record(&mut self, class: Class, seen_ns: u64, due_ns: u64, answered_ns: u64) {
        let one = &mut self.0[class as usize];
        let (late, time) = (answered_ns.saturating_sub(due_ns), due_ns.saturating_sub(seen_ns));
        // The bounds hold all values that are given here.
        let _ = one.late.record(late.min(MOST_NS));
        let _ = one.time.record(time.min(MOST_NS));
        one.late_ns += u128::from(late);
        one.time_ns += u128::from(time);
    }

    /// What is told of classes that had requests.
    pub fn summaries(&self) -> Vec<LatenessSummary> {
        let classes = self.0.iter().zip(NAMES).filter(|(one, _)| !one.late.is_empty());
        classes.map(|(one, name)| one.summary(name)).collect()
    }
}

impl One {
    fn summary(&self, name: &str) -> LatenessSummary {
        LatenessSummary {
            class: name.to_owned(),
            count: self.late.len(),
            late_p50_ns: self.late.value_at_quantile(0.5),
            late_p99_ns: self.late.value_at_quantile(0.99),
            late_max_ns: self.late.max(),
            time_p50_ns: self.time.value_at_quantile(0.5),
            time_p99_ns: self.time.value_at_quantile(0.99),
            late_share: self.late_ns as f64 / (self.time_ns.max(1)) as f64,
        }
    }
}

impl LatenessSummary {
    /// More than a twentieth of its requests' time went by late, on the way there and back (`way_ns` more than was taken
    /// off for it; `floor_ns` of it is part of the time) or waiting to be answered; or the way took so much less that they end
    /// too early by as much. A flush that takes the drive no time, as a volume's, takes the way alone, and is not held to a share of nothing.
    pub fn is_late(&self, floor_ns: u64, way_ns: i64) -> bool {
        if self.time_p50_ns == 0 && self.class == NAMES[Class::Flush as usize] {
            return false;
        }
        (self.late_share + way_ns as f64 / (self.time_p50_ns + floor_ns).max(1) as f64).abs() > LATE_SHARE
    }

    /// As `reads p50 +0.4 us late, p99 +3.0 us`, with a micro sign.
    pub fn sentence(&self) -> String {
        let (p50, p99) = (self.late_p50_ns as f64 / 1e3, self.late_p99_ns as f64 / 1e3);
        format!("{} p50 +{p50:.1} \u{b5}s late, p99 +{p99:.1} \u{b5}s", self.class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_answered_minus_due_by_class() {
        let mut lateness = Lateness::default();
        for n in 0..100 {
            lateness.record(Class::Read, 1000, 101_000, 101_400 + if n == 99 { 50_000 } else { 0 });
            lateness.record(Class::Flush, 0, 1_000_000, 1_200_000);
        }
        let late = lateness.summaries();
        assert_eq!(late.iter().map(|one| one.class.as_str()).collect::<Vec<_>>(), ["reads", "flushes"]);
        assert_eq!((late[0].count, late[0].late_p50_ns, late[0].time_p50_ns), (100, 400, 100_031));
        assert!(
            !late[0].is_late(0, 0) && late[0].is_late(0, 6_000) && late[0].is_late(0, -7_000) && late[1].is_late(0, 0),
            "{late:?}"
        );
        assert_eq!(late[0].sentence(), "reads p50 +0.4 \u{b5}s late, p99 +0.4 \u{b5}s");
    }
}
