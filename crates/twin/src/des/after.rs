//! After the close: what was due in the window and had not ended.

use assay_load::overdue::start_until;

use super::engine::Engine;
use crate::simulated::{PS_PER_S, Picoseconds, Simulated};

/// Steps in which virtual time goes on after the close.
const STEPS: u64 = 1000;

impl<M: Simulated> Engine<M> {
    /// Plays on until all that was due in the window has ended, as a measured run waits for it, and counts it; what does
    /// not end within the bound, or within `operations`, counts as "at least". Closed loops stop. Accounts of the window
    /// stay as they are.
    pub fn settle(&mut self, open: Picoseconds, operations: u64) {
        let (close, done) = (self.now, self.done);
        (self.recording, self.closed_at) = (false, Some(close));
        for schedule in self.threads.iter_mut().filter_map(|thread| thread.schedule.as_mut()) {
            schedule.end_at(close);
        }
        let until = start_until(open, close, PS_PER_S as u64);
        let enough = done.saturating_add(operations);
        while self.now < until && self.done < enough && self.owes() {
            let step = (self.now + ((until - close) / STEPS).max(1)).min(until);
            self.run(step, enough - self.done);
        }
        self.count_missing();
        self.done = done;
    }

    fn owes(&self) -> bool {
        self.threads.iter().any(|thread| {
            let depth = self.classes[thread.class as usize].depth as usize;
            thread.schedule.as_ref().is_some_and(|schedule| schedule.due() < u64::MAX || thread.idle.len() < depth)
        })
    }

    fn count_missing(&mut self) {
        let (now, mut first) = (self.now, 0);
        let since = |instant: Picoseconds| now.saturating_sub(instant) / 1000;
        for thread in &mut self.threads {
            let class = &mut self.classes[thread.class as usize];
            let own = first..first + class.depth;
            first = own.end;
            let Some(schedule) = &mut thread.schedule else { continue };
            for id in own.filter(|id| !thread.idle.contains(id)) {
                let flight = &self.flights[id as usize];
                class.overdue.stuck(since(flight.start), Some(since(flight.due)));
            }
            class.overdue.never_started(schedule, thread.generator.rng(), since);
            if class.overdue.missing() > 0 {
                class.overdue.waited = now.saturating_sub(self.closed_at.unwrap_or(now));
            }
        }
    }
}
