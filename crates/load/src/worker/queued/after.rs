//! After the close: what was due, and what is in flight.

use std::sync::atomic::Ordering::Relaxed;

use assay_instruments::tally::Tally;
use assay_path::{Queued, Wait};

use super::{
    super::{Edges, Recorder, Task},
    QueuedLoop,
};
use crate::overdue::Overdue;

/// What is in flight is waited for this long, ns. Its memory is the kernel's until then.
const IN_FLIGHT_WITHIN_NS: u64 = 30_000_000_000;

impl<P: Queued> QueuedLoop<'_, P> {
    /// Serves what was due before the window closed and was not started, and waits for what is in flight.
    pub fn settle(&mut self, task: &mut Task, edges: &Edges, overdue: &mut Overdue) {
        let until = task.end_schedule(edges);
        if task.schedule.is_some() {
            self.serve_overdue(task, &overdue.tally, until);
        }
        self.drain_into(task, Recorder { tally: &overdue.tally, clock: task.clock });
        let now = task.clock.now();
        let since = |instant: u64| task.clock.ticks_to_ns(now.saturating_sub(instant));
        for flight in self.flights.iter().filter(|flight| flight.busy) {
            overdue.stuck(since(flight.start), task.schedule.is_some().then(|| since(flight.due)));
        }
        task.never_started(overdue, now);
        overdue.waited = now.saturating_sub(edges.close.load(Relaxed));
    }

    /// Waits for what is in flight, without recording it.
    pub fn drain(&mut self, task: &mut Task) {
        if self.in_flight() > 0 {
            let nowhere = Tally::default();
            self.drain_into(task, Recorder { tally: &nowhere, clock: task.clock });
        }
    }

    #[cold]
    fn serve_overdue(&mut self, task: &mut Task, tally: &Tally, until: u64) {
        let recorder = Recorder { tally, clock: task.clock };
        let mut now = task.clock.now();
        // Nobody was ready for these: that they start late is no fault of the generator's.
        self.ready_since = u64::MAX;
        while now < until && task.faults.fatal.is_none() {
            let Some(filled) = self.fill::<true>(task, recorder, now) else { return };
            if self.in_flight() == 0 {
                return;
            }
            self.ready_since = u64::MAX;
            let wait = Wait { at_least: 1, timeout_ns: 100_000_000 };
            let Some(reaped) = self.reap::<false>(task, recorder, wait, filled) else { return };
            now = reaped;
        }
    }

    pub(super) fn drain_into(&mut self, task: &mut Task, recorder: Recorder<'_>) {
        let mut now = task.clock.now();
        let patience = now + task.clock.ns_to_ticks(IN_FLIGHT_WITHIN_NS);
        while self.in_flight() > 0 && now < patience {
            let wait = Wait { at_least: 1, timeout_ns: 1_000_000_000 };
            now = match self.reap::<false>(task, recorder, wait, now) {
                Some(now) => now,
                None => return,
            };
        }
    }
}
