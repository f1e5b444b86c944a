//! One terminal: asks, waits, tries, counts.

use std::time::Duration;

use assay_instruments::{clock::Clock, tally::AtLeast};
use assay_load::{Schedule, overdue::never_started};
use assay_record::{Arrivals, RateScope};
use assay_workload::Gate;

use crate::{
    edges::Edges,
    error::{Result, TpccError},
    input::{Asker, Input},
    kind::Kind,
    order::{Drive, Pace},
    random::{Dice, stream_seed},
    store::Session,
    tally::{SKIPPED_DELIVERIES, Tally, add},
    transaction::{Outcome, execute},
};

/// Keying times, s, in the order of [`Kind::ALL`] (clause 5.2.5.2).
const KEYING_S: [f64; 5] = [18.0, 3.0, 2.0, 2.0, 2.0];
/// Means of think times, s, in the same order (clause 5.2.5.4).
const THINK_S: [f64; 5] = [12.0, 12.0, 10.0, 5.0, 5.0];
/// A think time is at most so many means.
const THINK_AT_MOST: f64 = 10.0;
/// Longest sleep after which a terminal looks whether it shall stop.
const NAP: Duration = Duration::from_millis(200);
/// Failures in a row after which a terminal gives up.
const FAILURES_AT_MOST: u32 = 50;
/// Longest pause after a conflict, microseconds.
const PAUSE_US: u32 = 2_000;
/// Transactions of a terminal that were never begun are counted one by one up to so many; beyond, so many stand for all.
const WALKED: u64 = 1 << 14;

/// What all terminals share.
pub(crate) struct SharedTerminals<'a> {
    pub(crate) clock: Clock,
    /// Ticks at which schedules begin.
    pub(crate) began: u64,
    /// Microseconds since 1970 at that moment.
    pub(crate) date: i64,
    /// Shut, it ends them.
    pub(crate) gate: &'a Gate,
    pub(crate) edges: &'a Edges,
    pub(crate) drive: &'a Drive,
}

pub(crate) struct Terminal<'a, S> {
    shared: &'a SharedTerminals<'a>,
    session: S,
    asker: Asker,
    tally: &'a Tally,
    failures: u32,
}

/// When transactions of one terminal are due, where there is a rate.
struct Due {
    schedule: Schedule,
    dice: Dice,
}

impl<'a, S: Session> Terminal<'a, S> {
    pub(crate) fn new(session: S, shared: &'a SharedTerminals<'a>, asker: Asker, tally: &'a Tally) -> Self {
        Self { shared, session, asker, tally, failures: 0 }
    }

    /// Works until it is stopped.
    pub(crate) fn work(mut self, number: u32, seed: u64) -> Result<()> {
        match self.shared.drive.pace {
            Pace::Closed => self.work_closed(),
            Pace::Think { factor } => self.work_thinking(factor),
            Pace::Rate { per_s, poisson } => {
                let scope = RateScope::Total;
                let arrivals = if poisson {
                    Arrivals::Poisson { rate_per_s: per_s, scope }
                } else {
                    Arrivals::Fixed { rate_per_s: per_s, scope }
                };
                let mut dice = Dice::new(stream_seed(seed, u64::from(number) << 8 | 0xd0));
                let (hz, terminals) = (self.shared.clock.hz(), self.shared.drive.terminals);
                let Some(mut schedule) = Schedule::new(&arrivals, number, terminals, hz, dice.generator()) else {
                    return Ok(());
                };
                schedule.begin(self.shared.began);
                self.work_at(&mut Due { schedule, dice })
            }
        }
    }

    fn stopped(&self) -> bool {
        self.shared.gate.is_shut()
    }

    fn work_closed(&mut self) -> Result<()> {
        while !self.stopped() {
            let input = self.asker.ask(self.date());
            let start = self.shared.clock.now();
            self.serve(&input, start, None)?;
            self.session.take_turns();
        }
        Ok(())
    }

    fn work_thinking(&mut self, factor: f64) -> Result<()> {
        // Terminals do not begin all at once.
        let first = self.asker.dice().unit() * 20.0 * factor;
        self.pause(first);
        while !self.stopped() {
            let input = self.asker.ask(self.date());
            let kind = input.kind() as usize;
            self.pause(KEYING_S[kind] * factor);
            if self.stopped() {
                break;
            }
            let start = self.shared.clock.now();
            self.serve(&input, start, None)?;
            let mean = THINK_S[kind];
            let think = (-mean * (1.0 - self.asker.dice().unit()).ln()).min(THINK_AT_MOST * mean);
            self.pause(think * factor);
        }
        Ok(())
    }

    fn work_at(&mut self, due: &mut Due) -> Result<()> {
        let clock = self.shared.clock;
        loop {
            let at = due.schedule.due();
            let idle = at > clock.now();
            if !self.await_due(at) {
                break;
            }
            let input = self.asker.ask(self.date());
            let start = clock.now();
            if let (true, Some(lateness)) = (idle, &self.tally.lateness) {
                lateness.record(clock.ticks_to_ns(start.saturating_sub(at)));
            }
            self.serve(&input, start, Some(at))?;
            due.schedule.advance(due.dice.generator());
            self.session.take_turns();
        }
        self.never_begun(due);
        Ok(())
    }

    /// Waits until an instant; false where nothing is begun at it any more.
    fn await_due(&mut self, at: u64) -> bool {
        let SharedTerminals { clock, edges, .. } = *self.shared;
        loop {
            let now = clock.now();
            if self.stopped() || !edges.serves(at, now) {
                return false;
            }
            if at <= now {
                return true;
            }
            self.session.nap(Duration::from_nanos(clock.ticks_to_ns(at - now)).min(NAP));
        }
    }

    /// Counts what was due before the close and is not begun any more. Which transactions they would have been is drawn as
    /// for all others, so that each kind has its share.
    #[cold]
    fn never_begun(&mut self, due: &mut Due) {
        let (clock, date) = (self.shared.clock, self.date());
        let Some(close) = self.shared.edges.closed() else { return };
        due.schedule.end_at(close);
        let now = clock.now();
        let (asker, tally) = (&mut self.asker, self.tally);
        never_started(&mut due.schedule, due.dice.generator(), WALKED, |at, times| {
            let kind = tally.of(asker.ask(date).kind());
            let from_ns = clock.ticks_to_ns(now.saturating_sub(at));
            if let Some(response) = &kind.response {
                response.record_many(from_ns, times);
            }
            if let Ok(mut never) = kind.never.lock() {
                never.add(AtLeast { count: times, from_ns });
            }
        });
    }

    fn pause(&mut self, seconds: f64) {
        let until = self.shared.clock.now() + self.shared.clock.ns_to_ticks((seconds * 1e9) as u64);
        while !self.stopped() {
            let now = self.shared.clock.now();
            if now >= until {
                return;
            }
            self.session.nap(Duration::from_nanos(self.shared.clock.ticks_to_ns(until - now)).min(NAP));
        }
    }

    /// Now, microseconds since 1970.
    fn date(&self) -> i64 {
        let passed = self.shared.clock.now().saturating_sub(self.shared.began);
        self.shared.date + (self.shared.clock.ticks_to_ns(passed) / 1_000) as i64
    }

    /// Does a transaction, again and again where it meets others, and counts it.
    #[inline]
    fn serve(&mut self, input: &Input, start: u64, due: Option<u64>) -> Result<()> {
        let tally = self.tally.of(input.kind());
        let outcome = self.try_until_done(input);
        let end = self.shared.clock.now();
        match outcome {
            Ok(Outcome::Committed { delivered }) => {
                add(&tally.committed, 1);
                self.count_delivered(input, delivered);
            }
            Ok(Outcome::RolledBack) => add(&tally.rolled_back, 1),
            Err(error) => return self.failed(input.kind(), error),
        }
        self.failures = 0;
        self.tally.audit(input);
        tally.service.record(self.shared.clock.ticks_to_ns(end.saturating_sub(start)));
        if let (Some(response), Some(due)) = (&tally.response, due) {
            response.record(self.shared.clock.ticks_to_ns(end.saturating_sub(due)));
        }
        Ok(())
    }

    fn count_delivered(&self, input: &Input, delivered: u8) {
        if input.kind() == Kind::Delivery {
            add(&self.tally.delivered, u64::from(delivered));
            add(&self.tally.audit[SKIPPED_DELIVERIES], u64::from(delivered < 10));
        }
    }

    fn try_until_done(&mut self, input: &Input) -> Result<Outcome> {
        let mut tries = 0;
        loop {
            match execute(&mut self.session, input) {
                Err(TpccError::Conflict) => {
                    add(&self.tally.of(input.kind()).conflicts, 1);
                    self.session.abort()?;
                    tries += 1;
                    if tries >= self.shared.drive.tries {
                        return Err(TpccError::Conflict);
                    }
                    self.back_off(tries);
                }
                other => return other,
            }
        }
    }

    /// Those who met wait for a random time, longer each time.
    fn back_off(&mut self, tries: u32) {
        let most = (50 << tries.min(6)).min(PAUSE_US);
        self.session.nap(Duration::from_micros(u64::from(self.asker.dice().between(1, most))));
    }

    #[cold]
    fn failed(&mut self, kind: Kind, error: TpccError) -> Result<()> {
        add(&self.tally.of(kind).failed, 1);
        self.failures += 1;
        if self.failures >= FAILURES_AT_MOST || matches!(error, TpccError::Damaged { .. }) {
            return Err(error);
        }
        // A session that cannot even abort is lost: its first error tells why.
        if self.session.abort().is_err() { Err(error) } else { Ok(()) }
    }
}
