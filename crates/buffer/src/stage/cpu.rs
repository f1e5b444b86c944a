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

    /// What was used since [`Meter::begin`], and begins anew; `ends_turn` where this is the end of a turn.
    pub fn take(&mut self, ends_turn: bool) -> Picoseconds {
        match self.cpu {
            Cpu::Fixed { turn_ns } => {
                if ends_turn {
                    (turn_ns * 1e3) as Picoseconds
                } else {
                    0
                }
            }
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
