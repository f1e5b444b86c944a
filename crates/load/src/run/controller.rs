//! Opens the window, cuts it into intervals, and closes it: at its limit, when figures are steady, or when told to.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use assay_instruments::{
    clock::{Clock, ClockPair},
    series::Series,
    steady::{Interval, SteadyDetector},
    tally::Tally,
};
use assay_record::{Event, Job, Stop};
use assay_workload::Gate;

use super::workers::Floor;

/// The controller never sleeps longer, so that an interrupt is noticed.
const LONGEST_SLEEP_S: f64 = 0.05;
/// The same where a number of bytes ends the window: what is moved beyond it is moved in this time.
const LONGEST_SLEEP_WITH_LIMIT_S: f64 = 0.002;

/// The gate opens so long before the load begins, which is time for threads to wake up in.
const GATE_LEAD_S: f64 = 0.002;

/// What the controller saw at an edge of the window, besides the workers.
pub trait Surroundings {
    /// The window opens.
    fn opened(&mut self);
    /// The window closed.
    fn closed(&mut self);
}

/// The window as the controller saw it.
#[derive(Debug)]
pub struct Watched {
    /// Why it closed.
    pub stop: Stop,
    /// One series per class.
    pub series: Vec<Series>,
    /// When it opened for the workers, ticks.
    pub open: u64,
    /// When it closed for the workers, ticks.
    pub close: u64,
    /// When it opened, by both clocks.
    pub opened: ClockPair,
    /// When it closed, by both clocks.
    pub closed: ClockPair,
}

/// Steers one window.
pub struct Controller<'a> {
    /// The job.
    pub job: &'a Job,
    /// What it shares with the workers.
    pub floor: &'a Floor,
    /// What they are told to begin by.
    pub gate: &'a Gate,
    /// Tallies by class and thread.
    pub tallies: &'a [Vec<Tally>],
    /// Set when the user interrupts.
    pub interrupted: &'a AtomicBool,
}

impl Controller<'_> {
    fn clock(&self) -> Clock {
        self.floor.clock
    }

    fn ticks(&self, seconds: f64) -> u64 {
        self.clock().ns_to_ticks((seconds * 1e9) as u64)
    }

    /// Lets the workers go, watches them, and returns when the window has closed. Workers may still be finishing then.
    pub fn watch(&self, around: &mut dyn Surroundings, emit: &mut dyn FnMut(Event)) -> Watched {
        let window = &self.job.window;
        let begin = self.begin(emit);
        let open = begin + self.ticks(window.warmup_s);
        self.floor.begin.store(begin, Relaxed);
        self.floor.edges.close.store(open + self.ticks(window.measure_s), Relaxed);
        self.floor.edges.open.store(open, Relaxed);
        self.gate.open();
        if window.warmup_s > 0.0 {
            emit(Event::Progress { stage: "warm-up".into(), done: 0.0, detail: format!("{} s", window.warmup_s) });
        }
        let early = self.sleep_until(open);
        around.opened();
        let opened = self.clock().pair();
        let limit = open + self.ticks(window.measure_s);
        let mut series: Vec<Series> = self.tallies.iter().map(|tallies| Series::new(tallies.len())).collect();
        let stop = if early { Stop::Interrupted } else { self.intervals(open, limit, &mut series, emit) };
        let closed = self.clock().pair();
        around.closed();
        let close = self.floor.edges.close.load(Relaxed);
        Watched { stop, series, opened, closed, open, close }
    }

    /// When the load begins: at the moment that the job names, or at once where it names none or that has passed.
    fn begin(&self, emit: &mut dyn FnMut(Event)) -> u64 {
        let lead = self.ticks(GATE_LEAD_S);
        let at_once = || self.clock().now() + lead;
        let Some(start_ns) = self.job.start_monotonic_ns else { return at_once() };
        let start = self.clock().instant_of(self.clock().pair(), start_ns);
        emit(Event::Progress { stage: "waiting for the common start".into(), done: 0.0, detail: String::new() });
        // Short sleeps, so that an interrupt is noticed.
        while self.clock().now() + lead < start && !self.interrupted.load(Relaxed) {
            let left_s = self.clock().ticks_to_ns(start - self.clock().now()) as f64 / 1e9 - GATE_LEAD_S;
            std::thread::sleep(std::time::Duration::from_secs_f64(left_s.clamp(0.0, LONGEST_SLEEP_S)));
        }
        start.max(at_once())
    }

    fn intervals(&self, open: u64, limit: u64, series: &mut [Series], emit: &mut dyn FnMut(Event)) -> Stop {
        let interval = self.ticks(f64::from(self.job.window.interval_ms) / 1e3);
        let mut steady: Vec<SteadyDetector> = series.iter().map(|_| self.detector()).collect();
        let mut before = open;
        let mut edge = open;
        loop {
            edge += interval;
            let interrupted = self.sleep_until(edge.min(self.floor.edges.close.load(Relaxed)));
            let now = self.clock().now();
            if self.clock().ticks_to_ns(now.saturating_sub(before)) as f64
                >= f64::from(self.job.window.interval_ms) * 5e5
            {
                self.cut(open, before, now, series, emit);
                before = now;
            }
            if let Some(stop) = self.verdict(interrupted, now, limit, series, &mut steady) {
                self.floor.edges.close_now(self.clock().now());
                return stop;
            }
            // A controller that was held up does not try to catch up with short intervals.
            edge = edge.max(now.saturating_sub(interval));
        }
    }

    fn detector(&self) -> SteadyDetector {
        SteadyDetector::new(self.job.window.steady_after_s)
    }

    fn cut(&self, opened: u64, before: u64, now: u64, series: &mut [Series], emit: &mut dyn FnMut(Event)) {
        let seconds = |ticks: u64| self.clock().ticks_to_ns(ticks) as f64 / 1e9;
        let at_s = seconds(now - opened);
        for (series, tallies) in series.iter_mut().zip(self.tallies) {
            series.cut(tallies, at_s, seconds(now - before));
        }
        let names = self.job.classes.iter().map(|class| class.name.as_str());
        let classes = series.iter().zip(names).map(|(series, name)| series.sample(name)).collect();
        emit(Event::Interval { at_s, classes });
    }

    fn verdict(
        &self,
        interrupted: bool,
        now: u64,
        limit: u64,
        series: &[Series],
        steady: &mut [SteadyDetector],
    ) -> Option<Stop> {
        if interrupted {
            return Some(Stop::Interrupted);
        }
        if self.bytes_reached() {
            return Some(Stop::Bytes);
        }
        let close = self.floor.edges.close.load(Relaxed);
        if now >= close {
            return Some(if close < limit { Stop::Error } else { Stop::Limit });
        }
        if self.job.window.steady_after_s <= 0.0 {
            return None;
        }
        let mut all = true;
        for (series, detector) in series.iter().zip(steady) {
            if let Some(point) = series.points.last() {
                all &= detector.push(Interval {
                    at_s: point.at_s,
                    length_s: point.length_s,
                    operations: point.operations,
                    mean_ns: point.mean_ns,
                });
            }
        }
        all.then_some(Stop::Steady)
    }

    fn bytes_reached(&self) -> bool {
        let limit = self.job.window.bytes_at_most;
        let moved = |tallies: &Vec<Tally>| tallies.iter().map(|tally| tally.bytes.load(Relaxed)).sum::<u64>();
        limit > 0 && self.tallies.iter().any(|tallies| moved(tallies) >= limit)
    }

    /// Sleeps until an instant; true where the user interrupted.
    fn sleep_until(&self, instant: u64) -> bool {
        loop {
            if self.interrupted.load(Relaxed) {
                self.floor.edges.close_now(self.clock().now());
                return true;
            }
            let now = self.clock().now();
            if now >= instant.min(self.floor.edges.close.load(Relaxed)) || self.bytes_reached() {
                return false;
            }
            let left_s = self.clock().ticks_to_ns(instant - now) as f64 / 1e9;
            let limited = self.job.window.bytes_at_most > 0;
            let longest_s = if limited { LONGEST_SLEEP_WITH_LIMIT_S } else { LONGEST_SLEEP_S };
            std::thread::sleep(std::time::Duration::from_secs_f64(left_s.min(longest_s)));
        }
    }
}
