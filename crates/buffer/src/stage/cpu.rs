//! CPU time of turns.

use rustix::time::{ClockId, clock_gettime};

use super::Picoseconds;

/// Readings of the clock from which its own cost is taken.
const READINGS: u32 = 200;

/// What a turn costs its actor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cpu {
    /// The CPU time that it took here, times this factor.
    Measured {
        /// Time there over time here.
        factor: f64,
    },
    /// So much for every turn, whatever it took: the same seed gives the same play.
    Fixed {
        /// Nanoseconds.
        turn_ns: f64,
    },
    /// What turns took on average when they were measured, by who takes them: as [`Cpu::Fixed`] as far as the play goes.
    Learnt(TurnCosts),
}

/// Mean CPU time of a turn, ns, in the play's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TurnCosts {
    /// Of the work's own threads.
    pub worker_ns: f64,
    /// Of the log's writer.
    pub log_ns: f64,
    /// Of all others.
    pub rest_ns: f64,
}

/// Who takes a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Worker,
    Log,
    Rest,
}

impl Role {
    /// Of an actor by its name.
    pub fn of(name: &str) -> Self {
        match name {
            "worker" => Self::Worker,
            "log" => Self::Log,
            _ => Self::Rest,
        }
    }
}

impl TurnCosts {
    fn of(&self, role: Role) -> f64 {
        match role {
            Role::Worker => self.worker_ns,
            Role::Log => self.log_ns,
            Role::Rest => self.rest_ns,
        }
    }
}

/// Measures turns.
#[derive(Debug)]
pub(super) struct Meter {
    cpu: Cpu,
    since_ns: u64,
    /// What one reading of the clock adds, ns.
    reading_ns: u64,
}

impl Meter {
    pub fn new(cpu: Cpu) -> Self {
        let reading_ns = if matches!(cpu, Cpu::Measured { .. }) { reading() } else { 0 };
        Self { cpu, since_ns: 0, reading_ns }
    }

    /// From here on time counts.
    pub fn begin(&mut self) {
        if matches!(self.cpu, Cpu::Measured { .. }) {
            self.since_ns = thread_ns();
        }
    }

    /// What an actor used since [`Meter::begin`], and begins anew; `ends_turn` where this is the end of a turn.
    pub fn take(&mut self, ends_turn: bool, role: Role) -> Picoseconds {
        match self.cpu {
            Cpu::Fixed { .. } | Cpu::Learnt(_) if !ends_turn => 0,
            Cpu::Fixed { turn_ns } => (turn_ns * 1e3) as Picoseconds,
            Cpu::Learnt(costs) => (costs.of(role) * 1e3) as Picoseconds,
            Cpu::Measured { factor } => {
                let now = thread_ns();
                let used = (now - self.since_ns).saturating_sub(self.reading_ns);
                self.since_ns = now;
                (used as f64 * 1e3 * factor) as Picoseconds
            }
        }
    }
}

/// CPU time of the calling thread, ns.
fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Median time between two readings that follow each other.
fn reading() -> u64 {
    let mut between: Vec<u64> = (0..READINGS)
        .map(|_| {
            let begin = thread_ns();
            thread_ns() - begin
        })
        .collect();
    between.sort_unstable();
    between[between.len() / 2]
}
