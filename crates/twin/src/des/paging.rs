//! The way of an operation through the page cache.

use rand_xoshiro::rand_core::RngCore;

use crate::{
    simulated::{Action, Picoseconds, Request, Simulated},
    stream::READ_AHEAD_BYTES,
};

use super::{
    engine::Engine,
    pages::{BEHIND_BYTES, PAGE_BYTES, ahead_requests, behind_requests},
    seat::{Flight, Phase},
};

impl<M: Simulated> Engine<M> {
    /// An operation whose path goes through the page cache; its CPU work before the device ends at `at`.
    pub(super) fn launch_buffered(&mut self, id: u32, at: Picoseconds) {
        let flight = self.flights[id as usize];
        let class = &self.classes[self.threads[flight.thread as usize].class as usize];
        let Some(cache) = class.pages else { return self.queue.push(at, id) };
        let (sequential, every) = (class.sequential, class.flush_every);
        let (offset, bytes) = (flight.request.offset, u64::from(flight.bytes));
        if flight.write {
            let seat = &mut self.threads[flight.thread as usize];
            self.pages[cache].touch_from(seat.start, offset, bytes);
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
        let start = self.threads[flight.thread as usize].start;
        if self.pages[cache].touch_from(start, offset, bytes) {
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
        let end = self.cores.run(flight.runs_on, if own { at.max(seat.free_at) } else { at }, after, 0);
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
        let (asked, inline) = self.asked_ahead(flight.thread);
        while self.threads[thread].ahead[0] < used + ahead_requests(inline) as u64 * asked {
            let seat = &self.threads[thread];
            // Less may have been asked for than a large operation needs: what is missing lies before its end.
            let end = (flight.request.offset - seat.base + bytes) as i64;
            let inside = (end + seat.ahead[0] as i64 - used as i64).rem_euclid(seat.file_bytes.max(1) as i64) as u64;
            let (start, offset, length) = (seat.start, seat.base + inside, asked.min(seat.file_bytes));
            self.threads[thread].ahead[0] += asked;
            if self.pages[cache].touch_from(start, offset, length) {
                self.threads[thread].ahead[1] += asked;
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

    /// Bytes of a request that is read ahead for a thread, and whether that thread copies them itself.
    fn asked_ahead(&self, thread: u32) -> (u64, bool) {
        let stream = &self.classes[self.threads[thread as usize].class as usize].stream;
        (stream.ahead_bytes().unwrap_or(READ_AHEAD_BYTES) as u64, stream.path.inline)
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
        let class = self.threads[like.thread as usize].class as usize;
        let at_once = behind_requests(self.classes[class].stream.path.inline);
        loop {
            let pages = &mut self.pages[cache];
            if pages.dirty <= pages.background || pages.behind >= at_once {
                return;
            }
            pages.behind += 1;
            let bytes = if like.request.sequential { BEHIND_BYTES } else { u64::from(like.bytes) }.min(pages.dirty);
            let offset = pages.next_behind(bytes, like.request.sequential, self.random.next_u64());
            let action = Action::Write;
            let request = Request { offset, bytes: bytes as u32, action, stage: 0, note: 0, route: 0, ..like.request };
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
        let (asked, _) = self.asked_ahead(thread);
        let seat = &mut self.threads[thread as usize];
        seat.ahead[1] += asked;
        let there = seat.ahead[1];
        while let Some(place) = self.threads[thread as usize].starved.iter().position(|(wanted, _)| *wanted <= there) {
            let (_, starved) = self.threads[thread as usize].starved.remove(place);
            let begin = self.wake(thread, now);
            self.ready(starved, begin);
        }
    }
}
