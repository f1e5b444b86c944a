//! The gate between the workers and the one that tells them when.
//!
//! A thread that is off its CPU hears late what it is told. So where workers halt at the edges of the window, nothing is
//! counted before each has said that it has left the warm-up, and no time of the window passes before each has begun: CPU
//! time and operations are of the same interval, however short that is and whoever else wants the CPUs.

use std::{
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{
            AtomicU32,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::Duration,
};

/// Between two looks of who waits for all workers.
const GLANCE: Duration = Duration::from_micros(500);
/// Looks of a worker that waits before it gives its CPU away, and before it sleeps.
const SPINS: u32 = 1000;
const YIELDS: u32 = 1000;

// In this order and never back: who ends a run before it has begun is not overruled.
const WARM_UP: u32 = 0;
const READY: u32 = 1;
const OPEN: u32 = 2;
const SHUT: u32 = 3;

/// What workers are told, and how many have come how far.
#[derive(Debug)]
pub struct Gate {
    workers: u32,
    phase: AtomicU32,
    passed: [AtomicU32; 4],
    /// Where workers sleep that have to wait long.
    asleep: Mutex<()>,
    changed: Condvar,
}

/// How far a worker has come.
#[derive(Clone, Copy, Debug)]
pub enum Milestone {
    /// It has made all that it needs.
    Warm,
    /// It has left the warm-up and does nothing.
    Ready,
    /// Its operations count.
    Begun,
    /// It has ended.
    Finished,
}

impl Gate {
    /// For so many workers.
    pub fn new(workers: u32) -> Self {
        let (asleep, changed) = (Mutex::default(), Condvar::new());
        Self { workers, phase: AtomicU32::new(WARM_UP), passed: Default::default(), asleep, changed }
    }

    /// Whether the warm-up goes on.
    #[inline(always)]
    pub fn is_warming(&self) -> bool {
        self.phase.load(Acquire) == WARM_UP
    }

    /// Whether operations of workers that halt at the edges count.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.phase.load(Relaxed) == OPEN
    }

    /// Whether workers are to end: the work is done, or one of them has failed.
    #[inline(always)]
    pub fn is_shut(&self) -> bool {
        self.phase.load(Relaxed) == SHUT
    }

    /// Whether all workers have come that far.
    pub fn are_all(&self, milestone: Milestone) -> bool {
        self.passed[milestone as usize].load(Acquire) >= self.workers
    }

    /// Waits for all workers to come that far, or for the gate to be shut.
    pub fn wait_for(&self, milestone: Milestone) {
        while !self.are_all(milestone) && !self.is_shut() {
            std::thread::sleep(GLANCE);
        }
    }

    /// Waits for all workers to end.
    pub fn wait_for_end(&self) {
        while !self.are_all(Milestone::Finished) {
            std::thread::sleep(GLANCE);
        }
    }

    /// Ends the warm-up. Who hears it waits for [`Gate::open`].
    pub(crate) fn call(&self) {
        self.advance(READY);
    }

    /// Lets all begin.
    pub fn open(&self) {
        self.advance(OPEN);
    }

    /// Lets all end.
    pub fn shut(&self) {
        self.advance(SHUT);
    }

    fn advance(&self, phase: u32) {
        self.phase.fetch_max(phase, Release);
        // Who has seen the phase before and not slept yet holds this.
        drop(self.asleep.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    fn pass(&self, milestone: Milestone) {
        self.passed[milestone as usize].fetch_add(1, Release);
    }

    fn wait_until_open(&self) {
        let waits = || self.phase.load(Acquire) < OPEN;
        for look in 0..SPINS + YIELDS {
            if !waits() {
                return;
            }
            if look < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        while waits() {
            asleep = self.changed.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A thread that is at work. However it ends, a panic included, nobody waits for it afterwards.
#[derive(Debug)]
pub struct Worker<'g> {
    gate: &'g Gate,
    number: u32,
    warm: bool,
    ready: bool,
}

impl<'g> Worker<'g> {
    pub(crate) fn new(gate: &'g Gate, number: u32) -> Self {
        Self { gate, number, warm: false, ready: false }
    }

    /// Which one it is, from 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// What it is told.
    pub fn gate(&self) -> &'g Gate {
        self.gate
    }

    /// All that it needs is there.
    pub fn is_warm(&mut self) {
        if !std::mem::replace(&mut self.warm, true) {
            self.gate.pass(Milestone::Warm);
        }
    }

    /// Says that it is ready and waits for the gate to open; then it begins. False where there is nothing to begin any
    /// more.
    pub fn begin(&mut self) -> bool {
        self.is_warm();
        self.ready = true;
        self.gate.pass(Milestone::Ready);
        self.gate.wait_until_open();
        self.gate.pass(Milestone::Begun);
        !self.gate.is_shut()
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.is_warm();
        if !self.ready {
            self.gate.pass(Milestone::Ready);
            self.gate.pass(Milestone::Begun);
        }
        self.gate.pass(Milestone::Finished);
    }
}
