//! Dash against a map: growing, shrinking, opened again, closed or not.

use crate::common::{Action, Operation, State, key_bytes, state_of};
use assay_index::{
    Index, IndexError, Session,
    dash::{Dash, DashEh, DashLh, DashShape, Directory, Extendible, Linear},
};
use assay_pmem::{Mapped, PmemError, Pool, PoolFile, Shape};
use proptest::prelude::*;

const KEYS: u64 = 600;

fn new<D: Directory>(shape: &DashShape, bytes: u64) -> Dash<Mapped, D> {
    let pool = Pool::create(Mapped::memory(bytes).unwrap(), &Shape::new(D::LAYOUT)).unwrap();
    Dash::create(pool, shape).unwrap()
}

/// A folder in memory, which stands in for persistent memory.
fn memory_folder() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir_in("/dev/shm").ok();
    if folder.is_none() {
        eprintln!("skipped: no folder can be made under /dev/shm");
    }
    folder
}

/// Opens a pool that only this test knows of.
fn pool(path: &std::path::Path, layout: &str) -> Pool<Mapped> {
    PoolFile::open(path, layout).unwrap().split().0
}

/// Takes the medium through a restart, after a crash or a clean end.
fn reopened<D: Directory>(table: Dash<Mapped, D>, path: &std::path::Path, clean: bool) -> Dash<Mapped, D> {
    if clean {
        drop(table);
    } else {
        table.abandon();
    }
    Dash::open(pool(path, D::LAYOUT)).unwrap()
}

fn agrees<D: Directory>(steps: Vec<(u8, u64, bool)>, tiny: bool) {
    let Some(folder) = memory_folder() else { return };
    let path = folder.path().join("pool");
    let shape = if tiny { DashShape::tiny() } else { DashShape::default() };
    let file = PoolFile::create(&path, 16 << 20, &Shape::new(D::LAYOUT)).unwrap().split().0;
    let mut table: Dash<Mapped, D> = Dash::create(file, &shape).unwrap();
    let mut model = State::new();
    for (stamp, (dice, key, long)) in steps.into_iter().enumerate() {
        if dice >= 250 {
            table = reopened(table, &path, dice % 2 == 1);
            continue;
        }
        // Runs of one kind, so that it grows far and shrinks far.
        let action = match (dice / 64, dice % 8) {
            (0 | 1, 0..6) => Action::Insert,
            (3, 0..6) => Action::Remove,
            (_, 6) => Action::Update,
            _ => Action::Upsert,
        };
        let operation = Operation { action, key: key % KEYS, long, stamp: stamp as u64 };
        let mut session = table.session();
        assert_eq!(operation.act(&mut session).unwrap(), operation.apply(&mut model), "{operation:?}");
    }
    assert_eq!(state_of(&table, KEYS).unwrap(), model);
    assert_eq!(table.verify().unwrap().records as usize, model.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn extendible_hashing_agrees_with_a_map(steps in proptest::collection::vec(any::<(u8, u64, bool)>(), 1..1500), tiny: bool) {
        agrees::<Extendible>(steps, tiny);
    }

    #[test]
    fn linear_hashing_agrees_with_a_map(steps in proptest::collection::vec(any::<(u8, u64, bool)>(), 1..1500), tiny: bool) {
        agrees::<Linear>(steps, tiny);
    }
}

fn grows_and_empties<D: Directory>() {
    let table = new::<D>(&DashShape::tiny(), 64 << 20);
    let mut session = table.session();
    for key in 0..20_000u64 {
        assert!(session.insert(&key.to_be_bytes(), &key.to_le_bytes()).unwrap());
    }
    let full = table.verify().unwrap();
    for key in 0..20_000u64 {
        assert!(session.remove(&key.to_be_bytes()).unwrap(), "{key}");
    }
    let empty = table.verify().unwrap();
    eprintln!("{} full {full:?} {:.3}, empty {empty:?}", D::NAME, full.load_factor());
    assert_eq!((full.records, empty.records), (20_000, 0));
    assert!(full.load_factor() > 0.35, "{full:?}");
    if D::NAME == "dash-eh" {
        assert!(empty.segments < full.segments / 8, "segments are merged: {empty:?}");
    }
}

#[test]
fn extendible_hashing_grows_and_shrinks() {
    grows_and_empties::<Extendible>();
}

#[test]
fn linear_hashing_grows_and_is_emptied() {
    grows_and_empties::<Linear>();
}

fn fills_up<D: Directory>() {
    let table = new::<D>(&DashShape::default(), 2 << 20);
    let mut session = table.session();
    let mut inserted = 0u64;
    let error = loop {
        match session.insert(&inserted.to_be_bytes(), &[7; 100]) {
            Ok(added) => assert!(added),
            Err(error) => break error,
        }
        inserted += 1;
    };
    assert!(matches!(error, IndexError::Pmem(PmemError::Full { .. })), "{error}");
    assert_eq!(table.verify().unwrap().records, inserted);
    // Nothing is lost, and what is removed can be had again.
    for key in 0..inserted / 2 {
        assert!(session.remove(&key.to_be_bytes()).unwrap());
    }
    for key in 0..inserted / 4 {
        assert!(session.insert(&key.to_be_bytes(), &[8; 100]).unwrap());
    }
    assert_eq!(table.verify().unwrap().records, inserted - inserted / 2 + inserted / 4);
}

#[test]
fn a_full_pool_says_so_and_loses_nothing() {
    fills_up::<Extendible>();
    fills_up::<Linear>();
}

#[test]
fn lengths_that_cannot_be_stored_are_refused() {
    let table = new::<Extendible>(&DashShape::tiny(), 4 << 20);
    let mut session = table.session();
    assert!(matches!(session.insert(&[], b"v"), Err(IndexError::KeyLength { bytes: 0, .. })));
    assert!(matches!(session.insert(&[1; 1025], b"v"), Err(IndexError::KeyLength { bytes: 1025, .. })));
    assert!(matches!(session.insert(b"k", &[0; 16385]), Err(IndexError::ValueLength { .. })));
    assert!(session.insert(&[1; 1024], &[2; 16384]).unwrap() && session.insert(b"k", &[]).unwrap());
    let mut value = vec![9];
    assert!(session.lookup(b"k", &mut value).unwrap() && value.is_empty());
    assert!(session.lookup(&[1; 1024], &mut value).unwrap() && value == [2; 16384]);
    assert!(!session.lookup(&[], &mut value).unwrap() && !session.remove(&[1; 2000]).unwrap());
    assert!(matches!(session.scan(&[], 1, &mut |_, _| true), Err(IndexError::Unsupported { .. })));
    table.verify().unwrap();
}

#[test]
fn another_structure_and_an_unfinished_table_are_refused() {
    let Some(folder) = memory_folder() else { return };
    let path = folder.path().join("pool");
    drop(PoolFile::create(&path, 4 << 20, &Shape::new(Extendible::LAYOUT)).unwrap());
    let error = DashEh::<Mapped>::open(pool(&path, Extendible::LAYOUT)).unwrap_err();
    assert!(error.to_string().contains("never finished"), "{error}");
    let table = DashEh::create(pool(&path, Extendible::LAYOUT), &DashShape::tiny()).unwrap();
    drop(table);
    let error = DashEh::create(pool(&path, Extendible::LAYOUT), &DashShape::tiny()).unwrap_err();
    assert!(error.to_string().contains("already"), "{error}");
    let error = PoolFile::open(&path, Linear::LAYOUT).unwrap_err();
    assert!(error.to_string().contains("dash-eh-1"), "{error}");
    let shape = DashShape { buckets: 3, ..DashShape::default() };
    let pool = Pool::create(Mapped::memory(4 << 20).unwrap(), &Shape::new(Linear::LAYOUT)).unwrap();
    assert!(DashLh::create(pool, &shape).is_err());
}

#[test]
fn lookups_of_words_see_words_alone() {
    let table = new::<Linear>(&DashShape::tiny(), 4 << 20);
    let mut session = table.session();
    session.insert(&5u64.to_le_bytes(), &7u64.to_le_bytes()).unwrap();
    session.insert(&6u64.to_le_bytes(), b"a longer value").unwrap();
    assert_eq!((session.get(5), session.get(6), session.get(7)), (Some(7), None, None));
    assert_eq!(key_bytes(3).len(), 19);
}
