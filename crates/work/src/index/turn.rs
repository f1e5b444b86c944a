//! One thread's window, operation after operation.

use assay_index::{IndexError, Session};

use super::{
    act::Buffers,
    outcome::ThreadOutcome,
    sampler::Sampler,
    shift::{BATCH, Shift},
};
use crate::index::workload::{Step, Stream};

/// What a thread works with, and what it has done.
pub(super) struct Turn<'a, S> {
    session: &'a mut S,
    shift: &'a Shift<'a>,
    buffers: &'a mut Buffers,
    sampler: Sampler,
    quota: u64,
    pub(super) stream: Stream,
    pub(super) outcome: ThreadOutcome,
    pub(super) done: u64,
}

impl<'a, S: Session> Turn<'a, S> {
    pub(super) fn new(session: &'a mut S, shift: &'a Shift<'a>, stream: Stream, buffers: &'a mut Buffers) -> Self {
        let (sampler, outcome) = (shift.sampler(&stream), ThreadOutcome::new(stream.territory()));
        Self { session, shift, buffers, sampler, quota: shift.quota(), stream, outcome, done: 0 }
    }

    /// Whatever the stream has.
    pub(super) fn measure(&mut self) {
        while self.goes_on() {
            for _ in 0..self.batch() {
                let Some(step) = self.stream.step() else {
                    self.outcome.exhausted = true;
                    return;
                };
                if !self.take(&step) {
                    return;
                }
            }
            self.shift.desk.did(self.done);
        }
    }

    /// Lookups of keys that are there, or where `ABSENT` of such that are not; the stream has no others.
    ///
    /// They are the shortest operations, and wait for memory. While a CPU waits it goes on with what follows, as far as its
    /// buffer of instructions reaches, some hundreds of them: so what stands between two lookups is to be short, and their
    /// ids are drawn some ahead.
    pub(super) fn measure_reads<const ABSENT: bool>(&mut self) {
        let mut ids = [0; BATCH as usize];
        while self.goes_on() {
            let ids = &mut ids[..self.batch()];
            ids.fill_with(|| self.stream.present());
            for &mut id in ids {
                if !self.take(&Step::read::<ABSENT>(id)) {
                    return;
                }
            }
            self.shift.desk.did(self.done);
        }
    }

    fn goes_on(&self) -> bool {
        (self.shift.gate.is_open() || self.done == 0) && self.done < self.quota
    }

    /// Operations until the next look at the gate.
    fn batch(&self) -> usize {
        u64::from(BATCH).min(self.quota - self.done) as usize
    }

    /// Does an operation and counts it; `false` where the thread gives up.
    #[inline(always)]
    fn take(&mut self, step: &Step) -> bool {
        let result = if self.sampler.is_due() { self.time(step) } else { self.buffers.act(self.session, step) };
        self.done += 1;
        self.outcome.count(step, result, &mut self.stream)
    }

    /// Does and times it, and looks at what was found. It begins when what was asked of memory before has come, and ends when
    /// its own has: a CPU that reads its clock while it waits would see lookups faster than memory is.
    #[inline(never)]
    fn time(&mut self, step: &Step) -> Result<bool, IndexError> {
        let Shift { clock, desk, .. } = *self.shift;
        let before = clock.now_in_order();
        let result = self.buffers.act(self.session, step);
        desk.took(step.operation, clock.ticks_to_ns(clock.now_in_order().wrapping_sub(before)));
        self.outcome.look_at(step, &result, self.buffers);
        result
    }
}
