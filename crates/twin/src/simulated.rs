//! What the discrete-event engine asks of a family, and how it reaches the family's stations.
//!
//! A request goes through a device in stages. At each stage the device reserves one of its stations (first come, first
//! served, by the instant of arrival at that station) and says when the engine shall come back, or when the request is
//! done. A device with one station answers [`Step::Done`] at once. The engine keeps one event per request in flight; the
//! device keeps no queue of its own, only the instant at which each station becomes free.

use assay_record::Persist;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{Target, TwinError, array::ArrayStations, cached::CachedStations, memory::MemoryStation};

pub use assay_libtwin::request::{Action, PS_PER_NS, PS_PER_S, Picoseconds};

/// A request on its way through a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub action: Action,
    /// Where, bytes from the start of the target.
    pub offset: u64,
    /// How much, bytes; 0 for a flush.
    pub bytes: u32,
    /// It follows the one before it in the same stream.
    pub sequential: bool,
    /// Each read ends before the next begins (load and store).
    pub fenced: bool,
    /// How its stores leave the CPU caches (load and store).
    pub persist: Persist,
    /// Stage that it is in: 0 at first. The device counts it up.
    pub stage: u16,
    /// The device's own note between stages (a die, a member).
    pub note: u32,
    /// Which part of a composition serves it.
    pub route: u8,
}

impl Request {
    /// As a drive sees it.
    #[inline]
    pub fn at_drive(&self) -> assay_libtwin::request::Request {
        let Self { action, offset, bytes, sequential, .. } = *self;
        assay_libtwin::request::Request { action, offset, bytes, sequential }
    }
}

/// What comes next for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is done at this instant.
    Done(Picoseconds),
    /// It arrives at its next station at this instant; the engine calls again then.
    At(Picoseconds),
}

/// Stations of a device in virtual time.
pub trait Simulated {
    /// The request arrives at its present stage at `now`; never called with an earlier `now` than before.
    fn step(&mut self, now: Picoseconds, request: &mut Request, random: &mut Xoshiro256PlusPlus) -> Step;

    /// The request is done: for devices whose service depends on what is in flight.
    fn complete(&mut self, _now: Picoseconds, _request: &Request) {}

    /// Busy time of the busiest station so far, ps, and its name: for utilisation.
    fn busiest(&self) -> (&'static str, Picoseconds);
}

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
        if target.twin().device.is_memory() {
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
