//! The window: opened when all are warm, cut into intervals, closed when its time is over.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread::sleep,
    time::{Duration, Instant},
};

use crate::gate::{Gate, Milestone};

/// Longest sleep, so that an interrupt and the end of the workers are noticed.
const LOOK: Duration = Duration::from_millis(5);

/// What workers do at the edges of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEdges {
    /// They halt at the first one ([`crate::Worker::begin`]), and end at the second: what they did in between counts.
    Halt,
    /// They work on across both: what counts is the difference of two readings.
    Pass,
    /// As [`AtEdges::Pass`], and what was due in the window is done after it; they end by themselves.
    Drain,
}

/// When a window opens, is cut and closes.
#[derive(Debug)]
pub struct WindowPlan<'a> {
    /// For how long workers are warm before it opens.
    pub warm_up: Duration,
    /// How long it is; it ends earlier where all workers have ended.
    pub length: Duration,
    /// Between two readings.
    pub interval: Duration,
    /// What workers do at its edges.
    pub at_edges: AtEdges,
    /// Set from outside to end it early; what was measured until then is kept.
    pub interrupted: &'a AtomicBool,
}

/// Who reads what workers count.
pub trait Observe {
    /// The warm-up is over, and workers still work: what takes long is done now.
    fn open(&mut self);

    /// The window begins.
    fn begin(&mut self);

    /// So many seconds of it have passed, an interval since the last reading.
    fn interval(&mut self, at_s: f64);

    /// Its time is over. Who halts at the edges may still be at an operation.
    fn close(&mut self, at_s: f64);
}

impl WindowPlan<'_> {
    /// Steers workers through a window, from their start to their end. Returns its length until the last has ended, s.
    pub fn run(&self, gate: &Gate, observer: &mut impl Observe) -> f64 {
        gate.wait_for(Milestone::Warm);
        let warm = Instant::now();
        while warm.elapsed() < self.warm_up && self.goes_on(gate) {
            sleep(LOOK.min(self.warm_up.saturating_sub(warm.elapsed())));
        }
        observer.open();
        let halts = self.at_edges == AtEdges::Halt;
        if halts {
            gate.call();
            gate.wait_for(Milestone::Ready);
        }
        observer.begin();
        let opened = Instant::now();
        gate.open();
        if halts {
            gate.wait_for(Milestone::Begun);
        }
        self.cut(gate, opened, observer);
        observer.close(opened.elapsed().as_secs_f64());
        // Who drains ends by himself; only an interrupt or the error of one ends all earlier.
        while self.at_edges == AtEdges::Drain && self.goes_on(gate) {
            sleep(LOOK);
        }
        gate.shut();
        gate.wait_for_end();
        opened.elapsed().as_secs_f64()
    }

    fn cut(&self, gate: &Gate, opened: Instant, observer: &mut impl Observe) {
        let begun = Instant::now();
        let mut last = Duration::ZERO;
        while begun.elapsed() < self.length && self.goes_on(gate) {
            let next = last.saturating_add(self.interval);
            let until_cut = next.saturating_sub(opened.elapsed());
            sleep(LOOK.min(until_cut).min(self.length.saturating_sub(begun.elapsed())));
            let at = opened.elapsed();
            if at >= next && begun.elapsed() < self.length {
                observer.interval(at.as_secs_f64());
                last = at;
            }
        }
    }

    fn goes_on(&self, gate: &Gate) -> bool {
        !gate.is_shut() && !gate.are_all(Milestone::Finished) && !self.interrupted.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::{Work, Worker, WorkloadError, drive};

    /// Counts until heard to end; the second worker may fail.
    struct Counting {
        at_edges: AtEdges,
        fails: bool,
        done: AtomicU64,
    }

    impl Work for Counting {
        type Outcome = u64;
        type Error = String;

        fn work(&self, worker: &mut Worker<'_>) -> Result<u64, String> {
            worker.is_warm();
            let halts = self.at_edges == AtEdges::Halt;
            while halts && worker.gate().is_warming() {
                std::thread::yield_now();
            }
            if halts {
                worker.begin();
            }
            let mut own = 0;
            while if halts { worker.gate().is_open() } else { !worker.gate().is_shut() } {
                assert!(!self.fails || worker.number() == 0, "a wrong step");
                self.done.fetch_add(1, Relaxed);
                own += 1;
                std::thread::yield_now();
            }
            Ok(own)
        }

        fn lost(&self, error: WorkloadError) -> String {
            error.to_string()
        }
    }

    #[derive(Default)]
    struct Heard(Vec<&'static str>);

    impl Observe for Heard {
        fn open(&mut self) {
            self.0.push("open");
        }

        fn begin(&mut self) {
            self.0.push("begin");
        }

        fn interval(&mut self, at_s: f64) {
            assert!(at_s > 0.0);
            self.0.push("interval");
        }

        fn close(&mut self, _at_s: f64) {
            self.0.push("close");
        }
    }

    fn run(at_edges: AtEdges, fails: bool, length: Duration, interrupted: bool) -> (Result<Vec<u64>, String>, Heard) {
        let (interrupted, mut heard) = (AtomicBool::new(interrupted), Heard::default());
        let work = Counting { at_edges, fails, done: AtomicU64::new(0) };
        let (warm_up, interval) = (Duration::from_millis(2), Duration::from_millis(5));
        let plan = WindowPlan { warm_up, length, interval, at_edges, interrupted: &interrupted };
        let done = drive(&work, 2, |gate| plan.run(gate, &mut heard)).map(|(outcomes, _)| outcomes);
        if let Ok(outcomes) = &done {
            assert_eq!(outcomes.iter().sum::<u64>(), work.done.load(Relaxed));
        }
        (done, heard)
    }

    #[test]
    fn a_window_is_opened_cut_and_closed_once() {
        for at_edges in [AtEdges::Halt, AtEdges::Pass] {
            let (done, heard) = run(at_edges, false, Duration::from_millis(40), false);
            assert_eq!(done.map(|outcomes| outcomes.len()), Ok(2));
            assert_eq!(heard.0[..3], ["open", "begin", "interval"]);
            assert_eq!(heard.0.iter().filter(|word| **word == "close").count(), 1);
            assert_eq!(heard.0.last(), Some(&"close"));
        }
    }

    #[test]
    fn a_panic_in_a_window_without_end_is_an_error_and_no_hang() {
        for at_edges in [AtEdges::Halt, AtEdges::Pass, AtEdges::Drain] {
            let (done, _) = run(at_edges, true, Duration::MAX, false);
            let said = done.unwrap_err();
            assert!(said.contains("worker-1 ended unexpectedly (a wrong step)"), "{said}");
        }
    }

    #[test]
    fn an_interrupt_ends_a_window_without_end() {
        for at_edges in [AtEdges::Halt, AtEdges::Pass, AtEdges::Drain] {
            let (done, heard) = run(at_edges, false, Duration::MAX, true);
            assert_eq!((done.map(|outcomes| outcomes.len()), &*heard.0), (Ok(2), &["open", "begin", "close"][..]));
        }
    }
}
