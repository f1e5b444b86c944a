//! What a context switch costs, without hardware counters and with them: two threads on one CPU hand it to each other.

use std::{
    sync::{
        Barrier, OnceLock,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    thread::{self, Thread},
};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use super::perf::PerfCounters;
use crate::clock::Clock;

/// A slice is at least this long, ns.
const SLICE_NS: u64 = 1_000_000;
/// And has at least this many round trips, so that it means something where a switch takes a millisecond.
const ROUNDS_AT_LEAST: u32 = 12;

const LEADER: u32 = 0;
const FOLLOWER: u32 = 1;
const END: u32 = 2;

struct SeatTable {
    turn: AtomicU32,
    slices: Barrier,
    seats: [OnceLock<Thread>; 2],
}

impl SeatTable {
    fn give(&self, turn: u32, to: usize) {
        self.turn.store(turn, SeqCst);
        if let Some(thread) = self.seats[to].get() {
            thread.unpark();
        }
    }

    fn take(&self, other_than: u32) -> u32 {
        loop {
            let turn = self.turn.load(SeqCst);
            if turn != other_than {
                return turn;
            }
            thread::park();
        }
    }
}

/// Nanoseconds of one context switch for each slice in order: with counters where `counted` says so.
pub(super) fn slices(clock: Clock, counted: &[bool]) -> Vec<f64> {
    let table = SeatTable { turn: AtomicU32::new(END), slices: Barrier::new(2), seats: Default::default() };
    let cpu = sched_getcpu();
    thread::scope(|scope| {
        scope.spawn(|| follow(&table, cpu, counted));
        scope.spawn(|| lead(&table, cpu, counted, clock)).join().unwrap_or_default()
    })
}

fn sit(table: &SeatTable, seat: usize, cpu: usize) {
    stay_on(cpu);
    let _ = table.seats[seat].set(thread::current());
}

/// Where the CPU may not be used any more the two stay where they are: across CPUs a hand-over costs more, with and without.
fn stay_on(cpu: usize) {
    let allowed = sched_getaffinity(None).is_ok_and(|set| cpu < CpuSet::MAX_CPU && set.is_set(cpu));
    if allowed {
        let mut one = CpuSet::new();
        one.set(cpu);
        let _ = sched_setaffinity(None, &one);
    }
}

fn counters(wanted: bool) -> Option<PerfCounters> {
    wanted.then(PerfCounters::open).map(|mut counters| {
        counters.start();
        counters
    })
}

fn lead(table: &SeatTable, cpu: usize, counted: &[bool], clock: Clock) -> Vec<f64> {
    sit(table, 0, cpu);
    let slice = |&with: &bool| {
        let running = counters(with);
        table.slices.wait();
        let mut rounds = 0;
        let start = clock.now();
        let ns = loop {
            table.give(FOLLOWER, 1);
            table.take(FOLLOWER);
            rounds += 1;
            let ns = clock.ticks_to_ns(clock.now().saturating_sub(start));
            if ns >= SLICE_NS && rounds >= ROUNDS_AT_LEAST {
                break ns;
            }
        };
        table.give(END, 1);
        drop(running);
        table.slices.wait();
        ns as f64 / f64::from(2 * rounds)
    };
    counted.iter().map(slice).collect()
}

fn follow(table: &SeatTable, cpu: usize, counted: &[bool]) {
    sit(table, 1, cpu);
    for &with in counted {
        table.turn.store(LEADER, SeqCst);
        let running = counters(with);
        table.slices.wait();
        while table.take(LEADER) == FOLLOWER {
            table.give(LEADER, 0);
        }
        drop(running);
        table.slices.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slice_has_a_switch_time_and_the_caller_keeps_its_cpus() {
        let before = sched_getaffinity(None).expect("an affinity");
        let found = slices(Clock::new(), &[false, true, true, false]);
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|ns| ns.is_finite() && *ns > 0.0), "{found:?}");
        assert_eq!(sched_getaffinity(None).expect("an affinity"), before);
    }
}
