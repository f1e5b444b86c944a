//! The tree against a map of the standard library: the same calls, the same answers, and a tree that is in order.

use std::collections::BTreeMap;

use assay_index::{
    Index, Session,
    bztree::{BzTree, Nodes},
};
use assay_pmem::{Mapped, Pool};
use proptest::prelude::*;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

type Tree = BzTree<Box<Pool<Mapped>>>;

const SMALL: Nodes = Nodes { tail: 4, records: 6, record_words: 64, children: 4 };

fn tree(bytes: u64, nodes: Nodes) -> Tree {
    let pool = Pool::create(Mapped::memory(bytes).unwrap(), &Tree::pool_shape()).unwrap();
    BzTree::open_with(Box::new(pool), nodes).unwrap()
}

#[derive(Clone, Debug)]
enum Call {
    Insert(Vec<u8>, Vec<u8>),
    Update(Vec<u8>, Vec<u8>),
    Upsert(Vec<u8>, Vec<u8>),
    Lookup(Vec<u8>),
    Remove(Vec<u8>),
    Scan(Vec<u8>, usize),
}

fn some_key() -> impl Strategy<Value = Vec<u8>> {
    let byte = || prop_oneof![3 => Just(0u8), 3 => Just(1), 1 => Just(255), 1 => any::<u8>()];
    prop_oneof![
        4 => (0u64..200).prop_map(|key| key.to_be_bytes().to_vec()),
        2 => proptest::collection::vec(byte(), 1..5),
        2 => proptest::collection::vec(byte(), 7..12),
        1 => proptest::collection::vec(byte(), 1..60),
    ]
}

fn some_value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => (0u64..1 << 60).prop_map(|value| value.to_le_bytes().to_vec()),
        1 => any::<u64>().prop_map(|value| value.to_le_bytes().to_vec()),
        2 => proptest::collection::vec(any::<u8>(), 0..100),
    ]
}

fn some_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => (some_key(), some_value()).prop_map(|(key, value)| Call::Insert(key, value)),
        3 => (some_key(), some_value()).prop_map(|(key, value)| Call::Update(key, value)),
        3 => (some_key(), some_value()).prop_map(|(key, value)| Call::Upsert(key, value)),
        3 => some_key().prop_map(Call::Lookup),
        5 => some_key().prop_map(Call::Remove),
        1 => (some_key(), 0usize..40).prop_map(|(key, limit)| Call::Scan(key, limit)),
    ]
}

fn entries(session: &mut impl Session, from: &[u8], limit: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    let count = session
        .scan(from, limit, &mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            true
        })
        .unwrap();
    assert_eq!(count, found.len());
    found
}

fn play(call: &Call, session: &mut impl Session, model: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
    match call {
        Call::Insert(key, value) => {
            let added = !model.contains_key(key);
            assert_eq!(session.insert(key, value).unwrap(), added, "{call:?}");
            model.entry(key.clone()).or_insert_with(|| value.clone());
        }
        Call::Update(key, value) => {
            let there = model.get_mut(key).map(|old| old.clone_from(value)).is_some();
            assert_eq!(session.update(key, value).unwrap(), there, "{call:?}");
        }
        Call::Upsert(key, value) => {
            let added = model.insert(key.clone(), value.clone()).is_none();
            assert_eq!(session.upsert(key, value).unwrap(), added, "{call:?}");
        }
        Call::Lookup(key) => {
            let mut value = vec![1];
            let found = session.lookup(key, &mut value).unwrap();
            assert_eq!(found.then_some(&value), model.get(key), "{call:?}");
        }
        Call::Remove(key) => {
            assert_eq!(session.remove(key).unwrap(), model.remove(key).is_some(), "{call:?}");
        }
        Call::Scan(from, limit) => {
            let wanted: Vec<_> =
                model.range(from.clone()..).take(*limit).map(|(k, v)| (k.clone(), v.clone())).collect();
            assert_eq!(entries(session, from, *limit), wanted, "{call:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn it_answers_as_a_map_does(calls in proptest::collection::vec(some_call(), 1..400)) {
        let tree = tree(8 << 20, SMALL);
        let mut model = BTreeMap::new();
        let mut session = tree.session();
        for call in &calls {
            play(call, &mut session, &mut model);
        }
        let census = tree.census().unwrap();
        prop_assert_eq!(census.records, model.len() as u64);
        prop_assert!(entries(&mut session, &[], usize::MAX).into_iter().eq(model));
    }
}

fn integer(key: u64) -> [u8; 8] {
    key.to_be_bytes()
}

#[test]
fn it_grows_shrinks_to_nothing_and_grows_again() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let tree = tree(64 << 20, Nodes { children: 16, ..Nodes::default() });
    let mut session = tree.session();
    for round in 0..2u64 {
        let mut keys: Vec<u64> = (0..40_000).collect();
        for index in (1..keys.len()).rev() {
            keys.swap(index, (random.next_u64() % (index as u64 + 1)) as usize);
        }
        for key in &keys {
            assert!(session.insert(&integer(*key), &(key ^ round).to_le_bytes()).unwrap());
        }
        let full = tree.census().unwrap();
        assert!(full.records == 40_000 && full.levels >= 3, "{full:?}");
        assert!(full.bytes < 40_000 * 80, "{} bytes an entry", full.bytes / 40_000);
        let mut value = Vec::new();
        for key in &keys {
            assert!(session.lookup(&integer(*key), &mut value).unwrap());
            assert_eq!(value, (key ^ round).to_le_bytes());
        }
        for key in &keys {
            assert!(session.remove(&integer(*key)).unwrap());
        }
        let empty = tree.census().unwrap();
        assert!(empty.records == 0 && empty.leaves < full.leaves / 8, "{empty:?} of {full:?}");
        println!("{full:?}, then {empty:?}");
    }
}

#[test]
fn long_keys_and_pages_of_values() {
    let tree = tree(64 << 20, Nodes::default());
    let mut session = tree.session();
    let key = |number: u64| {
        let mut key = vec![b'k'; 1016];
        key.extend_from_slice(&number.to_be_bytes());
        key
    };
    let value = |number: u64| vec![number as u8; 16384 - (number % 3) as usize];
    for number in 0..300 {
        assert!(session.insert(&key(number * 7 % 300), &value(number * 7 % 300)).unwrap());
    }
    let mut found = Vec::new();
    for number in 0..300 {
        assert!(session.lookup(&key(number), &mut found).unwrap());
        assert_eq!(found, value(number));
        assert!(session.update(&key(number), &value(number + 1)).unwrap());
    }
    assert_eq!(tree.census().unwrap().records, 300);
    let all = entries(&mut session, &[], 1000);
    assert!(all.iter().map(|(key, _)| key.clone()).eq((0..300).map(key)));
    assert!(all.iter().map(|(_, now)| now.clone()).eq((1..301).map(value)));
}

#[test]
fn threads_that_work_on_the_same_leaves_leave_a_tree_in_order() {
    let tree = tree(32 << 20, SMALL);
    let rounds = 4000u64;
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let tree = &tree;
            scope.spawn(move || {
                let mut session = tree.session();
                let mut random = Xoshiro256PlusPlus::seed_from_u64(thread);
                for round in 0..rounds {
                    // Keys of this thread lie between those of the others.
                    let mine = (random.next_u64() % 64) * 4 + thread;
                    let stamp = (round << 8 | thread).to_le_bytes();
                    session.upsert(&integer(mine), &stamp).unwrap();
                    let mut value = Vec::new();
                    assert!(session.lookup(&integer(mine), &mut value).unwrap());
                    assert_eq!(value, stamp, "thread {thread}, round {round}");
                    if random.next_u64() % 3 == 0 {
                        assert!(session.remove(&integer(mine)).unwrap());
                        assert!(!session.lookup(&integer(mine), &mut value).unwrap());
                    }
                    if round % 64 == 0 {
                        let found = entries(&mut session, &[], usize::MAX);
                        assert!(found.windows(2).all(|two| two[0].0 < two[1].0), "a scan is in order");
                    }
                }
            });
        }
    });
    let census = tree.census().unwrap();
    println!("{census:?}");
    assert!(census.records <= 256);
}
