//! The loop over a path whose calls return when the operation is done.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use assay_instruments::tally::Tally;
use assay_path::{Arena, Blocking};

use super::{Edges, Recorder, Task};
use crate::{generator::NextOp, overdue::Overdue};

/// A worker on a blocking path.
#[derive(Debug)]
pub struct BlockingLoop<'a, P> {
    path: P,
    arena: &'a Arena,
    unflushed: u32,
    grown: bool,
}

impl<'a, P: Blocking> BlockingLoop<'a, P> {
    /// A loop over an opened path; `arena` is the one that the path was opened with.
    pub fn new(path: P, arena: &'a Arena) -> Self {
        Self { path, arena, unflushed: 0, grown: false }
    }

    /// System calls of the path so far.
    pub fn system_calls(&self) -> u64 {
        self.path.system_calls()
    }

    /// Works until the instant in `until` (ticks), recording into `tally`; false where a failure ended it.
    pub fn work(&mut self, task: &mut Task, tally: &Tally, until: &AtomicU64) -> bool {
        if task.schedule.is_some() {
            self.work_as::<true>(task, tally, until)
        } else {
            self.work_as::<false>(task, tally, until)
        }
    }

    fn work_as<const OPEN: bool>(&mut self, task: &mut Task, tally: &Tally, until: &AtomicU64) -> bool {
        let recorder = Recorder { tally, clock: task.clock };
        let mut now = task.clock.now();
        loop {
            let due = if OPEN { self.await_due(task, recorder, &mut now, until) } else { 0 };
            if now >= until.load(Relaxed) {
                return true;
            }
            match self.one::<OPEN>(task, recorder, due, now) {
                Some(after) => now = after,
                None => return false,
            }
        }
    }

    /// One operation that starts now; returns the time after it, none where a failure ended the worker.
    #[inline(always)]
    fn one<const OPEN: bool>(&mut self, task: &mut Task, recorder: Recorder<'_>, due: u64, now: u64) -> Option<u64> {
        let step = task.generator.step();
        let memory = task.memory.place(0);
        let start = if step.write { self.prepare_write(task, step, memory, now) } else { now };
        let kept = self.serve(task, step, memory, recorder);
        if OPEN {
            task.advance_schedule();
        }
        let end = task.clock.now();
        if OPEN {
            task.completed(end);
        }
        if kept {
            recorder.completed(step.write, step.length, due, start, end);
            if task.checker.is_some() {
                return Some(self.check(task, step, memory, recorder));
            }
        } else if task.faults.fatal.is_some() {
            return None;
        }
        Some(end)
    }

    /// Serves what was due before the window closed and was not started, each with its own due instant.
    pub fn settle(&mut self, task: &mut Task, edges: &Edges, overdue: &mut Overdue) {
        let until = task.end_schedule(edges);
        if task.faults.fatal.is_none() {
            self.serve_overdue(task, &overdue.tally, until);
        }
        let now = task.clock.now();
        task.never_started(overdue, now);
        overdue.waited = now.saturating_sub(edges.close.load(Relaxed));
    }

    #[cold]
    fn serve_overdue(&mut self, task: &mut Task, tally: &Tally, until: u64) {
        let recorder = Recorder { tally, clock: task.clock };
        let mut now = task.clock.now();
        while now < until {
            let Some(due) = task.schedule.as_ref().map(crate::arrivals::Schedule::due).filter(|due| *due < u64::MAX)
            else {
                return;
            };
            let Some(after) = self.one::<true>(task, recorder, due, now) else { return };
            now = after;
        }
    }

    #[inline(always)]
    fn await_due(&mut self, task: &mut Task, recorder: Recorder<'_>, now: &mut u64, until: &AtomicU64) -> u64 {
        let due = task.schedule.as_ref().map_or(*now, crate::arrivals::Schedule::due);
        if *now < due {
            *now = task.pacer.wait(&task.clock, due, until, recorder.tally);
            if *now >= due {
                recorder.late(due, *now);
            }
        }
        due
    }

    /// One operation, its flush included; false where it failed.
    #[inline(always)]
    fn serve(&mut self, task: &mut Task, step: NextOp, memory: usize, recorder: Recorder<'_>) -> bool {
        let place = task.spread.place(step.offset);
        let outcome = if step.write {
            if task.growing && step.offset == 0 && !self.begin_anew(task) {
                return false;
            }
            if task.trims {
                self.path.trim(place.segment, place.offset, step.length)
            } else {
                self.path.write(place.segment, place.offset, step.length, memory)
            }
        } else {
            self.path.read(place.segment, place.offset, step.length, memory)
        };
        if let Err(error) = outcome {
            Tally::add(&recorder.tally.errors, 1);
            task.faults.note(place.segment, step.write, error);
            return false;
        }
        !step.write || self.flush_when_due(task, place.segment, recorder)
    }

    /// Changes a page before it is written, and returns when the operation starts: stamping is not part of it.
    #[inline(always)]
    fn prepare_write(&mut self, task: &mut Task, step: NextOp, memory: usize, now: u64) -> u64 {
        debug_assert!(memory + step.length as usize <= self.arena.len());
        if let Some(checker) = &mut task.checker {
            checker.before_write(step, self.arena, memory);
            return task.clock.now();
        }
        // SAFETY: the memory plan keeps the page inside the arena, and this thread alone uses it.
        unsafe { task.memory.dirty(self.arena.start().add(memory), step.length) };
        now
    }

    /// Verifies or acknowledges, and returns the time: checking is not part of the next operation either.
    #[cold]
    fn check(&mut self, task: &mut Task, step: NextOp, memory: usize, recorder: Recorder<'_>) -> u64 {
        if let Some(checker) = &mut task.checker {
            checker.after(step, self.arena, memory, recorder.tally, &mut task.second_look);
        }
        task.clock.now()
    }

    #[inline(always)]
    fn flush_when_due(&mut self, task: &mut Task, segment: u32, recorder: Recorder<'_>) -> bool {
        if task.flush.is_never() {
            return true;
        }
        self.unflushed += 1;
        if self.unflushed < task.flush.every {
            return true;
        }
        self.unflushed = 0;
        let start = task.clock.now();
        let outcome = self.path.flush();
        if let Err(error) = outcome {
            Tally::add(&recorder.tally.errors, 1);
            task.faults.note(segment, true, error);
            return false;
        }
        recorder.flushed(start, task.clock.now());
        true
    }

    /// A growing file that is full begins anew, as a database opens its next log file.
    #[cold]
    fn begin_anew(&mut self, task: &mut Task) -> bool {
        if !std::mem::replace(&mut self.grown, true) {
            return true;
        }
        for segment in 0..task.segments {
            if let Err(error) = self.path.restart(segment) {
                // Appending to a file that is not empty is not what was asked for.
                task.faults.end_with(segment, true, error);
                return false;
            }
        }
        true
    }
}
