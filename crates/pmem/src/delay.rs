//! Waits that make memory as slow as modules that are not there.

use std::{sync::OnceLock, time::Instant};

/// What a twin says that each step takes, nanoseconds; 0 adds nothing. They are added to what the step takes here.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delays {
    /// Each cache line that is written back.
    pub flush_ns: f64,
    /// Each fence.
    pub fence_ns: f64,
    /// Each block of 256 B that comes from the media.
    pub block_read_ns: f64,
    /// Each block of 256 B that goes to the media.
    pub block_written_ns: f64,
}

/// The same, in ticks of this CPU's counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    pub(crate) flush: u64,
    pub(crate) fence: u64,
    pub(crate) block_read: u64,
    pub(crate) block_written: u64,
}

impl Delays {
    pub(crate) fn ticks(self) -> Ticks {
        let of = |nanoseconds: f64| (nanoseconds.max(0.0) * ticks_per_ns()).round() as u64;
        Ticks {
            flush: of(self.flush_ns),
            fence: of(self.fence_ns),
            block_read: of(self.block_read_ns),
            block_written: of(self.block_written_ns),
        }
    }
}

/// Waits without giving the CPU away: the times are far below those of the scheduler.
#[inline(always)]
pub(crate) fn wait(ticks: u64) {
    if ticks == 0 {
        return;
    }
    let start = now();
    while now().wrapping_sub(start) < ticks {
        std::hint::spin_loop();
    }
}

fn ticks_per_ns() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let (clock, start) = (Instant::now(), now());
        while clock.elapsed().as_millis() < 10 {
            std::hint::spin_loop();
        }
        let ticks = now().wrapping_sub(start);
        ticks as f64 / clock.elapsed().as_nanos() as f64
    })
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn now() -> u64 {
    // SAFETY: every x86-64 has the time stamp counter, and Linux lets user space read it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn now() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user space read the virtual counter.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) }
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_at_least_as_long_as_asked_for() {
        let ticks = Delays { fence_ns: 2e6, ..Delays::default() }.ticks();
        assert_eq!((ticks.flush, ticks.block_read, ticks.block_written), (0, 0, 0));
        let start = Instant::now();
        wait(ticks.fence);
        // Of the 2 ms, a tenth is left for the calibration.
        assert!(start.elapsed().as_micros() >= 1800, "{:?}", start.elapsed());
    }

    #[test]
    fn a_negative_or_absurd_delay_is_none() {
        let ticks = Delays { flush_ns: -5.0, block_read_ns: f64::NAN, ..Delays::default() }.ticks();
        assert_eq!((ticks.flush, ticks.block_read), (0, 0));
    }
}
