//! The loop over a path whose operations are pushed, submitted and reaped.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use assay_path::{Arena, Completion, Queued, Request, Wait};

use super::{Recorder, Task};
use crate::{generator::Step, tally::Tally};

/// An operation in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    step: Step,
    segment: u32,
    memory: usize,
    due: Option<u64>,
    start: u64,
    /// Segments that its flush still has to reach, one bit each; 0 where it is not in a flush.
    flushing: u64,
    flush_start: u64,
}

/// A worker on a queued path.
#[derive(Debug)]
pub struct QueuedLoop<'a, P> {
    path: P,
    arena: &'a Arena,
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    done: Vec<Completion>,
    batch: usize,
    /// Segments written since the last flush, one bit each.
    dirty: u64,
    unflushed: u32,
    grown: bool,
}

impl<'a, P: Queued> QueuedLoop<'a, P> {
    /// A loop over a path that was opened with `arena`, `depth` and `batch`.
    pub fn new(path: P, arena: &'a Arena, depth: u32, batch: u32) -> Self {
        let depth = depth.max(1);
        Self {
            path,
            arena,
            flights: vec![None; depth as usize],
            free: (0..depth).rev().collect(),
            done: Vec::with_capacity(depth as usize),
            batch: batch.clamp(1, depth) as usize,
            dirty: 0,
            unflushed: 0,
            grown: false,
        }
    }

    /// System calls of the path so far.
    pub fn system_calls(&self) -> u64 {
        self.path.system_calls()
    }

    fn in_flight(&self) -> usize {
        self.flights.len() - self.free.len()
    }

    /// Works until the instant in `until` (ticks), recording into `tally`; false where a failure ended it.
    /// What is in flight then stays in flight, for the next call or for [`Self::drain`].
    pub fn work(&mut self, task: &mut Task, tally: &Tally, until: &AtomicU64) -> bool {
        let recorder = Recorder { tally, clock: task.clock };
        let mut now = task.clock.now();
        while now < until.load(Relaxed) {
            if !self.fill(task, recorder, now) {
                return false;
            }
            let wait = self.wait_for(task, now);
            if self.in_flight() == 0 {
                now = self.idle(task, recorder, until);
                continue;
            }
            now = match self.reap(task, recorder, wait) {
                Some(now) => now,
                None => return false,
            };
        }
        true
    }

    /// Waits for what is in flight, without recording it.
    pub fn drain(&mut self, task: &mut Task) {
        let nowhere = Tally::default();
        self.drain_into(task, Recorder { tally: &nowhere, clock: task.clock });
    }

    fn drain_into(&mut self, task: &mut Task, recorder: Recorder<'_>) {
        let patience = task.clock.now() + task.clock.ns_to_ticks(30_000_000_000);
        while self.in_flight() > 0 && task.clock.now() < patience {
            let wait = Wait { at_least: 1, timeout_ns: 1_000_000_000 };
            if self.reap(task, recorder, wait).is_none() {
                return;
            }
        }
    }

    /// A batch is submitted as a whole: with fewer free slots than that, wait.
    #[inline(always)]
    fn may_push(&self, task: &Task, now: u64) -> bool {
        self.free.len() >= self.batch && task.schedule.as_ref().is_none_or(|schedule| schedule.due() <= now)
    }

    /// Pushes what is due into free slots, one submission per batch; false where a failure ended it.
    #[inline(always)]
    fn fill(&mut self, task: &mut Task, recorder: Recorder<'_>, now: u64) -> bool {
        while self.may_push(task, now) {
            if !self.fill_batch(task, recorder, now) {
                return false;
            }
            // What the last batch holds is submitted with the next reaping where the path can do both at once.
            if (!P::COMBINED || self.may_push(task, now)) && !self.submit(task, recorder) {
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn fill_batch(&mut self, task: &mut Task, recorder: Recorder<'_>, now: u64) -> bool {
        let mut room = if self.batch == 1 { self.free.len() } else { self.batch };
        while room > 0 && task.schedule.as_ref().is_none_or(|schedule| schedule.due() <= now) {
            let step = task.generator.step();
            if task.growing && step.write && step.offset == 0 && !self.begin_anew(task, recorder) {
                return task.faults.fatal.is_none();
            }
            self.push(task, step, now);
            room -= 1;
        }
        true
    }

    #[inline(always)]
    fn push(&mut self, task: &mut Task, step: Step, now: u64) {
        let Some(slot) = self.free.pop() else { return };
        let due = task.schedule.as_ref().map(crate::arrivals::Schedule::due);
        task.advance_schedule();
        let place = task.spread.place(step.offset);
        let memory = task.memory.place(slot);
        if step.write {
            match &mut task.checker {
                Some(checker) => checker.before_write(step, self.arena, memory),
                // SAFETY: the memory plan keeps the page inside the arena; the slot is free, so nothing is using it.
                None => unsafe { task.memory.dirty(self.arena.start().add(memory), step.length) },
            }
        }
        self.flights[slot as usize] =
            Some(Flight { step, segment: place.segment, memory, due, start: now, flushing: 0, flush_start: 0 });
        self.path.push(Request {
            write: step.write,
            segment: place.segment,
            offset: place.offset,
            length: step.length,
            memory,
            slot,
        });
    }

    #[inline(always)]
    fn submit(&mut self, task: &mut Task, recorder: Recorder<'_>) -> bool {
        let before = task.clock.now();
        let outcome = self.path.submit();
        Tally::add(&recorder.tally.submit_ticks, task.clock.now().saturating_sub(before));
        match outcome {
            Ok(_) => true,
            Err(error) => !task.faults.note(0, true, error),
        }
    }

    /// How long to wait: for a batch where the next one needs its slots, and never beyond the next due instant.
    #[inline(always)]
    fn wait_for(&self, task: &Task, now: u64) -> Wait {
        let missing = self.batch.saturating_sub(self.free.len()).clamp(1, self.in_flight().max(1));
        match &task.schedule {
            None => Wait { at_least: missing as u32, timeout_ns: u64::MAX },
            Some(schedule) if self.free.is_empty() => Wait {
                at_least: 1,
                timeout_ns: task.clock.ticks_to_ns(schedule.due().saturating_sub(now)).max(1_000_000),
            },
            Some(schedule) if schedule.due() <= now => Wait { at_least: 0, timeout_ns: 0 },
            Some(schedule) => Wait { at_least: 1, timeout_ns: task.clock.ticks_to_ns(schedule.due() - now) },
        }
    }

    #[cold]
    fn idle(&mut self, task: &mut Task, recorder: Recorder<'_>, until: &AtomicU64) -> u64 {
        let Some(due) = task.schedule.as_ref().map(crate::arrivals::Schedule::due) else { return task.clock.now() };
        let now = task.clock.now();
        if now >= due {
            return now;
        }
        let now = task.pacer.wait(&task.clock, due, until, recorder.tally);
        if now >= due {
            recorder.late(due, now);
        }
        now
    }

    /// Reaps and records; none where a failure ended the worker. All completions found together end at one instant.
    #[inline(always)]
    fn reap(&mut self, task: &mut Task, recorder: Recorder<'_>, wait: Wait) -> Option<u64> {
        self.done.clear();
        if let Err(error) = self.path.reap(wait, &mut self.done) {
            if task.faults.note(0, false, error) {
                return None;
            }
        }
        let now = task.clock.now();
        let mut flushes = false;
        for index in 0..self.done.len() {
            flushes |= self.complete(task, recorder, self.done[index], now);
        }
        if flushes && !P::COMBINED && !self.submit(task, recorder) {
            return None;
        }
        if task.faults.fatal.is_some() { None } else { Some(now) }
    }

    /// Ends one completion; true where a flush was pushed for it.
    #[inline(always)]
    fn complete(&mut self, task: &mut Task, recorder: Recorder<'_>, completion: Completion, now: u64) -> bool {
        let slot = completion.slot as usize;
        let Some(mut flight) = self.flights[slot] else { return false };
        let wanted = if flight.flushing == 0 { flight.step.length as i32 } else { 0 };
        if completion.result != wanted && !(flight.flushing != 0 && completion.result >= 0) {
            self.fail(task, recorder, flight, completion);
            return false;
        }
        if flight.flushing != 0 {
            flight.flushing &= flight.flushing - 1;
        } else if flight.step.write {
            self.dirty |= 1 << flight.segment;
            self.unflushed += 1;
            if self.unflushed >= task.flush.every {
                (flight.flushing, flight.flush_start) = (std::mem::take(&mut self.dirty), now);
                self.unflushed = 0;
            }
        }
        self.flights[slot] = Some(flight);
        if flight.flushing != 0 {
            self.path.push_flush(flight.flushing.trailing_zeros(), completion.slot);
            return true;
        }
        self.finish(task, recorder, flight, completion.slot, now);
        false
    }

    #[inline(always)]
    fn finish(&mut self, task: &mut Task, recorder: Recorder<'_>, flight: Flight, slot: u32, now: u64) {
        if flight.flush_start != 0 {
            recorder.flushed(flight.flush_start, now);
        }
        self.flights[slot as usize] = None;
        self.free.push(slot);
        recorder.completed(flight.step.write, flight.step.length, flight.due, flight.start, now);
        if let Some(checker) = &mut task.checker {
            checker.after(flight.step, self.arena, flight.memory, recorder.tally);
        }
    }

    #[cold]
    fn fail(&mut self, task: &mut Task, recorder: Recorder<'_>, flight: Flight, completion: Completion) {
        Tally::add(&recorder.tally.errors, 1);
        let source = if completion.result < 0 {
            std::io::Error::from_raw_os_error(-completion.result)
        } else {
            std::io::Error::new(
                std::io::ErrorKind::UnexpectedEof,
                format!("{} of {} bytes were moved", completion.result, flight.step.length),
            )
        };
        task.faults.note(flight.segment, flight.step.write, source);
        self.flights[completion.slot as usize] = None;
        self.free.push(completion.slot);
    }

    /// A growing file that is full begins anew, once nothing is in flight any more.
    #[cold]
    fn begin_anew(&mut self, task: &mut Task, recorder: Recorder<'_>) -> bool {
        if !std::mem::replace(&mut self.grown, true) {
            return true;
        }
        if self.path.submit().is_err() {
            return false;
        }
        self.drain_into(task, recorder);
        (0..task.segments).all(|segment| match self.path.restart(segment) {
            Ok(()) => true,
            Err(error) => !task.faults.note(segment, true, error),
        })
    }
}
