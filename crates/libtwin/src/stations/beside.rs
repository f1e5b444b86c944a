//! Latencies beside random writes, in virtual time.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{ps, uniform};
use crate::{document::UnderLoad, request::Picoseconds, rules::UNIT_BYTES};

/// What was measured beside writes, and how much is written.
#[derive(Clone, Debug)]
pub struct Beside {
    known: UnderLoad,
    idle: [f64; 2],
    bytes: f64,
    since: Picoseconds,
    share: f64,
}

/// Time over which writes are counted, ps, and the weight of the last such time. Writes wait by what was written, and are
/// written by what they wait: remembered for less than some ten waits of milliseconds, the two would swing.
const WRITES_COUNTED: Picoseconds = 2_000_000_000;
const WRITES_OF_LATE: f64 = 0.03;

impl Beside {
    /// Nothing written yet.
    pub fn of(known: &UnderLoad) -> Self {
        let idle = [known.idle_read_ns(), known.idle_write_ns()];
        Self { known: known.clone(), idle, bytes: 0.0, since: 0, share: 0.0 }
    }

    /// A write of so many bytes at random, or as many as those that it costs as much as.
    pub fn write(&mut self, now: Picoseconds, bytes: f64) {
        self.bytes += bytes;
        let passed = now.saturating_sub(self.since);
        if passed < WRITES_COUNTED {
            return;
        }
        let share = self.bytes / UNIT_BYTES * 1e12 / passed as f64 / self.known.writes_per_s.value;
        let first = self.share == 0.0;
        self.share += if first { share } else { WRITES_OF_LATE * (share - self.share) };
        (self.bytes, self.since) = (0.0, now);
    }

    /// Writes take all that the drive reaches, and wait for room.
    pub fn is_full(&self) -> bool {
        self.share >= self.known.knee.value
    }

    /// How much longer than alone an operation takes.
    pub fn wait(&self, write: bool, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        let rare = uniform(random).max(1e-6);
        let share = self.share.min(1.0);
        let seen = if write { self.known.write_ns(share, rare) } else { self.known.read_ns(share, rare) };
        ps((seen - self.idle[usize::from(write)]).max(0.0))
    }
}
