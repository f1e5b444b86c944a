//! How the operations of a stream become requests of the device: one by one, or by way of the page cache.
//!
//! The page cache of the simulation (`des/pages.rs`) has three rules that matter on average: what was read before is found
//! (the cache fills while the load runs), what is read in order is read ahead in larger requests, and what is written without
//! a flush waits for nobody until a share of memory is dirty, while a few requests at a time write it back.

use crate::{
    Host, PathKey, Stream,
    des::pages::{BEHIND_BYTES, DIRTY_AT_MOST, DIRTY_BACKGROUND, ROOM_WHERE_UNKNOWN, ahead_requests, behind_requests},
    device_load::{DeviceAnswer, DeviceLoad},
    host,
    solve::{
        hits::{hits, miss_over_hit},
        scan::Scan,
        trail::{Secant, Tried},
    },
};

/// Least share of the reads that still asks the device.
const MISSES_AT_LEAST: f64 = 1e-3;
/// What follows from a rate that was tried is taken at once where it is this near to it.
const NEAR: f64 = 0.05;
/// Write-back is behind where it reaches less than this share of what it is given.
const BEHIND_BELOW: f64 = 0.98;
/// Rounds in which what write-back could serve when it was given too much holds nobody.
const ROUNDS_UNHELD: usize = 12;
/// Rates this near together are one.
const NEAR_RATE: f64 = 1e-3;

/// The way of a stream to the device.
#[derive(Clone, Copy, Debug)]
pub struct SolverLane {
    /// Operations of the stream for each request of the device.
    pub per_request: f64,
    /// Requests are what the kernel reads ahead, some of them while others are used.
    pub reads_ahead: bool,
    /// Operations that a request holds before any finds its bytes in memory.
    ahead: f64,
    /// Operations between the one that asks for a request and the one that uses it.
    pub used_ahead: f64,
    /// Operations of a request that kernel workers copy side by side, where there are such.
    pub side_by_side: f64,
    kind: LaneKind,
}

impl Default for SolverLane {
    fn default() -> Self {
        Self {
            per_request: 1.0,
            reads_ahead: false,
            ahead: 1.0,
            used_ahead: 0.0,
            side_by_side: 1.0,
            kind: LaneKind::Direct,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum LaneKind {
    /// Every operation is a request.
    Direct,
    /// Reads that may find their bytes in memory.
    Cached { most: f64, sets: f64, before: f64, warm: bool, sequential: bool },
    /// Reads in order of a data set that may be read whole within the window: until then all of them ask the device, and
    /// after it none.
    Scanned(Scan),
    /// Writes that are written back behind the writer's back; so many fit into memory before write-back begins, and before
    /// writers wait, and as many a second of the window; and what the host alone would do.
    Behind { fits: [f64; 2], free: [f64; 2], offered: f64, ends: Ends },
    /// Reads of which some find their bytes, among writes that are written back by a load of their own. Where that one
    /// cannot keep up, operations are held to a rate with which it can, and which lies between two `kept` ones. What it
    /// `can` serve is what it did when it was last given more.
    Mixed {
        most: f64,
        sets: f64,
        before: f64,
        warm: bool,
        fits: [f64; 2],
        most_per_s: f64,
        kept: [f64; 2],
        can: f64,
        rounds: usize,
        secant: Secant,
    },
}

impl SolverLane {
    /// The lane of a stream; its load is changed to what the device sees.
    pub fn of(host: &Host, stream: &Stream, load: &mut DeviceLoad) -> Self {
        if !stream.path.key.is_buffered() {
            return Self::default();
        }
        let room = host.page_cache_bytes.as_ref().map_or(f64::INFINITY, |bytes| bytes.value);
        match stream.write_share {
            0.0 => Self::cached(room, stream, load),
            1.0 if !host::needs_flush(stream) => Self::behind(room, stream, load),
            _ if !host::needs_flush(stream) && !stream.sequential => Self::mixed(room, stream, load),
            _ => Self::default(),
        }
    }

    /// The device sees the reads that miss; [`SolverLane::write_back`] is the rest of it.
    fn mixed(room: f64, stream: &Stream, load: &mut DeviceLoad) -> Self {
        let Self { kind: LaneKind::Cached { most, sets, before, warm, .. }, .. } = Self::cached(room, stream, load)
        else {
            return Self::default();
        };
        let reads = 1.0 - stream.write_share;
        load.write_share = 0.0;
        load.rate_per_s *= reads;
        let (fits, most_per_s, kept, can) = (fits(room, stream), f64::INFINITY, [0.0, f64::INFINITY], f64::INFINITY);
        let secant = Secant::default();
        let kind = LaneKind::Mixed { most, sets, before, warm, fits, most_per_s, kept, can, rounds: 0, secant };
        Self { per_request: 1.0 / reads, kind, ..Self::default() }
    }

    /// The load that writes back what a stream of reads and writes leaves dirty; none where nothing is left, or where
    /// the stream's own load is that.
    pub fn write_back(&self, stream: &Stream, load: &DeviceLoad) -> Option<DeviceLoad> {
        let LaneKind::Mixed { .. } = self.kind else { return None };
        let at_once = f64::from(behind_requests(stream.path.inline));
        Some(DeviceLoad {
            write_share: 1.0,
            in_flight: at_once,
            threads: at_once,
            bunch: 1.0,
            think_ns: 0.0,
            path: PathKey::PreadDirect,
            rate_per_s: stream.rate_per_s.unwrap_or(f64::INFINITY) * stream.write_share,
            ..*load
        })
    }

    /// Takes in what a stream of reads and writes and its write-back reached. Returns how far the lane moved, relative.
    pub fn follow_mixed(
        &mut self,
        stream: &Stream,
        (load, answer): (&mut DeviceLoad, &DeviceAnswer),
        (behind, served): (&mut DeviceLoad, &DeviceAnswer),
    ) -> f64 {
        let LaneKind::Mixed { most, sets, before, warm, fits, most_per_s, kept, can, rounds, secant } = &mut self.kind
        else {
            return 0.0;
        };
        let longer = miss_over_hit(stream, answer, 1.0 / self.per_request);
        let found = if *warm { *most } else { hits(answer.ops_per_s * *sets, *before, longer).min(*most) };
        let wanted = 1.0 / ((1.0 - stream.write_share) * (1.0 - found)).max(MISSES_AT_LEAST);
        let mut moved = (wanted / self.per_request - 1.0).abs();
        self.per_request = (self.per_request * wanted).sqrt();
        let window = (stream.duration_s - stream.warmup_s).max(1e-9);
        let room = |fits: f64, gone: f64| (fits - gone.max(0.0) * stream.warmup_s).max(0.0) / window;
        let written = answer.ops_per_s * stream.write_share;
        let due = (written - room(fits[0], written)).max(written * MISSES_AT_LEAST);
        let kept_up = |served: f64| (served + room(fits[1], written - served)) / stream.write_share;
        let least = kept_up(served.ops_per_s);
        if served.ops_per_s < BEHIND_BELOW * behind.rate_per_s {
            *can = served.ops_per_s;
        }
        *rounds += 1;
        let limit = if behind.rate_per_s < due * (1.0 - NEAR) {
            // Write-back was not yet given what is written now: what it served says nothing of what it can, but what it did
            // when it was given more than it could. That counts once nothing rests: reads were not held to a rate then.
            if due > *can && *rounds > ROUNDS_UNHELD { most_per_s.min(kept_up(*can)) } else { *most_per_s }
        } else {
            held(*most_per_s, kept, answer.ops_per_s, least)
        };
        moved = moved.max(apart(limit, *most_per_s)).max(apart(due, behind.rate_per_s));
        *most_per_s = limit;
        // More that is written back leaves less to write.
        behind.rate_per_s = if behind.rate_per_s.is_finite() {
            secant.next(Tried { tried: behind.rate_per_s, wanted: due })
        } else {
            due
        };
        load.rate_per_s = stream.rate_per_s.unwrap_or(f64::INFINITY).min(limit) / self.per_request;
        moved
    }

    /// Operations for each time that a thread goes to sleep: who finds its bytes in memory does not.
    pub fn per_sleep(&self) -> f64 {
        match self.kind {
            LaneKind::Cached { .. } | LaneKind::Scanned(_) | LaneKind::Mixed { .. } => self.per_request.max(1.0),
            _ => 1.0,
        }
    }

    fn cached(room: f64, stream: &Stream, load: &mut DeviceLoad) -> Self {
        let mut lane = Self::default();
        if let Some(bytes) = stream.ahead_bytes().filter(|_| !stream.warm) {
            lane.side_by_side =
                (load.in_flight / f64::from(stream.threads)).clamp(1.0, (bytes / stream.size_bytes).max(1.0));
            // The kernel asks in requests of the same size, however large the operation is.
            load.size_bytes = bytes;
            load.bunch = (stream.size_bytes / bytes).max(1.0);
            lane.ahead = bytes / stream.size_bytes;
            lane.used_ahead = ahead_requests(stream.path.inline) * bytes / stream.size_bytes;
            load.in_flight = under_way(&lane, load.in_flight, f64::from(stream.threads));
            (lane.per_request, lane.reads_ahead) = (lane.ahead, true);
        }
        let set = load.working_set_bytes.max(1.0);
        let sets = stream.size_bytes.max(4096.0) * stream.duration_s / set;
        let most = (room / set).min(1.0);
        let before = if stream.duration_s > 0.0 { (stream.warmup_s / stream.duration_s).min(0.99) } else { 0.0 };
        load.rate_per_s /= lane.ahead;
        if stream.sequential && !stream.warm && most >= 1.0 && stream.duration_s > 0.0 {
            lane.kind = LaneKind::Scanned(Scan::of(stream, set));
            return lane;
        }
        lane.kind = LaneKind::Cached { most, sets, before, warm: stream.warm, sequential: stream.sequential };
        lane
    }

    fn behind(room: f64, stream: &Stream, load: &mut DeviceLoad) -> Self {
        let per_request = if stream.sequential { (BEHIND_BYTES as f64 / stream.size_bytes).max(1.0) } else { 1.0 };
        load.size_bytes *= per_request;
        load.rate_per_s /= per_request;
        let at_once = f64::from(behind_requests(stream.path.inline));
        (load.in_flight, load.threads) = (at_once, at_once);
        (load.path, load.think_ns) = (PathKey::PreadDirect, 0.0);
        let offered = stream.rate_per_s.unwrap_or(f64::INFINITY);
        let kind = LaneKind::Behind { fits: fits(room, stream), free: [0.0; 2], offered, ends: Ends::default() };
        Self { per_request, kind, ..Self::default() }
    }

    /// Share of an operation's work during which none of its requests is under way, but for what `per_request` has of it: one
    /// that is larger than what is read ahead begins the rest of its requests when the one before it has been used.
    pub fn in_order(&self) -> f64 {
        if self.reads_ahead { (1.0 - self.ahead).max(0.0) } else { 0.0 }
    }

    /// How much longer than for the mean one of its requests an operation waits that asks for many at once, where the last
    /// of them comes `last_ns` after the mean, ns: for all but the last ones, which are the next operation's. Below zero where
    /// those are half of them.
    pub fn waits_longer_ns(&self, last_ns: f64) -> f64 {
        let many = 1.0 / self.ahead;
        let ahead = ahead_requests(false);
        if !self.reads_ahead || many <= ahead {
            return 0.0;
        }
        last_ns * (many - 1.0 - 2.0 * ahead) / (many - 1.0)
    }

    /// Nobody waits for the device unless memory is full of dirty pages.
    pub fn is_behind(&self) -> bool {
        matches!(self.kind, LaneKind::Behind { .. })
    }

    /// When write-back of what the stream leaves dirty begins, s from the beginning of the load, at the rate at which it
    /// writes until then.
    pub fn write_back_begins_s(&self) -> Option<f64> {
        match self.kind {
            LaneKind::Behind { fits, offered, .. } if fits[0] > 0.0 && offered > 0.0 => Some(fits[0] / offered),
            _ => None,
        }
    }

    /// Operations per second of the stream where the device serves `requests_per_s`.
    pub fn operations(&self, requests_per_s: f64) -> f64 {
        match self.kind {
            LaneKind::Behind { free, offered, .. } => (requests_per_s * self.per_request + free[1]).min(offered),
            _ => requests_per_s * self.per_request,
        }
    }

    /// Takes in what the last rounds found: which reads find their bytes, and what writers offer. `alone_per_s` is what the
    /// host alone lets through. Returns how far the lane moved, relative.
    pub fn follow(&mut self, stream: &Stream, load: &mut DeviceLoad, answer: &DeviceAnswer, alone_per_s: f64) -> f64 {
        let rate = stream.rate_per_s.unwrap_or(f64::INFINITY);
        match &mut self.kind {
            LaneKind::Direct | LaneKind::Mixed { .. } => 0.0,
            LaneKind::Cached { most, sets, before, warm, sequential } => {
                let filled = answer.ops_per_s * *sets;
                let found = match (*warm, *sequential) {
                    (true, _) => *most,
                    (_, true) => 0.0,
                    _ => hits(filled, *before, miss_over_hit(stream, answer, 1.0 / self.per_request)).min(*most),
                };
                let wanted = self.ahead / (1.0 - found).max(MISSES_AT_LEAST);
                let moved = (wanted / self.per_request - 1.0).abs();
                self.per_request = (self.per_request * wanted).sqrt();
                load.rate_per_s = rate / self.per_request;
                moved
            }
            LaneKind::Scanned(scan) => {
                let Some([read, done]) = scan.window(answer.ops_per_s, alone_per_s.min(rate)) else { return 0.0 };
                let wanted = self.ahead * done / read;
                let moved = (wanted / self.per_request - 1.0).abs();
                self.per_request = (self.per_request * wanted).sqrt();
                load.rate_per_s = read / self.ahead;
                moved
            }
            LaneKind::Behind { fits, free, offered, ends } => {
                let wanted = alone_per_s.min(rate);
                let window = (stream.duration_s - stream.warmup_s).max(1e-9);
                let written = (answer.ops_per_s - free[1]).clamp(0.0, wanted);
                free[0] = (fits[0] - wanted * stream.warmup_s).max(0.0) / window;
                free[1] = (fits[1] - dirty(fits[0], wanted, written, stream.warmup_s)).max(0.0) / window;
                let moved = if offered.is_finite() { (wanted / *offered - 1.0).abs() } else { 1.0 };
                *offered = ends.next(*offered, wanted);
                let before = load.rate_per_s;
                load.rate_per_s = (*offered - free[0]).max(*offered * MISSES_AT_LEAST) / self.per_request;
                if before.is_finite() { moved.max((load.rate_per_s / before - 1.0).abs()) } else { moved }
            }
        }
    }
}

/// Requests under way while `threads` read ahead with so many operations in flight. More than operations need are asked for;
/// one so large that it asks for more itself waits for those.
fn under_way(lane: &SolverLane, in_flight: f64, threads: f64) -> f64 {
    let own = (in_flight / threads / lane.ahead).max(1.0);
    threads * (own + if lane.used_ahead < 1.0 { 0.0 } else { lane.used_ahead / lane.ahead })
}

/// The rate to hold operations to, a second, after `reached` of them let write-back keep up with `least` of them: more
/// than it can is too much, and the highest rate with which it keeps up lies between the two of `kept`.
fn held(limit: f64, kept: &mut [f64; 2], reached: f64, least: f64) -> f64 {
    if least >= BEHIND_BELOW * reached {
        kept[0] = kept[0].max(reached);
        let free = reached < BEHIND_BELOW * limit;
        return if free || kept[1] <= kept[0] * (1.0 + NEAR_RATE) { limit } else { (kept[0] * kept[1]).sqrt() };
    }
    kept[1] = kept[1].min(reached);
    if kept[0] >= kept[1] {
        // Others moved meanwhile.
        kept[0] = 0.0;
    }
    let low = kept[0].max(least.min(kept[1]));
    (low * kept[1]).sqrt()
}

/// How far a rate lies from another, relative; not at all where both are without a bound.
fn apart(now: f64, before: f64) -> f64 {
    match (now.is_finite(), before.is_finite()) {
        (true, true) => (now / before - 1.0).abs(),
        (false, false) => 0.0,
        _ => 1.0,
    }
}

/// Between which rates a writer's own one lies. Cores that it fills let it do far less than cores that it leaves idle, so
/// that what follows from what was tried swings about what is right.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ends {
    low: f64,
    high: f64,
}

impl Default for Ends {
    fn default() -> Self {
        Self { low: 0.0, high: f64::INFINITY }
    }
}

impl Ends {
    /// What to try next, where `tried` let the writer do `wanted`; other streams move meanwhile, so that ends give way.
    fn next(&mut self, tried: f64, wanted: f64) -> f64 {
        (self.low, self.high) = (self.low * 0.98, self.high * 1.02);
        if wanted > tried {
            self.low = self.low.max(tried);
        } else if tried.is_finite() {
            self.high = self.high.min(tried);
        }
        if self.low >= self.high {
            *self = Self::default();
        }
        let near = (wanted / tried - 1.0).abs() < NEAR;
        if near || self.low <= 0.0 || !self.high.is_finite() { wanted } else { (self.low * self.high).sqrt() }
    }
}

/// Writes that lie dirty after so many seconds at a rate, where the first `fits` of them wait in memory until `served` of the
/// later ones are written back a second.
fn dirty(fits: f64, written: f64, served: f64, after_s: f64) -> f64 {
    let before_s = after_s.min(fits / written.max(1e-9));
    written * before_s + (written - served) * (after_s - before_s)
}

/// Writes that fit into memory before write-back begins, and before writers wait; none in the steady state.
fn fits(room: f64, stream: &Stream) -> [f64; 2] {
    let room = if room.is_finite() { room } else { ROOM_WHERE_UNKNOWN as f64 };
    let of = |share: f64| if stream.duration_s > 0.0 { share * room / stream.size_bytes } else { 0.0 };
    [of(DIRTY_BACKGROUND), of(DIRTY_AT_MOST)]
}
