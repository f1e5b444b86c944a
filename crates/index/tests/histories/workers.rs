//! Threads that work on one index, and what they saw.

use std::{
    fmt::Debug,
    sync::{
        Barrier,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use assay_index::{Index, Session};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use super::{
    hesitant,
    linear::{Did, Past, order},
};

const THREADS: u64 = 4;
/// Operations between two changes of what there is more of, insertions or removals: so that what splits also merges.
const SEASON: u64 = 500;

/// What the workers do.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub keys: u64,
    pub operations: u64,
    /// Bytes of half of the values; the others have 8.
    pub long: usize,
    pub seed: u64,
}

impl Plan {
    /// Every second value is long, and every fourth needs all of its 64 bits.
    fn value(&self, stamp: u64) -> Vec<u8> {
        let word = if stamp % 4 == 1 { stamp | 1 << 63 } else { stamp };
        let mut value = word.to_le_bytes().to_vec();
        if stamp % 2 == 0 {
            value.resize(self.long, stamp as u8);
        }
        value
    }
}

fn stamp(value: &[u8]) -> u64 {
    let stamp = u64::from_le_bytes(std::array::from_fn(|byte| value[byte])) & !(1 << 63);
    assert!(value[8..].iter().all(|&byte| byte == stamp as u8), "a torn value: {value:x?}");
    stamp
}

fn one(session: &mut impl Session, plan: &Plan, key: u64, dice: u64, grows: bool, mark: u64) -> Did {
    let (bytes, new) = (key.to_be_bytes(), plan.value(mark));
    let mut found = Vec::new();
    match dice % 12 {
        0..4 if grows => Did::Insert(mark, session.insert(&bytes, &new).unwrap()),
        0..4 => Did::Remove(session.remove(&bytes).unwrap()),
        4 if grows => Did::Remove(session.remove(&bytes).unwrap()),
        4 => Did::Insert(mark, session.insert(&bytes, &new).unwrap()),
        5..7 => Did::Update(mark, session.update(&bytes, &new).unwrap()),
        7 => Did::Upsert(mark, session.upsert(&bytes, &new).unwrap()),
        _ => Did::Lookup(session.lookup(&bytes, &mut found).unwrap().then(|| stamp(&found))),
    }
}

fn work(mut session: impl Session, plan: &Plan, clock: &AtomicU64, thread: u64) -> Vec<Past> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(plan.seed * 100 + thread);
    hesitant::begin(plan.seed * 100 + thread);
    let mut past = Vec::with_capacity(plan.operations as usize);
    for number in 0..plan.operations {
        let dice = random.next_u64();
        let (key, grows) = ((dice >> 32) % plan.keys, number / SEASON % 2 == 0);
        let began = clock.fetch_add(1, SeqCst);
        let did = one(&mut session, plan, key, dice, grows, 1 + thread + number * THREADS);
        past.push(Past { key, began, ended: clock.fetch_add(1, SeqCst), did });
    }
    past
}

/// Lets threads work, and looks whether what they saw of each key can have happened in one order.
pub fn judge(index: &impl Index, name: &str, plan: Plan) {
    let (clock, start) = (AtomicU64::new(0), Barrier::new(THREADS as usize));
    let (clock, start, all) = (&clock, &start, &plan);
    let all: Vec<Vec<Past>> = std::thread::scope(|scope| {
        let one = |thread| {
            scope.spawn(move || {
                start.wait();
                work(index.session(), all, clock, thread)
            })
        };
        let threads: Vec<_> = (0..THREADS).map(one).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for key in 0..plan.keys {
        let of_key = |past: &Vec<Past>| past.iter().filter(|one| one.key == key).copied().collect();
        let of_key: Vec<Vec<Past>> = all.iter().map(of_key).collect();
        if let Err(about) = order(&of_key) {
            panic!("{name} {plan:?}: key {key} has no order beyond {about:#?}");
        }
    }
    if let Some(Err(wrong)) = index.examine() {
        panic!("{name} {plan:?}: {wrong}");
    }
}
