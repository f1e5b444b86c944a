//! Waiting until an operation is due.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use assay_instruments::{clock::Clock, tally::Tally};

/// Below this the wait is spent spinning: a sleep would end too late.
const SPIN_NS: u64 = 5_000;
/// A sleep is never longer, so that a window that closes early is noticed.
const LONGEST_SLEEP_NS: u64 = 20_000_000;

/// Sleeps as far as a sleep is exact enough, then spins. It learns how late sleeps end on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    oversleep_ns: u64,
}

impl Default for Pacer {
    fn default() -> Self {
        Self { oversleep_ns: 60_000 }
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
                Tally::add(&tally.wait_ticks, spun);
                return now;
            }
            let left_ns = clock.ticks_to_ns(due - now);
            if left_ns > self.oversleep_ns + SPIN_NS {
                self.sleep(clock, now, (left_ns - self.oversleep_ns).min(LONGEST_SLEEP_NS));
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
        self.oversleep_ns = (self.oversleep_ns * 7 + over_ns.min(200_000)) / 8;
    }

    /// How long a wait inside the kernel may last when `left_ns` are left; 0 where it would end too late.
    #[inline(always)]
    pub fn nap_ns(&self, left_ns: u64) -> u64 {
        if left_ns > self.oversleep_ns + SPIN_NS { left_ns - self.oversleep_ns } else { 0 }
    }

    /// A wait inside the kernel, allowed to last `asked_ns`, ended after `ticks` with nothing found.
    #[cold]
    pub fn waited(&mut self, clock: &Clock, asked_ns: u64, ticks: u64, tally: &Tally) {
        if asked_ns == 0 {
            Tally::add(&tally.wait_ticks, ticks);
        } else {
            self.learn(clock.ticks_to_ns(ticks).saturating_sub(asked_ns));
        }
    }
}
