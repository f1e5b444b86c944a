//! A page cache of a given size in front of drives, in virtual time.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{
    Target, TwinError,
    array::ArrayStations,
    des::Pages,
    memory::MemoryStation,
    simulated::{Action, Picoseconds, Request, Simulated, Step},
};

/// The cache serves the request.
const FRONT: u8 = 1;
/// The drives behind it do.
const BACK: u8 = 2;

/// Memory, what lies in it, and what lies behind it. The cache is full when the play begins: steady state from the start.
#[derive(Clone, Debug)]
pub struct CachedStations {
    pages: Pages,
    front: MemoryStation,
    back: ArrayStations,
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
        })
    }

    /// What lies behind it may still change.
    pub fn is_transient(&self, writes: bool) -> bool {
        self.back.is_transient(writes)
    }
}

impl Simulated for CachedStations {
    fn step(&mut self, now: Picoseconds, request: &mut Request, random: &mut Xoshiro256PlusPlus) -> Step {
        if request.stage == 0 && request.route != BACK {
            // A write that finds no room waits until the page that it displaces is written.
            let hit = request.action != Action::Flush && self.pages.touch(request.offset, u64::from(request.bytes));
            request.route = if hit { FRONT } else { BACK };
        }
        if request.route == FRONT {
            self.front.step(now, request, random)
        } else {
            self.back.step(now, request, random)
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
