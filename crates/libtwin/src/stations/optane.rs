//! A drive of 3D XPoint in virtual time.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Server, attention::Attention, below, ps, ps_per_byte};
use crate::{
    document::{OptaneSsd, OrElse},
    request::{Action, Picoseconds, Request},
    rules::{UNIT_BYTES, alone_ns},
};

/// Stations of an Optane drive.
#[derive(Clone, Debug)]
pub struct OptaneStations {
    /// Of reads and of writes, each in the order in which their turn comes.
    units: [Vec<Server>; 2],
    /// Of reads and of writes.
    controllers: [Server; 2],
    links: [Server; 2],
    attention: Attention,
    drive: OptaneSsd,
    /// Bytes and attention of the last read and of the last write.
    alone: [(f64, f64); 2],
    delay: Picoseconds,
    service: [f64; 2],
    command: [Picoseconds; 2],
    byte: [f64; 2],
    sent: f64,
    flush: Picoseconds,
}

impl OptaneStations {
    /// An idle drive.
    pub fn new(drive: &OptaneSsd) -> Self {
        let units = drive.units.value.round().max(1.0) as usize;
        Self {
            units: [vec![Server::default(); units], vec![Server::default(); units]],
            controllers: [Server::default(); 2],
            links: [Server::default(); 2],
            attention: Attention::plain(),
            drive: drive.clone(),
            alone: [(0.0, 0.0); 2],
            delay: ps(drive.delay_ns.value),
            service: [drive.read_ns.value * 1e3, drive.write_ns.value * 1e3],
            command: [ps(1e9 / drive.read_iops.value), ps(1e9 / drive.write_iops.value)],
            byte: [ps_per_byte(drive.read_bytes_per_s.value), ps_per_byte(drive.write_bytes_per_s.value)],
            sent: ps(OrElse::or(&drive.command_ns, 0.0)) as f64,
            flush: ps(drive.flush.base_ns.value),
        }
    }

    /// Serves a request.
    #[inline]
    pub fn serve(&mut self, now: Picoseconds, request: &Request, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        if request.action == Action::Flush {
            return now + self.flush;
        }
        if request.action == Action::Trim {
            return self.controllers[1].serve(now, self.command[1]) + self.delay;
        }
        let kind = usize::from(request.action == Action::Write);
        let bytes = f64::from(request.bytes);
        let work = self.alone_ps(kind, bytes);
        let commanded = self.controllers[kind].serve(now, self.command[kind]);
        let commanded = self.attention.admit(commanded, kind == 1, false, work);
        let count = self.units[kind].len();
        let parts = bytes / UNIT_BYTES;
        let wide = (parts.ceil().max(1.0) as usize).min(count);
        let service = (self.service[kind] * (parts / count as f64).max(1.0)) as Picoseconds;
        let mut unit = below(count, random);
        let mut done = commanded;
        for _ in 0..wide {
            done = done.max(self.units[kind][unit].serve(commanded, service));
            unit = if unit + 1 == count { 0 } else { unit + 1 };
        }
        // In order of arrival at the units, as in a flash drive: what is waited for the link stands behind the time there.
        let time = (self.sent + bytes * self.byte[kind]) as Picoseconds;
        (self.links[kind].serve(commanded, time) + service).max(done + time) + self.delay
    }

    /// Time that a request takes of a drive that does nothing else, ps.
    #[inline]
    fn alone_ps(&mut self, kind: usize, bytes: f64) -> f64 {
        if self.alone[kind].0 != bytes {
            self.alone[kind] = (bytes, alone_ns(&self.drive, bytes, kind == 1) * 1e3);
        }
        self.alone[kind].1
    }

    /// The busiest station and its busy time.
    pub fn busiest(&self) -> (&'static str, Picoseconds) {
        let units = self.units.iter().flatten().map(Server::busy).sum::<u64>() / self.units[0].len() as u64;
        [
            ("units", units),
            ("read link", self.links[0].busy()),
            ("write link", self.links[1].busy()),
            ("controller", self.controllers[0].busy().max(self.controllers[1].busy())),
            ("attention", self.attention.busy()),
        ]
        .into_iter()
        .max_by_key(|station| station.1)
        .unwrap_or(("units", units))
    }
}
