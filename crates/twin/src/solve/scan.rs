//! A scan that comes by what it read before: first all of it is read from the device, then none.

use crate::Stream;

/// Least share of the operations that still asks the device.
const READ_AT_LEAST: f64 = 1e-3;

/// A data set that is read in order, again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scan {
    /// Operations that read all of it.
    set_ops: f64,
    duration_s: f64,
    warmup_s: f64,
    /// Operations per second while all of them ask the device; 0 before that was seen.
    cold_per_s: f64,
}

impl Scan {
    /// The scan of a stream whose data set has `set_bytes`.
    pub fn of(stream: &Stream, set_bytes: f64) -> Self {
        let set_ops = set_bytes / stream.size_bytes;
        Self { set_ops, duration_s: stream.duration_s, warmup_s: stream.warmup_s, cold_per_s: 0.0 }
    }

    /// Operations per second of the window that ask the device, and all of them, where `hot_per_s` find their bytes once
    /// all were read; none where the scan does not come round. What is reached at first is taken as what the device gives.
    pub fn window(&mut self, reached_per_s: f64, hot_per_s: f64) -> Option<[f64; 2]> {
        if self.cold_per_s == 0.0 {
            self.cold_per_s = reached_per_s;
        }
        let round_s = self.set_ops / self.cold_per_s;
        if round_s >= self.duration_s {
            return None;
        }
        let window_s = (self.duration_s - self.warmup_s).max(1e-9);
        let read = self.cold_per_s * (round_s - self.warmup_s).max(0.0);
        let found = hot_per_s.max(self.cold_per_s) * (self.duration_s - round_s.max(self.warmup_s));
        let done = (read + found) / window_s;
        Some([(read / window_s).max(done * READ_AT_LEAST), done])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PathKey, StreamPath};

    fn scan(set_bytes: f64) -> Scan {
        let plain = Stream::closed("scan", 0.0, 4096.0, StreamPath::plain(PathKey::PreadBuffered));
        Scan::of(&Stream { duration_s: 12.0, warmup_s: 2.0, ..plain }, set_bytes)
    }

    #[test]
    fn a_scan_is_as_slow_as_the_device_until_it_comes_round() {
        assert_eq!(scan(4096.0 * 12_001.0).window(1000.0, 9000.0), None, "never");
        let [read, done] = scan(4096.0 * 7000.0).window(1000.0, 9000.0).unwrap();
        assert!((read - 500.0).abs() < 1e-9 && (done - 5000.0).abs() < 1e-9, "half of the window: {read} of {done}");
        let [read, done] = scan(4096.0 * 1000.0).window(1000.0, 9000.0).unwrap();
        assert!((read - 9.0).abs() < 1e-9 && (done - 9000.0).abs() < 1e-9, "before it: {read} of {done}");
    }
}
