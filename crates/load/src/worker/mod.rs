//! The measured loops: one for blocking paths, one for queued ones, each compiled for its path.
//!
//! Inside them there is no allocation, no lock, no clock system call and no call through a table.

mod blocking;
mod faults;
mod free;
mod memory;
mod pace;
mod queued;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use assay_instruments::{clock::Clock, tally::Tally};

pub use self::{blocking::BlockingLoop, faults::Faults, memory::MemoryPlan, pace::Pacer, queued::QueuedLoop};
use crate::{
    arrivals::Schedule,
    check::{Checker, SecondLook},
    generator::{Generator, Spread},
    overdue::{Overdue, start_until},
};

/// The instants that all workers share: edges of the window, in ticks. The controller may pull `close` in.
#[derive(Debug)]
#[repr(align(128))]
pub struct Edges {
    /// The window opens.
    pub open: AtomicU64,
    /// The window closes.
    pub close: AtomicU64,
}

impl Default for Edges {
    fn default() -> Self {
        Self { open: AtomicU64::new(u64::MAX), close: AtomicU64::new(u64::MAX) }
    }
}

impl Edges {
    /// Closes the window now, and opens it if it was not open yet.
    pub fn close_now(&self, now: u64) {
        self.open.fetch_min(now, Relaxed);
        self.close.fetch_min(now, Relaxed);
    }
}

/// When writes are made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushRule {
    /// After this many writes of the thread; `u32::MAX` means never.
    pub every: u32,
}

impl FlushRule {
    /// Durability lies in the write itself, or is not asked for.
    #[inline(always)]
    pub fn is_never(self) -> bool {
        self.every == u32::MAX
    }
}

/// What one worker works with, whatever its path.
#[derive(Debug)]
pub struct Task {
    /// Clock of the run.
    pub clock: Clock,
    /// The stream.
    pub generator: Generator,
    /// When operations are due; none where arrivals are closed and nobody thinks.
    pub schedule: Option<Schedule>,
    /// Where pages lie.
    pub spread: Spread,
    /// Number of segments.
    pub segments: u32,
    /// Where in memory they land.
    pub memory: MemoryPlan,
    /// When writes are made durable.
    pub flush: FlushRule,
    /// The file grows and begins anew at offset 0.
    pub growing: bool,
    /// What would be written is trimmed.
    pub trims: bool,
    /// Waiting for instants.
    pub pacer: Pacer,
    /// Data check and acknowledgements; none where not asked for.
    pub checker: Option<Checker>,
    /// Reads blocks again that seem wrong; none where nobody writes to the data set.
    pub second_look: Option<SecondLook>,
    /// What failed.
    pub faults: Faults,
}

impl Task {
    /// Ends the schedule where the window closed, and says until when what was due before is still started, ticks.
    fn end_schedule(&mut self, edges: &Edges) -> u64 {
        let (open, close) = (edges.open.load(Relaxed), edges.close.load(Relaxed));
        if let Some(schedule) = &mut self.schedule {
            schedule.end_at(close);
        }
        start_until(open, close, self.clock.ns_to_ticks(1_000_000_000))
    }

    /// Counts what was due and never started.
    fn never_started(&mut self, overdue: &mut Overdue, now: u64) {
        let clock = self.clock;
        if let Some(schedule) = &mut self.schedule {
            overdue.never_started(schedule, self.generator.rng(), |due| clock.ticks_to_ns(now.saturating_sub(due)));
        }
    }

    /// An operation ended at `now`, ticks.
    #[inline(always)]
    fn completed(&mut self, now: u64) {
        if let Some(schedule) = &mut self.schedule {
            schedule.completed(now);
        }
    }

    #[inline(always)]
    fn advance_schedule(&mut self) {
        if let Some(schedule) = &mut self.schedule {
            schedule.advance(self.generator.rng());
        }
    }
}

/// The histograms of a tally that a loop records into, taken out of their options once.
#[derive(Clone, Copy)]
struct Recorder<'a> {
    tally: &'a Tally,
    clock: Clock,
}

impl Recorder<'_> {
    /// Records a completed operation; instants in ticks. Where arrivals are closed `due` means nothing.
    #[inline(always)]
    fn completed(&self, write: bool, length: u32, due: u64, start: u64, end: u64) {
        let service_ns = self.clock.ticks_to_ns(end.saturating_sub(start));
        self.tally.service.record(service_ns);
        Tally::add(&self.tally.bytes, u64::from(length));
        if write {
            Tally::add(&self.tally.writes, 1);
            if let Some(latencies) = &self.tally.write_service {
                latencies.record(service_ns);
            }
        }
        if let Some(latencies) = &self.tally.response {
            latencies.record(self.clock.ticks_to_ns(end.saturating_sub(due)));
        }
    }

    #[cold]
    fn flushed(&self, start: u64, end: u64) {
        if let Some(latencies) = &self.tally.flush {
            latencies.record(self.clock.ticks_to_ns(end.saturating_sub(start)));
        }
    }

    #[cold]
    fn late(&self, due: u64, now: u64) {
        if let Some(latencies) = &self.tally.lateness {
            latencies.record(self.clock.ticks_to_ns(now.saturating_sub(due)));
        }
    }
}
