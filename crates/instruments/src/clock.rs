//! The clock that times operations: a CPU counter where it can be trusted, the kernel's clock otherwise.
//!
//! A [`Clock`] is calibrated once against `CLOCK_MONOTONIC` and is then copied to every thread. Its frequency may be
//! off by a few parts per million; [`Clock::drift`] compares both clocks over a whole window, so that a counter that
//! stops, jumps or changes speed does not go unnoticed.

use std::{fs, time::Duration};

use crate::counters::Roots;

/// Time between the two samples of a calibration: an error of 100 ns at either end is 5 parts per million.
const CALIBRATION: Duration = Duration::from_millis(20);
/// Readings of both clocks per sample; the one that took least time counts.
const READINGS: u32 = 64;
const FRACTION_BITS: u32 = 32;
/// Clock sources of the kernel that are the time stamp counter itself or are computed from it. A kernel that has moved
/// to another source has found the counter wanting.
const TSC_SOURCES: [&str; 3] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page"];

/// Where the ticks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// Time stamp counter of x86-64, invariant.
    Tsc,
    /// Virtual counter of aarch64 (`cntvct_el0`).
    Cntvct,
    /// `clock_gettime(CLOCK_MONOTONIC_RAW)`: a tick is a nanosecond.
    ClockGettime,
}

/// Both clocks, read at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockPair {
    /// Ticks of the [`Clock`].
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`, ns.
    pub monotonic_ns: u64,
}

/// A calibrated clock. Copy it: calibration takes 20 ms.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: ClockSource,
    /// Nanoseconds per tick, 32 bits of fraction.
    ns_per_tick: u64,
    /// Ticks per nanosecond, 32 bits of fraction.
    ticks_per_ns: u64,
    hz: f64,
}

impl Clock {
    /// The best clock of this machine, calibrated (about 20 ms where it is a CPU counter).
    pub fn new() -> Self {
        Self::of(detect(&Roots::default()))
    }

    /// A clock of the given source, calibrated. The caller knows that the machine has it.
    fn of(source: ClockSource) -> Self {
        if source == ClockSource::ClockGettime {
            return Self::with_hz(source, 1e9);
        }
        let before = pair_of(source);
        std::thread::sleep(CALIBRATION);
        let after = pair_of(source);
        let ticks = after.ticks.wrapping_sub(before.ticks) as f64;
        let seconds = (after.monotonic_ns - before.monotonic_ns) as f64 * 1e-9;
        let hz = ticks / seconds;
        // A counter that stands still or goes wild cannot time anything.
        if !(1e6..1e11).contains(&hz) {
            return Self::with_hz(ClockSource::ClockGettime, 1e9);
        }
        Self::with_hz(source, hz)
    }

    fn with_hz(source: ClockSource, hz: f64) -> Self {
        let one = (1_u64 << FRACTION_BITS) as f64;
        Self { source, ns_per_tick: (1e9 / hz * one).round() as u64, ticks_per_ns: (hz / 1e9 * one).round() as u64, hz }
    }

    /// A clock whose tick is a nanosecond, for tests of those who are given times.
    #[cfg(test)]
    pub(crate) fn nanoseconds() -> Self {
        Self::with_hz(ClockSource::ClockGettime, 1e9)
    }

    /// Now, in ticks. The instruction is not ordered against its neighbours: it costs a few nanoseconds, and an
    /// operation that is timed with it takes a system call or moves memory.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        ticks_of(self.source)
    }

    /// Now, in ticks, once every load before it has its value, and before anything behind it begins: for operations as short
    /// as an access of memory. What the CPU had under way is waited for, so that few of many operations are to be timed with it.
    #[inline(always)]
    pub fn now_in_order(&self) -> u64 {
        fence_loads();
        let ticks = ticks_of(self.source);
        fence_loads();
        ticks
    }

    /// Nanoseconds in a number of ticks (a difference of two readings).
    #[inline(always)]
    pub fn ticks_to_ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.ns_per_tick)) >> FRACTION_BITS) as u64
    }

    /// Ticks in a number of nanoseconds.
    #[inline(always)]
    pub fn ns_to_ticks(&self, ns: u64) -> u64 {
        ((u128::from(ns) * u128::from(self.ticks_per_ns)) >> FRACTION_BITS) as u64
    }

    /// Ticks per second.
    pub fn hz(&self) -> f64 {
        self.hz
    }

    /// Frequency of the time stamp counter, Hz; 0 where operations are not timed with one. For [`assay_record::Cpu`].
    pub fn tsc_hz(&self) -> f64 {
        if self.source == ClockSource::Tsc { self.hz } else { 0.0 }
    }

    /// Where the ticks come from.
    pub fn source(&self) -> ClockSource {
        self.source
    }

    /// `tsc`, `cntvct` or `clock_gettime`.
    pub fn name(&self) -> &'static str {
        match self.source {
            ClockSource::Tsc => "tsc",
            ClockSource::Cntvct => "cntvct",
            ClockSource::ClockGettime => "clock_gettime",
        }
    }

    /// Both clocks, read as close to each other as this moment allows (some microseconds of work).
    pub fn pair(&self) -> ClockPair {
        pair_of(self.source)
    }

    /// The kernel's time at an instant of this clock, by a reading of both that is near to it.
    pub fn monotonic_ns(&self, read: ClockPair, instant: u64) -> u64 {
        let ahead = instant.wrapping_sub(read.ticks) as i64;
        let ns = self.ticks_to_ns(ahead.unsigned_abs());
        if ahead < 0 { read.monotonic_ns.saturating_sub(ns) } else { read.monotonic_ns.saturating_add(ns) }
    }

    /// The instant of this clock at a time of the kernel's, by a reading of both; the reading where that time has passed.
    pub fn instant_of(&self, read: ClockPair, monotonic_ns: u64) -> u64 {
        read.ticks.saturating_add(self.ns_to_ticks(monotonic_ns.saturating_sub(read.monotonic_ns)))
    }

    /// Relative difference between this clock and the kernel's from `start` to `end`: 0.001 means that this clock ran
    /// 0.1 % fast. 0 where no time passed.
    pub fn drift(&self, start: ClockPair, end: ClockPair) -> f64 {
        let kernel_ns = end.monotonic_ns.saturating_sub(start.monotonic_ns);
        if kernel_ns == 0 {
            return 0.0;
        }
        // A counter that went backwards shows as a large negative drift, not as a wrapped one.
        let ticks = end.ticks.wrapping_sub(start.ticks) as i64;
        ticks as f64 * (1e9 / self.hz) / kernel_ns as f64 - 1.0
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// The best source that the machine offers.
fn detect(roots: &Roots) -> ClockSource {
    if cfg!(target_arch = "aarch64") {
        return ClockSource::Cntvct;
    }
    let flags = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    let current = fs::read_to_string(roots.sys.join(CURRENT_SOURCE)).unwrap_or_default();
    if cfg!(target_arch = "x86_64") && tsc_is_sound(&flags, current.trim()) {
        ClockSource::Tsc
    } else {
        ClockSource::ClockGettime
    }
}

const CURRENT_SOURCE: &str = "devices/system/clocksource/clocksource0/current_clocksource";

/// The counter runs at one speed in every power state, and the kernel keeps time by it.
fn tsc_is_sound(cpuinfo: &str, current_source: &str) -> bool {
    let Some(flags) = cpuinfo.lines().find(|line| line.starts_with("flags")) else { return false };
    let has = |name: &str| flags.split_ascii_whitespace().any(|flag| flag == name);
    has("constant_tsc") && has("nonstop_tsc") && TSC_SOURCES.contains(&current_source)
}

#[inline(always)]
fn ticks_of(source: ClockSource) -> u64 {
    match source {
        #[cfg(target_arch = "x86_64")]
        ClockSource::Tsc => {
            // SAFETY: every x86-64 CPU has the instruction; the kernel leaves it to user mode where it uses it itself.
            unsafe { core::arch::x86_64::_rdtsc() }
        }
        #[cfg(target_arch = "aarch64")]
        ClockSource::Cntvct => {
            let ticks: u64;
            // SAFETY: reads a register that Linux opens to user mode; touches nothing else.
            unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
            ticks
        }
        _ => kernel_ns(libc::CLOCK_MONOTONIC_RAW),
    }
}

/// All loads before it have their values when what stands behind it begins.
#[inline(always)]
fn fence_loads() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64; no operand.
    unsafe {
        core::arch::x86_64::_mm_lfence();
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: barriers without operands; they touch nothing.
    unsafe {
        core::arch::asm!("dsb ishld", "isb", options(nostack, preserves_flags))
    };
}

/// A clock of the kernel, ns. Both clocks that are asked for exist on every kernel that this program runs on.
fn kernel_ns(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(id, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How far `CLOCK_BOOTTIME`, which goes on while the machine sleeps, is ahead of `CLOCK_MONOTONIC`, which does not, ns.
pub(crate) fn asleep_ns() -> u64 {
    let monotonic_ns = kernel_ns(libc::CLOCK_MONOTONIC);
    // Read second, so that time between the readings never makes it negative.
    kernel_ns(libc::CLOCK_BOOTTIME).saturating_sub(monotonic_ns)
}

/// Reads both clocks many times and keeps the reading with the least time between the two counter values: the others
/// were interrupted.
fn pair_of(source: ClockSource) -> ClockPair {
    let mut best = ClockPair { ticks: 0, monotonic_ns: 0 };
    let mut shortest = u64::MAX;
    for _ in 0..READINGS {
        let before = ticks_of(source);
        let monotonic_ns = kernel_ns(libc::CLOCK_MONOTONIC);
        let between = ticks_of(source).wrapping_sub(before);
        if between < shortest {
            shortest = between;
            best = ClockPair { ticks: before + between / 2, monotonic_ns };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_taken_only_where_it_is_invariant_and_trusted_by_the_kernel() {
        let good = "processor : 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc sse2\n";
        assert!(tsc_is_sound(good, "tsc"));
        assert!(tsc_is_sound(good, "kvm-clock"));
        assert!(!tsc_is_sound(good, "hpet"));
        assert!(!tsc_is_sound("flags : fpu tsc constant_tsc\n", "tsc"));
        assert!(!tsc_is_sound("", "tsc"));
    }

    #[test]
    fn conversions_agree_with_the_frequency() {
        let clock = Clock::with_hz(ClockSource::Tsc, 2.25e9);
        assert_eq!(clock.ticks_to_ns(2_250_000_000), 1_000_000_000);
        assert!(clock.ns_to_ticks(1_000_000_000).abs_diff(2_250_000_000) <= 1);
        // A day does not overflow, and stays exact to a part in a hundred million.
        let day = clock.ticks_to_ns(clock.ns_to_ticks(86_400_000_000_000));
        assert!(day.abs_diff(86_400_000_000_000) < 864_000);
    }

    #[test]
    fn a_real_clock_goes_forward_and_agrees_with_the_kernel() {
        let clock = Clock::new();
        let start = clock.pair();
        let first = clock.now();
        std::thread::sleep(Duration::from_millis(30));
        assert!(clock.now() > first);
        let drift = clock.drift(start, clock.pair());
        assert!(drift.abs() < 0.05, "{} drifted by {drift}", clock.name());
        assert!(clock.hz() > 1e6);
    }

    #[test]
    fn drift_shows_a_fast_a_stopped_and_a_jumping_counter() {
        let clock = Clock::with_hz(ClockSource::Tsc, 1e9);
        let start = ClockPair { ticks: 1_000_000_000, monotonic_ns: 0 };
        let after = |ticks| clock.drift(start, ClockPair { ticks, monotonic_ns: 1_000_000_000 });
        assert!((after(2_010_000_000) - 0.01).abs() < 1e-9);
        assert!((after(1_000_000_000) + 1.0).abs() < 1e-9);
        assert!(after(500_000_000) < -1.0);
        assert_eq!(clock.drift(start, start), 0.0);
    }

    #[test]
    fn an_instant_and_the_kernels_time_are_told_from_a_reading_of_both() {
        let clock = Clock::with_hz(ClockSource::Tsc, 2e9);
        let read = ClockPair { ticks: 10_000, monotonic_ns: 50_000 };
        assert_eq!(clock.monotonic_ns(read, 12_000), 51_000);
        assert_eq!(clock.monotonic_ns(read, 8_000), 49_000);
        assert_eq!(clock.instant_of(read, 51_000), 12_000);
        assert_eq!(clock.instant_of(read, 49_000), 10_000, "what has passed is now");
    }

    #[test]
    fn the_fallback_counts_nanoseconds() {
        let clock = Clock::of(ClockSource::ClockGettime);
        assert_eq!(clock.ticks_to_ns(12_345), 12_345);
        assert_eq!(clock.ns_to_ticks(12_345), 12_345);
        assert_eq!(clock.tsc_hz(), 0.0);
        assert_eq!(clock.name(), "clock_gettime");
    }
}
