//! Memory before whose steps threads now and then stop for a while, so that others come in between wherever they can.

use std::{cell::Cell, time::Duration};

use assay_pmem::{Mapped, Medium};

thread_local! {
    static DICE: Cell<u64> = const { Cell::new(1) };
}

/// Each thread hesitates in its own places.
pub fn begin(seed: u64) {
    DICE.set(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
}

/// Gives the CPU away in one place of 64, and sleeps in one of 2,048.
fn hesitate() {
    let mut dice = DICE.get();
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    DICE.set(dice);
    match dice >> 20 & 2047 {
        0 => std::thread::sleep(Duration::from_micros(dice >> 40 & 127)),
        1..32 => std::thread::yield_now(),
        _ => {}
    }
}

#[derive(Debug)]
pub struct Hesitant(pub Mapped);

// SAFETY: the memory is `Mapped`'s, which promises the same.
unsafe impl Medium for Hesitant {
    fn start(&self) -> *mut u8 {
        self.0.start()
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn emulated(&self) -> bool {
        true
    }

    fn store(&self, at: u64, value: u64) {
        hesitate();
        self.0.store(at, value);
    }

    fn compare_exchange(&self, at: u64, current: u64, new: u64) -> Result<u64, u64> {
        hesitate();
        self.0.compare_exchange(at, current, new)
    }

    fn set_bits(&self, at: u64, bits: u64) -> u64 {
        hesitate();
        self.0.set_bits(at, bits)
    }

    fn clear_bits(&self, at: u64, bits: u64) -> u64 {
        hesitate();
        self.0.clear_bits(at, bits)
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        hesitate();
        self.0.write(at, bytes);
    }

    fn stream(&self, at: u64, bytes: &[u8]) {
        hesitate();
        self.0.stream(at, bytes);
    }

    fn flush(&self, at: u64, length: usize) {
        hesitate();
        self.0.flush(at, length);
    }

    fn fence(&self) {
        hesitate();
        self.0.fence();
    }

    fn reads(&self, _: u64, _: usize) {
        hesitate();
    }
}
