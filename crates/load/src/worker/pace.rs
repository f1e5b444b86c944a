//! Waiting until an operation is due.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use assay_instruments::{clock::Clock, tally::Tally};

/// Below this the wait is spent spinning: a sleep would end too late.
const SPIN_NS: u64 = 5_000;
/// A sleep is never longer, so that a window that closes early is noticed.
const LONGEST_SLEEP_NS: u64 = 20_000_000;

/// Later than this a sleep ends for another reason than the machine's way of waking up.
const LATEST_NS: f64 = 1_000_000.0;
/// Of so many sleeps one may end too late: fewer than show in a 99th percentile.
const LATE_ONE_IN: f64 = 200.0;
/// After a sleep that ended too late the next ones are begun earlier by this factor, and after all others a little less
/// early, so that both are in balance where one in [`LATE_ONE_IN`] is late. One that was far too late counts no more than
/// another: who began all others as early would spin for a millisecond each, on CPUs that other classes want.
const EARLIER: f64 = 1.25;
/// Sleeps are begun earlier by at least as much: from less, it takes long to learn that they end late.
const EARLY_AT_LEAST_NS: f64 = 10_000.0;
/// Spinning lets one forget, too, as if a sleep had ended: a machine that was late once is tried again.
const SPIN_PER_SLEEP_NS: f64 = 1e6;

/// Sleeps as far as a sleep is exact enough, then spins. It learns how late the latest sleeps end on this machine: an idle
/// virtual CPU is given back to its host, and half of the sleeps end later than the mean.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    oversleep_ns: f64,
}

impl Default for Pacer {
    fn default() -> Self {
        // Learning upwards takes late sleeps: one of a hundred of them ends as late as this on virtual CPUs.
        Self { oversleep_ns: 200_000.0 }
    }
}

impl Pacer {
    /// Waits until `due` or `close`, whichever comes first, and returns the clock's value then, ticks.
    #[cold]
    pub fn wait(&mut self, clock: &Clock, due: u64, close: &AtomicU64, tally: &Tally) -> u64 {
        let mut spun_from = None;
        loop {
            let now = clock.now();
            if now >= due || now >= close.load(Relaxed) {
                let spun = spun_from.map_or(0, |from| now.saturating_sub(from));
                self.spun(clock, spun, tally);
                return now;
            }
            let nap_ns = self.nap_ns(clock.ticks_to_ns(due - now));
            if nap_ns > 0 {
                self.sleep(clock, now, nap_ns.min(LONGEST_SLEEP_NS));
            } else {
                spun_from = spun_from.or(Some(now));
                std::hint::spin_loop();
            }
        }
    }

    fn sleep(&mut self, clock: &Clock, now: u64, asked_ns: u64) {
        std::thread::sleep(std::time::Duration::from_nanos(asked_ns));
        let slept_ns = clock.ticks_to_ns(clock.now().saturating_sub(now));
        self.learn(slept_ns.saturating_sub(asked_ns));
    }

    fn learn(&mut self, over_ns: u64) {
        if over_ns as f64 > self.oversleep_ns {
            self.oversleep_ns = (self.oversleep_ns * EARLIER).min(LATEST_NS);
        } else {
            self.forget(1.0);
        }
    }

    fn forget(&mut self, sleeps: f64) {
        let kept = EARLIER.powf(-sleeps / (LATE_ONE_IN - 1.0));
        self.oversleep_ns = (self.oversleep_ns * kept).max(EARLY_AT_LEAST_NS);
    }

    fn spun(&mut self, clock: &Clock, ticks: u64, tally: &Tally) {
        Tally::add(&tally.wait_ticks, ticks);
        self.forget(clock.ticks_to_ns(ticks) as f64 / SPIN_PER_SLEEP_NS);
    }

    /// How long a wait inside the kernel may last when `left_ns` are left; 0 where it would end too late.
    #[inline(always)]
    pub fn nap_ns(&self, left_ns: u64) -> u64 {
        let early_ns = self.oversleep_ns as u64;
        if left_ns > early_ns + SPIN_NS { left_ns - early_ns } else { 0 }
    }

    /// A wait inside the kernel, allowed to last `asked_ns`, ended after `ticks` with nothing found.
    #[cold]
    pub fn waited(&mut self, clock: &Clock, asked_ns: u64, ticks: u64, tally: &Tally) {
        if asked_ns == 0 {
            self.spun(clock, ticks, tally);
        } else {
            self.learn(clock.ticks_to_ns(ticks).saturating_sub(asked_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LATEST_NS, Pacer};

    #[test]
    fn sleeps_that_end_late_once_in_fifty_are_begun_early_enough() {
        let mut pacer = Pacer::default();
        let mut early = 0;
        for turn in 0..5000_u64 {
            let over_ns = if turn % 50 == 49 { 150_000 } else { 20_000 };
            early += u32::from(1_000_000 - pacer.nap_ns(1_000_000) >= over_ns);
            pacer.learn(over_ns);
        }
        assert!(early >= 4900, "{early} of 5000");
    }

    #[test]
    fn sleeps_that_all_end_late_are_begun_a_millisecond_early_and_one_that_did_is_hardly_minded() {
        let early = |pacer: &Pacer| 2_000_000 - pacer.nap_ns(2_000_000);
        let mut pacer = Pacer::default();
        pacer.learn(80_000_000);
        assert!(early(&pacer) <= 250_000, "{} ns for one of 80 ms", early(&pacer));
        (0..50).for_each(|_| pacer.learn(80_000_000));
        assert_eq!(early(&pacer), LATEST_NS as u64);
        (0..5000).for_each(|_| pacer.learn(5_000));
        assert!(early(&pacer) < 20_000);
        (0..50).for_each(|_| pacer.learn(400_000));
        (0..50_000).for_each(|_| pacer.forget(0.1));
        assert!(pacer.nap_ns(100_000) > 0, "spinning alone must lead back to sleeping");
    }

    /// Late sleeps come by chance and a few of them are far later than the rest, as on an idle virtual CPU. Each was begun
    /// early by the latest of a hundred others, and one of a hundred ended too late; by the latest of a thousand, each spun
    /// for most of a millisecond.
    #[test]
    fn of_sleeps_with_a_heavy_tail_fewer_than_one_in_a_hundred_end_too_late_and_none_spins_for_the_worst() {
        let mut state = 7_u64;
        let mut chance = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut pacer, mut late, mut early_ns) = (Pacer::default(), 0, 0);
        for _ in 0..20_000 {
            // Half of them within 20 us, one of a hundred beyond 200 us.
            let over_ns = (20_000.0 * (0.5 / (1.0 - chance())).powf(0.6)) as u64;
            let early = 5_000_000 - pacer.nap_ns(5_000_000);
            (late, early_ns) = (late + u32::from(early < over_ns), early_ns + early);
            pacer.learn(over_ns);
        }
        assert!(late < 150, "{late} of 20000");
        // The 99.5th percentile is 317 us.
        assert!(early_ns / 20_000 < 450_000, "{} ns early in the mean", early_ns / 20_000);
    }
}
