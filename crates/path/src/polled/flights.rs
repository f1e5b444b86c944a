//! The operations of a thread, and the commands that they become: more than one where a transfer is larger than a
//! command's limit, as the block layer would split it.

use std::collections::VecDeque;

use assay_record::DurabilityKind;

use super::{
    command::{Command, Transfer},
    identify::NamespaceFacts,
    lane::Lane,
};
use crate::{Completion, OpenParameters, Request};

/// A segment, as commands name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentBlocks {
    /// Index of its drive's lane.
    pub lane: u32,
    pub namespace: NamespaceFacts,
    pub base: u64,
    pub bytes: u64,
}

/// An operation that is under way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    request: Request,
    /// Bytes that commands were sent for.
    issued: u32,
    /// Commands without an answer.
    under_way: u32,
    /// The first error, or 0.
    errno: i32,
    /// It waits for room in its queue.
    waits: bool,
}

/// What a flush that found no room has issued: as long as it differs from the length, something is to be sent.
const UNSENT_FLUSH: u32 = 1;

const NONE: Flight = Flight {
    request: Request { write: false, segment: 0, offset: 0, length: 0, memory: 0, slot: 0 },
    issued: 0,
    under_way: 0,
    errno: 0,
    waits: false,
};

/// Everything in flight on all lanes of a path.
#[derive(Debug)]
pub(super) struct Flights {
    // Dropped first: a lane's queue is removed before anything that it could write to goes.
    lanes: Vec<Lane>,
    places: Vec<SegmentBlocks>,
    flights: Box<[Flight]>,
    /// Slots with bytes that found no room in their queue.
    waiting: VecDeque<u32>,
    /// Completions that no device has to give.
    ready: Vec<Completion>,
    in_flight: u32,
    pushed: u32,
    arena_bytes: usize,
    writes: bool,
    force_unit_access: bool,
    flushes: bool,
    /// Time of the path, milliseconds, as it was seen last.
    pub now_ms: u32,
}

impl Flights {
    pub fn new(parameters: &OpenParameters<'_>, lanes: Vec<Lane>, places: Vec<SegmentBlocks>) -> Self {
        let (depth, kind) = (parameters.depth as usize, parameters.durability.kind);
        Self {
            lanes,
            places,
            flights: vec![NONE; depth].into_boxed_slice(),
            waiting: VecDeque::with_capacity(depth),
            ready: Vec::with_capacity(depth),
            in_flight: 0,
            pushed: 0,
            arena_bytes: parameters.arena.len(),
            writes: parameters.writes,
            force_unit_access: matches!(kind, DurabilityKind::ODsync | DurabilityKind::RwfDsync),
            flushes: matches!(kind, DurabilityKind::Fdatasync | DurabilityKind::Fsync),
            now_ms: 0,
        }
    }

    /// Operations pushed and not yet handed out.
    #[inline(always)]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Begins a read or a write.
    #[inline(always)]
    pub fn push(&mut self, request: Request) {
        self.in_flight += 1;
        self.pushed += 1;
        let waits = self.flights[request.slot as usize].waits;
        self.flights[request.slot as usize] = Flight { request, waits, ..NONE };
        if !self.is_possible(&request) {
            self.finish_at_once(request.slot, -libc::EINVAL);
        } else if !self.issue(request.slot) {
            self.wait_for_room(request.slot);
        }
    }

    #[inline(always)]
    fn is_possible(&self, request: &Request) -> bool {
        let Some(place) = self.places.get(request.segment as usize) else { return false };
        let length = u64::from(request.length);
        let in_place = length <= place.bytes && request.offset <= place.bytes - length;
        let in_arena =
            request.length as usize <= self.arena_bytes && request.memory <= self.arena_bytes - request.length as usize;
        let mask = (1_u64 << place.namespace.block_shift) - 1;
        let whole = ((place.base + request.offset) | length) & mask == 0 && request.memory & 3 == 0;
        in_place && in_arena && whole && length > 0 && (self.writes || !request.write)
    }

    /// Begins a flush.
    pub fn push_flush(&mut self, segment: u32, slot: u32) {
        self.in_flight += 1;
        self.pushed += 1;
        let waits = self.flights[slot as usize].waits;
        self.flights[slot as usize] = Flight { waits, ..NONE };
        self.flights[slot as usize].request.segment = segment;
        if self.flushes { self.send_flush(slot) } else { self.finish_at_once(slot, 0) }
    }

    fn send_flush(&mut self, slot: u32) {
        let flight = &mut self.flights[slot as usize];
        let place = self.places[flight.request.segment as usize];
        let lane = &mut self.lanes[place.lane as usize];
        let errno = lane.dead();
        flight.issued = 0;
        if errno != 0 {
            self.finish_at_once(slot, -errno);
        } else if lane.send(slot, self.now_ms, 0, 0, |_| Command::flush(place.namespace.id)) {
            flight.under_way = 1;
        } else {
            flight.issued = UNSENT_FLUSH;
            self.wait_for_room(slot);
        }
    }

    /// Sends commands for what is left of an operation; false where its queue has no room for all of it.
    #[inline(always)]
    fn issue(&mut self, slot: u32) -> bool {
        let flight = &mut self.flights[slot as usize];
        let Request { write, segment, offset, length, memory, .. } = flight.request;
        let place = &self.places[segment as usize];
        let lane = &mut self.lanes[place.lane as usize];
        if lane.dead() != 0 {
            self.end_dead(slot);
            return true;
        }
        while flight.issued < length {
            let bytes = (length - flight.issued).min(lane.transfer_bytes());
            let shift = place.namespace.block_shift;
            let first = (place.base + offset + u64::from(flight.issued)) >> shift;
            let force_unit_access = self.force_unit_access;
            let namespace = place.namespace.id;
            let command = |data| {
                Command::transfer(Transfer { write, namespace, first, blocks: bytes >> shift, force_unit_access, data })
            };
            if !lane.send(slot, self.now_ms, memory + flight.issued as usize, bytes, command) {
                return false;
            }
            flight.issued += bytes;
            flight.under_way += 1;
        }
        true
    }

    /// Nothing is sent to a drive that does not work any more.
    #[cold]
    fn end_dead(&mut self, slot: u32) {
        let flight = &mut self.flights[slot as usize];
        let errno = self.lanes[self.places[flight.request.segment as usize].lane as usize].dead();
        (flight.errno, flight.issued) = (errno, flight.request.length);
        if flight.under_way == 0 {
            self.finish_at_once(slot, -errno);
        }
    }

    #[cold]
    fn wait_for_room(&mut self, slot: u32) {
        if !std::mem::replace(&mut self.flights[slot as usize].waits, true) {
            self.waiting.push_back(slot);
        }
    }

    #[cold]
    fn finish_at_once(&mut self, slot: u32, result: i32) {
        self.ready.push(Completion { slot, result });
    }

    /// Tells the devices about everything that was pushed; returns how many operations.
    #[inline(always)]
    pub fn ring(&mut self) -> u32 {
        for lane in &mut self.lanes {
            lane.ring();
        }
        std::mem::take(&mut self.pushed)
    }

    /// Hands out what has finished, as far as there is room; returns how many.
    #[inline(always)]
    pub fn drain(&mut self, into: &mut Vec<Completion>) -> u32 {
        let before = into.len();
        if !self.ready.is_empty() {
            self.hand_out_ready(into);
        }
        for lane in &mut self.lanes {
            let mut taken = false;
            while into.len() < into.capacity() {
                let Some((slot, errno)) = lane.take() else { break };
                taken = true;
                let flight = &mut self.flights[slot as usize];
                flight.under_way -= 1;
                if errno != 0 && flight.errno == 0 {
                    // What was not sent yet is not sent any more.
                    (flight.errno, flight.issued) = (errno, flight.request.length);
                }
                if flight.under_way == 0 && flight.issued == flight.request.length {
                    let result = if flight.errno == 0 { flight.request.length as i32 } else { -flight.errno };
                    self.in_flight -= 1;
                    into.push(Completion { slot, result });
                }
            }
            if taken {
                lane.release();
            }
        }
        if !self.waiting.is_empty() {
            self.issue_waiting();
        }
        (into.len() - before) as u32
    }

    #[cold]
    fn hand_out_ready(&mut self, into: &mut Vec<Completion>) {
        let count = self.ready.len().min(into.capacity() - into.len());
        into.extend(self.ready.drain(..count));
        self.in_flight -= count as u32;
    }

    /// Sends what found no room before.
    #[cold]
    fn issue_waiting(&mut self) {
        for _ in 0..self.waiting.len() {
            let Some(slot) = self.waiting.pop_front() else { return };
            let flight = &mut self.flights[slot as usize];
            flight.waits = false;
            let Flight { request, issued, .. } = *flight;
            if issued == request.length {
                // It failed meanwhile.
            } else if request.length == 0 {
                self.send_flush(slot);
            } else if !self.issue(slot) {
                self.wait_for_room(slot);
            }
        }
        for lane in &mut self.lanes {
            lane.ring();
        }
    }

    /// Looks whether the drives still work. What was under way on one that does not ends with its error.
    #[cold]
    pub fn look(&mut self) {
        for lane in &mut self.lanes {
            lane.look(self.now_ms);
            let errno = lane.dead();
            if errno == 0 {
                continue;
            }
            let (flights, ready) = (&mut self.flights, &mut self.ready);
            lane.abandon(|slot| {
                let flight = &mut flights[slot as usize];
                flight.under_way -= 1;
                (flight.errno, flight.issued) = (errno, flight.request.length);
                if flight.under_way == 0 {
                    ready.push(Completion { slot, result: -errno });
                }
            });
        }
    }
}
