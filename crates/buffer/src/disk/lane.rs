//! A queue over the access paths: io_uring, libaio, or `pread` and `pwrite`.

use std::{collections::VecDeque, fs::File, io, sync::Arc};

use assay_path::{Blocking, Libaio, Pread, Queued, Uring, Wait};
use rustix::io::Errno;

use super::{
    Action, Completion, DiskRequest, Memory, Queue,
    striping::{StripePart, Striping},
};
use crate::BufferError;

/// The path beneath, open.
pub(super) enum Way {
    Uring(Box<Uring>),
    Libaio(Libaio),
    /// With the files themselves: a flush covers what other queues wrote as well.
    Pread(Pread, Arc<[File]>),
}

/// A request whose parts are under way.
#[derive(Clone, Copy)]
struct Flight {
    token: u64,
    parts: u32,
    result: Result<(), Errno>,
}

/// A part that waits for a slot, or sits in one.
#[derive(Clone, Copy)]
struct Leg {
    flight: u32,
    action: Action,
    part: StripePart,
}

/// The queue of a [`super::Drive`].
pub(super) struct Lane {
    // Dropped first: that waits for everything in flight, which uses the memory.
    way: Way,
    striping: Striping,
    bytes: u64,
    memory: Arc<Memory>,
    flights: Vec<Flight>,
    free_flights: Vec<u32>,
    /// Flight of each slot.
    slots: Vec<u32>,
    free_slots: Vec<u32>,
    waiting: VecDeque<Leg>,
    ready: Vec<Completion>,
    raw: Vec<assay_path::Completion>,
    in_flight: u32,
    name: String,
}

impl Lane {
    pub fn new(way: Way, striping: Striping, bytes: u64, depth: u32, memory: Arc<Memory>, name: String) -> Self {
        Self {
            way,
            striping,
            bytes,
            memory,
            flights: Vec::with_capacity(depth as usize),
            free_flights: Vec::with_capacity(depth as usize),
            slots: vec![0; depth as usize],
            free_slots: (0..depth).rev().collect(),
            waiting: VecDeque::new(),
            ready: Vec::with_capacity(depth as usize),
            raw: Vec::with_capacity(depth as usize),
            in_flight: 0,
            name,
        }
    }

    fn fits(&self, request: &DiskRequest) -> bool {
        let (length, memory) = (u64::from(request.bytes), self.memory.bytes());
        length > 0
            && request.offset.checked_add(length).is_some_and(|end| end <= self.bytes)
            && request.memory.checked_add(request.bytes as usize).is_some_and(|end| end <= memory)
    }

    fn take_off(&mut self, token: u64) -> u32 {
        let flight = Flight { token, parts: 0, result: Ok(()) };
        if let Some(index) = self.free_flights.pop() {
            self.flights[index as usize] = flight;
            return index;
        }
        self.flights.push(flight);
        self.flights.len() as u32 - 1
    }

    fn add_leg(&mut self, leg: Leg) {
        self.flights[leg.flight as usize].parts += 1;
        if self.waiting.is_empty() { self.start(leg) } else { self.waiting.push_back(leg) }
    }

    fn start(&mut self, leg: Leg) {
        let Some(slot) = self.free_slots.pop() else { return self.waiting.push_back(leg) };
        self.slots[slot as usize] = leg.flight;
        match &mut self.way {
            Way::Uring(path) => push(&mut **path, leg, slot),
            Way::Libaio(path) => push(path, leg, slot),
            Way::Pread(path, files) => {
                let answer = block(path, files, leg).map_err(|error| errno(&error));
                self.land(slot, answer);
            }
        }
    }

    fn start_waiting(&mut self) {
        while !self.free_slots.is_empty() {
            let Some(leg) = self.waiting.pop_front() else { return };
            self.start(leg);
        }
    }

    fn land(&mut self, slot: u32, result: Result<(), Errno>) {
        let index = self.slots[slot as usize];
        self.free_slots.push(slot);
        let flight = &mut self.flights[index as usize];
        flight.result = flight.result.and(result);
        flight.parts -= 1;
        if flight.parts == 0 {
            self.ready.push(Completion { token: flight.token, result: flight.result });
            self.free_flights.push(index);
        }
    }

    /// One call of the path; `at_least` counts parts.
    fn reap_parts(&mut self, wait: Wait) -> io::Result<()> {
        let answer = match &mut self.way {
            Way::Uring(path) => path.submit_and_reap(wait, &mut self.raw),
            Way::Libaio(path) => path.submit_and_reap(wait, &mut self.raw),
            Way::Pread(..) => Ok(0),
        };
        for index in 0..self.raw.len() {
            let assay_path::Completion { slot, result } = self.raw[index];
            let result = if result < 0 { Err(Errno::from_raw_os_error(-result)) } else { Ok(()) };
            self.land(slot, result);
        }
        self.raw.clear();
        self.start_waiting();
        answer.map(|_| ())
    }

    fn parts_in_flight(&self) -> usize {
        self.slots.len() - self.free_slots.len()
    }
}

impl Queue for Lane {
    unsafe fn push(&mut self, request: DiskRequest) {
        self.in_flight += 1;
        if request.action == Action::Trim {
            // Paths have no trims.
            return self.ready.push(Completion { token: request.token, result: Ok(()) });
        }
        if request.action != Action::Flush && !self.fits(&request) {
            return self.ready.push(Completion { token: request.token, result: Err(Errno::INVAL) });
        }
        let (flight, striping, action) = (self.take_off(request.token), self.striping, request.action);
        if action == Action::Flush {
            // All parts are counted before the first can end.
            for member in 0..striping.members {
                self.flights[flight as usize].parts += 1;
                self.waiting.push_back(Leg {
                    flight,
                    action,
                    part: StripePart { member, offset: 0, memory: 0, bytes: 0 },
                });
            }
            return self.start_waiting();
        }
        self.flights[flight as usize].parts += 1;
        striping.parts(request.offset, request.memory, request.bytes, |part| {
            self.add_leg(Leg { flight, action, part });
        });
        let held = &mut self.flights[flight as usize];
        held.parts -= 1;
        if held.parts == 0 {
            self.ready.push(Completion { token: held.token, result: held.result });
            self.free_flights.push(flight);
        }
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn reap(&mut self, wait: Wait, into: &mut Vec<Completion>) -> Result<(), BufferError> {
        let goal = wait.at_least.min(self.in_flight) as usize;
        loop {
            let short = goal.saturating_sub(self.ready.len());
            let at_least = short.min(self.parts_in_flight()) as u32;
            let answer = self.reap_parts(Wait { at_least, timeout_ns: wait.timeout_ns });
            answer.map_err(|source| BufferError::Queue { disk: self.name.clone(), source })?;
            if self.ready.len() >= goal || wait.timeout_ns != u64::MAX {
                break;
            }
        }
        self.in_flight -= self.ready.len() as u32;
        into.append(&mut self.ready);
        Ok(())
    }
}

fn push(path: &mut impl Queued, leg: Leg, slot: u32) {
    let StripePart { member, offset, memory, bytes } = leg.part;
    if leg.action == Action::Flush {
        return path.push_flush(member, slot);
    }
    let write = leg.action.is_write();
    path.push(assay_path::Request { write, segment: member, offset, length: bytes, memory, slot });
}

fn block(path: &mut Pread, files: &[File], leg: Leg) -> io::Result<()> {
    let StripePart { member, offset, memory, bytes } = leg.part;
    match leg.action {
        Action::Read => path.read(member, offset, bytes, memory),
        Action::Write | Action::Place(_) => path.write(member, offset, bytes, memory),
        Action::Trim => Ok(()),
        Action::Flush => Ok(rustix::fs::fdatasync(&files[member as usize])?),
    }
}

pub(super) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
