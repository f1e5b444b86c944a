//! The loop over a path whose calls return when the operation is done.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use assay_path::{Arena, Blocking};

use super::{Recorder, Task};
use crate::{generator::Step, tally::Tally};

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
        let clock = task.clock;
        let recorder = Recorder { tally, clock };
        let mut now = clock.now();
        loop {
            let due = if OPEN { self.await_due(task, recorder, &mut now, until) } else { None };
            if now >= until.load(Relaxed) {
                return true;
            }
            let start = now;
            let step = task.generator.step();
            let kept = self.serve(task, step, recorder);
            if OPEN {
                task.advance_schedule();
            }
            now = clock.now();
            if kept {
                recorder.completed(step.write, step.length, due, start, now);
            } else if task.faults.fatal.is_some() {
                return false;
            }
        }
    }

    #[inline(always)]
    fn await_due(&mut self, task: &mut Task, recorder: Recorder<'_>, now: &mut u64, until: &AtomicU64) -> Option<u64> {
        let due = task.schedule.as_ref()?.due();
        if *now < due {
            *now = task.pacer.wait(&task.clock, due, until, recorder.tally);
            recorder.late(due, *now);
        }
        Some(due)
    }

    /// One operation, its flush included; false where it failed.
    #[inline(always)]
    fn serve(&mut self, task: &mut Task, step: Step, recorder: Recorder<'_>) -> bool {
        let place = task.spread.place(step.offset);
        let memory = task.memory.place(0);
        let outcome = if step.write {
            self.prepare_write(task, step, memory);
            if task.growing && step.offset == 0 && !self.begin_anew(task) {
                return false;
            }
            self.path.write(place.segment, place.offset, step.length, memory)
        } else {
            self.path.read(place.segment, place.offset, step.length, memory)
        };
        if let Err(error) = outcome {
            Tally::add(&recorder.tally.errors, 1);
            task.faults.note(place.segment, step.write, error);
            return false;
        }
        let durable = !step.write || self.flush_when_due(task, place.segment, recorder);
        match &mut task.checker {
            Some(checker) if durable => checker.after(step, self.arena, memory, recorder.tally),
            _ => {}
        }
        durable
    }

    #[inline(always)]
    fn prepare_write(&mut self, task: &mut Task, step: Step, memory: usize) {
        debug_assert!(memory + step.length as usize <= self.arena.len());
        match &mut task.checker {
            Some(checker) => checker.before_write(step, self.arena, memory),
            // SAFETY: the memory plan keeps the page inside the arena, and this thread alone uses it.
            None => unsafe { task.memory.dirty(self.arena.start().add(memory), step.length) },
        }
    }

    #[inline(always)]
    fn flush_when_due(&mut self, task: &mut Task, segment: u32, recorder: Recorder<'_>) -> bool {
        self.unflushed += 1;
        if self.unflushed < task.flush.every {
            return true;
        }
        self.unflushed = 0;
        let start = task.clock.now();
        let outcome = self.path.flush();
        recorder.flushed(start, task.clock.now());
        match outcome {
            Ok(()) => true,
            Err(error) => {
                Tally::add(&recorder.tally.errors, 1);
                task.faults.note(segment, true, error);
                false
            }
        }
    }

    /// A growing file that is full begins anew, as a database opens its next log file.
    #[cold]
    fn begin_anew(&mut self, task: &mut Task) -> bool {
        if !std::mem::replace(&mut self.grown, true) {
            return true;
        }
        (0..task.segments).all(|segment| match self.path.restart(segment) {
            Ok(()) => true,
            Err(error) => !task.faults.note(segment, true, error),
        })
    }
}
