//! Memory before whose steps threads now and then stop for a while, so that others come in between wherever they can.
//!
//! A thread that stops lets another of its workers go on, and not whoever wants the CPU: `sched_yield` beside one busy
//! process made histories take a hundred times as long, for each turn went to that process first.

use std::{
    cell::Cell,
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{Thread, ThreadId, current, park_timeout},
    time::Duration,
};

use assay_pmem::{Mapped, Medium};

/// So many of the workers stand still at most; who comes beyond that has the first of them go on.
const STANDING: usize = 2;
/// Nobody stands longer: the others may all be waiting for what this thread has locked.
const PATIENCE: Duration = Duration::from_micros(200);

thread_local! {
    /// Zero in threads that never hesitate.
    static DICE: Cell<u64> = const { Cell::new(0) };
}

/// Each thread hesitates in its own places.
pub fn begin(seed: u64) {
    DICE.set(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
}

#[derive(Debug)]
pub struct Hesitant {
    memory: Mapped,
    standing: Mutex<VecDeque<Thread>>,
}

impl Hesitant {
    pub fn new(memory: Mapped) -> Self {
        Self { memory, standing: Mutex::default() }
    }

    /// Lets another thread go on in one place of 64, and sleeps in one of 2,048.
    fn hesitate(&self) {
        let mut dice = DICE.get();
        if dice == 0 {
            return;
        }
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        DICE.set(dice);
        match dice >> 20 & 2047 {
            0 => std::thread::sleep(Duration::from_micros(dice >> 40 & 127)),
            1..32 => self.stand(),
            _ => {}
        }
    }

    /// Stands still until enough others do.
    fn stand(&self) {
        {
            let mut standing = self.standing();
            if let Some(first) = (standing.len() == STANDING).then(|| standing.pop_front()).flatten() {
                first.unpark();
            }
            standing.push_back(current());
        }
        park_timeout(PATIENCE);
        self.leave(current().id());
    }

    fn leave(&self, thread: ThreadId) {
        self.standing().retain(|other| other.id() != thread);
    }

    fn standing(&self) -> MutexGuard<'_, VecDeque<Thread>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: the memory is `Mapped`'s, which promises the same.
unsafe impl Medium for Hesitant {
    fn start(&self) -> *mut u8 {
        self.memory.start()
    }

    fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    fn emulated(&self) -> bool {
        true
    }

    fn store(&self, at: u64, value: u64) {
        self.hesitate();
        self.memory.store(at, value);
    }

    fn compare_exchange(&self, at: u64, current: u64, new: u64) -> Result<u64, u64> {
        self.hesitate();
        self.memory.compare_exchange(at, current, new)
    }

    fn set_bits(&self, at: u64, bits: u64) -> u64 {
        self.hesitate();
        self.memory.set_bits(at, bits)
    }

    fn clear_bits(&self, at: u64, bits: u64) -> u64 {
        self.hesitate();
        self.memory.clear_bits(at, bits)
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        self.hesitate();
        self.memory.write(at, bytes);
    }

    fn stream(&self, at: u64, bytes: &[u8]) {
        self.hesitate();
        self.memory.stream(at, bytes);
    }

    fn flush(&self, at: u64, length: usize) {
        self.hesitate();
        self.memory.flush(at, length);
    }

    fn fence(&self) {
        self.hesitate();
        self.memory.fence();
    }

    fn reads(&self, _: u64, _: usize) {
        self.hesitate();
    }
}
