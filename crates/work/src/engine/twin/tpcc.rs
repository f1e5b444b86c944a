//! TPC-C in virtual time: each terminal is an actor.

use std::{cell::RefCell, ops::ControlFlow, sync::atomic::Ordering::Relaxed, time::Duration};

use assay_buffer::stage;
use assay_engine::{Database, kv::Tpcc};
use assay_instruments::tally::{Snapshot, Sum};
use assay_record::{Event, WorkRecord};
use assay_tpcc::{
    KvStore, Scale, Session, Store, TerminalWork, TpccError,
    driver::{Driven, KindSum},
    input::{Asker, Input},
    kind::Kind,
    order::Drive,
    random::{NonUniform, stream_seed},
    run::{About, conclude},
    tally::{AUDITED, SKIPPED_DELIVERIES, Tally, add, touched},
    transaction::{Outcome, execute},
};
use assay_workload::Gate;

use super::{Play, result};
use crate::{
    engine::{Watch, subject, tpcc},
    error::{Result, WorkError},
};

/// Longest pause after a conflict, microseconds.
const PAUSE_US: u32 = 2_000;
/// Microseconds since 1970 at which terminals begin: after all that a load has dated.
const DATE: i64 = 1_900_000_000_000_000;

fn scale(warehouses: u32, small: bool) -> Scale {
    if small { Scale::small(warehouses) } else { Scale::of(warehouses) }
}

/// Fills the tables.
pub(super) fn load(database: &Database, warehouses: u32, small: bool, watch: &mut Watch<'_>) -> Result<()> {
    let store = KvStore::new(Tpcc(database), warehouses);
    let mut shown = -1.0;
    let loaded = store.load(&scale(warehouses, small), 0, &mut |done| {
        if done - shown >= 0.01 {
            shown = done;
            (watch.emit)(Event::Progress { stage: "load".to_owned(), done, detail: String::new() });
        }
        if watch.interrupted.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    loaded.map_err(WorkError::from)
}

pub(super) fn run(play: &Play<'_>, warehouses: u32, small: bool, watch: &mut Watch<'_>) -> Result<WorkRecord> {
    let job = play.job;
    let store = KvStore::new(Tpcc(play.database), warehouses);
    let order = tpcc::order(job, super::super::targets(job, [false; 2]), false);
    let asked = order.drive.clone().unwrap_or_else(|| Drive::new(job.threads, job.duration_s));
    let scale = scale(warehouses, small);
    let constants = NonUniform::for_run(&NonUniform::for_load(0), job.seed);
    let tallies: Vec<Tally> = (0..asked.terminals).map(|_| Tally::new(warehouses, false)).collect();
    let (stop, failed) = (Gate::new(job.threads), RefCell::new(None));
    let mut bodies: Vec<Box<dyn FnOnce() + '_>> = Vec::new();
    let bench = Bench { scale, asked: &asked, constants, seed: job.seed, tallies: &tallies, stop: &stop };
    for thread in 0..job.threads {
        let terminals = thread * job.tasks..(thread + 1) * job.tasks;
        let (store, stop, failed, bench) = (&store, &stop, &failed, &bench);
        bodies.push(Box::new(move || {
            if let Err(error) = store.run_terminals(terminals, bench) {
                failed.borrow_mut().get_or_insert(error);
                stop.shut();
            }
        }));
    }
    let readers: RefCell<Vec<[Snapshot; 5]>> = RefCell::new(tallies.iter().map(|_| Default::default()).collect());
    let drain = || {
        let mut sums: [Sum; 5] = Default::default();
        for (tally, seen) in tallies.iter().zip(readers.borrow_mut().iter_mut()) {
            for ((kind, seen), sum) in tally.kinds.iter().zip(seen).zip(&mut sums) {
                kind.service.drain_into(seen, sum);
            }
        }
        sums
    };
    let committed = || tallies.iter().flat_map(|tally| &tally.kinds).map(|kind| kind.committed.load(Relaxed)).sum();
    let (marks, sums) = (RefCell::new(Vec::new()), RefCell::new(Default::default()));
    let mark = || {
        sums.replace(drain());
        marks.borrow_mut().push(Counts::of(&tallies));
    };
    let edges = play.window(bodies, &stop, &committed, &mark, watch)?;
    let (sums, marks) = (sums.into_inner(), marks.into_inner());
    if let Some(error) = failed.into_inner() {
        return Err(error.into());
    }
    let driven = driven(play, &tallies, sums, (&marks[0], &marks[1]), watch);
    let about = About {
        subject: subject(job, play.database.logs()),
        durability: job.durability.name().to_owned(),
        in_process: true,
    };
    let mut record = conclude(&store, &order, about, (play.began, play.prepared), driven, watch)?;
    result::complete(play, &mut record, &edges);
    Ok(record)
}

/// What terminals of all threads share.
struct Bench<'a> {
    scale: Scale,
    asked: &'a Drive,
    constants: NonUniform,
    seed: u64,
    tallies: &'a [Tally],
    stop: &'a Gate,
}

impl<S: Store> TerminalWork<S> for Bench<'_> {
    fn work<'s>(&self, terminal: u32, session: S::Session<'s>) -> assay_tpcc::Result<()>
    where
        S: 's,
    {
        let own = stream_seed(self.seed, u64::from(terminal) + 1);
        let asker = Asker::new(self.scale, self.asked.choice, &self.asked.mix, self.constants, terminal, own);
        let tally = &self.tallies[terminal as usize];
        let worked = asker.and_then(|asker| Terminal { session, asker, tally, date: 0 }.work(self.stop));
        if worked.is_err() {
            self.stop.shut();
        }
        worked
    }
}

/// Counters of all terminals.
#[derive(Default)]
struct Counts {
    kinds: [[u64; 4]; 5],
    audit: [u64; AUDITED],
}

impl Counts {
    fn of(tallies: &[Tally]) -> Self {
        let mut counts = Self::default();
        for tally in tallies {
            for (to, kind) in counts.kinds.iter_mut().zip(&tally.kinds) {
                let from = [&kind.committed, &kind.rolled_back, &kind.failed, &kind.conflicts];
                to.iter_mut().zip(from).for_each(|(to, from)| *to += from.load(Relaxed));
            }
            counts.audit.iter_mut().zip(&tally.audit).for_each(|(to, from)| *to += from.load(Relaxed));
        }
        counts
    }
}

fn driven(
    play: &Play<'_>,
    tallies: &[Tally],
    sums: [Sum; 5],
    (before, after): (&Counts, &Counts),
    watch: &Watch<'_>,
) -> Driven {
    let mut at = 0;
    let kinds = sums.map(|service| {
        let [committed, rolled_back, failed, conflicts] =
            std::array::from_fn(|counter| after.kinds[at][counter] - before.kinds[at][counter]);
        at += 1;
        KindSum { service, response: None, overdue: None, committed, rolled_back, failed, conflicts }
    });
    Driven {
        window: result::window(play),
        kinds,
        intervals: Vec::new(),
        audit: std::array::from_fn(|at| after.audit[at] - before.audit[at]),
        lateness: None,
        touched: touched(tallies),
        delivered: tallies.iter().map(|tally| tally.delivered.load(Relaxed)).sum(),
        ordered: tallies.iter().map(|tally| tally.of(Kind::NewOrder).committed.load(Relaxed)).sum(),
        server: None,
        interrupted: watch.interrupted.load(Relaxed),
    }
}

/// One terminal, as fast as it goes.
struct Terminal<'a, S> {
    session: S,
    asker: Asker,
    tally: &'a Tally,
    date: i64,
}

impl<S: Session> Terminal<'_, S> {
    fn work(mut self, stop: &Gate) -> assay_tpcc::Result<()> {
        let mut start = stage::turn().unwrap_or(0);
        while !stop.is_shut() {
            // No two of a terminal's transactions have one date, however fast they are.
            self.date = (self.date + 1).max(DATE + (start / 1000) as i64);
            let input = self.asker.ask(self.date);
            let outcome = self.try_until_done(&input)?;
            let end = stage::turn().unwrap_or(0);
            let tally = self.tally.of(input.kind());
            match outcome {
                Outcome::Committed { delivered } => {
                    add(&tally.committed, 1);
                    if input.kind() == Kind::Delivery {
                        add(&self.tally.delivered, u64::from(delivered));
                        add(&self.tally.audit[SKIPPED_DELIVERIES], u64::from(delivered < 10));
                    }
                }
                Outcome::RolledBack => add(&tally.rolled_back, 1),
            }
            self.tally.audit(&input);
            tally.service.record(end - start);
            self.session.take_turns();
            start = stage::turn().unwrap_or(end);
        }
        Ok(())
    }

    fn try_until_done(&mut self, input: &Input) -> assay_tpcc::Result<Outcome> {
        let mut tries = 0_u32;
        loop {
            match execute(&mut self.session, input) {
                Err(TpccError::Conflict) => {
                    add(&self.tally.of(input.kind()).conflicts, 1);
                    self.session.abort()?;
                    tries += 1;
                    let most = (50 << tries.min(6)).min(PAUSE_US);
                    self.session.nap(Duration::from_micros(u64::from(self.asker.dice().between(1, most))));
                }
                other => return other,
            }
        }
    }
}
