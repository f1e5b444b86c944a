//! A rotating disk in virtual time: one arm, first come, first served, with an elevator's gain from what is queued.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Server, ps, uniform};
use crate::{
    document::Disk,
    request::{Action, Picoseconds, Request},
    rules::service_ns,
};

/// More requests than this give an elevator no more to choose from.
const QUEUED_AT_MOST: usize = 4096;

/// Stations of a disk.
#[derive(Clone, Debug)]
pub struct DiskStations {
    disk: Disk,
    arm: Server,
    capacity_bytes: f64,
    /// Ends of the requests that are queued or under way.
    pending: VecDeque<Picoseconds>,
}

impl DiskStations {
    /// An idle disk.
    pub fn new(disk: &Disk, capacity_bytes: f64) -> Self {
        Self {
            disk: disk.clone(),
            arm: Server::default(),
            capacity_bytes,
            pending: VecDeque::with_capacity(QUEUED_AT_MOST),
        }
    }

    /// Serves a request.
    pub fn serve(&mut self, now: Picoseconds, request: &Request, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        while self.pending.front().is_some_and(|end| *end <= now) {
            self.pending.pop_front();
        }
        if request.action == Action::Trim {
            return now;
        }
        let turn = ps(60e9 / self.disk.revolutions_per_minute.value);
        let service = if request.action == Action::Flush { turn } else { self.service(request, random) };
        let end = self.arm.serve(now, service);
        if self.pending.len() == QUEUED_AT_MOST {
            self.pending.pop_front();
        }
        self.pending.push_back(end);
        end
    }

    fn service(&self, request: &Request, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        let queued = self.pending.len() as f64 + 1.0;
        let mean = service_ns(&self.disk, f64::from(request.bytes), request.sequential, queued);
        if request.sequential {
            // Outer tracks come first.
            let share = (request.offset as f64 / self.capacity_bytes).clamp(0.0, 1.0);
            let (outer, inner) = (self.disk.outer_bytes_per_s.value, self.disk.inner_bytes_per_s.value);
            return ps(f64::from(request.bytes) / (outer + (inner - outer) * share) * 1e9);
        }
        ps(mean * (0.5 + uniform(random)))
    }

    /// Time that the arm was at work.
    pub fn busy(&self) -> Picoseconds {
        self.arm.busy()
    }
}
