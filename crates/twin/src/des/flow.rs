//! The way of one operation: begin, device, flush, wake, end.

use assay_instruments::tally::Tally;
use rand_xoshiro::rand_core::RngCore;

use super::{
    engine::{Engine, TIMER},
    seat::{ClassSeat, Phase},
    translate,
};
use crate::simulated::{Action, Picoseconds, Request, Simulated};

/// Picoseconds as nanoseconds, rounded.
#[inline(always)]
fn nanoseconds(time: Picoseconds) -> u64 {
    (time + 500) / 1000
}

impl<M: Simulated> Engine<M> {
    /// Starts what may start: whole batches of a closed loop, what is due of an open one.
    pub(super) fn pump(&mut self, thread: u32, now: Picoseconds) {
        let class = &self.classes[self.threads[thread as usize].class as usize];
        if class.full || (self.closed_at.is_some() && !class.open) {
            return;
        }
        let batch = class.batch as usize;
        if class.open || class.thinks {
            self.pump_due(thread, now);
            return;
        }
        let mut now = now;
        while self.threads[thread as usize].idle.len() >= batch {
            now = self.submit(thread, batch, now);
        }
    }

    fn pump_due(&mut self, thread: u32, mut now: Picoseconds) {
        loop {
            let seat = &mut self.threads[thread as usize];
            let Some(due) = seat.schedule.as_ref().map(assay_load::Schedule::due) else { return };
            if seat.idle.is_empty() || due == u64::MAX {
                return;
            }
            if due > now {
                if !seat.timer {
                    seat.timer = true;
                    self.queue.push(due, TIMER | thread);
                }
                return;
            }
            now = self.submit(thread, 1, now);
        }
    }

    /// Begins `count` operations with one submission and returns when the thread's CPU work for them ends.
    #[inline(always)]
    fn submit(&mut self, thread: u32, count: usize, now: Picoseconds) -> Picoseconds {
        let seat = &self.threads[thread as usize];
        let index = seat.class as usize;
        let first = seat.idle.len() - count;
        let begin = now.max(seat.free_at);
        let class = &mut self.classes[index];
        let mut work = class.costs.submission;
        if self.recording {
            class.submissions += 1;
            class.cpu += work;
        }
        let serial = class.costs.serial * count as u64;
        for place in first..first + count {
            let id = self.threads[thread as usize].idle[place];
            work += self.begin(thread, id, begin);
        }
        self.threads[thread as usize].idle.truncate(first);
        let end = self.cores.run(thread, begin, work, serial);
        self.threads[thread as usize].free_at = end;
        for place in 0..count {
            let id = self.begun[place];
            self.launch(id, end);
        }
        self.begun.clear();
        end
    }

    /// Draws an operation and returns its CPU work before the device.
    #[inline(always)]
    fn begin(&mut self, thread: u32, id: u32, now: Picoseconds) -> Picoseconds {
        let seat = &mut self.threads[thread as usize];
        let class = &mut self.classes[seat.class as usize];
        let step = seat.generator.step();
        let flight = &mut self.flights[id as usize];
        flight.start = now;
        if let Some(schedule) = &mut seat.schedule {
            flight.due = schedule.due();
            schedule.advance(seat.generator.rng());
        }
        (flight.write, flight.bytes, flight.phase) = (step.write, step.length, Phase::Device);
        flight.request = Request {
            action: if step.write { Action::Write } else { Action::Read },
            offset: seat.base + step.offset,
            bytes: if step.write && class.zeroes { step.length * 2 } else { step.length },
            group: 0,
            sequential: class.sequential,
            fenced: class.stream.path.fenced,
            persist: translate::persist(class.stream.path.key, class.stream.path.persist, step.length),
            stage: 0,
            note: 0,
            route: 0,
        };
        self.begun.push(id);
        let [before, after] = class.costs.of_op(step.write, step.length);
        if self.recording {
            class.cpu += before + after;
        }
        if class.workers.is_some() { 0 } else { before }
    }

    /// Sends a drawn operation on its way at `at`: to the device, or to the page cache where the path has one.
    #[inline(always)]
    fn launch(&mut self, id: u32, at: Picoseconds) {
        let flight = &self.flights[id as usize];
        let class = &self.classes[self.threads[flight.thread as usize].class as usize];
        if class.workers.is_some() {
            self.hand_over(id, at);
        } else if class.pages.is_some() {
            self.launch_buffered(id, at);
        } else {
            self.queue.push(at, id);
        }
    }

    /// Gives an operation to a worker of the kernel, or lets it wait for one.
    fn hand_over(&mut self, id: u32, at: Picoseconds) {
        let class = self.threads[self.flights[id as usize].thread as usize].class as usize;
        let Some(workers) = &mut self.classes[class].workers else { return };
        let Some(worker) = workers.free.pop() else { return workers.waiting.push_back((id, at)) };
        self.flights[id as usize].runs_on = worker;
        self.work_on(id, at);
    }

    /// A worker does what comes before the device.
    fn work_on(&mut self, id: u32, at: Picoseconds) {
        let flight = &self.flights[id as usize];
        let [before, _] = self.class_of(id).costs.of_op(flight.write, flight.bytes);
        let end = self.cores.run(flight.runs_on, at, before, 0);
        self.launch_buffered(id, end);
    }

    /// The worker of an operation that has ended takes the next one.
    fn release(&mut self, id: u32, now: Picoseconds) {
        let class = self.threads[self.flights[id as usize].thread as usize].class as usize;
        let Some(workers) = &mut self.classes[class].workers else { return };
        let worker = self.flights[id as usize].runs_on;
        let Some((next, since)) = workers.waiting.pop_front() else { return workers.free.push(worker) };
        self.flights[next as usize].runs_on = worker;
        // Its thread hands it over at an instant of its own, which may lie ahead.
        self.work_on(next, now.max(since));
    }

    /// The device has served an operation's data.
    #[inline(always)]
    pub(super) fn served(&mut self, id: u32, now: Picoseconds) {
        self.leave_device(id, now);
        let flight = &self.flights[id as usize];
        let seat = &mut self.threads[flight.thread as usize];
        let every = self.classes[seat.class as usize].flush_every.filter(|_| flight.write);
        let Some(every) = every else { return self.finish(id, now) };
        seat.unflushed += 1;
        if seat.unflushed < every {
            return self.finish(id, now);
        }
        seat.unflushed = 0;
        self.begin_flush(id, now);
    }

    /// Accounts for a request that leaves the device.
    #[inline(always)]
    pub(super) fn leave_device(&mut self, id: u32, now: Picoseconds) {
        let flight = &self.flights[id as usize];
        let class = &mut self.classes[self.threads[flight.thread as usize].class as usize];
        self.machines[class.machine].complete(now, &flight.request);
        if !self.recording {
            return;
        }
        let there = now - flight.sent;
        class.device_time += u128::from(there);
        class.device_requests[flight.request.action as usize] += 1;
        if let Some(bytes) = class.device_bytes.get_mut(flight.request.action as usize) {
            *bytes += u64::from(flight.request.bytes);
        }
        if class.load_store {
            class.cpu += there;
        }
    }

    /// The thread calls for a flush in the name of a write.
    fn begin_flush(&mut self, id: u32, now: Picoseconds) {
        let thread = self.flights[id as usize].thread;
        let begin = self.wake(thread, now);
        let class = &mut self.classes[self.threads[thread as usize].class as usize];
        let (work, journal, flushes) = (class.costs.flush, class.costs.journal_bytes, class.costs.device_flushes);
        if self.recording {
            class.cpu += work;
        }
        let commits = class.costs.commit.is_some();
        let end = self.cores.run(thread, begin, work, 0);
        self.threads[thread as usize].free_at = end;
        let flight = &mut self.flights[id as usize];
        (flight.flush_start, flight.flushes_left) = (begin, flushes as u8);
        if commits {
            flight.phase = Phase::Joining;
            return self.queue.push(end, id);
        }
        let request = flight.request;
        if journal > 0 {
            let journal = Request { bytes: journal, sequential: true, stage: 0, note: 0, route: 0, ..request };
            self.send(id, journal, Phase::Flush, end);
        } else {
            self.next_flush(id, end);
        }
    }

    fn next_flush(&mut self, id: u32, at: Picoseconds) {
        let flight = &mut self.flights[id as usize];
        if flight.flushes_left == 0 {
            flight.phase = Phase::Ready;
            self.queue.push(at, id);
            return;
        }
        flight.flushes_left -= 1;
        let request = Request { action: Action::Flush, bytes: 0, stage: 0, note: 0, route: 0, ..flight.request };
        self.send(id, request, Phase::Flush, at);
    }

    /// The device has done one request of a flush.
    pub(super) fn flushed(&mut self, id: u32, now: Picoseconds) {
        self.leave_device(id, now);
        let flight = &self.flights[id as usize];
        if flight.flushes_left > 0 {
            self.next_flush(id, now);
            return;
        }
        if self.class_of(id).costs.commit.is_some() {
            return self.committed(id, now);
        }
        self.end_flush(id, now);
    }

    /// A flush has ended, and the operation with it.
    pub(super) fn end_flush(&mut self, id: u32, now: Picoseconds) {
        let flight = &self.flights[id as usize];
        let class = self.class_of(id);
        if self.recording && class.flush_apart {
            if let Some(flush) = &class.tally.flush {
                flush.record(nanoseconds(now - flight.flush_start));
            }
        }
        self.finish(id, now);
    }

    /// The class of an operation in flight.
    #[inline(always)]
    pub(super) fn class_of(&self, id: u32) -> &ClassSeat {
        &self.classes[self.threads[self.flights[id as usize].thread as usize].class as usize]
    }

    /// When the thread gets to work on what ended at `now`.
    #[inline(always)]
    pub(super) fn wake(&mut self, thread: u32, now: Picoseconds) -> Picoseconds {
        let seat = &self.threads[thread as usize];
        let class = &mut self.classes[seat.class as usize];
        if class.workers.is_some() {
            return now + class.costs.wakeup;
        }
        if seat.free_at > now {
            return seat.free_at;
        }
        if class.load_store {
            return now;
        }
        if class.spins {
            let sleep = (class.stream.path.poll_sleep_ns * 1e3) as u64;
            return if sleep == 0 { now } else { now + self.random.next_u64() % sleep };
        }
        if self.recording {
            class.sleeps += 1;
        }
        now + class.costs.wakeup
    }

    /// The thread wakes, does what is left, and goes on.
    #[inline(always)]
    pub(super) fn finish(&mut self, id: u32, now: Picoseconds) {
        let thread = self.flights[id as usize].thread;
        let begin = self.wake(thread, now);
        let end = self.close(id, begin);
        self.ended(id, end);
    }

    /// The CPU work after the device.
    #[inline(always)]
    fn close(&mut self, id: u32, begin: Picoseconds) -> Picoseconds {
        let flight = &self.flights[id as usize];
        let seat = &mut self.threads[flight.thread as usize];
        let class = &self.classes[seat.class as usize];
        let [_, after] = class.costs.of_op(flight.write, flight.bytes);
        let end = self.cores.run(flight.runs_on, begin, after, 0);
        if class.workers.is_none() {
            seat.free_at = end;
        }
        end
    }

    /// An operation is done, and its thread goes on.
    #[inline(always)]
    pub(super) fn ended(&mut self, id: u32, now: Picoseconds) {
        let thread = self.flights[id as usize].thread;
        self.record(id, now);
        self.release(id, now);
        let seat = &mut self.threads[thread as usize];
        seat.idle.push(id);
        if let Some(schedule) = &mut seat.schedule {
            schedule.completed(now);
        }
        self.pump(thread, now);
    }

    #[inline(always)]
    fn record(&mut self, id: u32, end: Picoseconds) {
        self.done += 1;
        let flight = &self.flights[id as usize];
        let class = &mut self.classes[self.threads[flight.thread as usize].class as usize];
        if let Some(close) = self.closed_at.filter(|_| class.open) {
            class.overdue.waited = class.overdue.waited.max(end.saturating_sub(close));
            count(&class.overdue.tally, flight, end);
        }
        if !self.recording || class.full {
            return;
        }
        count(&class.tally, flight, end);
        if class.bytes_at_most > 0 {
            class.full = class.tally.bytes.load(std::sync::atomic::Ordering::Relaxed) >= class.bytes_at_most;
        }
    }
}

#[inline(always)]
fn count(tally: &Tally, flight: &super::seat::Flight, end: Picoseconds) {
    let service = nanoseconds(end - flight.start);
    tally.service.record(service);
    Tally::add(&tally.bytes, u64::from(flight.bytes));
    if let Some(response) = &tally.response {
        response.record(nanoseconds(end - flight.due.min(end)));
    }
    if flight.write {
        Tally::add(&tally.writes, 1);
        if let Some(writes) = &tally.write_service {
            writes.record(service);
        }
    }
}
