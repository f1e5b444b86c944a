//! The stations of a target, whichever family it is of.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{
    Target, TwinError,
    array::ArrayStations,
    cached::CachedStations,
    memory::MemoryStation,
    simulated::{Picoseconds, Request, Simulated, Step},
};

/// The stations of a target: a match instead of dynamic dispatch. Families add their variant.
#[derive(Clone, Debug)]
pub enum Machine {
    /// Serves at once: the host's own limit.
    Nothing,
    /// Modules of memory.
    Memory(Box<MemoryStation>),
    /// A page cache in front of drives.
    Cached(Box<CachedStations>),
    /// Drives and volumes, alone or side by side.
    Drives(ArrayStations),
}

impl Machine {
    /// The stations of a target, idle; `seed` decides what is random in its make-up.
    ///
    /// # Errors
    /// Where the family has no stations yet.
    pub fn new(target: &Target, seed: u64) -> Result<Self, TwinError> {
        Self::holding(target, seed, 0.0)
    }

    /// The same, with `used_bytes` of data on it that the load works on: what is left is spare. 0 where nobody knows.
    ///
    /// # Errors
    /// Likewise.
    pub fn holding(target: &Target, seed: u64, used_bytes: f64) -> Result<Self, TwinError> {
        let target = if let Target::Block { memory } = target { memory } else { target };
        if target.is_memory() {
            return Ok(Self::Memory(Box::new(MemoryStation::new(target)?.with_working_set(used_bytes))));
        }
        if let Target::Cache { front, back, bytes, .. } = target {
            let cached = CachedStations::new(front, back, *bytes, seed, used_bytes)?;
            return Ok(Self::Cached(Box::new(cached)));
        }
        Ok(Self::Drives(ArrayStations::new(target, seed, used_bytes)?))
    }
}

impl Machine {
    /// Its figures may still change after millions of operations: caches fill, credits run out, collection sets in.
    pub fn is_transient(&self, writes: bool) -> bool {
        match self {
            Self::Nothing | Self::Memory(_) => false,
            Self::Drives(drives) => drives.is_transient(writes),
            Self::Cached(cached) => cached.is_transient(writes),
        }
    }

    /// A write or a trim that takes no time: what lies there before a play begins.
    pub fn lay(&mut self, request: &Request) {
        if let Self::Drives(drives) = self {
            drives.lay(request);
        }
    }

    /// Bytes that the host has written and bytes that collection has copied, of a flash drive that is followed page by page.
    pub fn programmed(&self) -> Option<[f64; 2]> {
        match self {
            Self::Drives(drives) => drives.programmed(),
            Self::Nothing | Self::Memory(_) | Self::Cached(_) => None,
        }
    }

    /// Lets what changes slowly (caches that fill, credits, free blocks) change `factor` times as fast, so that a part of a
    /// long load shows all of it. False where something else than drives would have to.
    pub fn hasten(&mut self, factor: f64) -> bool {
        match self {
            Self::Nothing | Self::Memory(_) => true,
            Self::Drives(drives) => {
                drives.hasten(factor);
                true
            }
            Self::Cached(_) => false,
        }
    }
}

impl Simulated for Machine {
    #[inline]
    fn step(&mut self, now: Picoseconds, request: &mut Request, random: &mut Xoshiro256PlusPlus) -> Step {
        match self {
            Self::Nothing => Step::Done(now),
            Self::Memory(station) => station.step(now, request, random),
            Self::Drives(drives) => drives.step(now, request, random),
            Self::Cached(cached) => cached.step(now, request, random),
        }
    }

    #[inline]
    fn complete(&mut self, now: Picoseconds, request: &Request) {
        match self {
            Self::Nothing | Self::Drives(_) => {}
            Self::Memory(station) => station.complete(now, request),
            Self::Cached(cached) => cached.complete(now, request),
        }
    }

    fn busiest(&self) -> (&'static str, Picoseconds) {
        match self {
            Self::Nothing => ("nothing", 0),
            Self::Memory(station) => station.busiest(),
            Self::Drives(drives) => drives.busiest(),
            Self::Cached(cached) => cached.busiest(),
        }
    }
}
