//! Threads of which one goes on at a time, by a seed: the same interleavings each time, however the machine schedules.

use std::{
    cell::Cell,
    panic::Location,
    sync::{Arc, Condvar, Mutex, PoisonError},
};

use assay_pmem::{Medium, crash::Recorder};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

thread_local! {
    static ME: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Who may go on.
pub struct Turns {
    recorder: Recorder,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    current: usize,
    /// Threads that have not begun, or not ended.
    alive: Vec<bool>,
    random: Xoshiro256PlusPlus,
    /// Steps until somebody else goes on.
    left: u64,
    /// The first thread stands still after its first turn until the others have ended.
    stopping: bool,
    stopped: bool,
}

/// A thread's part; the others go on when it ends.
pub struct Part {
    turns: Arc<Turns>,
    number: usize,
}

impl Turns {
    pub fn new(recorder: Recorder, threads: usize, seed: u64) -> Arc<Self> {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self::of(
            recorder,
            State { current: 0, alive: vec![true; threads], random, left: 1, stopping: false, stopped: false },
        )
    }

    /// Two threads, of which the first one stands still before its step of that number until the other one has ended.
    pub fn stopping(recorder: Recorder, step: u64) -> Arc<Self> {
        let random = Xoshiro256PlusPlus::seed_from_u64(0);
        let (left, alive) = (step + 1, vec![true; 2]);
        Self::of(recorder, State { current: 0, alive, random, left, stopping: true, stopped: false })
    }

    fn of(recorder: Recorder, state: State) -> Arc<Self> {
        Arc::new(Self { recorder, state: Mutex::new(state), changed: Condvar::new() })
    }

    /// Whether the first thread came so far that it was stopped.
    pub fn stopped(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).stopped
    }

    /// Waits for the calling thread's first turn.
    pub fn begin(self: &Arc<Self>, number: usize) -> Part {
        ME.with(|me| me.set(Some(number)));
        self.wait(number);
        Part { turns: Arc::clone(self), number }
    }

    fn wait(&self, number: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.current != number {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.recorder.play_thread(number as u16);
    }

    /// A step is about to be taken: perhaps others go first.
    fn step(&self) {
        let Some(me) = ME.with(Cell::get) else { return };
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.left -= 1;
            if state.left > 0 {
                return;
            }
            state.pass_on();
            self.changed.notify_all();
        }
        self.wait(me);
    }
}

impl State {
    /// Long turns and short ones: some operations end undisturbed, others are cut up.
    fn pass_on(&mut self) {
        if self.stopping {
            self.stopped |= self.alive[0];
            self.left = u64::MAX;
            self.current = usize::from(self.alive[1]);
            return;
        }
        let dice = self.random.next_u64();
        self.left = 1 + (dice >> 8) % [4, 40, 400][(dice % 3) as usize];
        let alive: Vec<usize> = (0..self.alive.len()).filter(|&thread| self.alive[thread]).collect();
        if !alive.is_empty() {
            self.current = alive[(dice >> 32) as usize % alive.len()];
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        ME.with(|me| me.set(None));
        let mut state = self.turns.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.alive[self.number] = false;
        state.pass_on();
        self.turns.changed.notify_all();
    }
}

/// A recorder whose users take turns. Inside of the pool nobody is interrupted: it has locks of its own.
#[derive(Clone)]
pub struct Stepped {
    recorder: Recorder,
    turns: Arc<Turns>,
}

impl Stepped {
    pub fn new(recorder: Recorder, turns: Arc<Turns>) -> Self {
        Self { recorder, turns }
    }

    fn step(&self, site: &Location<'_>) {
        if site.file().contains("index/src") {
            self.turns.step();
        }
    }
}

// SAFETY: memory and its life are those of the recorder inside.
unsafe impl Medium for Stepped {
    fn start(&self) -> *mut u8 {
        self.recorder.start()
    }

    fn bytes(&self) -> usize {
        self.recorder.bytes()
    }

    fn emulated(&self) -> bool {
        true
    }

    #[track_caller]
    fn store(&self, at: u64, value: u64) {
        self.step(Location::caller());
        self.recorder.store(at, value);
    }

    #[track_caller]
    fn compare_exchange(&self, at: u64, current: u64, new: u64) -> Result<u64, u64> {
        self.step(Location::caller());
        self.recorder.compare_exchange(at, current, new)
    }

    #[track_caller]
    fn set_bits(&self, at: u64, bits: u64) -> u64 {
        self.step(Location::caller());
        self.recorder.set_bits(at, bits)
    }

    #[track_caller]
    fn clear_bits(&self, at: u64, bits: u64) -> u64 {
        self.step(Location::caller());
        self.recorder.clear_bits(at, bits)
    }

    #[track_caller]
    fn write(&self, at: u64, bytes: &[u8]) {
        self.step(Location::caller());
        self.recorder.write(at, bytes);
    }

    #[track_caller]
    fn stream(&self, at: u64, bytes: &[u8]) {
        self.step(Location::caller());
        self.recorder.stream(at, bytes);
    }

    #[track_caller]
    fn flush(&self, at: u64, length: usize) {
        self.step(Location::caller());
        self.recorder.flush(at, length);
    }

    #[track_caller]
    fn fence(&self) {
        self.step(Location::caller());
        self.recorder.fence();
    }

    #[track_caller]
    fn reads(&self, _at: u64, _length: usize) {
        self.step(Location::caller());
    }
}
