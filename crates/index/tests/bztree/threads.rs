//! Threads on one tree: each operation happens at one moment between its call and its answer, and a thread that stands
//! still keeps nobody waiting.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{
    common::{TINY, Tree, open},
    turns::{Stepped, Turns},
};
use assay_index::{Index, Session, bztree::Nodes};
use assay_pmem::{Medium, Pool, Shape, crash::Recorder};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

#[derive(Clone, Copy, Debug)]
enum Call {
    Insert(u64),
    Update(u64),
    Upsert(u64),
    Remove,
    Lookup,
}

/// A call, its answer, and when both were.
#[derive(Clone, Copy, Debug)]
struct Event {
    key: u64,
    call: Call,
    /// Whether it did what was asked for; of an upsert, whether it added.
    answer: bool,
    /// What a lookup found.
    found: Option<u64>,
    begin: u64,
    end: u64,
}

impl Event {
    /// The value after the call, if it could have answered so with this value before it.
    fn after(&self, value: Option<u64>) -> Option<Option<u64>> {
        let (fits, after) = match self.call {
            Call::Insert(new) => (self.answer == value.is_none(), value.or(Some(new))),
            Call::Update(new) => (self.answer == value.is_some(), value.map(|_| new)),
            Call::Upsert(new) => (self.answer == value.is_none(), Some(new)),
            Call::Remove => (self.answer == value.is_some(), None),
            Call::Lookup => (self.answer == value.is_some() && self.found == value, value),
        };
        fits.then_some(after)
    }
}

/// Whether the events of one key have an order that explains all answers.
fn explained(events: &[Event], done: u64, value: Option<u64>, tried: &mut HashSet<(u64, Option<u64>)>) -> bool {
    if done.count_ones() as usize == events.len() {
        return true;
    }
    if !tried.insert((done, value)) {
        return false;
    }
    let left = || events.iter().enumerate().filter(|(index, _)| done >> index & 1 == 0);
    let first_end = left().map(|(_, event)| event.end).min().unwrap_or(u64::MAX);
    left().filter(|(_, event)| event.begin < first_end).any(|(index, event)| {
        event.after(value).is_some_and(|value| explained(events, done | 1 << index, value, tried))
    })
}

/// Every third value is none that changes where it is.
fn value(stamp: u64) -> [u8; 8] {
    (if stamp % 3 == 0 { stamp | 1 << 63 } else { stamp }).to_le_bytes()
}

fn call(session: &mut impl Session, clock: &AtomicU64, key: u64, dice: u64, stamp: u64) -> Event {
    let bytes = key.to_be_bytes();
    let calls = [Call::Insert(stamp), Call::Update(stamp), Call::Upsert(stamp), Call::Remove, Call::Lookup];
    let picked = calls[(dice % 5) as usize];
    let mut found = Vec::new();
    let begin = clock.fetch_add(1, Ordering::SeqCst);
    let answer = match picked {
        Call::Insert(_) => session.insert(&bytes, &value(stamp)),
        Call::Update(_) => session.update(&bytes, &value(stamp)),
        Call::Upsert(_) => session.upsert(&bytes, &value(stamp)),
        Call::Remove => session.remove(&bytes),
        Call::Lookup => session.lookup(&bytes, &mut found),
    };
    let end = clock.fetch_add(1, Ordering::SeqCst);
    let found = found.first_chunk().map(|bytes| u64::from_le_bytes(*bytes) & !(1 << 63));
    Event { key, call: picked, answer: answer.unwrap(), found, begin, end }
}

fn judge(events: &[Event], keys: std::ops::Range<u64>, what: &str) {
    for key in keys {
        let of: Vec<Event> = events.iter().filter(|event| event.key == key).copied().collect();
        assert!(of.len() <= 64, "the checker takes 64 events a key");
        let fine = explained(&of, 0, None, &mut HashSet::new());
        assert!(fine, "{what}: no order explains {of:#?}");
    }
}

fn recorded(threads: Option<(usize, u64)>, stop: Option<u64>) -> (Tree<Stepped>, std::sync::Arc<Turns>) {
    recorded_with(threads, stop, TINY)
}

fn recorded_with(
    threads: Option<(usize, u64)>,
    stop: Option<u64>,
    nodes: Nodes,
) -> (Tree<Stepped>, std::sync::Arc<Turns>) {
    let recorder = Recorder::new(4 << 20);
    let shape = Shape { lanes: 4, ..Tree::<Recorder>::pool_shape() };
    drop(Pool::create(recorder.clone(), &shape).unwrap());
    let turns = match (threads, stop) {
        (Some((threads, seed)), _) => Turns::new(recorder.clone(), threads, seed),
        (None, stop) => Turns::stopping(recorder.clone(), stop.unwrap_or(0)),
    };
    (open(Stepped::new(recorder, turns.clone()), nodes).unwrap(), turns)
}

#[test]
fn histories_of_threads_that_are_interrupted_anywhere_have_an_order() {
    for seed in 0..80 {
        let (tree, turns) = recorded(Some((3, seed)), None);
        let clock = AtomicU64::new(0);
        let events: Vec<Vec<Event>> = std::thread::scope(|scope| {
            let one = |thread: u64| {
                let (tree, turns, clock) = (&tree, turns.clone(), &clock);
                scope.spawn(move || {
                    let _turn = turns.begin(thread as usize);
                    let mut session = tree.session();
                    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed << 8 | thread);
                    let one = |turn| {
                        let stamp = thread * 100 + turn + 1;
                        call(&mut session, clock, random.next_u64() % 4, random.next_u64(), stamp)
                    };
                    (0..20).map(one).collect()
                })
            };
            let running: Vec<_> = (0..3).map(one).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        judge(&events.concat(), 0..4, &format!("seed {seed}"));
        tree.census().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

/// One thread stands still before its n-th step, for each n of what splits, changes and merges leaves; the other one
/// does the same to the same leaves, and ends.
#[test]
fn a_thread_that_stands_still_anywhere_keeps_nobody_waiting() {
    fn work<M: Medium>(tree: &Tree<M>, first: u64) {
        let mut session = tree.session();
        let mut value_now = Vec::new();
        for key in first..first + 7 {
            assert!(session.insert(&(2 * key).to_be_bytes(), &value(3 * key + 1)).unwrap());
            session.upsert(&5u64.to_be_bytes(), &value(key)).unwrap();
        }
        for key in first..first + 7 {
            assert!(session.lookup(&(2 * key).to_be_bytes(), &mut value_now).unwrap());
            assert!(session.remove(&(2 * key).to_be_bytes()).unwrap());
        }
    }
    let mut stops = 0;
    for stop in (0..).map(|stop| stop * 11) {
        let (tree, turns) = recorded(None, Some(stop));
        std::thread::scope(|scope| {
            for number in 0..2u64 {
                let (tree, turns) = (&tree, turns.clone());
                scope.spawn(move || {
                    let _turn = turns.begin(number as usize);
                    work(tree, 100 * number);
                });
            }
        });
        assert_eq!(tree.census().unwrap().records, 1, "stopped before step {stop}");
        if !turns.stopped() {
            break;
        }
        stops += 1;
    }
    println!("stopped at {stops} places");
    assert!(stops > 60);
}

/// A thread adds the next key and removes the last one, in one leaf: at each moment one is there, or two that follow each
/// other. A scan that put together what it saw at several moments would see others.
#[test]
fn a_scan_sees_a_leaf_as_it_was_at_one_moment() {
    let mut several = 0;
    for seed in 0..60 {
        let (tree, turns) = recorded_with(Some((2, seed)), None, Nodes::default());
        tree.session().insert(&0u64.to_be_bytes(), &value(1)).unwrap();
        let seen: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let (tree, changes) = (&tree, turns.clone());
            scope.spawn(move || {
                let _turn = changes.begin(0);
                let mut session = tree.session();
                for key in 1..60u64 {
                    assert!(session.insert(&key.to_be_bytes(), &value(key)).unwrap());
                    assert!(session.remove(&(key - 1).to_be_bytes()).unwrap());
                }
            });
            let _turn = turns.begin(1);
            let mut session = tree.session();
            let mut scan = || {
                let mut keys = Vec::new();
                let mut visit = |key: &[u8], _: &[u8]| {
                    keys.push(u64::from_be_bytes(*key.first_chunk().unwrap()));
                    true
                };
                session.scan(&[], usize::MAX, &mut visit).unwrap();
                keys
            };
            (0..30).map(|_| scan()).collect()
        });
        for keys in seen {
            several += usize::from(keys.len() == 2);
            let one_moment = matches!(keys[..], [_]) || matches!(keys[..], [one, other] if one + 1 == other);
            assert!(one_moment, "seed {seed}: {keys:?} were never there together");
        }
    }
    assert!(several > 20, "{several} scans saw two keys: threads hardly met");
}
