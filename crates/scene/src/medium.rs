//! Persistent memory whose time is a twin's, one access at a time: a log's tail, a tier.

use assay_buffer::stage;
use assay_pmem::{Mapped, Medium};
use assay_record::Persist;
use assay_twin::simulated;

use crate::scene::Shared;

/// Memory that takes as long as modules of a twin where an actor of the stage stores to it.
pub struct TwinMemory {
    memory: Mapped,
    station: usize,
    scene: Shared,
}

impl TwinMemory {
    /// Memory that is served by a station of modules.
    pub fn new(memory: Mapped, station: usize, scene: &Shared) -> Self {
        Self { memory, station, scene: scene.clone() }
    }
}

// SAFETY: all is the memory's own.
unsafe impl Medium for TwinMemory {
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
        self.memory.store(at, value);
    }

    fn compare_exchange(&self, at: u64, current: u64, new: u64) -> Result<u64, u64> {
        self.memory.compare_exchange(at, current, new)
    }

    fn set_bits(&self, at: u64, bits: u64) -> u64 {
        self.memory.set_bits(at, bits)
    }

    fn clear_bits(&self, at: u64, bits: u64) -> u64 {
        self.memory.clear_bits(at, bits)
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        self.memory.write(at, bytes);
    }

    /// What was read by pointer, or is about to be copied: the modules' time for it.
    fn reads(&self, at: u64, length: usize) {
        let Some(stage) = stage::acting() else { return };
        stage.charge();
        let request = simulated::Request {
            action: simulated::Action::Read,
            offset: at,
            bytes: length as u32,
            fenced: true,
            ..Default::default()
        };
        let length = self.scene.lock().access(stage.now(), self.station, request);
        stage.stall(length);
        stage.forgive();
    }

    /// Stores around the caches: with the fence that follows, what an append to a log is.
    fn stream(&self, at: u64, bytes: &[u8]) {
        let Some(stage) = stage::acting() else { return self.memory.stream(at, bytes) };
        stage.charge();
        self.memory.stream(at, bytes);
        let request = simulated::Request {
            action: simulated::Action::Write,
            offset: at,
            bytes: bytes.len() as u32,
            sequential: true,
            fenced: true,
            persist: Persist::Nt,
            ..Default::default()
        };
        let length = self.scene.lock().access(stage.now(), self.station, request);
        stage.stall(length);
        stage.forgive();
    }

    fn flush(&self, at: u64, length: usize) {
        self.memory.flush(at, length);
    }

    fn fence(&self) {
        self.memory.fence();
    }
}
