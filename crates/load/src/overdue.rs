//! What was due in the window and had not ended when it closed.
//!
//! Leaving it out would flatter: an operation that is still waiting at the close is one of the slow ones. It is served, or
//! waited for, with its own due instant; what never ends enters as "at least". Measured loads and loads in virtual time
//! count it here alike.

use assay_instruments::tally::{AtLeast, Latencies, Tally};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::arrivals::Schedule;

/// Operations due in the window are still started this long after it: as long as the window was, within these bounds, s.
const START_WITHIN_S: [u64; 2] = [1, 10];
/// More operations than this that were never started are counted by their mean distance.
const WALKED: u64 = 1 << 20;

/// What a worker counts after the close.
#[derive(Debug)]
pub struct Overdue {
    /// What ended after the close, counted as in the window.
    pub tally: Tally,
    /// Times from due instants that are known only as lower bounds.
    pub response: AtLeast,
    /// Times from starts that are known only as lower bounds.
    pub service: AtLeast,
    /// From the close until the worker had done with it, in units of the run's clock.
    pub waited: u64,
}

/// Until when what was due in a window is still started, in units of a clock with so many in a second.
pub fn start_until(open: u64, close: u64, second: u64) -> u64 {
    let [least, most] = START_WITHIN_S.map(|seconds| seconds.saturating_mul(second));
    close.saturating_add(close.saturating_sub(open).clamp(least, most))
}

impl Overdue {
    /// Nothing yet. `tally` is one as the window's.
    pub fn new(tally: Tally) -> Self {
        Self { tally, response: AtLeast::default(), service: AtLeast::default(), waited: 0 }
    }

    /// Operations that never ended. One that was never started has a response time alone, one of a closed loop a service
    /// time alone.
    pub fn missing(&self) -> u64 {
        self.response.count.max(self.service.count)
    }

    /// Operations that ended.
    pub fn completed(&self) -> u64 {
        self.tally.service.count() - self.service.count
    }

    /// An operation was started and never ended: what it has taken so far, ns, and what it has kept its user waiting,
    /// where it was due.
    pub fn stuck(&mut self, service_ns: u64, response_ns: Option<u64>) {
        note(&mut self.service, Some(&self.tally.service), service_ns, 1);
        if let Some(response_ns) = response_ns {
            note(&mut self.response, self.tally.response.as_ref(), response_ns, 1);
        }
    }

    /// All that a schedule still holds before its end was due and never started. `waited_ns` says how long an operation
    /// has waited that was due at an instant.
    pub fn never_started(
        &mut self,
        schedule: &mut Schedule,
        rng: &mut Xoshiro256PlusPlus,
        waited_ns: impl Fn(u64) -> u64,
    ) {
        never_started(schedule, rng, WALKED, |due, times| {
            note(&mut self.response, self.tally.response.as_ref(), waited_ns(due), times);
        });
    }
}

/// Walks through what a schedule still holds before its end: `each` gets an instant at which something was due, and how
/// many operations it stands for. Where more than `walked` are left, so many stand for all of them.
pub fn never_started(
    schedule: &mut Schedule,
    rng: &mut Xoshiro256PlusPlus,
    walked: u64,
    mut each: impl FnMut(u64, u64),
) {
    let left = schedule.left();
    if left > walked {
        let (from, span) = (schedule.due(), u128::from(schedule.end() - schedule.due()));
        for place in 0..walked {
            let times = left / walked + u64::from(place < left % walked);
            each(from + (span * u128::from(place) / u128::from(walked)) as u64, times);
        }
        return;
    }
    while schedule.due() < u64::MAX {
        each(schedule.due(), 1);
        schedule.advance(rng);
    }
}

fn note(bound: &mut AtLeast, latencies: Option<&Latencies>, value_ns: u64, times: u64) {
    let Some(latencies) = latencies else { return };
    latencies.record_many(value_ns, times);
    bound.add(AtLeast { count: times, from_ns: value_ns });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seat;
    use assay_record::{Arrivals, RateScope};
    use rand_xoshiro::rand_core::SeedableRng;

    fn left(rate_per_s: f64, end: u64) -> Overdue {
        let arrivals = Arrivals::Fixed { rate_per_s, scope: RateScope::Total };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut schedule = Schedule::new(&arrivals, 0, 1, 1e9, &mut rng).expect("a rate");
        schedule.begin(0);
        schedule.end_at(end);
        let mut overdue = Overdue::new(seat::tally_for(&seat::null_class(true)));
        overdue.never_started(&mut schedule, &mut rng, |due| 2_000_000_000 - due);
        overdue
    }

    #[test]
    fn what_was_never_started_waited_at_least_since_it_was_due() {
        let overdue = left(1000.0, 1_000_000_000);
        assert_eq!((overdue.missing(), overdue.completed()), (1000, 0));
        assert_eq!(overdue.response, AtLeast { count: 1000, from_ns: 1_001_000_000 });
        assert_eq!(overdue.tally.response.as_ref().map(Latencies::count), Some(1000));
        assert_eq!(overdue.tally.service.count(), 0);
    }

    #[test]
    fn more_than_can_be_walked_is_counted_in_full() {
        let overdue = left(1e8, 1_000_000_000);
        assert_eq!(overdue.missing() / 10, 10_000_000);
        assert_eq!(overdue.tally.response.as_ref().map(Latencies::count), Some(overdue.missing()));
        assert!((1_000_000_000..1_000_100_000).contains(&overdue.response.from_ns), "{:?}", overdue.response);
    }

    #[test]
    fn a_window_decides_how_long_what_was_due_is_started() {
        assert_eq!(start_until(100, 150, 10), 150 + 50);
        assert_eq!(start_until(100, 101, 10), 101 + 10);
        assert_eq!(start_until(0, 10_000, 10), 10_000 + 100);
    }

    /// A thousand a second from 10 ms on, until `end`.
    fn walked_through(end: u64, walked: u64) -> Vec<(u64, u64)> {
        let arrivals = Arrivals::Fixed { rate_per_s: 1000.0, scope: RateScope::Total };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut schedule = Schedule::new(&arrivals, 0, 1, 1e9, &mut rng).expect("a rate");
        schedule.begin(10_000_000);
        schedule.end_at(end);
        let mut seen = Vec::new();
        never_started(&mut schedule, &mut rng, walked, |due, times| seen.push((due, times)));
        seen
    }

    #[test]
    fn each_operation_is_walked_through_or_so_many_stand_for_all() {
        let each = [(10_000_000, 1), (11_000_000, 1), (12_000_000, 1)];
        assert_eq!(walked_through(12_500_000, 3), each);
        assert_eq!(walked_through(12_500_000, 4), each);
        // Seven in as many milliseconds, by three that lie a third of them apart.
        assert_eq!(walked_through(17_000_000, 3), [(10_000_000, 3), (12_333_333, 2), (14_666_666, 2)]);
    }

    #[test]
    fn what_is_stuck_counts_as_its_service_and_its_response() {
        let mut overdue = Overdue::new(seat::tally_for(&seat::null_class(true)));
        overdue.tally.service.record(5);
        overdue.tally.service.record(6);
        overdue.stuck(100, Some(300));
        overdue.stuck(50, None);
        assert_eq!((overdue.missing(), overdue.completed()), (2, 2));
        assert_eq!(overdue.service, AtLeast { count: 2, from_ns: 50 });
        assert_eq!(overdue.response, AtLeast { count: 1, from_ns: 300 });
        assert_eq!(overdue.tally.service.count(), 4);
        assert_eq!(overdue.tally.response.as_ref().map(Latencies::count), Some(1));
    }

    #[test]
    fn a_closed_loop_has_no_response_to_count() {
        let mut overdue = Overdue::new(seat::tally_for(&seat::null_class(false)));
        overdue.stuck(100, Some(300));
        assert_eq!((overdue.missing(), overdue.response), (1, AtLeast::default()));
    }
}
