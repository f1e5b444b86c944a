//! When operations are due.

use assay_record::{Arrivals, Class, RateScope, Think};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The schedule of one thread: a pure sequence of instants, fixed before anything is served.
#[derive(Clone, Debug)]
pub struct Schedule {
    law: Law,
    start: u64,
    period: f64,
    count: u64,
    clock: f64,
    due: u64,
    /// Nothing is due from here on, ticks.
    end: u64,
    /// When the next is due, ticks from the start.
    at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    Fixed,
    Poisson,
    Burst(u64),
    /// The end of an operation says when the next is due; so many follow one another without a pause.
    Think(u64),
}

impl Schedule {
    /// The schedule of a thread of a class; none where it is closed and does not think.
    pub fn of(class: &Class, thread: u32, hz: f64, rng: &mut Xoshiro256PlusPlus) -> Option<Self> {
        match class.think {
            Some(think) => Some(Self::thinking(think, hz)),
            None => Self::new(&class.arrivals, thread, class.threads, hz, rng),
        }
    }

    /// The first operation is due at once, and each further one when [`Self::completed`] has said that one ended.
    fn thinking(think: Think, hz: f64) -> Self {
        let law = Law::Think(u64::from(think.every.max(1)));
        Self { law, start: 0, period: think.pause_s * hz, count: 0, clock: 0.0, due: 0, end: u64::MAX, at: 0 }
    }

    /// The schedule of thread `thread` of `threads`, in ticks of a clock of `hz`; none where arrivals are closed.
    ///
    /// A total rate is shared by the threads: each gets an equal part, evenly interleaved with the others.
    pub fn new(arrivals: &Arrivals, thread: u32, threads: u32, hz: f64, rng: &mut Xoshiro256PlusPlus) -> Option<Self> {
        let (law, rate, scope) = match *arrivals {
            Arrivals::Closed => return None,
            Arrivals::Fixed { rate_per_s, scope } => (Law::Fixed, rate_per_s, scope),
            Arrivals::Poisson { rate_per_s, scope } => (Law::Poisson, rate_per_s, scope),
            Arrivals::Burst { rate_per_s, scope, burst } => (Law::Burst(u64::from(burst.max(1))), rate_per_s, scope),
        };
        let per_thread = if scope == RateScope::Total { rate / f64::from(threads) } else { rate };
        let period = hz / per_thread;
        let shift = match law {
            Law::Poisson | Law::Think(_) => 0.0,
            Law::Fixed => period * f64::from(thread) / f64::from(threads),
            Law::Burst(burst) => burst as f64 * period * f64::from(thread) / f64::from(threads),
        };
        let mut schedule = Self { law, start: 0, period, count: 0, clock: shift, due: 0, end: u64::MAX, at: 0 };
        schedule.plan(rng);
        Some(schedule)
    }

    /// Sets the instant at which the schedule begins, ticks. To be called before the first [`Self::due`].
    pub fn begin(&mut self, start: u64) {
        self.start = start;
        self.due = self.due.wrapping_add(start);
    }

    /// When the next operation is due, ticks.
    #[inline(always)]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Ends the schedule: what would be due at `end` (ticks) or later never is, and [`Self::due`] says `u64::MAX` then.
    pub fn end_at(&mut self, end: u64) {
        self.end = end;
        if self.due >= end {
            self.due = u64::MAX;
        }
    }

    /// Goes on after its end as if nothing had been between: the next operation is due at `now`, ticks.
    pub fn resume(&mut self, now: u64) {
        (self.start, self.due, self.end) = (now.wrapping_sub(self.at), now, u64::MAX);
    }

    /// Where the schedule ends, ticks; `u64::MAX` where it does not.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Operations that are still due before the end, about; 0 where there are none, or no end.
    pub fn left(&self) -> u64 {
        let endless = self.due == u64::MAX || self.end == u64::MAX;
        match self.law {
            _ if endless => 0,
            Law::Think(_) => 1,
            _ => ((self.end - self.due) as f64 / self.period).ceil() as u64,
        }
    }

    /// An operation ended at `now`, ticks: where its thread thinks, the next is due a pause later.
    #[inline(always)]
    pub fn completed(&mut self, now: u64) {
        if let Law::Think(every) = self.law {
            let pauses = self.count % every == 0;
            let due = if pauses { now.saturating_add(self.period as u64) } else { now };
            self.due = if due < self.end { due } else { u64::MAX };
        }
    }

    /// Goes on to the operation after the next.
    #[inline(always)]
    pub fn advance(&mut self, rng: &mut Xoshiro256PlusPlus) {
        self.count += 1;
        self.plan(rng);
    }

    #[inline(always)]
    fn plan(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let at = match self.law {
            // A product, not a sum: rounding errors do not add up over a long run.
            Law::Fixed => self.clock + self.count as f64 * self.period,
            Law::Burst(burst) => self.clock + (self.count / burst * burst) as f64 * self.period,
            Law::Think(_) => {
                self.due = u64::MAX;
                return;
            }
            Law::Poisson => {
                let gap: f64 = Exp1.sample(rng);
                self.clock += gap * self.period;
                self.clock
            }
        };
        self.at = at as u64;
        let due = self.start.wrapping_add(self.at);
        self.due = if due < self.end { due } else { u64::MAX };
    }
}

/// Operations per second that the whole class asks for; none where arrivals are closed.
pub fn total_rate(arrivals: &Arrivals, threads: u32) -> Option<f64> {
    let (rate, scope) = match *arrivals {
        Arrivals::Closed => return None,
        Arrivals::Fixed { rate_per_s, scope }
        | Arrivals::Poisson { rate_per_s, scope }
        | Arrivals::Burst { rate_per_s, scope, .. } => (rate_per_s, scope),
    };
    Some(if scope == RateScope::Total { rate } else { rate * f64::from(threads) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    const HZ: f64 = 1e9;

    fn dues(arrivals: &Arrivals, thread: u32, threads: u32, count: usize, seed: u64) -> Vec<u64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut schedule = Schedule::new(arrivals, thread, threads, HZ, &mut rng).unwrap();
        schedule.begin(1_000);
        (0..count)
            .map(|_| {
                let due = schedule.due();
                schedule.advance(&mut rng);
                due - 1_000
            })
            .collect()
    }

    #[test]
    fn a_rate_limiter_does_not_spend_a_seconds_budget_at_once() {
        let arrivals = Arrivals::Fixed { rate_per_s: 1000.0, scope: RateScope::Total };
        let dues = dues(&arrivals, 0, 1, 5000, 1);
        assert!(dues.windows(2).all(|pair| pair[1] - pair[0] == 1_000_000), "gaps are one millisecond each");
    }

    #[test]
    fn a_poisson_pacer_gives_the_rate_asked_for_and_not_twice_of_it() {
        let arrivals = Arrivals::Poisson { rate_per_s: 1000.0, scope: RateScope::Total };
        for seed in 0..20 {
            let dues = dues(&arrivals, 0, 1, 20_000, seed);
            let rate = 20_000.0 / (dues[dues.len() - 1] as f64 / HZ);
            assert!((rate / 1000.0 - 1.0).abs() < 0.04, "seed {seed}: {rate} operations per second");
            let mean = 1e6;
            let variance = dues.windows(2).map(|p| ((p[1] - p[0]) as f64 - mean).powi(2)).sum::<f64>() / 20_000.0;
            assert!((variance.sqrt() / mean - 1.0).abs() < 0.06, "seed {seed}: gaps are exponential");
        }
    }

    #[test]
    fn a_total_rate_is_not_a_rate_per_thread() {
        for (scope, total) in [(RateScope::Total, 400.0), (RateScope::Thread, 1600.0)] {
            let arrivals = Arrivals::Fixed { rate_per_s: 400.0, scope };
            let mut all: Vec<u64> = (0..4).flat_map(|thread| dues(&arrivals, thread, 4, 4000, 1)).collect();
            all.retain(|due| *due < 2_000_000_000);
            assert_eq!(all.len() as f64 / 2.0, total);
            assert_eq!(total_rate(&arrivals, 4), Some(total));
        }
    }

    #[test]
    fn threads_of_a_class_interleave() {
        let arrivals = Arrivals::Fixed { rate_per_s: 400.0, scope: RateScope::Total };
        let mut all: Vec<u64> = (0..4).flat_map(|thread| dues(&arrivals, thread, 4, 100, 1)).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] == 2_500_000));
    }

    #[test]
    fn a_burst_is_due_at_one_instant() {
        let arrivals = Arrivals::Burst { rate_per_s: 1000.0, scope: RateScope::Total, burst: 10 };
        let dues = dues(&arrivals, 0, 1, 40, 1);
        assert!(dues[..10].iter().all(|due| *due == dues[0]));
        assert_eq!(dues[10] - dues[9], 10_000_000);
    }

    #[test]
    fn bursts_of_threads_interleave() {
        let arrivals = Arrivals::Burst { rate_per_s: 1000.0, scope: RateScope::Total, burst: 10 };
        let mut all: Vec<u64> = (0..4).flat_map(|thread| dues(&arrivals, thread, 4, 100, 1)).collect();
        all.sort_unstable();
        all.dedup();
        assert!(
            all.windows(2).all(|pair| pair[1] - pair[0] == 10_000_000),
            "each thread has a tenth of a second to itself"
        );
    }

    #[test]
    fn what_is_left_at_an_end_is_what_was_due_before_it() {
        let arrivals = Arrivals::Fixed { rate_per_s: 1000.0, scope: RateScope::Total };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut schedule = Schedule::new(&arrivals, 0, 1, HZ, &mut rng).unwrap();
        schedule.begin(0);
        (0..10).for_each(|_| schedule.advance(&mut rng));
        schedule.end_at(25_000_000);
        assert_eq!((schedule.due(), schedule.left()), (10_000_000, 15));
        let mut left = 0;
        while schedule.due() < u64::MAX {
            (left, _) = (left + 1, schedule.advance(&mut rng));
        }
        assert_eq!((left, schedule.left()), (15, 0), "10 ms to 24 ms");
        schedule.end_at(1);
        assert_eq!(schedule.due(), u64::MAX);
        schedule.resume(90_000_000);
        assert_eq!(schedule.due(), 90_000_000);
        schedule.advance(&mut rng);
        assert_eq!(schedule.due(), 91_000_000);
    }

    #[test]
    fn a_thread_that_thinks_waits_from_the_end_of_an_operation() {
        let think = Think { pause_s: 0.001, every: 2 };
        let mut schedule = Schedule::thinking(think, HZ);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        schedule.begin(500);
        assert_eq!(schedule.due(), 500);
        schedule.advance(&mut rng);
        assert_eq!(schedule.due(), u64::MAX, "nothing is due while an operation is under way");
        schedule.completed(7_000);
        assert_eq!(schedule.due(), 7_000, "the first of two ends without a pause");
        schedule.advance(&mut rng);
        schedule.completed(9_000);
        assert_eq!(schedule.due(), 1_009_000);
        schedule.end_at(1_009_000);
        assert_eq!((schedule.due(), schedule.left()), (u64::MAX, 0), "a pause that outlasts the window");
        schedule.resume(2_000_000);
        assert_eq!(schedule.due(), 2_000_000);
    }

    #[test]
    fn rounding_does_not_add_up() {
        let arrivals = Arrivals::Fixed { rate_per_s: 3.0e6, scope: RateScope::Total };
        let dues = dues(&arrivals, 0, 1, 3_000_001, 1);
        assert!(dues[3_000_000].abs_diff(1_000_000_000) <= 1);
    }

    fn rng() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(1)
    }

    /// The thread of so many that stands third begins three quarters of a period late; a burst of five has five periods.
    #[test]
    fn a_class_has_the_schedule_of_its_arrivals_or_of_its_thoughts() {
        let (rate_per_s, scope) = (400.0, RateScope::Total);
        let think = Some(Think { pause_s: 0.002, every: 0 });
        for (arrivals, think, due) in [
            (Arrivals::Closed, None, None),
            (Arrivals::Closed, think, Some(0)),
            (Arrivals::Fixed { rate_per_s, scope }, None, Some(7_500_000)),
            (Arrivals::Fixed { rate_per_s, scope: RateScope::Thread }, None, Some(1_875_000)),
            (Arrivals::Burst { rate_per_s, scope, burst: 5 }, None, Some(37_500_000)),
            (Arrivals::Burst { rate_per_s, scope, burst: 0 }, None, Some(7_500_000)),
        ] {
            let class = Class { arrivals, think, threads: 4, ..crate::seat::null_class(false) };
            assert_eq!(Schedule::of(&class, 3, HZ, &mut rng()).map(|schedule| schedule.due()), due, "{arrivals:?}");
        }
    }

    #[test]
    fn nobody_knows_what_is_left_of_a_schedule_without_an_end() {
        let arrivals = Arrivals::Fixed { rate_per_s: 1000.0, scope: RateScope::Total };
        let mut schedule = Schedule::new(&arrivals, 0, 1, HZ, &mut rng()).unwrap();
        assert_eq!((schedule.due(), schedule.end(), schedule.left()), (0, u64::MAX, 0));
        schedule.end_at(2_500_000);
        assert_eq!((schedule.end(), schedule.left()), (2_500_000, 3), "0, 1 and 2 ms");
        (0..3).for_each(|_| schedule.advance(&mut rng()));
        assert_eq!((schedule.due(), schedule.left()), (u64::MAX, 0));
    }

    #[test]
    fn one_that_thinks_has_one_operation_left_and_none_that_is_due_at_the_end() {
        let mut schedule = Schedule::thinking(Think { pause_s: 0.001, every: 2 }, HZ);
        // Eight pauses long.
        schedule.end_at(8_000_000);
        assert_eq!((schedule.due(), schedule.left()), (0, 1));
        schedule.advance(&mut rng());
        schedule.completed(7_999_999);
        assert_eq!((schedule.due(), schedule.left()), (7_999_999, 1));
        schedule.completed(8_000_000);
        assert_eq!((schedule.due(), schedule.left()), (u64::MAX, 0));
    }

    #[test]
    fn a_schedule_goes_on_where_it_was() {
        let arrivals = Arrivals::Fixed { rate_per_s: 1000.0, scope: RateScope::Total };
        let mut schedule = Schedule::new(&arrivals, 0, 1, HZ, &mut rng()).unwrap();
        schedule.begin(500);
        (0..3).for_each(|_| schedule.advance(&mut rng()));
        assert_eq!(schedule.due(), 3_000_500);
        schedule.resume(9_000_700);
        schedule.advance(&mut rng());
        assert_eq!((schedule.due(), schedule.end()), (10_000_700, u64::MAX));
    }

    #[test]
    fn closed_arrivals_have_no_rate() {
        assert_eq!(total_rate(&Arrivals::Closed, 4), None);
        let burst = Arrivals::Burst { rate_per_s: 5.0, scope: RateScope::Thread, burst: 9 };
        assert_eq!((total_rate(&burst, 4), total_rate(&burst, 1)), (Some(20.0), Some(5.0)));
    }
}
