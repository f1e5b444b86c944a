//! What a drive consists of, in virtual time. A request reserves one station after the other, in order of arrival, so that
//! its end is known when it comes, and nothing that comes later changes it.

mod attention;
mod beside;
mod collector;
mod disk;
mod drive;
mod facts;
mod flash;
mod optane;
mod volume;

use attention::Attention;
use beside::Beside;
pub use collector::Collector;
pub use disk::DiskStations;
pub use drive::Drive;
pub use flash::FlashStations;
pub use optane::OptaneStations;
pub use volume::VolumeStations;

use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::RngCore};

use crate::request::{PS_PER_NS, Picoseconds};

/// A station of one server: first come, first served.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    free_at: Picoseconds,
    busy: Picoseconds,
}

impl Server {
    /// A customer of `service` that arrives at `now` leaves at the returned instant.
    #[inline]
    pub fn serve(&mut self, now: Picoseconds, service: Picoseconds) -> Picoseconds {
        self.free_at = self.free_at.max(now) + service;
        self.busy += service;
        self.free_at
    }

    /// Nothing is served before `until`.
    pub fn hold(&mut self, until: Picoseconds) {
        self.free_at = self.free_at.max(until);
    }

    /// Serves nobody for `time` from `begin` on: who waits then waits as much longer.
    pub fn stop(&mut self, begin: Picoseconds, time: Picoseconds) {
        if self.free_at > begin {
            self.free_at += time;
        }
    }

    /// When the last customer so far leaves.
    pub fn free_at(&self) -> Picoseconds {
        self.free_at
    }

    /// Time spent serving.
    pub fn busy(&self) -> Picoseconds {
        self.busy
    }
}

/// Picoseconds of some nanoseconds.
pub fn ps(ns: f64) -> Picoseconds {
    (ns * PS_PER_NS).round() as Picoseconds
}

/// Picoseconds that a byte takes.
pub fn ps_per_byte(bytes_per_s: f64) -> f64 {
    1e12 / bytes_per_s
}

/// A number below `count`, each as often (Lemire's multiplication; dividing would take longer than all else of a read).
#[inline]
pub fn below(count: usize, random: &mut Xoshiro256PlusPlus) -> usize {
    ((u128::from(random.next_u64()) * count as u128) >> 64) as usize
}

/// A number that is uniform on 0..1.
#[inline]
pub fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}
