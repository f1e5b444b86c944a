//! A page cache of a given size in front of drives, in virtual time.

use assay_libtwin::stations::uniform;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{
    Target, TwinError,
    array::ArrayStations,
    des::Pages,
    memory::{
        MemoryStation,
        cache::{dirty_share, is_whole},
    },
    simulated::{Action, Picoseconds, Request, Simulated, Step},
};

/// The cache serves the request.
const FRONT: u8 = 1;
/// The drives behind it do.
const BACK: u8 = 2;
/// They do, and after it they write the dirty page that it pushes out.
const BACK_THEN_WRITE: u8 = 3;
/// They write what must leave the cache.
const WRITE: u8 = 4;
/// They write what a flush makes durable, and then flush.
const WRITE_THEN_FLUSH: u8 = 5;
/// Weight of one access in the shares of late.
const OF_LATE: f64 = 1.0 / 1024.0;

/// Memory, what lies in it, and what lies behind it. The cache is full when the play begins: steady state from the start.
#[derive(Clone, Debug)]
pub struct CachedStations {
    pages: Pages,
    front: MemoryStation,
    back: ArrayStations,
    /// Shares of hits and of writes of late.
    hits: f64,
    writes: f64,
    /// Bytes written into the cache since the last flush.
    unflushed: u32,
    /// Somebody flushes, so that no page stays dirty.
    flushes: bool,
}

impl CachedStations {
    /// A cache of `bytes` in `front` before `back`, on which the load works on `used_bytes`.
    ///
    /// # Errors
    /// Where one of the two has no stations.
    pub fn new(front: &Target, back: &Target, bytes: u64, seed: u64, used_bytes: f64) -> Result<Self, TwinError> {
        let used = if used_bytes > 0.0 { used_bytes } else { back.capacity_bytes() };
        Ok(Self {
            pages: Pages::new(0, used as u64, Some(bytes), true),
            front: MemoryStation::new(front)?.with_working_set(used.min(bytes as f64)),
            back: ArrayStations::new(back, seed, used_bytes)?,
            hits: (bytes as f64 / used).min(1.0),
            writes: 0.0,
            unflushed: 0,
            flushes: false,
        })
    }

    /// What lies behind it may still change.
    pub fn is_transient(&self, writes: bool) -> bool {
        self.back.is_transient(writes)
    }

    /// Who serves a request that has just come.
    fn route(&mut self, request: &mut Request, random: &mut Xoshiro256PlusPlus) -> u8 {
        if request.action == Action::Flush {
            self.flushes = true;
            request.bytes = std::mem::take(&mut self.unflushed);
            return if request.bytes > 0 { WRITE_THEN_FLUSH } else { BACK };
        }
        let write = request.action == Action::Write;
        let hit = self.pages.touch(request.offset, u64::from(request.bytes));
        self.hits += (f64::from(u8::from(hit)) - self.hits) * OF_LATE;
        self.writes += (f64::from(u8::from(write)) - self.writes) * OF_LATE;
        if write {
            self.unflushed = self.unflushed.saturating_add(request.bytes).min(1 << 30);
        }
        if hit {
            return FRONT;
        }
        let dirty = !self.flushes && uniform(random) < dirty_share(self.hits, self.writes);
        match (write && is_whole(f64::from(request.bytes)), dirty) {
            (true, true) => WRITE,
            (true, false) => FRONT,
            (false, true) => BACK_THEN_WRITE,
            (false, false) => BACK,
        }
    }

    /// One step of what lies behind, as `action`.
    fn behind(
        &mut self,
        now: Picoseconds,
        request: &mut Request,
        action: Action,
        random: &mut Xoshiro256PlusPlus,
    ) -> Step {
        let mut sent = Request { action, ..*request };
        let step = self.back.step(now, &mut sent, random);
        (request.stage, request.note) = (sent.stage, sent.note);
        step
    }
}

impl Simulated for CachedStations {
    fn step(&mut self, now: Picoseconds, request: &mut Request, random: &mut Xoshiro256PlusPlus) -> Step {
        if request.stage == 0 && request.route == 0 {
            request.route = self.route(request, random);
        }
        let (action, next) = match request.route {
            FRONT => return self.front.step(now, request, random),
            BACK_THEN_WRITE => (Action::Read, WRITE),
            WRITE => (Action::Write, 0),
            WRITE_THEN_FLUSH => (Action::Write, BACK),
            // What a write brings in was read before it.
            _ if request.action == Action::Write => (Action::Read, 0),
            _ => (request.action, 0),
        };
        match self.behind(now, request, action, random) {
            Step::Done(at) if next != 0 => {
                (request.route, request.stage, request.note) = (next, 0, 0);
                Step::At(at)
            }
            step => step,
        }
    }

    fn complete(&mut self, now: Picoseconds, request: &Request) {
        if request.route == FRONT {
            self.front.complete(now, request);
        }
    }

    fn busiest(&self) -> (&'static str, Picoseconds) {
        self.back.busiest()
    }
}
