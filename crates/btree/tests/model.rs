//! The tree against `BTreeMap`: whatever is done, both say the same, in pools much smaller than the tree.

#[path = "model/ways.rs"]
mod ways;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use assay_btree::{Approach, Change, Entries, Finger, Glance, Range, Tree, TreeError};
use assay_buffer::{
    Config, Pool, Worker,
    disk::{Access, Disk, Drive},
};
use proptest::prelude::*;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

fn disk(path: &Path, bytes: u64) -> Arc<dyn Disk> {
    let paths = [path.to_owned()];
    let there = path.exists();
    let access = Access::default();
    Arc::new(if there { Drive::open(&paths, access) } else { Drive::create(&paths, bytes, access) }.unwrap())
}

fn config(page_bytes: u32, frames: u64) -> Config {
    Config { page_bytes, pool_bytes: frames * u64::from(page_bytes), workers: 4, depth: 32, ..Config::default() }
}

struct Place {
    _folder: tempfile::TempDir,
    pool: Pool,
}

fn place(page_bytes: u32, frames: u64) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::create(disk(&folder.path().join("tree"), 1 << 28), config(page_bytes, frames)).unwrap();
    Place { _folder: folder, pool }
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn clone((key, value): (&Vec<u8>, &Vec<u8>)) -> (Vec<u8>, Vec<u8>) {
    (key.clone(), value.clone())
}

fn scanned(tree: &Tree, worker: &Worker<'_>, from: &[u8], limit: u64) -> Pairs {
    let mut seen = Vec::new();
    let visit = &mut |key: &[u8], value: &[u8]| {
        seen.push((key.to_vec(), value.to_vec()));
        true
    };
    let count = tree.scan(worker, from, limit, visit).unwrap();
    assert_eq!(count as usize, seen.len());
    seen
}

fn scanned_back(tree: &Tree, worker: &Worker<'_>, from: Option<&[u8]>, limit: u64) -> Pairs {
    let mut seen = Vec::new();
    let visit = &mut |key: &[u8], value: &[u8]| {
        seen.push((key.to_vec(), value.to_vec()));
        true
    };
    tree.scan_back(worker, from, limit, visit).unwrap();
    seen
}

/// A range by glances, a leaf at a time; up to a value that only a scan can read.
fn glanced(tree: &Tree, worker: &Worker<'_>, whole: Range<'_>) -> (Pairs, bool) {
    let (mut seen, mut entries, mut bound) = (Vec::new(), Entries::default(), Vec::new());
    let (mut from, mut below) = (whole.from.to_vec(), whole.below.to_vec());
    loop {
        let range = Range { from: &from, below: &below, ..whole };
        let glance = tree.glance(worker, range, Finger::default(), &mut entries, &mut bound).unwrap();
        assert!(entries.len() <= range.limit);
        seen.extend((0..entries.len()).map(|at| (entries.key(at).to_vec(), entries.value(at).to_vec())));
        if glance != Glance::More {
            return (seen, glance == Glance::Ended);
        }
        assert!(if range.down { bound < below } else { bound > from }, "{bound:?} is no way on in {range:?}");
        std::mem::swap(if range.down { &mut below } else { &mut from }, &mut bound);
        if from >= below {
            return (seen, true);
        }
    }
}

fn check(tree: &Tree, worker: &Worker<'_>, model: &Model) {
    let facts = tree.check(worker).unwrap();
    assert_eq!(facts.entries as usize, model.len());
    assert_eq!(facts.pages(), worker.pool().pages(), "no page is lost: {facts:?}");
    let all: Vec<_> = model.iter().map(clone).collect();
    assert!(scanned(tree, worker, &[], u64::MAX) == all, "a scan has what was put in");
    assert!(scanned_back(tree, worker, None, u64::MAX).into_iter().rev().eq(all), "so has one that goes back");
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<u8>, Vec<u8>),
    Update(Vec<u8>, Vec<u8>),
    Upsert(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    RemoveMany(Vec<u8>, usize),
    Lookup(Vec<u8>),
    LookupMany(Vec<Vec<u8>>),
    Scan(Vec<u8>, u64),
    ScanBack(Option<Vec<u8>>, u64),
    Glance([Vec<u8>; 2], bool, usize),
    Alter(Vec<u8>),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => (0_u64..3000).prop_map(|key| key.to_be_bytes().to_vec()),
        2 => proptest::collection::vec(0_u8..3, 1..12),
        1 => (proptest::collection::vec(any::<u8>(), 1..4), 0_usize..509).prop_map(|(mut end, sevens)| {
            let mut key = vec![7; sevens];
            key.append(&mut end);
            key
        }),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => proptest::collection::vec(any::<u8>(), 0..40),
        2 => (any::<u8>(), 200_usize..1000).prop_map(|(byte, bytes)| vec![byte; bytes]),
        1 => (any::<u8>(), 1000_usize..20_000).prop_map(|(byte, bytes)| vec![byte; bytes]),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (key(), value()).prop_map(|(key, value)| Step::Insert(key, value)),
        3 => (key(), value()).prop_map(|(key, value)| Step::Update(key, value)),
        3 => (key(), value()).prop_map(|(key, value)| Step::Upsert(key, value)),
        2 => key().prop_map(Step::Remove),
        1 => (key(), 1_usize..150).prop_map(|(key, count)| Step::RemoveMany(key, count)),
        2 => key().prop_map(Step::Lookup),
        1 => proptest::collection::vec(key(), 1..40).prop_map(Step::LookupMany),
        1 => (key(), 0_u64..200).prop_map(|(key, limit)| Step::Scan(key, limit)),
        1 => (proptest::option::of(key()), 0_u64..200).prop_map(|(key, limit)| Step::ScanBack(key, limit)),
        2 => (key(), key(), any::<bool>(), 1_usize..50).prop_map(|(one, other, down, limit)| {
            let ends = if one < other { [one, other] } else { [other, one] };
            Step::Glance(ends, down, limit)
        }),
        1 => key().prop_map(Step::Alter),
    ]
}

fn change(tree: &Tree, worker: &Worker<'_>, model: &mut Model, step: &Step) {
    let writing = worker.write();
    match step {
        Step::Insert(key, value) => {
            let added = tree.insert(worker, &writing, key, value).unwrap();
            assert_eq!(added, !model.contains_key(key));
            model.entry(key.clone()).or_insert_with(|| value.clone());
        }
        Step::Update(key, value) => {
            let changed = tree.update(worker, &writing, key, value).unwrap();
            assert_eq!(changed, model.contains_key(key));
            model.entry(key.clone()).and_modify(|old| old.clone_from(value));
        }
        Step::Upsert(key, value) => {
            let added = tree.upsert(worker, &writing, key, value).unwrap();
            assert_eq!(added, model.insert(key.clone(), value.clone()).is_none());
        }
        Step::Remove(key) => {
            assert_eq!(tree.remove(worker, &writing, key).unwrap(), model.remove(key).is_some());
        }
        Step::RemoveMany(from, count) => {
            let keys: Vec<_> = model.range(from.clone()..).take(*count).map(|(key, _)| key.clone()).collect();
            for key in keys {
                assert!(tree.remove(worker, &writing, &key).unwrap());
                model.remove(&key);
            }
        }
        Step::Alter(key) => {
            let odd = |old: &[u8]| old.len() % 5 == 4;
            let done = tree.alter(worker, &writing, key, &mut |old, new| {
                new.extend_from_slice(old.unwrap_or(b"new"));
                new.push(1);
                if old.is_some_and(odd) { Change::Remove } else { Change::Put }
            });
            let old = model.remove(key);
            let removed = old.as_deref().is_some_and(odd);
            assert_eq!(done.unwrap() == Change::Remove, removed);
            if !removed {
                model.insert(key.clone(), [old.unwrap_or_else(|| b"new".to_vec()), vec![1]].concat());
            }
        }
        _ => {}
    }
}

fn look(tree: &Tree, worker: &Worker<'_>, model: &Model, step: &Step) {
    let mut value = Vec::new();
    match step {
        Step::Lookup(key) => {
            let found = tree.lookup(worker, key, &mut value).unwrap();
            assert_eq!(found.then_some(&value), model.get(key));
        }
        Step::LookupMany(keys) => {
            let refs: Vec<_> = keys.iter().map(Vec::as_slice).collect();
            let mut found = vec![None; keys.len()];
            let each = &mut |at: usize, value: &[u8]| assert!(found[at].replace(value.to_vec()).is_none(), "twice");
            tree.lookup_many(worker, &refs, each).unwrap();
            let expected: Vec<_> = keys.iter().map(|key| model.get(key).cloned()).collect();
            assert_eq!(found, expected);
        }
        Step::Scan(from, limit) => {
            let expected: Vec<_> = model.range(from.clone()..).take(*limit as usize).map(clone).collect();
            assert_eq!(scanned(tree, worker, from, *limit), expected);
        }
        Step::Glance([from, below], down, limit) if from < below => {
            let range = Range { from, below, down: *down, limit: *limit };
            let (seen, whole) = glanced(tree, worker, range);
            let mut expected: Vec<_> = model.range(from.clone()..below.clone()).map(clone).collect();
            if *down {
                expected.reverse();
            }
            assert!(expected.starts_with(&seen), "{seen:?} of {expected:?}");
            let near_long = expected.iter().skip(seen.len()).any(|(key, value)| key.len() + value.len() > 960);
            assert!(if whole { seen.len() == expected.len() } else { near_long }, "{seen:?} of {expected:?}");
        }
        Step::ScanBack(from, limit) => {
            let above = |key: &Vec<u8>| from.as_ref().is_some_and(|from| key > from);
            let backwards = model.iter().rev().skip_while(|(key, _)| above(key));
            let expected: Vec<_> = backwards.take(*limit as usize).map(clone).collect();
            assert_eq!(scanned_back(tree, worker, from.as_deref(), *limit), expected);
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_is_a_sorted_map(steps in proptest::collection::vec(step(), 100..500), pages in 0_u32..3) {
        let place = place(4096 << (2 * pages), 64);
        let worker = place.pool.worker().unwrap();
        let tree = Tree::create(&worker, &worker.write()).unwrap();
        let mut model = Model::new();
        for step in &steps {
            change(&tree, &worker, &mut model, step);
            look(&tree, &worker, &model, step);
        }
        check(&tree, &worker, &model);
        while let Some((key, _)) = model.pop_first() {
            prop_assert!(tree.remove(&worker, &worker.write(), &key).unwrap());
        }
        check(&tree, &worker, &model);
        prop_assert!(place.pool.pages() <= 3, "an empty tree gives its pages back: {}", place.pool.pages());
    }
}

#[test]
fn many_entries_in_any_order_are_found_again_after_reopening() {
    for order in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tree");
        let mut model = Model::new();
        let root = {
            let pool = Pool::create(disk(&file, 1 << 28), config(4096, 128)).unwrap();
            let worker = pool.worker().unwrap();
            let tree = Tree::create(&worker, &worker.write()).unwrap();
            for index in 0..15_000_u64 {
                let number = [index, 15_000 - index, index.wrapping_mul(0x9e37_79b9_7f4a_7c15)][order];
                let (key, value) = (number.to_be_bytes(), index.to_le_bytes());
                assert!(tree.insert(&worker, &worker.write(), &key, &value).unwrap());
                model.insert(key.to_vec(), value.to_vec());
            }
            worker.checkpoint(Vec::new, || Ok(())).unwrap();
            tree.root()
        };
        let pool = Pool::open(disk(&file, 0), config(4096, 128)).unwrap();
        let worker = pool.worker().unwrap();
        let tree = Tree::open(&pool, root);
        check(&tree, &worker, &model);
        let facts = tree.check(&worker).unwrap();
        let full = facts.leaf_bytes_used as f64 / (facts.leaf_pages * 4024) as f64;
        assert!(full > [0.7, 0.3, 0.5][order], "leaves are {full} full in order {order}");
    }
}

#[test]
fn a_loaded_tree_is_the_tree_that_inserts_make() {
    for page_bytes in [4096, 65536] {
        let place = place(page_bytes, 64);
        let worker = place.pool.worker().unwrap();
        let tree = Tree::create(&worker, &worker.write()).unwrap();
        let value = |index: u64| vec![index as u8; if index % 1000 == 0 { 5000 } else { index as usize % 50 }];
        let mut model: Model =
            (0..20_000_u64).map(|index| ((index * 7).to_be_bytes().to_vec(), value(index))).collect();
        let wrong = [b"b", b"a"].map(|key| (key, b""));
        let refused = tree.load(&worker, &worker.write(), wrong);
        assert!(matches!(refused, Err(TreeError::NotAscending { position: 1 })), "{refused:?}");
        let late: Vec<_> = model.iter().map(clone).chain([(vec![0], vec![])]).collect();
        assert!(tree.load(&worker, &worker.write(), late).is_err());
        check(&tree, &worker, &Model::new());
        assert_eq!(tree.load(&worker, &worker.write(), model.iter()).unwrap(), 20_000);
        check(&tree, &worker, &model);
        assert!(matches!(tree.load(&worker, &worker.write(), model.iter()), Err(TreeError::NotEmpty)));
        for index in 0..5000_u64 {
            let step = Step::Upsert((index * 11).to_be_bytes().to_vec(), value(index));
            change(&tree, &worker, &mut model, &step);
        }
        check(&tree, &worker, &model);
    }
}

#[test]
fn threads_and_tasks_change_one_tree_and_each_finds_its_own() {
    const EACH: u64 = 1500;
    let place = place(4096, 256);
    let tree = {
        let worker = place.pool.worker().unwrap();
        let writing = worker.write();
        Tree::create(&worker, &writing).unwrap()
    };
    std::thread::scope(|scope| {
        for thread in 0..3_u64 {
            let (pool, tree) = (&place.pool, &tree);
            scope.spawn(move || {
                let worker = pool.worker().unwrap();
                worker.run(4, |task| work(tree, &worker, thread * 4 + task as u64, EACH)).unwrap();
            });
        }
        let (pool, tree) = (&place.pool, &tree);
        scope.spawn(move || {
            let worker = pool.worker().unwrap();
            for _ in 0..5 {
                worker.checkpoint(Vec::new, || Ok(())).unwrap();
                let seen = scanned(tree, &worker, &[], u64::MAX);
                assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0), "a scan goes up");
            }
        });
    });
    let worker = place.pool.worker().unwrap();
    let mut model = Model::new();
    for owner in 0..12 {
        let kept = (0..EACH).filter(|index| index % 3 != 0);
        model.extend(kept.map(|index| (key_of(owner, index), value_of(index + 1))));
    }
    check(&tree, &worker, &model);
}

fn key_of(owner: u64, index: u64) -> Vec<u8> {
    (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) / 16 * 16 + owner).to_be_bytes().to_vec()
}

fn value_of(index: u64) -> Vec<u8> {
    vec![index as u8; index as usize % 60 + if index % 500 == 0 { 3000 } else { 0 }]
}

/// Adds entries, changes them, removes every third, and looks after each.
fn work(tree: &Tree, worker: &Worker<'_>, owner: u64, count: u64) {
    let mut value = Vec::new();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(owner);
    for index in 0..count {
        let key = key_of(owner, index);
        assert!(tree.insert(worker, &worker.write(), &key, &value_of(index)).unwrap());
        let earlier = random.next_u64() % (index + 1);
        let there = tree.lookup(worker, &key_of(owner, earlier), &mut value).unwrap();
        assert!(there && value == value_of(earlier), "{owner} {earlier}");
    }
    for index in 0..count {
        let key = key_of(owner, index);
        if index % 3 == 0 {
            assert!(tree.remove(worker, &worker.write(), &key).unwrap());
            assert!(!tree.lookup(worker, &key, &mut value).unwrap());
        } else {
            assert!(tree.update(worker, &worker.write(), &key, &value_of(index + 1)).unwrap());
            assert!(tree.lookup(worker, &key, &mut value).unwrap() && value == value_of(index + 1));
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_changes() {
    let place = place(4096, 64);
    let worker = place.pool.worker().unwrap();
    let tree = Tree::create(&worker, &worker.write()).unwrap();
    let put = |key: &[u8], value: &[u8]| tree.upsert(&worker, &worker.write(), key, value);
    assert!(matches!(put(b"", b"x"), Err(TreeError::KeyLength { bytes: 0, most: 512 })));
    assert!(matches!(put(&[1; 513], b"x"), Err(TreeError::KeyLength { bytes: 513, .. })));
    let most = tree.value_bytes_at_most();
    assert!(matches!(put(b"k", &vec![0; most + 1]), Err(TreeError::ValueLength { .. })));
    assert!(put(&[1; 512], &vec![3; most]).unwrap());
    let mut value = Vec::new();
    assert!(tree.lookup(&worker, &[1; 512], &mut value).unwrap() && value == vec![3; most]);
    assert!(!put(&[1; 512], b"short").unwrap());
    let model = Model::from([(vec![1; 512], b"short".to_vec())]);
    check(&tree, &worker, &model);
}

/// A scan waits for next to nothing, asks once for each page, and takes neighbours on the disk together, mostly straight
/// into their frames; both ways.
#[test]
fn a_long_scan_reads_ahead_and_neighbours_together() {
    let place = place(4096, 1024);
    let worker = place.pool.worker().unwrap();
    let tree = Tree::create(&worker, &worker.write()).unwrap();
    let entries = (0..60_000_u64).map(|key| (key.to_be_bytes(), [key as u8; 100]));
    tree.load(&worker, &worker.write(), entries).unwrap();
    worker.checkpoint(Vec::new, || Ok(())).unwrap();
    let leaves = tree.check(&worker).unwrap().leaf_pages;
    for back in [false, true] {
        let before = worker.counters();
        let mut seen = 0_u64;
        let visit = &mut |key: &[u8], value: &[u8]| {
            let wanted = if back { 59_999 - seen } else { seen };
            seen += 1;
            key == wanted.to_be_bytes() && value == [wanted as u8; 100]
        };
        if back {
            tree.scan_back(&worker, None, u64::MAX, visit).unwrap();
        } else {
            tree.scan(&worker, &[], u64::MAX, visit).unwrap();
        }
        let after = worker.counters();
        let (waited, requests) = (after.faults - before.faults, after.requests - before.requests);
        assert_eq!(seen, 60_000, "back: {back}");
        assert!(waited < leaves / 20, "{waited} of {leaves} leaves were waited for, back: {back}");
        assert!(requests < leaves / 2, "{requests} requests for {leaves} leaves, back: {back}");
        let (ahead, copied) = (after.prefetched - before.prefetched, after.copied - before.copied);
        assert!(copied < ahead / 4, "{copied} of {ahead} leaves were copied into their frames, back: {back}");
    }
}
