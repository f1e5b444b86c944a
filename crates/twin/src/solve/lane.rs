//! How the operations of a stream become requests of the device: one by one, or by way of the page cache.
//!
//! The page cache of the simulation (`des/pages.rs`) has three rules that matter on average: what was read before is found
//! (the cache fills while the load runs), what is read in order is read ahead in larger requests, and what is written without
//! a flush waits for nobody until a share of memory is dirty, while a few requests at a time write it back.

use crate::{
    Host, PathKey, Stream,
    analytic::{DeviceAnswer, DeviceLoad},
    des::pages::{BEHIND_BYTES, BEHIND_REQUESTS, DIRTY_AT_MOST, DIRTY_BACKGROUND, ROOM_WHERE_UNKNOWN},
    host,
};

/// Least share of the reads that still asks the device.
const MISSES_AT_LEAST: f64 = 1e-3;

/// The way of a stream to the device.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// Operations of the stream for each request of the device.
    pub per_request: f64,
    /// How many requests each operation in flight keeps under way: two where one is used while the next is read ahead.
    pub doubled: f64,
    kind: Kind,
}

impl Default for Lane {
    fn default() -> Self {
        Self { per_request: 1.0, doubled: 1.0, kind: Kind::Direct }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Every operation is a request.
    Direct,
    /// Reads that may find their bytes in memory; `ahead` of them are read by one request.
    Cached { ahead: f64, most: f64, sets: f64, before: f64, warm: bool, sequential: bool },
    /// Writes that are written back behind the writer's back; so many fit into memory before write-back begins, and before
    /// writers wait, and as many a second of the window; and what the host alone would do.
    Behind { fits: [f64; 2], free: [f64; 2], offered: f64 },
}

impl Lane {
    /// The lane of a stream; its load is changed to what the device sees.
    pub fn of(host: &Host, stream: &Stream, load: &mut DeviceLoad) -> Self {
        if !stream.path.key.is_buffered() {
            return Self::default();
        }
        let room = host.page_cache_bytes.as_ref().map_or(f64::INFINITY, |bytes| bytes.value);
        match stream.write_share {
            0.0 => Self::cached(room, stream, load),
            1.0 if !host::needs_flush(stream) => Self::behind(room, stream, load),
            _ => Self::default(),
        }
    }

    fn cached(room: f64, stream: &Stream, load: &mut DeviceLoad) -> Self {
        let ahead = stream.ahead();
        let mut lane = Self { per_request: ahead, ..Self::default() };
        if ahead > 1.0 {
            load.size_bytes = stream.size_bytes * ahead;
            load.in_flight *= 2.0;
            lane.doubled = 2.0;
        }
        let set = load.working_set_bytes.max(1.0);
        let sets = stream.size_bytes.max(4096.0) * stream.duration_s / set;
        let most = (room / set).min(1.0);
        let before = if stream.duration_s > 0.0 { (stream.warmup_s / stream.duration_s).min(0.99) } else { 0.0 };
        lane.kind = Kind::Cached { ahead, most, sets, before, warm: stream.warm, sequential: stream.sequential };
        load.rate_per_s /= ahead;
        lane
    }

    fn behind(room: f64, stream: &Stream, load: &mut DeviceLoad) -> Self {
        let room = if room.is_finite() { room } else { ROOM_WHERE_UNKNOWN as f64 };
        let fits = |share: f64| if stream.duration_s > 0.0 { share * room / stream.size_bytes } else { 0.0 };
        let per_request = if stream.sequential { (BEHIND_BYTES as f64 / stream.size_bytes).max(1.0) } else { 1.0 };
        load.size_bytes *= per_request;
        (load.in_flight, load.threads) = (f64::from(BEHIND_REQUESTS), f64::from(BEHIND_REQUESTS));
        (load.path, load.think_ns) = (PathKey::PreadDirect, 0.0);
        let offered = stream.rate_per_s.unwrap_or(f64::INFINITY);
        let kind = Kind::Behind { fits: [fits(DIRTY_BACKGROUND), fits(DIRTY_AT_MOST)], free: [0.0; 2], offered };
        Self { per_request, doubled: 1.0, kind }
    }

    /// Nobody waits for the device unless memory is full of dirty pages.
    pub fn is_behind(&self) -> bool {
        matches!(self.kind, Kind::Behind { .. })
    }

    /// Reads of several operations at once, one being used while the next is under way.
    pub fn reads_ahead(&self) -> bool {
        self.doubled > 1.0
    }

    /// Operations per second of the stream where the device serves `requests_per_s`.
    pub fn operations(&self, requests_per_s: f64) -> f64 {
        match self.kind {
            Kind::Behind { free, offered, .. } => (requests_per_s * self.per_request + free[1]).min(offered),
            _ => requests_per_s * self.per_request,
        }
    }

    /// Takes in what the last rounds found: which reads find their bytes, and what writers offer. `alone_per_s` is what the
    /// host alone lets through. Returns how far the lane moved, relative.
    pub fn follow(&mut self, stream: &Stream, load: &mut DeviceLoad, answer: &DeviceAnswer, alone_per_s: f64) -> f64 {
        let rate = stream.rate_per_s.unwrap_or(f64::INFINITY);
        match &mut self.kind {
            Kind::Direct => 0.0,
            Kind::Cached { ahead, most, sets, before, warm, sequential } => {
                let filled = answer.ops_per_s * *sets;
                let found = match (*warm, *sequential) {
                    (true, _) => *most,
                    (_, true) if *most >= 1.0 => scanned(filled, *before),
                    (_, true) => 0.0,
                    _ => hits(filled, *before).min(*most),
                };
                let wanted = *ahead / (1.0 - found).max(MISSES_AT_LEAST);
                let moved = (wanted / self.per_request - 1.0).abs();
                self.per_request = (self.per_request * wanted).sqrt();
                load.rate_per_s = rate / self.per_request;
                moved
            }
            Kind::Behind { fits, free, offered } => {
                let wanted = alone_per_s.min(rate);
                let window = (stream.duration_s - stream.warmup_s).max(1e-9);
                let written = (answer.ops_per_s - free[1]).clamp(0.0, wanted);
                free[0] = (fits[0] - wanted * stream.warmup_s).max(0.0) / window;
                free[1] = (fits[1] - (wanted - written) * stream.warmup_s).max(0.0) / window;
                let moved = if offered.is_finite() { (wanted / *offered - 1.0).abs() } else { 1.0 };
                *offered = wanted;
                load.rate_per_s = (wanted - free[0]).max(wanted * MISSES_AT_LEAST) / self.per_request;
                moved
            }
        }
    }
}

/// Mean share of random reads that find their bytes while so many data sets are read, the first `before` of them uncounted:
/// after z of them exp(-z) of the bytes are not there yet.
fn hits(sets: f64, before: f64) -> f64 {
    if sets < 1e-6 { 0.0 } else { 1.0 - ((-sets * before).exp() - (-sets).exp()) / (sets * (1.0 - before)) }
}

/// The same of reads in order: all after the first data set.
fn scanned(sets: f64, before: f64) -> f64 {
    let counted = sets * (1.0 - before);
    let missed = (sets.min(1.0) - (sets * before).min(1.0)).max(0.0);
    if counted < 1e-9 { 0.0 } else { (1.0 - missed / counted).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_grow_from_none_to_all() {
        let found = [0.0, 0.01, 0.1, 1.0, 10.0, 1e6].map(|sets| hits(sets, 0.0));
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{found:?}");
        assert!((found[1] - 0.005).abs() < 1e-4 && found[5] > 0.99999, "{found:?}");
    }
}
