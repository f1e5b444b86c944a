//! A thread that does nothing but wake twenty times a second, and see whether the machine's time went on as it should.
//!
//! A process that a signal stopped, a control group that was frozen, a virtual machine that was paused: whoever stands still
//! notices nothing of it while it lasts. Afterwards a sleep of 50 ms has lasted half a second, and the thread did not wait
//! for a CPU meanwhile. At the same beats the clocks are compared with each other, so that a counter that ran fast and then
//! slow is seen though both clocks agree in the end.

use std::{
    fs,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{Builder, JoinHandle},
    time::Duration,
};

use crate::{
    clock::{Clock, ClockPair, asleep_ns},
    counters::parse_run_wait,
};

/// Time between beats.
const BEAT: Duration = Duration::from_millis(50);
/// A beat that comes late by less is what a timer on a busy machine does.
const LATE_AT_LEAST_NS: u64 = 50_000_000;
/// More standstills than these are not remembered one by one.
const STANDSTILLS_AT_MOST: usize = 1000;

/// A time in which the process did not run and did not wait for a CPU either, ticks of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// When it began, at the latest.
    pub from: u64,
    /// When it ended.
    pub until: u64,
}

/// What was seen between two moments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beats {
    /// Standstills; none known where the kernel does not say how long threads wait for a CPU.
    pub standstills: Vec<Standstill>,
    /// Largest difference between the clock and the kernel's, since the first beat, ns.
    pub excursion_ns: u64,
    /// Time for which the machine slept (`CLOCK_BOOTTIME` against `CLOCK_MONOTONIC`), ns.
    pub suspended_ns: u64,
    /// CPUs that the process could use at the first beat, and at the worst one.
    pub cpus: Option<(u32, u32)>,
}

impl Beats {
    /// Seconds of standstill between two instants: all of them together.
    pub fn stood_still_s(&self, clock: &Clock, from: u64, until: u64) -> f64 {
        let inside = |one: &Standstill| one.until.min(until).saturating_sub(one.from.max(from));
        let ticks: u64 = self.standstills.iter().map(inside).sum();
        clock.ticks_to_ns(ticks) as f64 * 1e-9
    }
}

/// The thread.
#[derive(Debug)]
pub struct Heartbeat {
    end: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<Beats>>,
}

impl Heartbeat {
    /// Starts it; a machine that gives no thread leaves it without beats.
    pub fn start(clock: Clock) -> Self {
        let end = Arc::new((Mutex::new(false), Condvar::new()));
        let ending = Arc::clone(&end);
        let thread = Builder::new().name("heartbeat".to_owned()).spawn(move || beat(clock, &ending)).ok();
        Self { end, thread }
    }

    /// Ends it, and gives what it saw.
    pub fn stop(&mut self) -> Beats {
        *self.end.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.end.1.notify_all();
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.stop();
    }
}

/// One reading of everything.
#[derive(Clone, Copy)]
struct Reading {
    at: ClockPair,
    /// Time that this thread waited for a CPU so far, ns.
    waited_ns: Option<u64>,
    /// `CLOCK_BOOTTIME` minus `CLOCK_MONOTONIC`, ns.
    asleep_ns: u64,
    cpus: Option<u32>,
}

fn read(clock: &Clock) -> Reading {
    let waited = fs::read_to_string("/proc/thread-self/schedstat").ok();
    Reading {
        waited_ns: waited.and_then(|text| parse_run_wait(&text)),
        asleep_ns: asleep_ns(),
        cpus: rustix::thread::sched_getaffinity(None).ok().map(|set| set.count()),
        at: clock.pair(),
    }
}

fn beat(clock: Clock, end: &(Mutex<bool>, Condvar)) -> Beats {
    let first = read(&clock);
    let mut beats = Beats { cpus: first.cpus.map(|cpus| (cpus, cpus)), ..Beats::default() };
    let mut before = first;
    loop {
        let guard = end.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (guard, _) = end.1.wait_timeout_while(guard, BEAT, |ended| !*ended).unwrap_or_else(PoisonError::into_inner);
        let ended = *guard;
        drop(guard);
        let now = read(&clock);
        beats.add(&clock, first, before, now);
        if ended {
            return beats;
        }
        before = now;
    }
}

impl Beats {
    fn add(&mut self, clock: &Clock, first: Reading, before: Reading, now: Reading) {
        if let Some(standstill) = standstill(clock, before, now) {
            if self.standstills.len() < STANDSTILLS_AT_MOST {
                self.standstills.push(standstill);
            }
        }
        let by_clock = clock.ticks_to_ns(now.at.ticks.saturating_sub(first.at.ticks));
        let by_kernel = now.at.monotonic_ns.saturating_sub(first.at.monotonic_ns);
        self.excursion_ns = self.excursion_ns.max(by_clock.abs_diff(by_kernel));
        self.suspended_ns = self.suspended_ns.max(now.asleep_ns.saturating_sub(first.asleep_ns));
        if let (Some((_, least)), Some(cpus)) = (&mut self.cpus, now.cpus) {
            *least = (*least).min(cpus);
        }
    }
}

/// How much later than asked a sleep ended, less what the thread waited for a CPU. By the kernel's clock: the other one may
/// be the liar.
fn standstill(clock: &Clock, before: Reading, now: Reading) -> Option<Standstill> {
    let waited_ns = now.waited_ns?.saturating_sub(before.waited_ns?);
    let slept_ns = now.at.monotonic_ns.saturating_sub(before.at.monotonic_ns);
    let late_ns = slept_ns.saturating_sub(BEAT.as_nanos() as u64).saturating_sub(waited_ns);
    let from = now.at.ticks.saturating_sub(clock.ns_to_ticks(late_ns));
    (late_ns >= LATE_AT_LEAST_NS).then_some(Standstill { from, until: now.at.ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at_ms: u64, waited_ms: u64) -> Reading {
        let ns = at_ms * 1_000_000;
        let at = ClockPair { ticks: Clock::nanoseconds().ns_to_ticks(ns), monotonic_ns: ns };
        Reading { at, waited_ns: Some(waited_ms * 1_000_000), asleep_ns: 0, cpus: Some(2) }
    }

    fn seen(readings: &[Reading]) -> Beats {
        let mut beats = Beats { cpus: Some((2, 2)), ..Beats::default() };
        for pair in readings.windows(2) {
            beats.add(&Clock::nanoseconds(), readings[0], pair[0], pair[1]);
        }
        beats
    }

    #[test]
    fn a_sleep_that_lasts_too_long_is_a_standstill_unless_the_thread_waited_for_a_cpu() {
        let clock = Clock::nanoseconds();
        let stopped = seen(&[reading(1000, 0), reading(1050, 0), reading(1600, 0), reading(1650, 0)]);
        assert!((stopped.stood_still_s(&clock, 0, u64::MAX) - 0.5).abs() < 1e-6);
        assert!((stopped.stood_still_s(&clock, 0, 1_300_000_000) - 0.2).abs() < 1e-6, "the window's part of it");
        assert_eq!(stopped.stood_still_s(&clock, 1_600_000_000, u64::MAX), 0.0);
        let waited = seen(&[reading(1000, 0), reading(1050, 0), reading(1600, 480), reading(1650, 480)]);
        assert!(waited.standstills.is_empty());
        let unknown = Reading { waited_ns: None, ..reading(1600, 0) };
        assert!(seen(&[reading(1000, 0), unknown]).standstills.is_empty());
    }

    #[test]
    fn a_clock_that_is_right_in_the_end_was_wrong_in_between() {
        let mut fast = reading(1500, 0);
        fast.at.ticks += 30_000_000;
        assert_eq!(seen(&[reading(1000, 0), fast, reading(2000, 0)]).excursion_ns, 30_000_000);
        assert_eq!(seen(&[reading(1000, 0), reading(1050, 0)]).excursion_ns, 0);
    }

    #[test]
    fn a_sleep_of_the_machine_and_cpus_that_went_are_seen() {
        let slept = Reading { asleep_ns: 3_000_000_000, ..reading(1050, 0) };
        let poorer = Reading { cpus: Some(1), ..reading(1100, 0) };
        let beats = seen(&[reading(1000, 0), slept, poorer, reading(1150, 0)]);
        assert_eq!((beats.suspended_ns, beats.cpus), (3_000_000_000, Some((2, 1))));
    }

    #[test]
    fn it_starts_beats_and_stops() {
        let mut heartbeat = Heartbeat::start(Clock::new());
        std::thread::sleep(Duration::from_millis(120));
        let beats = heartbeat.stop();
        assert!(beats.cpus.is_some_and(|(first, least)| first >= 1 && least <= first));
        assert_eq!(heartbeat.stop(), Beats::default(), "it was stopped already");
    }
}
