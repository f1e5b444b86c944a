//! One kind of access on an interleave set, alone.

use super::convoy::{self, Loss};
use crate::document::MemoryOperation;

/// The smallest access: a cache line.
const LINE_BYTES: f64 = 64.0;

/// An operation of one size on a number of modules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// Time that it takes one thread that does nothing else, ns.
    pub thread_ns: f64,
    /// Operations per ns that the modules serve while nothing is lost to bunching.
    pub capacity: f64,
    /// k of the smooth minimum.
    pub sharpness: f64,
    /// What many threads lose.
    pub loss: Loss,
    knee: f64,
    beyond: f64,
    modules: u32,
    group: u32,
}

impl Access {
    /// The operation at a size on `modules`, which bunch up in groups of `group`.
    pub fn new(operation: &MemoryOperation, size_bytes: f64, modules: u32, group: u32) -> Self {
        let bytes = size_bytes.max(LINE_BYTES);
        let count = f64::from(modules);
        let gain = operation.thread_gain.as_ref().map_or(0.0, |gain| gain.value);
        let fall = operation.sharpness_fall.as_ref().map_or(0.0, |fall| fall.value);
        let rate = operation.thread_bytes_per_s.at(bytes) * (1.0 + gain * (1.0 - 1.0 / count));
        Self {
            thread_ns: bytes / rate * 1e9,
            capacity: count * operation.module_bytes_per_s.at(bytes) / bytes / 1e9,
            sharpness: operation.sharpness.value * count.powf(-fall),
            loss: Loss::at(operation.collapse.as_ref(), bytes),
            knee: operation.knee_threads.as_ref().map_or(f64::INFINITY, |knee| knee.value),
            beyond: operation.beyond_knee_share.as_ref().map_or(1.0, |share| share.value),
            modules,
            group,
        }
    }

    /// Threads that count: two on one core share what it can have in flight.
    pub fn effective(&self, threads: f64) -> f64 {
        threads.min(self.knee) + self.beyond * (threads - self.knee).max(0.0)
    }

    /// Operations per ns that the modules serve with `threads` at them.
    pub fn capacity_with(&self, threads: f64) -> f64 {
        self.capacity * convoy::share(&self.loss, self.modules, self.effective(threads), self.group)
    }

    /// Time of an operation of one of `threads`, while the modules do not limit, ns.
    pub fn crowded_ns(&self, threads: f64) -> f64 {
        self.thread_ns * threads / self.effective(threads).max(1e-9)
    }
}

/// Smooth minimum of what is offered and what there is room for: (a^-k + b^-k)^(-1/k).
pub fn smooth_min(offered: f64, room: f64, sharpness: f64) -> f64 {
    let (low, high) = if offered < room { (offered, room) } else { (room, offered) };
    if low <= 0.0 || !high.is_finite() {
        return low.max(0.0);
    }
    low * (1.0 + (low / high).powf(sharpness)).powf(-1.0 / sharpness)
}

/// What must be offered so that `served` results: the inverse of [`smooth_min`]; infinite at the limit.
pub fn needed(served: f64, room: f64, sharpness: f64) -> f64 {
    let left = 1.0 - (served / room).powf(sharpness);
    if left <= 0.0 { f64::INFINITY } else { served * left.powf(-1.0 / sharpness) }
}
