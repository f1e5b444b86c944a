//! The loop over a path whose operations are pushed, submitted and reaped.

mod after;

use std::{
    io::ErrorKind,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use assay_instruments::tally::Tally;
use assay_path::{Arena, Completion, Queued, Request, Wait};

use super::{Recorder, Task, free::Free};
use crate::generator::NextOp;

/// An operation in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    step: NextOp,
    segment: u32,
    /// In flight. A completion of a slot that is not belongs to nobody.
    busy: bool,
    memory: usize,
    /// Intended start, ticks; 0 where arrivals are closed.
    due: u64,
    start: u64,
    /// Segments that its flush still has to reach, one bit each; 0 where it is not in a flush.
    flushing: u64,
    flush_start: u64,
}

const IDLE: Flight = Flight {
    step: NextOp { write: false, offset: 0, length: 0 },
    segment: 0,
    busy: false,
    memory: 0,
    due: 0,
    start: 0,
    flushing: 0,
    flush_start: 0,
};

/// A worker on a queued path.
#[derive(Debug)]
pub struct QueuedLoop<'a, P> {
    path: P,
    arena: &'a Arena,
    flights: Box<[Flight]>,
    free: Free,
    done: Vec<Completion>,
    batch: usize,
    /// Segments written since the last flush, one bit each.
    dirty: u64,
    unflushed: u32,
    grown: bool,
    /// When nothing was due last, ticks, and how many slots were free then: what became due later and found one of them
    /// could have started on time.
    ready_since: u64,
    ready: usize,
}

impl<'a, P: Queued> QueuedLoop<'a, P> {
    /// A loop over a path that was opened with `arena`, `depth` and `batch`.
    pub fn new(path: P, arena: &'a Arena, depth: u32, batch: u32) -> Self {
        let depth = depth.max(1);
        Self {
            path,
            arena,
            flights: vec![IDLE; depth as usize].into_boxed_slice(),
            free: Free::all(depth),
            done: Vec::with_capacity(depth as usize),
            batch: batch.clamp(1, depth) as usize,
            dirty: 0,
            unflushed: 0,
            grown: false,
            ready_since: 0,
            ready: 0,
        }
    }

    /// System calls of the path so far.
    pub fn system_calls(&self) -> u64 {
        self.path.system_calls()
    }

    /// Time that the operations in flight have spent so far, ticks, all together.
    pub fn ticks_in_flight(&self, now: u64) -> u64 {
        self.flights.iter().filter(|flight| flight.busy).map(|flight| now.saturating_sub(flight.start)).sum()
    }

    #[inline(always)]
    fn in_flight(&self) -> usize {
        self.flights.len() - self.free.len()
    }

    /// Works until the instant in `until` (ticks), recording into `tally`; false where a failure ended it.
    /// What is in flight then stays in flight, for the next call or for [`Self::drain`].
    pub fn work(&mut self, task: &mut Task, tally: &Tally, until: &AtomicU64) -> bool {
        let recorder = Recorder { tally, clock: task.clock };
        if task.schedule.is_some() {
            self.work_as::<true>(task, recorder, until).is_some()
        } else {
            self.work_as::<false>(task, recorder, until).is_some()
        }
    }

    /// None where a failure ended it.
    fn work_as<const OPEN: bool>(&mut self, task: &mut Task, recorder: Recorder<'_>, until: &AtomicU64) -> Option<()> {
        let mut now = task.clock.now();
        while now < until.load(Relaxed) {
            now = self.fill::<OPEN>(task, recorder, now)?;
            now = if self.in_flight() == 0 {
                self.idle(task, recorder, until)
            } else {
                let wait = self.wait_for::<OPEN>(task, now);
                self.reap::<OPEN>(task, recorder, wait, now)?
            };
        }
        Some(())
    }

    /// A closed loop submits whole batches: with fewer free slots than that, it waits. What is due is never held back.
    #[inline(always)]
    fn may_push<const OPEN: bool>(&self, task: &Task, now: u64) -> bool {
        if OPEN { !self.free.is_empty() && is_due(task, now) } else { self.free.len() >= self.batch }
    }

    /// Pushes what is due into free slots, one submission per batch, and returns the time; none where a failure ended it.
    #[inline(always)]
    fn fill<const OPEN: bool>(&mut self, task: &mut Task, recorder: Recorder<'_>, mut now: u64) -> Option<u64> {
        while self.may_push::<OPEN>(task, now) {
            now = self.fill_batch::<OPEN>(task, recorder, now)?;
            // What the last batch holds is submitted with the next reaping where the path can do both at once.
            if !P::COMBINED || self.may_push::<OPEN>(task, now) {
                now = self.submit(task, recorder)?;
            }
        }
        if OPEN {
            (self.ready_since, self.ready) = (now, self.free.len());
        }
        Some(now)
    }

    #[inline(always)]
    fn fill_batch<const OPEN: bool>(&mut self, task: &mut Task, recorder: Recorder<'_>, mut now: u64) -> Option<u64> {
        let mut room = self.batch.min(self.free.len());
        while room > 0 && (!OPEN || is_due(task, now)) {
            let step = task.generator.step();
            if task.growing && step.write && step.offset == 0 {
                now = self.begin_anew(task, recorder)?;
            }
            now = self.push::<OPEN>(task, recorder, step, now);
            room -= 1;
        }
        Some(now)
    }

    #[inline(always)]
    fn push<const OPEN: bool>(&mut self, task: &mut Task, recorder: Recorder<'_>, step: NextOp, mut now: u64) -> u64 {
        let Some(slot) = self.free.take() else { return now };
        let due = if OPEN { self.take_due(task, recorder, now) } else { 0 };
        let place = task.spread.place(step.offset);
        let memory = task.memory.place(slot);
        if step.write {
            match &mut task.checker {
                Some(checker) => {
                    checker.before_write(step, self.arena, memory);
                    // Stamping is not part of the operation.
                    now = task.clock.now();
                }
                // SAFETY: the memory plan keeps the page inside the arena; the slot is free, so nothing is using it.
                None => unsafe { task.memory.dirty(self.arena.start().add(memory), step.length) },
            }
        }
        self.flights[slot as usize] =
            Flight { step, segment: place.segment, busy: true, memory, due, start: now, flushing: 0, flush_start: 0 };
        self.path.push(Request {
            write: step.write,
            segment: place.segment,
            offset: place.offset,
            length: step.length,
            memory,
            slot,
        });
        now
    }

    /// Takes the next instant of the schedule.
    #[inline(always)]
    fn take_due(&mut self, task: &mut Task, recorder: Recorder<'_>, now: u64) -> u64 {
        let due = task.schedule.as_ref().map_or(now, crate::arrivals::Schedule::due);
        task.advance_schedule();
        if self.ready > 0 && due > self.ready_since {
            self.ready -= 1;
            recorder.late(due, now);
        }
        due
    }

    /// Hands over what was pushed and returns the time, at which the next operation begins; none where a failure ended the
    /// worker.
    #[inline(always)]
    fn submit(&mut self, task: &mut Task, recorder: Recorder<'_>) -> Option<u64> {
        let before = task.clock.now();
        let outcome = self.path.submit();
        let now = task.clock.now();
        Tally::add(&recorder.tally.submit_ticks, now.saturating_sub(before));
        match outcome {
            Ok(_) => Some(now),
            Err(error) => go_on(task, true, error).map(|()| now),
        }
    }

    /// How long to wait: for a batch where the next one needs its slots, and never beyond the next due instant.
    #[inline(always)]
    fn wait_for<const OPEN: bool>(&self, task: &Task, now: u64) -> Wait {
        if !OPEN {
            let missing = self.batch.saturating_sub(self.free.len()).clamp(1, self.in_flight().max(1));
            return Wait { at_least: missing as u32, timeout_ns: u64::MAX };
        }
        let due = task.schedule.as_ref().map_or(now, crate::arrivals::Schedule::due);
        let left_ns = task.clock.ticks_to_ns(due.saturating_sub(now));
        if self.free.is_empty() {
            // Whatever is due has to wait for a slot; the limit only lets the loop see that the window closed.
            return Wait { at_least: 1, timeout_ns: left_ns.max(1_000_000) };
        }
        let timeout_ns = task.pacer.nap_ns(left_ns);
        Wait { at_least: u32::from(timeout_ns > 0), timeout_ns }
    }

    /// Nothing is in flight and nothing is due yet.
    #[cold]
    fn idle(&mut self, task: &mut Task, recorder: Recorder<'_>, until: &AtomicU64) -> u64 {
        let Some(due) = task.schedule.as_ref().map(crate::arrivals::Schedule::due) else { return task.clock.now() };
        task.pacer.wait(&task.clock, due, until, recorder.tally)
    }

    /// Reaps and records; none where a failure ended the worker. All completions found together end at one instant.
    #[inline(always)]
    fn reap<const OPEN: bool>(
        &mut self,
        task: &mut Task,
        recorder: Recorder<'_>,
        wait: Wait,
        before: u64,
    ) -> Option<u64> {
        self.done.clear();
        if let Err(error) = self.path.reap(wait, &mut self.done) {
            go_on(task, false, error)?;
        }
        let now = task.clock.now();
        if OPEN && self.done.is_empty() {
            task.pacer.waited(&task.clock, wait.timeout_ns, now.saturating_sub(before), recorder.tally);
        }
        let mut done = std::mem::take(&mut self.done);
        let mut flushes = false;
        for completion in &done {
            flushes |= self.complete(task, recorder, *completion, now);
        }
        std::mem::swap(&mut done, &mut self.done);
        if flushes && !P::COMBINED {
            self.submit(task, recorder)?;
        }
        // Verifying is not part of the next operation.
        let now = if task.checker.is_some() { task.clock.now() } else { now };
        if task.faults.fatal.is_some() { None } else { Some(now) }
    }

    /// Ends one completion; true where a flush was pushed for it.
    #[inline(always)]
    fn complete(&mut self, task: &mut Task, recorder: Recorder<'_>, completion: Completion, now: u64) -> bool {
        let Some(flight) = self.flights.get(completion.slot as usize).filter(|flight| flight.busy) else {
            return false;
        };
        if flight.flushing != 0 {
            return self.flushed(task, recorder, completion, now);
        }
        if completion.result != flight.step.length as i32 {
            self.fail(task, recorder, completion);
            return false;
        }
        if flight.step.write && self.must_flush(task, completion.slot, now) {
            return true;
        }
        self.finish(task, recorder, completion.slot, now);
        false
    }

    /// Counts a write; where a flush is due it is pushed in the write's name.
    #[inline(always)]
    fn must_flush(&mut self, task: &Task, slot: u32, now: u64) -> bool {
        if task.flush.is_never() {
            return false;
        }
        let flight = &mut self.flights[slot as usize];
        self.dirty |= 1 << flight.segment;
        self.unflushed += 1;
        if self.unflushed < task.flush.every {
            return false;
        }
        (flight.flushing, flight.flush_start) = (std::mem::take(&mut self.dirty), now);
        self.unflushed = 0;
        self.path.push_flush(flight.flushing.trailing_zeros(), slot);
        true
    }

    /// One segment is flushed; true where another follows.
    fn flushed(&mut self, task: &mut Task, recorder: Recorder<'_>, completion: Completion, now: u64) -> bool {
        let flight = &mut self.flights[completion.slot as usize];
        if completion.result < 0 {
            // What was not flushed is still to be flushed.
            self.dirty |= flight.flushing;
            self.fail(task, recorder, completion);
            return false;
        }
        flight.flushing &= flight.flushing - 1;
        if flight.flushing != 0 {
            self.path.push_flush(flight.flushing.trailing_zeros(), completion.slot);
            return true;
        }
        recorder.flushed(flight.flush_start, now);
        self.finish(task, recorder, completion.slot, now);
        false
    }

    #[inline(always)]
    fn finish(&mut self, task: &mut Task, recorder: Recorder<'_>, slot: u32, now: u64) {
        let flight = &mut self.flights[slot as usize];
        flight.busy = false;
        self.free.give(slot);
        task.completed(now);
        recorder.completed(flight.step.write, flight.step.length, flight.due, flight.start, now);
        if let Some(checker) = &mut task.checker {
            checker.after(flight.step, self.arena, flight.memory, recorder.tally, &mut task.second_look);
        }
    }

    #[cold]
    fn fail(&mut self, task: &mut Task, recorder: Recorder<'_>, completion: Completion) {
        let flight = &mut self.flights[completion.slot as usize];
        flight.busy = false;
        self.free.give(completion.slot);
        task.completed(task.clock.now());
        Tally::add(&recorder.tally.errors, 1);
        let source = if completion.result < 0 {
            std::io::Error::from_raw_os_error(-completion.result)
        } else {
            std::io::Error::new(
                ErrorKind::UnexpectedEof,
                format!("{} of {} bytes were moved", completion.result, flight.step.length),
            )
        };
        task.faults.note(flight.segment, flight.step.write, source);
    }

    /// A growing file that is full begins anew, once nothing is in flight any more; returns the time then, none where a
    /// failure ended the worker.
    #[cold]
    fn begin_anew(&mut self, task: &mut Task, recorder: Recorder<'_>) -> Option<u64> {
        if std::mem::replace(&mut self.grown, true) {
            self.submit(task, recorder)?;
            self.drain_into(task, recorder);
            let stuck = self.in_flight() > 0;
            for segment in 0..task.segments {
                let outcome = if stuck { Err(ErrorKind::TimedOut.into()) } else { self.path.restart(segment) };
                if let Err(error) = outcome {
                    // Appending to a file that is not empty is not what was asked for.
                    task.faults.end_with(segment, true, error);
                    return None;
                }
            }
        }
        if task.faults.fatal.is_some() { None } else { Some(task.clock.now()) }
    }
}

#[inline(always)]
fn is_due(task: &Task, now: u64) -> bool {
    task.schedule.as_ref().is_none_or(|schedule| schedule.due() <= now)
}

/// A call that failed as a whole. "Not now" and a signal are no failures: what was pushed is still pushed.
#[cold]
fn go_on(task: &mut Task, write: bool, error: std::io::Error) -> Option<()> {
    let later = matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY | libc::EINTR));
    if later || !task.faults.note(0, write, error) { Some(()) } else { None }
}
