//! Threads on one table: what each sees could have happened in one order.
//!
//! Keys are independent of each other, so a history is linearizable if that of each key is; each is small enough to be
//! searched.

mod dash_common;

use std::{
    collections::{BTreeMap, HashSet},
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

use assay_index::{
    Index, Session,
    dash::{Dash, DashShape, Directory, Extendible, Linear},
};
use assay_pmem::{Mapped, Pool, Shape};
use dash_common::key_bytes;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

const THREADS: u64 = 4;
const OPERATIONS: u64 = 6_000;
const KEYS: u64 = 700;

#[derive(Clone, Copy, Debug)]
enum What {
    Insert(u64, bool),
    Update(u64, bool),
    Remove(bool),
    Lookup(Option<u64>),
}

#[derive(Clone, Copy, Debug)]
struct Call {
    from: u64,
    to: u64,
    what: What,
}

impl What {
    /// The value after it, if it could have answered so on a key with this one.
    fn apply(self, value: Option<u64>) -> Option<Option<u64>> {
        match self {
            Self::Insert(new, true) => value.is_none().then_some(Some(new)),
            Self::Update(new, true) => value.is_some().then_some(Some(new)),
            Self::Remove(true) => value.is_some().then_some(None),
            Self::Insert(_, false) => value.is_some().then_some(value),
            Self::Update(_, false) | Self::Remove(false) => value.is_none().then_some(value),
            Self::Lookup(seen) => (seen == value).then_some(value),
        }
    }
}

/// Whether there is an order in which each call takes effect between its beginning and its end.
fn linearizable(calls: &[Call]) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![(vec![false; calls.len()], None)];
    while let Some((done, value)) = open.pop() {
        let left = || (0..calls.len()).filter(|&index| !done[index]);
        let Some(earliest_end) = left().map(|index| calls[index].to).min() else { return true };
        for index in left().filter(|&index| calls[index].from < earliest_end) {
            if let Some(value) = calls[index].what.apply(value) {
                let mut done = done.clone();
                done[index] = true;
                if seen.insert((done.clone(), value)) {
                    open.push((done, value));
                }
            }
        }
    }
    false
}

fn work<D: Directory>(table: &Dash<Mapped, D>, clock: &AtomicU64, thread: u64, seed: u64) -> Vec<(u64, Call)> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed * 100 + thread);
    let (mut session, mut value, mut calls) = (table.session(), Vec::new(), Vec::new());
    for number in 0..OPERATIONS {
        let dice = random.next_u64();
        // Now mostly insertions, now mostly removals, so that segments split and merge meanwhile.
        let grows = number / 1000 % 2 == 0;
        let (key, new) = ((dice >> 8) % KEYS, number * THREADS + thread + 1);
        let bytes = key_bytes(key);
        let long: Vec<u8> =
            new.to_le_bytes().iter().cycle().take(if dice >> 40 & 3 == 0 { 40 } else { 8 }).copied().collect();
        let from = clock.fetch_add(1, SeqCst);
        let what = match dice % 8 {
            0..4 if grows => What::Insert(new, session.insert(&bytes, &long).unwrap()),
            0..4 => What::Remove(session.remove(&bytes).unwrap()),
            4 => What::Update(new, session.update(&bytes, &long).unwrap()),
            5 if grows => What::Remove(session.remove(&bytes).unwrap()),
            5 => What::Insert(new, session.insert(&bytes, &long).unwrap()),
            _ => {
                let found = session.lookup(&bytes, &mut value).unwrap();
                What::Lookup(found.then(|| u64::from_le_bytes(value[..8].try_into().unwrap())))
            }
        };
        calls.push((key, Call { from, to: clock.fetch_add(1, SeqCst), what }));
    }
    calls
}

fn one_order<D: Directory>(seed: u64) {
    let pool = Pool::create(Mapped::memory(32 << 20).unwrap(), &Shape::new(D::LAYOUT)).unwrap();
    let table: Dash<Mapped, D> = Dash::create(pool, &DashShape::tiny()).unwrap();
    let clock = AtomicU64::new(0);
    let all: Vec<(u64, Call)> = std::thread::scope(|scope| {
        let one = |thread| {
            let (table, clock) = (&table, &clock);
            scope.spawn(move || work(table, clock, thread, seed))
        };
        let threads: Vec<_> = (0..THREADS).map(one).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let mut by_key: BTreeMap<u64, Vec<Call>> = BTreeMap::new();
    all.into_iter().for_each(|(key, call)| by_key.entry(key).or_default().push(call));
    for (key, mut calls) in by_key {
        calls.sort_by_key(|call| call.from);
        assert!(linearizable(&calls), "{} seed {seed}: key {key} has no order: {calls:?}", D::NAME);
    }
    table.verify().unwrap_or_else(|what| panic!("{} seed {seed}: {what}", D::NAME));
}

#[test]
fn extendible_hashing_is_linearizable_for_each_key() {
    (1..=4).for_each(one_order::<Extendible>);
}

#[test]
fn linear_hashing_is_linearizable_for_each_key() {
    (1..=4).for_each(one_order::<Linear>);
}

#[test]
fn the_search_finds_what_has_no_order() {
    let call = |from, to, what| Call { from, to, what };
    let stale = [call(0, 1, What::Insert(1, true)), call(2, 3, What::Remove(true)), call(4, 5, What::Lookup(Some(1)))];
    assert!(!linearizable(&stale));
    let beside = [call(0, 1, What::Insert(1, true)), call(2, 5, What::Remove(true)), call(3, 4, What::Lookup(Some(1)))];
    assert!(linearizable(&beside));
    let twice = [call(0, 3, What::Insert(1, true)), call(1, 2, What::Insert(2, true))];
    assert!(!linearizable(&twice));
}
