//! What the discrete-event engine asks of the stations of a family.
//!
//! A request goes through a device in stages. At each stage the device reserves one of its stations (first come, first
//! served, by the instant of arrival at that station) and says when the engine shall come back, or when the request is
//! done. A device with one station answers [`Step::Done`] at once. The engine keeps one event per request in flight; the
//! device keeps no queue of its own, only the instant at which each station becomes free.

use assay_record::Persist;
use rand_xoshiro::Xoshiro256PlusPlus;

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
    /// Of a write: those that are expected to die with it have the same.
    pub group: u8,
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
        let Self { action, offset, bytes, sequential, group, .. } = *self;
        assay_libtwin::request::Request { action, offset, bytes, sequential, group }
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
