//! The gate between the threads that work and the one that tells them when.
//!
//! A thread that is off its CPU hears late what it is told. So nothing is counted before each has said that it has left
//! the warm-up, and no time of the window passes before each has begun: CPU time and operations are of the same interval,
//! however short that is and whoever else wants the CPUs.

use std::{
    sync::atomic::{
        AtomicBool, AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    time::Duration,
};

/// Between two looks of who waits for all threads.
pub(super) const GLANCE: Duration = Duration::from_micros(500);
/// Looks of a thread that waits before it gives its CPU away.
const PATIENCE: u32 = 1000;

const WARM_UP: u32 = 0;
const READY: u32 = 1;
const MEASURE: u32 = 2;
const STOP: u32 = 3;

/// What threads are told, and how many have come how far.
#[derive(Debug, Default)]
pub(super) struct StartGate {
    phase: AtomicU32,
    warm: AtomicU32,
    ready: AtomicU32,
    begun: AtomicU32,
    finished: AtomicU32,
    /// A thread has panicked: nobody goes on.
    broken: AtomicBool,
}

/// What the controller waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum ThreadProgress {
    /// A thread has made all that it needs.
    Warm,
    /// It has left the warm-up and does nothing.
    Ready,
    /// Its operations count.
    Begun,
    /// It has ended.
    Finished,
}

impl StartGate {
    /// Whether the warm-up goes on.
    pub(super) fn is_warming(&self) -> bool {
        self.phase.load(Acquire) == WARM_UP
    }

    /// Whether operations count.
    #[inline(always)]
    pub(super) fn is_measuring(&self) -> bool {
        self.phase.load(Relaxed) == MEASURE
    }

    /// Whether no thread has panicked.
    pub(super) fn goes_on(&self) -> bool {
        !self.broken.load(Acquire)
    }

    /// Whether so many threads have come that far.
    pub(super) fn are_all(&self, stage: ThreadProgress, threads: u32) -> bool {
        self.counter(stage).load(Acquire) >= threads
    }

    /// Waits for as many threads to come that far, or for one to panic.
    pub(super) fn wait_for(&self, stage: ThreadProgress, threads: u32) {
        while !self.are_all(stage, threads) && self.goes_on() {
            std::thread::sleep(GLANCE);
        }
    }

    /// Ends the warm-up. Who hears it waits for [`StartGate::open`].
    pub(super) fn call(&self) {
        self.phase.store(READY, Release);
    }

    /// Lets all begin.
    pub(super) fn open(&self) {
        self.phase.store(MEASURE, Release);
    }

    /// Lets all end.
    pub(super) fn shut(&self) {
        self.phase.store(STOP, Release);
    }

    fn counter(&self, stage: ThreadProgress) -> &AtomicU32 {
        match stage {
            ThreadProgress::Warm => &self.warm,
            ThreadProgress::Ready => &self.ready,
            ThreadProgress::Begun => &self.begun,
            ThreadProgress::Finished => &self.finished,
        }
    }
}

/// A thread that is at work. However it ends, a panic included, nobody waits for it afterwards.
#[derive(Debug)]
pub(super) struct AtWork<'g> {
    gate: &'g StartGate,
    warm: bool,
    begun: bool,
}

impl<'g> AtWork<'g> {
    pub(super) fn new(gate: &'g StartGate) -> Self {
        Self { gate, warm: false, begun: false }
    }

    /// All that it needs is there.
    pub(super) fn is_warm(&mut self) {
        self.warm = true;
        self.gate.warm.fetch_add(1, Release);
    }

    /// Says that it is ready and waits for all others; then it begins.
    pub(super) fn begin(&mut self) {
        self.begun = true;
        self.gate.ready.fetch_add(1, Release);
        let mut looks = 0;
        while self.gate.phase.load(Acquire) == READY {
            looks += 1;
            if looks < PATIENCE { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        self.gate.begun.fetch_add(1, Release);
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.gate.broken.store(true, Release);
        }
        if !self.warm {
            self.is_warm();
        }
        if !self.begun {
            self.gate.ready.fetch_add(1, Release);
            self.gate.begun.fetch_add(1, Release);
        }
        self.gate.finished.fetch_add(1, Release);
    }
}
