//! How fast the CPU really runs: a chain of dependent one-cycle operations, timed.
//!
//! In a virtual machine no file tells the frequency. The chain can be neither shortened nor run in parallel, so its
//! time is its length divided by the frequency; a neighbour on the same core hardly slows it, a lower clock does.

use crate::clock::Clock;

/// Steps of the chain; each is two dependent operations of one cycle. About 50 us at 2.6 GHz.
pub const PROBE_STEPS: u32 = 65_536;
const CYCLES_PER_STEP: f64 = 2.0;
/// Runs of the chain; the median counts, so that an interrupt or two do not matter.
const RUNS: usize = 15;
/// Time for which the CPU is kept busy first, ns: one that slept runs at its base frequency for up to a millisecond.
const AWAKE_NS: u64 = 3_000_000;
/// A governor raises the frequency step by step: as long as each look finds it higher by this share, but not for longer
/// than the bound, another look is taken.
const RISES: f64 = 0.02;
const RISES_FOR_NS: u64 = 50_000_000;

/// What a probe found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrequencyProbe {
    /// Cycles per second of the CPU that the probe ran on, as far as a one-cycle chain tells.
    pub hz: f64,
    /// Distance between the quartiles of its runs, relative to the median: how much the probe itself can be trusted.
    pub spread: f64,
}

impl FrequencyProbe {
    /// Runs it on the calling thread (some milliseconds): the CPU is woken up first. Who slept through a window would
    /// find it slower after than before.
    pub fn run(clock: &Clock) -> Self {
        let begin = clock.now();
        let busy_ns = || clock.ticks_to_ns(clock.now().wrapping_sub(begin));
        while busy_ns() < AWAKE_NS {
            chain();
        }
        let mut probe = Self::look(clock);
        while busy_ns() < RISES_FOR_NS {
            let next = Self::look(clock);
            let rises = probe.change_to(&next) > RISES;
            probe = next;
            if !rises {
                break;
            }
        }
        probe
    }

    fn look(clock: &Clock) -> Self {
        let mut times: [u64; RUNS] = std::array::from_fn(|_| {
            let start = clock.now();
            chain();
            clock.ticks_to_ns(clock.now().wrapping_sub(start))
        });
        times.sort_unstable();
        let median = times[RUNS / 2].max(1) as f64;
        Self {
            hz: f64::from(PROBE_STEPS) * CYCLES_PER_STEP / median * 1e9,
            spread: (times[RUNS * 3 / 4] - times[RUNS / 4]) as f64 / median,
        }
    }

    /// Relative change from this probe to a later one: -0.2 means 20 % slower.
    pub fn change_to(&self, later: &Self) -> f64 {
        if self.hz > 0.0 { later.hz / self.hz - 1.0 } else { 0.0 }
    }
}

/// The chain. Exclusive or and addition do not commute, so no compiler folds two steps into one.
#[inline(never)]
fn chain() {
    let mut x = std::hint::black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..PROBE_STEPS {
        x = (x ^ 0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    }
    std::hint::black_box(x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_gives_a_plausible_frequency_that_repeats_loosely() {
        let clock = Clock::new();
        let (first, second) = (FrequencyProbe::run(&clock), FrequencyProbe::run(&clock));
        eprintln!("{first:?} {second:?} tsc {} Hz", clock.hz());
        // Loose on purpose: shared machines are allowed to be slow, not to be off by orders of magnitude.
        assert!((5e7..2e10).contains(&first.hz), "{first:?}");
        assert!(first.change_to(&second).abs() < 3.0, "{first:?} {second:?}");
    }

    #[test]
    fn change_has_the_sign_of_the_later_probe() {
        let at = |hz| FrequencyProbe { hz, spread: 0.0 };
        assert!((at(2e9).change_to(&at(1.6e9)) + 0.2).abs() < 1e-9);
        assert_eq!(at(0.0).change_to(&at(1e9)), 0.0);
    }
}
