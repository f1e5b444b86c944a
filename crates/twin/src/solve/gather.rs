//! What a batch costs: its operations go to the device together, after the work on all of them, and none of a thread's slots
//! is used again before as many operations have ended.
//!
//! While they end one after the other a slot waits for half of the others. A batch that stays together waits for its last one.

use crate::{Stream, device_load::DeviceAnswer};

/// A stream's batches.
#[derive(Clone, Copy, Debug)]
pub struct Batches<'a> {
    stream: &'a Stream,
    answer: &'a DeviceAnswer,
    /// Operations of a batch beside one of them.
    others: f64,
    /// Batches that a thread has in flight.
    many: f64,
}

impl<'a> Batches<'a> {
    /// None where operations are handed over one at a time.
    pub fn of(stream: &'a Stream, answer: &'a DeviceAnswer) -> Option<Self> {
        let (size, depth) = (stream.bunch(), stream.in_flight() / f64::from(stream.threads));
        (size > 1.0).then(|| Self { stream, answer, others: size - 1.0, many: depth / size })
    }

    /// Time of an operation on its thread where `own_ns` is the work on it, half of that on each side of the device: all of a
    /// batch wait for the work before it, and behind what ends before them where the device is quicker, ns.
    pub fn held_ns(&self, own_ns: f64) -> f64 {
        own_ns + self.others * own_ns / 2.0 + (self.ends_ns(own_ns) - self.answer.last_ns).max(0.0)
    }

    /// Until a slot is used again, ns.
    pub fn gather_ns(&self, own_ns: f64) -> f64 {
        let together_ns = self.answer.last_ns.max(self.ends_ns(own_ns)) * (1.0 - self.many.fract());
        let unlike = self.stream.write_share > 0.0 && self.stream.write_share < 1.0;
        together_ns.min(self.in_turn_ns(unlike))
    }

    /// The same where `workers` of the kernel do the work, and all but one of `per_request` operations find theirs in the page
    /// cache. As long as others wait for a worker, none of those is idle.
    pub fn gather_cached_ns(&self, per_request: f64, workers: f64) -> f64 {
        let missing = 1.0 / per_request.max(1.0);
        let one_misses = 1.0 - (1.0 - missing).powf(self.others + 1.0);
        let last_ns = self.answer.mean_ns / missing * (one_misses - missing);
        let waiting = (self.stream.in_flight() - workers).max(0.0);
        (last_ns.min(self.in_turn_ns(true)) - waiting / self.answer.ops_per_s * 1e9).max(0.0)
    }

    /// What the mean one waits while all end on their thread, ns.
    fn ends_ns(&self, own_ns: f64) -> f64 {
        self.others / 2.0 * own_ns / 2.0
    }

    /// Waiting for half of the others where operations end in turn. Where all wait for the last one, and most end long before
    /// it because they are `unlike` it, none does.
    fn in_turn_ns(&self, unlike: bool) -> f64 {
        if unlike && self.many < 2.0 {
            return f64::INFINITY;
        }
        self.others / 2.0 * f64::from(self.stream.threads) / self.answer.ops_per_s * 1e9
    }
}
