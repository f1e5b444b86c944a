//! The early stop.

use std::collections::VecDeque;

use super::level::{TrendLine, mean};

/// Rounds that must agree, as in SNIA's rule.
const ROUNDS: usize = 5;
/// Largest minus smallest round, relative to the average of the rounds.
const SPREAD: f64 = 0.2;
/// Rise or fall of the best straight line over the rounds, relative to their average.
const EXCURSION: f64 = 0.1;
/// A round is at least this long, s: shorter ones show the scheduler, not the device.
const ROUND_AT_LEAST_S: f64 = 0.5;

/// What a class did in one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Seconds since the window opened, at the interval's end.
    pub at_s: f64,
    /// Length, s.
    pub length_s: f64,
    /// Operations completed.
    pub operations: u64,
    /// Mean latency, ns; 0 where nothing completed.
    pub mean_ns: f64,
}

/// Watches one class. A run may stop early when the detectors of all its classes say so.
#[derive(Clone, Debug)]
pub struct SteadyDetector {
    after_s: f64,
    round_s: f64,
    rounds: VecDeque<Round>,
    open: Round,
    now_s: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Round {
    length_s: f64,
    operations: f64,
    latency_sum: f64,
}

impl Round {
    fn rate(&self) -> f64 {
        if self.length_s > 0.0 { self.operations / self.length_s } else { 0.0 }
    }

    fn latency(&self) -> f64 {
        if self.operations > 0.0 { self.latency_sum / self.operations } else { 0.0 }
    }
}

impl SteadyDetector {
    /// Never says steady before `after_s` seconds of the window, and looks at five rounds of a fifth of that each (half
    /// a second at least). With 0 it never says steady.
    pub fn new(after_s: f64) -> Self {
        let round_s = (after_s / ROUNDS as f64).max(ROUND_AT_LEAST_S);
        Self { after_s, round_s, rounds: VecDeque::with_capacity(ROUNDS + 1), open: Round::default(), now_s: 0.0 }
    }

    /// Adds an interval. Says whether the window is steady now.
    pub fn push(&mut self, interval: Interval) -> bool {
        self.now_s = interval.at_s;
        self.open.length_s += interval.length_s;
        self.open.operations += interval.operations as f64;
        self.open.latency_sum += interval.mean_ns * interval.operations as f64;
        // Half an interval of tolerance, so that rounding does not make every round one interval longer.
        if self.open.length_s + interval.length_s / 2.0 >= self.round_s {
            self.rounds.push_back(std::mem::take(&mut self.open));
            if self.rounds.len() > ROUNDS {
                self.rounds.pop_front();
            }
        }
        self.is_steady()
    }

    /// Whether the last five rounds agree, in throughput and in latency, and the minimum time has passed.
    pub fn is_steady(&self) -> bool {
        if self.after_s <= 0.0 || self.now_s < self.after_s || self.rounds.len() < ROUNDS {
            return false;
        }
        let rates: Vec<f64> = self.rounds.iter().map(Round::rate).collect();
        let latencies: Vec<f64> = self.rounds.iter().map(Round::latency).collect();
        agree(&rates) && agree(&latencies)
    }
}

fn agree(rounds: &[f64]) -> bool {
    let average = mean(rounds);
    let least = rounds.iter().copied().fold(f64::MAX, f64::min);
    let most = rounds.iter().copied().fold(f64::MIN, f64::max);
    average > 0.0
        && most - least <= SPREAD * average
        && TrendLine::through(rounds).excursion().abs() <= EXCURSION * average
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(detector: &mut SteadyDetector, rate: impl Fn(f64) -> f64, seconds: f64) -> Option<f64> {
        let steps = (seconds * 10.0) as u32;
        (1..=steps).map(|step| f64::from(step) / 10.0).find(|&at_s| {
            let operations = (rate(at_s) / 10.0) as u64;
            detector.push(Interval { at_s, length_s: 0.1, operations, mean_ns: 1e9 / rate(at_s) })
        })
    }

    #[test]
    fn a_constant_load_is_steady_at_the_minimum_time_and_not_before() {
        let at = run(&mut SteadyDetector::new(5.0), |_| 10_000.0, 60.0).expect("steady");
        assert_eq!(at, 5.0);
        // Five rounds of half a second, the shortest.
        assert_eq!(run(&mut SteadyDetector::new(1.0), |_| 10_000.0, 60.0), Some(2.5));
        assert_eq!(run(&mut SteadyDetector::new(0.0), |_| 10_000.0, 60.0), None);
    }

    #[test]
    fn a_drift_and_a_jump_are_not_steady() {
        assert_eq!(run(&mut SteadyDetector::new(5.0), |at| 10_000.0 * (1.0 + at / 20.0), 20.0), None);
        let jumping = |at: f64| if (at as u32) % 2 == 0 { 10_000.0 } else { 7_000.0 };
        assert_eq!(run(&mut SteadyDetector::new(5.0), jumping, 20.0), None);
    }

    #[test]
    fn a_ramp_that_settles_is_steady_once_five_rounds_agree() {
        let at = run(&mut SteadyDetector::new(2.5), |at| 10_000.0 * (at / 4.0).min(1.0), 60.0).expect("steady");
        assert!((5.5..7.5).contains(&at), "{at}");
    }

    #[test]
    fn constant_throughput_with_rising_latency_is_not_steady() {
        let mut detector = SteadyDetector::new(5.0);
        let steady = (1..100).any(|step| {
            let at_s = f64::from(step) / 10.0;
            detector.push(Interval { at_s, length_s: 0.1, operations: 100, mean_ns: 1e5 * (1.0 + at_s / 5.0) })
        });
        assert!(!steady);
    }

    fn interval(at_s: f64, length_s: f64) -> Interval {
        Interval { at_s, length_s, operations: 10, mean_ns: 3.0 }
    }

    /// Intervals of 0.4 s close a round of a second after 0.8 s, so that five rounds have passed at 4 s.
    #[test]
    fn five_rounds_that_agree_too_early_are_not_enough() {
        let mut detector = SteadyDetector::new(5.0);
        let steady = (1..20).find(|&step| detector.push(interval(f64::from(step) * 0.4, 0.4)));
        assert_eq!(steady, Some(13), "5.2 s");
    }

    #[test]
    fn a_round_is_the_sum_of_its_intervals() {
        let mut detector = SteadyDetector::new(5.0);
        detector.push(interval(0.35, 0.35));
        detector.push(Interval { operations: 4, mean_ns: 5.0, ..interval(0.70, 0.35) });
        let open = detector.open;
        assert_eq!((open.length_s, open.operations, open.latency_sum), (0.7, 14.0, 50.0));
        // 0.7 s and half an interval are no second, 1.05 s are.
        assert_eq!(detector.rounds.len(), 0);
        detector.push(interval(1.05, 0.35));
        assert_eq!((detector.rounds.len(), detector.open.operations), (1, 0.0));
    }

    #[test]
    fn a_round_has_a_rate_and_a_latency_where_something_was_done() {
        let round = Round { length_s: 2.0, operations: 6.0, latency_sum: 30.0 };
        assert_eq!((round.rate(), round.latency()), (3.0, 5.0));
        assert_eq!((Round::default().rate(), Round::default().latency()), (0.0, 0.0));
    }

    #[test]
    fn rounds_agree_within_a_fifth_and_about_a_line_that_moves_by_a_tenth() {
        for (rounds, agreed) in [
            ([90.0, 110.0, 100.0, 100.0, 100.0], true),
            ([88.0, 110.0, 100.0, 101.0, 101.0], false),
            ([95.0, 97.5, 100.0, 102.5, 105.0], true),
            ([94.0, 97.0, 100.0, 103.0, 106.0], false),
            ([106.0, 103.0, 100.0, 97.0, 94.0], false),
            ([0.0; 5], false),
        ] {
            assert_eq!(agree(&rounds), agreed, "{rounds:?}");
        }
    }
}
