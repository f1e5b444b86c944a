//! How long the way between a program and the drive takes, through FUSE and back.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

/// What of a request's time passes on the way, ns of this machine's clock. It depends on how long the answer is held: a thread
/// that slept for long wakes up later than one that has just gone to sleep. Its clones know of each other how long it is now.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Whole times of requests and how much of each the way was, the shortest first.
    points: Vec<(u64, u64)>,
    /// How much longer it is now, ns.
    longer_ns: Arc<AtomicI64>,
}

impl Way {
    /// Of times for which answers were held, and how long the way took beside.
    pub fn new(held: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut points: Vec<(u64, u64)> =
            held.into_iter().map(|(held_ns, way_ns)| (held_ns + way_ns, way_ns)).collect();
        points.sort_unstable();
        Self { points, longer_ns: Arc::default() }
    }

    /// Until a request is seen here.
    pub fn there_ns(&self) -> u64 {
        self.points.iter().map(|&(_, way_ns)| way_ns).min().unwrap_or_default() / 2
    }

    /// From now on the way of every request is so much longer than it was found at first, ns; less than zero: shorter.
    pub fn is_longer_by(&self, ns: i64) {
        self.longer_ns.store(ns, Ordering::Relaxed);
    }

    /// There and back, of a request that takes so long as a whole; longer than that where no way is so short.
    pub fn of(&self, whole_ns: u64) -> u64 {
        self.at_first(whole_ns).saturating_add_signed(self.longer_ns.load(Ordering::Relaxed)).max(self.there_ns())
    }

    fn at_first(&self, whole_ns: u64) -> u64 {
        let after = self.points.partition_point(|&(whole, _)| whole < whole_ns);
        match (after.checked_sub(1).map(|before| self.points[before]), self.points.get(after)) {
            (Some((from, from_way)), Some(&(to, to_way))) => {
                let share = (whole_ns - from) as f64 / (to - from) as f64;
                (from_way as f64 + share * (to_way as f64 - from_way as f64)) as u64
            }
            (Some((_, way_ns)), None) | (None, Some(&(_, way_ns))) => way_ns,
            (None, None) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_times_the_way_is_between_theirs_and_beyond_them_it_is_that_of_the_last() {
        let way = Way::new([(80_000, 20_000), (0, 10_000), (20_000, 14_000)]);
        let ways = [0, 10_000, 22_000, 34_000, 67_000, 100_000, 1_000_000].map(|whole| way.of(whole));
        assert_eq!(ways, [10_000, 10_000, 12_000, 14_000, 17_000, 20_000, 20_000]);
        assert_eq!(way.there_ns(), 5_000);
        way.is_longer_by(3_000);
        assert_eq!([22_000, 100_000].map(|whole| way.clone().of(whole)), [15_000, 23_000], "its copies know it, too");
        way.is_longer_by(-9_000);
        assert_eq!([22_000, 100_000].map(|whole| way.of(whole)), [5_000, 11_000], "it is there first");
        assert_eq!((Way::default().of(5), Way::default().there_ns()), (0, 0));
    }

    #[test]
    fn a_way_that_was_shorter_for_a_longer_time_is_no_trouble() {
        let way = Way::new([(0, 30_000), (10_000, 20_000), (20_000, 25_000)]);
        assert_eq!([30_000, 37_500, 45_000].map(|whole| way.of(whole)), [20_000, 27_500, 25_000]);
    }
}
