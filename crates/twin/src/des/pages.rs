//! The page cache in front of a data set, and the way of an operation through it.

use crate::simulated::{Action, Picoseconds, Request, Simulated};

use super::{
    engine::Engine,
    seat::{Flight, Phase},
};

/// Bytes of a page of memory.
const PAGE_BYTES: u64 = 4096;
/// Pages that are told apart at most; larger data sets are followed in larger units.
const UNITS_AT_MOST: u64 = 1 << 28;
/// Bytes of a read-ahead request, and how many are asked for before they are needed (Linux: 128 KiB, doubled once).
const AHEAD_BYTES: u64 = 128 << 10;
const AHEAD_REQUESTS: u64 = 2;
/// Bytes of a write-back request, and how many are under way.
pub(crate) const BEHIND_BYTES: u64 = 256 << 10;
pub(crate) const BEHIND_REQUESTS: u32 = 16;
/// Share of the page cache that may be dirty before write-back begins, and before writers wait (Linux:
/// `dirty_background_ratio` and `dirty_ratio`).
pub(crate) const DIRTY_BACKGROUND: f64 = 0.1;
pub(crate) const DIRTY_AT_MOST: f64 = 0.2;

/// Memory that may become dirty where nobody limits the page cache, bytes: that of a small server.
pub(crate) const ROOM_WHERE_UNKNOWN: u64 = 64 << 30;

/// Which pages of a data set are in memory.
#[derive(Clone, Debug)]
pub struct Pages {
    begin: u64,
    unit: u64,
    bytes: u64,
    lapse: u64,
    resident: Vec<u64>,
    units: u64,
    held: u64,
    room: u64,
    hand: u64,
    dirty: u64,
    background: u64,
    dirty_at_most: u64,
    behind: u32,
    waiting: Vec<u32>,
}

impl Pages {
    /// A cache of `room` bytes (of any size where none is given) for `bytes` from `begin` on; full where it is `warm`.
    pub fn new(begin: u64, bytes: u64, room: Option<u64>, warm: bool) -> Self {
        let mut unit = PAGE_BYTES;
        while bytes / unit > UNITS_AT_MOST {
            unit *= 2;
        }
        let units = bytes.div_ceil(unit).max(1);
        let room_bytes = room.unwrap_or(u64::MAX);
        let dirty_room = room.unwrap_or(ROOM_WHERE_UNKNOWN) as f64;
        let mut pages = Self {
            begin,
            unit,
            bytes,
            lapse: 1,
            resident: vec![0; units.div_ceil(64) as usize],
            units,
            held: 0,
            room: (room_bytes / unit).clamp(1, units),
            hand: 0,
            dirty: 0,
            background: (dirty_room * DIRTY_BACKGROUND) as u64,
            dirty_at_most: (dirty_room * DIRTY_AT_MOST) as u64,
            behind: 0,
            waiting: Vec::new(),
        };
        if warm {
            (0..pages.room).for_each(|unit| pages.hold(unit));
        }
        pages
    }

    /// The same cache while it fills `factor` times as fast: every operation stands for as many, on the bytes beside it.
    pub fn hasten(&mut self, factor: f64, warm: bool) {
        let lapse = factor.round().max(1.0) as u64;
        let room = (self.room < self.units).then_some(self.room * self.unit);
        let dirty = [self.background, self.dirty_at_most].map(|bytes| (bytes / lapse).max(1));
        *self = Self::new(self.begin, self.bytes, room, false);
        self.unit *= lapse;
        self.units = self.bytes.div_ceil(self.unit).max(1);
        self.room = room.map_or(self.units, |bytes| (bytes / self.unit).clamp(1, self.units));
        self.resident.truncate(self.units.div_ceil(64) as usize);
        self.lapse = lapse;
        [self.background, self.dirty_at_most] = dirty;
        if warm {
            (0..self.room).for_each(|unit| self.hold(unit));
        }
    }

    fn hold(&mut self, unit: u64) {
        let word = &mut self.resident[(unit / 64) as usize];
        if *word >> (unit % 64) & 1 == 0 {
            *word |= 1 << (unit % 64);
            self.held += 1;
        }
    }

    /// Makes a range resident; true where it was already.
    pub fn touch(&mut self, offset: u64, bytes: u64) -> bool {
        let first = offset.saturating_sub(self.begin);
        let (first, bytes) = (if self.lapse > 1 { first * self.lapse % self.bytes } else { first }, bytes * self.lapse);
        let last = ((first + bytes.max(1) - 1) / self.unit).min(self.units - 1);
        let first = (first / self.unit).min(self.units - 1);
        let mut there = true;
        for unit in first..=last {
            if self.resident[(unit / 64) as usize] >> (unit % 64) & 1 == 1 {
                continue;
            }
            there = false;
            self.hold(unit);
            if self.held > self.room {
                self.evict(unit);
            }
        }
        there
    }

    /// A hand goes around and drops what it finds: first in, first out for a scan, nearly random otherwise.
    fn evict(&mut self, keep: u64) {
        loop {
            let unit = self.hand;
            self.hand = (self.hand + 1) % self.units;
            let word = &mut self.resident[(unit / 64) as usize];
            if unit != keep && *word >> (unit % 64) & 1 == 1 {
                *word &= !(1 << (unit % 64));
                self.held -= 1;
                return;
            }
        }
    }
}

impl<M: Simulated> Engine<M> {
    /// An operation whose path goes through the page cache; its CPU work before the device ends at `at`.
    pub(super) fn launch_buffered(&mut self, id: u32, at: Picoseconds) {
        let flight = self.flights[id as usize];
        let class = &self.classes[self.threads[flight.thread as usize].class as usize];
        let Some(cache) = class.pages else { return self.queue.push(at, id) };
        let (sequential, every) = (class.sequential, class.flush_every);
        let (offset, bytes) = (flight.request.offset, u64::from(flight.bytes));
        if flight.write {
            self.pages[cache].touch(offset, bytes);
            let seat = &mut self.threads[flight.thread as usize];
            seat.dirty_bytes += bytes;
            if every.is_some_and(|every| seat.unflushed + 1 >= every) {
                let dirty = std::mem::take(&mut seat.dirty_bytes).min(u64::from(u32::MAX)) as u32;
                let request = Request { bytes: dirty, ..flight.request };
                return self.send(id, request, Phase::Device, at);
            }
            if every.is_some() {
                seat.unflushed += 1;
                return self.ready(id, at);
            }
            return self.write_behind(id, cache, at);
        }
        if sequential {
            return self.read_ahead(id, cache, at);
        }
        if self.pages[cache].touch(offset, bytes) {
            return self.ready(id, at);
        }
        let whole = bytes.next_multiple_of(PAGE_BYTES) as u32;
        self.send(id, Request { bytes: whole, ..flight.request }, Phase::Device, at);
    }

    /// The operation needs no device: the rest of its CPU work follows at once.
    fn ready(&mut self, id: u32, at: Picoseconds) {
        let flight = &mut self.flights[id as usize];
        flight.phase = Phase::Ready;
        let seat = &mut self.threads[flight.thread as usize];
        let class = &self.classes[seat.class as usize];
        let [_, after] = class.costs.of_op(flight.write, flight.bytes);
        let own = class.workers.is_none();
        // Who is woken may have been handed over at an instant that still lies ahead.
        let at = at.max(flight.start);
        let end = self.cores.run(if own { at.max(seat.free_at) } else { at }, after, 0);
        if own {
            seat.free_at = end;
        }
        self.queue.push(end, id);
    }

    /// A sequential reader is served from what was asked for ahead of it, and waits where that has not arrived.
    fn read_ahead(&mut self, id: u32, cache: usize, at: Picoseconds) {
        let flight = self.flights[id as usize];
        let thread = flight.thread as usize;
        let bytes = u64::from(flight.bytes);
        let used = self.threads[thread].ahead[2] + bytes;
        self.threads[thread].ahead[2] = used;
        while self.threads[thread].ahead[0] < used + AHEAD_REQUESTS * AHEAD_BYTES {
            let seat = &self.threads[thread];
            let inside = (flight.request.offset - seat.base + bytes + seat.ahead[0] - used.min(seat.ahead[0]))
                % seat.file_bytes.max(1);
            let (offset, length) = (seat.base + inside, AHEAD_BYTES.min(seat.file_bytes));
            self.threads[thread].ahead[0] += AHEAD_BYTES;
            if self.pages[cache].touch(offset, length) {
                self.threads[thread].ahead[1] += AHEAD_BYTES;
            } else {
                let request =
                    Request { offset, bytes: length as u32, action: Action::Read, sequential: true, ..flight.request };
                self.send_behind(flight.thread, request, at);
            }
        }
        if self.threads[thread].ahead[1] >= used {
            self.ready(id, at);
        } else {
            self.threads[thread].starved.push((used, id));
        }
    }

    /// A write leaves its pages dirty; write-back follows, and a writer that is too fast waits for it.
    fn write_behind(&mut self, id: u32, cache: usize, at: Picoseconds) {
        let flight = self.flights[id as usize];
        self.pages[cache].dirty += u64::from(flight.bytes);
        self.start_behind(cache, flight, at);
        let pages = &mut self.pages[cache];
        if pages.dirty > pages.dirty_at_most {
            pages.waiting.push(id);
        } else {
            self.ready(id, at);
        }
    }

    fn start_behind(&mut self, cache: usize, like: Flight, at: Picoseconds) {
        loop {
            let pages = &mut self.pages[cache];
            if pages.dirty <= pages.background || pages.behind >= BEHIND_REQUESTS {
                return;
            }
            pages.behind += 1;
            let bytes = if like.request.sequential { BEHIND_BYTES } else { u64::from(like.bytes) }.min(pages.dirty);
            let request =
                Request { bytes: bytes as u32, action: Action::Write, stage: 0, note: 0, route: 0, ..like.request };
            self.send_behind(like.thread, request, at);
        }
    }

    fn send_behind(&mut self, thread: u32, request: Request, at: Picoseconds) {
        let id = self.spare.pop().unwrap_or_else(|| {
            self.flights.push(Flight::default());
            self.flights.len() as u32 - 1
        });
        self.flights[id as usize].thread = thread;
        self.send(id, request, Phase::Behind, at);
    }

    /// A read-ahead or write-back is done.
    pub(super) fn behind(&mut self, id: u32, now: Picoseconds) {
        self.leave_device(id, now);
        self.spare.push(id);
        let flight = self.flights[id as usize];
        if flight.request.action == Action::Read {
            return self.arrived(flight.thread, now);
        }
        let Some(cache) = self.classes[self.threads[flight.thread as usize].class as usize].pages else { return };
        let pages = &mut self.pages[cache];
        pages.behind -= 1;
        pages.dirty = pages.dirty.saturating_sub(u64::from(flight.request.bytes));
        while self.pages[cache].dirty <= self.pages[cache].dirty_at_most {
            let Some(waiting) = self.pages[cache].waiting.pop() else { break };
            let begin = self.wake(self.flights[waiting as usize].thread, now);
            self.ready(waiting, begin);
        }
        let like = Flight { bytes: flight.request.bytes, ..flight };
        self.start_behind(cache, like, now);
    }

    fn arrived(&mut self, thread: u32, now: Picoseconds) {
        let seat = &mut self.threads[thread as usize];
        seat.ahead[1] += AHEAD_BYTES;
        let there = seat.ahead[1];
        while let Some(place) = self.threads[thread as usize].starved.iter().position(|(wanted, _)| *wanted <= there) {
            let (_, starved) = self.threads[thread as usize].starved.remove(place);
            let begin = self.wake(thread, now);
            self.ready(starved, begin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_larger_than_the_cache_is_never_served_from_it() {
        let mut pages = Pages::new(0, 100 * PAGE_BYTES, Some(50 * PAGE_BYTES), false);
        for round in 0..3 {
            for page in 0..100 {
                assert!(!pages.touch(page * PAGE_BYTES, PAGE_BYTES), "round {round}, page {page}");
            }
        }
    }

    #[test]
    fn a_scan_that_fits_is_read_once() {
        let mut pages = Pages::new(1 << 20, 100 * PAGE_BYTES, None, false);
        let scan =
            |pages: &mut Pages| (0..100).filter(|page| pages.touch((1 << 20) + page * PAGE_BYTES, PAGE_BYTES)).count();
        assert_eq!([scan(&mut pages), scan(&mut pages)], [0, 100]);
    }

    #[test]
    fn a_warm_cache_holds_what_it_has_room_for() {
        let mut pages = Pages::new(0, 100 * PAGE_BYTES, Some(25 * PAGE_BYTES), true);
        assert!(pages.touch(0, 1) && !pages.touch(99 * PAGE_BYTES, 1));
        assert_eq!(pages.held, 25);
    }
}
