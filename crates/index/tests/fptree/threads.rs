//! Several threads on one tree.

use std::sync::{
    Barrier,
    atomic::{AtomicU64, Ordering::SeqCst},
};

use assay_index::{Index, Session};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use super::{
    case,
    linear::{Did, Past, is_linear},
    model::tree,
};

const THREADS: u64 = 3;
const OPERATIONS: usize = 6000;

fn value(words: bool, stamp: u64) -> Vec<u8> {
    let mut value = stamp.to_ne_bytes().to_vec();
    value.resize(if words { 8 } else { 8 + (stamp % 60) as usize }, stamp as u8);
    value
}

fn stamp(value: &[u8]) -> u64 {
    let stamp = u64::from_ne_bytes(std::array::from_fn(|byte| value[byte]));
    assert!(value[8..].iter().all(|&byte| byte == stamp as u8), "a torn value: {value:x?}");
    stamp
}

fn one(session: &mut impl Session, words: bool, key: u64, dice: u64, mark: u64) -> Did {
    let (bytes, new) = (case::key(words, key), value(words, mark));
    let mut found = Vec::new();
    match dice % 10 {
        0..3 => Did::Insert(mark, session.insert(&bytes, &new).unwrap()),
        3 => Did::Update(mark, session.update(&bytes, &new).unwrap()),
        4 => Did::Upsert(mark, session.upsert(&bytes, &new).unwrap()),
        5..7 => Did::Remove(session.remove(&bytes).unwrap()),
        _ => Did::Lookup(session.lookup(&bytes, &mut found).unwrap().then(|| stamp(&found))),
    }
}

fn histories(words: bool, keys: u64, seed: u64) -> Vec<Vec<Past>> {
    let (tree, clock, start) = (tree(words, 64 << 20), AtomicU64::new(0), Barrier::new(THREADS as usize));
    let (tree_ref, clock, start) = (&tree, &clock, &start);
    let work = move |thread: u64| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed * 100 + thread);
        let mut session = tree_ref.session();
        let mut past = Vec::with_capacity(OPERATIONS);
        start.wait();
        for number in 0..OPERATIONS as u64 {
            let dice = random.next_u64();
            let (key, began) = ((dice >> 32) % keys, clock.fetch_add(1, SeqCst));
            let did = one(&mut session, words, key, dice, 1 + thread + number * THREADS);
            past.push(Past { key, began, ended: clock.fetch_add(1, SeqCst), did });
        }
        past
    };
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    tree.examine().unwrap().unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    all
}

#[test]
fn what_threads_see_of_each_key_has_an_order() {
    for (seed, (words, keys)) in
        [(true, 40), (false, 40), (true, 900), (false, 900), (true, 4), (false, 150)].into_iter().enumerate()
    {
        let all = histories(words, keys, seed as u64);
        for key in 0..keys {
            let of_key: Vec<Vec<Past>> =
                all.iter().map(|past| past.iter().filter(|one| one.key == key).copied().collect()).collect();
            assert!(is_linear(&of_key), "seed {seed}, words {words}, key {key}: {of_key:?}");
        }
    }
}

#[test]
fn scans_beside_changes_are_in_order_and_miss_nothing_that_stays() {
    for words in [true, false] {
        let tree = tree(words, 64 << 20);
        let keys: Vec<Vec<u8>> = (0..3000).map(|number| case::key(words, number)).collect();
        let mut session = tree.session();
        keys.iter().step_by(3).for_each(|key| assert!(session.insert(key, &value(words, 1)).unwrap()));
        let stay: std::collections::BTreeSet<_> = keys.iter().step_by(3).cloned().collect();
        std::thread::scope(|scope| {
            let churn = scope.spawn(|| {
                let mut session = tree.session();
                for _ in 0..6 {
                    for key in keys.iter().enumerate().filter(|(n, _)| n % 3 != 0).map(|(_, key)| key) {
                        session.insert(key, &value(words, 2)).unwrap();
                    }
                    for key in keys.iter().enumerate().filter(|(n, _)| n % 3 != 0).map(|(_, key)| key) {
                        session.remove(key).unwrap();
                    }
                }
            });
            loop {
                let done = churn.is_finished();
                let mut seen = Vec::new();
                session
                    .scan(&[0; 8], usize::MAX, &mut |key, _| {
                        seen.push(key.to_vec());
                        true
                    })
                    .unwrap();
                assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "out of order");
                assert_eq!(seen.iter().filter(|key| stay.contains(*key)).count(), stay.len());
                if done {
                    break;
                }
            }
        });
        tree.examine().unwrap().unwrap();
    }
}
