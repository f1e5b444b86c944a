//! What transactions promise: anomalies step by step, histories of many threads, and a model of a database.

mod common;
#[path = "isolation/histories.rs"]
mod histories;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use assay_engine::{
    EngineError, Session,
    core::Core,
    log::{Logs, Pace},
};
use common::Memory;
use proptest::prelude::*;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

/// Room for all that is replaced while a thread sleeps: on a busy machine it wakes to find its snapshot given up otherwise.
const VERSIONS: usize = 64 << 20;

struct Database {
    core: Arc<Core>,
    trees: Memory,
}

impl Database {
    fn new(pace: Pace) -> Self {
        Self { core: Arc::new(Core::new(Logs::none(), 0, VERSIONS, pace).unwrap()), trees: Memory::default() }
    }

    fn session(&self) -> Session<'_, Memory> {
        Session::new(&self.core, self.trees.clone()).unwrap()
    }

    /// Two rows, `x` and `y`, with a value each.
    fn with_rows(x: u64, y: u64) -> Self {
        let database = Self::new(Pace::Asked);
        let mut session = database.session();
        session.begin().unwrap();
        put(&mut session, b"x", x).unwrap();
        put(&mut session, b"y", y).unwrap();
        session.commit().unwrap();
        drop(session);
        database
    }

    fn read(&self, key: &[u8]) -> Option<u64> {
        let mut session = self.session();
        session.begin().unwrap();
        get(&mut session, key)
    }
}

fn put(session: &mut Session<'_, Memory>, key: &[u8], value: u64) -> assay_engine::Result<()> {
    session.put(1, key, &value.to_be_bytes())
}

fn get(session: &mut Session<'_, Memory>, key: &[u8]) -> Option<u64> {
    let mut value = Vec::new();
    session.get(1, key, &mut value).unwrap().then(|| u64::from_be_bytes(value.try_into().unwrap()))
}

fn begin<'d>(database: &'d Database) -> Session<'d, Memory> {
    let mut session = database.session();
    session.begin().unwrap();
    session
}

fn is_conflict(result: assay_engine::Result<()>) -> bool {
    matches!(result, Err(EngineError::Conflict { table: 1 }))
}

#[test]
fn g0_dirty_writes_do_not_interleave() {
    let database = Database::with_rows(0, 0);
    let (mut first, mut second) = (begin(&database), begin(&database));
    put(&mut first, b"x", 1).unwrap();
    assert!(is_conflict(put(&mut second, b"x", 2)));
    second.abort();
    put(&mut first, b"y", 1).unwrap();
    first.commit().unwrap();
    assert_eq!((database.read(b"x"), database.read(b"y")), (Some(1), Some(1)));
}

#[test]
fn g1a_nothing_of_an_aborted_transaction_is_read() {
    let database = Database::with_rows(0, 0);
    let mut writer = begin(&database);
    put(&mut writer, b"x", 7).unwrap();
    assert_eq!(database.read(b"x"), Some(0));
    writer.abort();
    assert_eq!(database.read(b"x"), Some(0));
}

#[test]
fn g1b_no_intermediate_value_is_read() {
    let database = Database::with_rows(0, 0);
    let mut writer = begin(&database);
    put(&mut writer, b"x", 7).unwrap();
    assert_eq!(database.read(b"x"), Some(0));
    put(&mut writer, b"x", 8).unwrap();
    writer.commit().unwrap();
    assert_eq!(database.read(b"x"), Some(8));
}

#[test]
fn g1c_information_does_not_flow_in_a_circle() {
    let database = Database::with_rows(0, 0);
    let (mut first, mut second) = (begin(&database), begin(&database));
    put(&mut first, b"x", 1).unwrap();
    put(&mut second, b"y", 1).unwrap();
    assert_eq!((get(&mut first, b"y"), get(&mut second, b"x")), (Some(0), Some(0)));
    first.commit().unwrap();
    second.commit().unwrap();
}

#[test]
fn lost_updates_are_refused() {
    let database = Database::with_rows(10, 0);
    let (mut first, mut second) = (begin(&database), begin(&database));
    let (seen, also) = (get(&mut first, b"x").unwrap(), get(&mut second, b"x").unwrap());
    put(&mut first, b"x", seen + 1).unwrap();
    first.commit().unwrap();
    assert!(is_conflict(put(&mut second, b"x", also + 1)));
    second.begin().unwrap();
    let seen = get(&mut second, b"x").unwrap();
    put(&mut second, b"x", seen + 1).unwrap();
    second.commit().unwrap();
    assert_eq!(database.read(b"x"), Some(12));
}

#[test]
fn read_skew_and_fuzzy_reads_are_not_seen() {
    let database = Database::with_rows(50, 50);
    let mut reader = begin(&database);
    assert_eq!(get(&mut reader, b"x"), Some(50));
    let mut writer = begin(&database);
    put(&mut writer, b"x", 10).unwrap();
    put(&mut writer, b"y", 90).unwrap();
    put(&mut writer, b"z", 1).unwrap();
    writer.commit().unwrap();
    assert_eq!(get(&mut reader, b"y"), Some(50));
    assert_eq!(get(&mut reader, b"x"), Some(50));
    let mut keys = Vec::new();
    reader
        .scan(1, b"a", b"zz", false, |key, _| {
            keys.push(key.to_vec());
            true
        })
        .unwrap();
    assert_eq!(keys, [b"x", b"y"], "no phantom");
}

#[test]
fn deleted_rows_stay_for_older_snapshots_and_go_afterwards() {
    let database = Database::with_rows(5, 6);
    let mut reader = begin(&database);
    let mut writer = begin(&database);
    assert!(writer.delete(1, b"x").unwrap());
    assert!(!writer.delete(1, b"none").unwrap());
    assert_eq!(get(&mut writer, b"x"), None);
    writer.commit().unwrap();
    assert_eq!(get(&mut reader, b"x"), Some(5));
    assert_eq!(database.read(b"x"), None);
    writer.purge(10).unwrap();
    assert_eq!(database.trees.map.read().unwrap().len(), 2, "the reader may still ask");
    reader.abort();
    writer.purge(10).unwrap();
    assert_eq!(database.trees.map.read().unwrap().len(), 1);
    writer.begin().unwrap();
    put(&mut writer, b"x", 8).unwrap();
    writer.commit().unwrap();
    assert_eq!(database.read(b"x"), Some(8));
}

#[test]
fn write_skew_is_allowed_and_locked_reads_prevent_it() {
    let database = Database::with_rows(1, 1);
    let (mut first, mut second) = (begin(&database), begin(&database));
    assert_eq!((get(&mut first, b"x"), get(&mut second, b"y")), (Some(1), Some(1)));
    put(&mut first, b"y", 0).unwrap();
    put(&mut second, b"x", 0).unwrap();
    first.commit().unwrap();
    second.commit().unwrap();
    assert_eq!((database.read(b"x"), database.read(b"y")), (Some(0), Some(0)), "snapshot isolation, no more");

    let database = Database::with_rows(1, 1);
    let (mut first, mut second) = (begin(&database), begin(&database));
    let mut value = Vec::new();
    assert!(first.get_to_change(1, b"x", &mut value).unwrap());
    put(&mut first, b"y", 0).unwrap();
    let refused = second.get_to_change(1, b"y", &mut value).map(drop);
    assert!(is_conflict(refused));
    first.commit().unwrap();
}

#[test]
fn a_snapshot_is_renewed_where_nothing_that_was_read_has_changed() {
    let database = Database::with_rows(1, 1);
    let mut late = begin(&database);
    assert_eq!(get(&mut late, b"y"), Some(1));
    let mut early = begin(&database);
    put(&mut early, b"x", 5).unwrap();
    early.commit().unwrap();
    put(&mut late, b"x", 6).unwrap();
    late.commit().unwrap();
    assert_eq!(late.tally().renewed, 1);
    assert_eq!(database.read(b"x"), Some(6));
}

#[test]
fn a_snapshot_that_costs_too_much_memory_is_told_so() {
    let core = Arc::new(Core::new(Logs::none(), 0, 64 * 256, Pace::Asked).unwrap());
    let database = Database { core, trees: Memory::default() };
    let mut writer = database.session();
    let write = |writer: &mut Session<'_, Memory>, round: u64| {
        writer.begin().unwrap();
        writer.put(1, b"x", &[round as u8; 100]).unwrap();
        writer.commit().unwrap();
    };
    write(&mut writer, 0);
    let mut reader = begin(&database);
    (1..20).for_each(|round| write(&mut writer, round));
    let refused = reader.get(1, b"x", &mut Vec::new());
    assert!(matches!(refused, Err(EngineError::SnapshotTooOld { table: 1 })), "{refused:?}");
}

/// Four threads move money between accounts; sums are right in every snapshot, and nobody loses for ever.
#[test]
fn transfers_keep_the_sum_in_every_snapshot() {
    const ACCOUNTS: u64 = 8;
    let database = Database::new(Pace::Eager);
    let mut session = begin(&database);
    for account in 0..ACCOUNTS {
        put(&mut session, &account.to_be_bytes(), 100).unwrap();
    }
    session.commit().unwrap();
    drop(session);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let database = &database;
            scope.spawn(move || {
                let mut chance = Xoshiro256PlusPlus::seed_from_u64(thread);
                let mut session = database.session();
                let mut done = 0;
                while done < 500 {
                    done += u64::from(transfer(&mut session, &mut chance, ACCOUNTS));
                    assert_eq!(sum(&mut session, ACCOUNTS), 100 * ACCOUNTS, "seed {thread}");
                }
            });
        }
    });
}

fn transfer(session: &mut Session<'_, Memory>, chance: &mut Xoshiro256PlusPlus, accounts: u64) -> bool {
    let (from, to) = (chance.next_u64() % accounts, chance.next_u64() % accounts);
    session.begin().unwrap();
    let (seen, also) = (get(session, &from.to_be_bytes()).unwrap(), get(session, &to.to_be_bytes()).unwrap());
    if from == to || seen == 0 {
        session.abort();
        return true;
    }
    let moved = put(session, &from.to_be_bytes(), seen - 1)
        .and_then(|()| put(session, &to.to_be_bytes(), also + 1))
        .and_then(|()| session.commit());
    match moved {
        Ok(()) => true,
        Err(EngineError::Conflict { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

fn sum(session: &mut Session<'_, Memory>, accounts: u64) -> u64 {
    session.begin().unwrap();
    let mut sum = 0;
    let end = accounts.to_be_bytes();
    session
        .scan(1, &0_u64.to_be_bytes(), &end, true, |_, value| {
            sum += u64::from_be_bytes(value.try_into().unwrap());
            true
        })
        .unwrap();
    session.abort();
    sum
}

/// Two loaders that fill the same range and count in the same row: an earlier design gave up when it lost a lock.
#[test]
fn loaders_that_meet_on_the_same_rows_both_finish() {
    let database = Database::new(Pace::Eager);
    let mut session = begin(&database);
    put(&mut session, b"count", 0).unwrap();
    session.commit().unwrap();
    drop(session);
    std::thread::scope(|scope| {
        for loader in 0..4_u64 {
            let database = &database;
            scope.spawn(move || {
                let mut session = database.session();
                for row in 0..300_u64 {
                    let mut tries = 0;
                    while !load(&mut session, loader, row) {
                        tries += 1;
                        assert!(tries < 1000, "loader {loader} lost {tries} times in a row at {row}");
                    }
                }
            });
        }
    });
    assert_eq!(database.read(b"count"), Some(1200));
}

fn load(session: &mut Session<'_, Memory>, loader: u64, row: u64) -> bool {
    session.begin().unwrap();
    let step = |session: &mut Session<'_, Memory>| {
        put(session, &[&row.to_be_bytes()[..], &loader.to_be_bytes()].concat(), row)?;
        let mut count = Vec::new();
        session.get_to_change(1, b"count", &mut count)?;
        let count = u64::from_be_bytes(count.try_into().unwrap());
        put(session, &(row % 10).to_be_bytes(), loader)?;
        put(session, b"count", count + 1)?;
        session.commit()
    };
    match step(session) {
        Ok(()) => true,
        Err(EngineError::Conflict { .. }) => {
            session.abort();
            false
        }
        Err(error) => panic!("{error}"),
    }
}

#[derive(Clone, Debug)]
enum Action {
    Put(u8, u8),
    Delete(u8),
    Get(u8),
    Scan(u8, u8, bool),
    Commit,
    Abort,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (0..12_u8, any::<u8>()).prop_map(|(key, value)| Action::Put(key, value)),
        2 => (0..12_u8).prop_map(Action::Delete),
        3 => (0..12_u8).prop_map(Action::Get),
        2 => (0..12_u8, 0..13_u8, any::<bool>()).prop_map(|(from, below, down)| Action::Scan(from, below, down)),
        2 => Just(Action::Commit),
        1 => Just(Action::Abort),
    ]
}

proptest! {
    /// Three transactions interleaved by one thread, each against a copy of the database at its snapshot.
    #[test]
    fn each_transaction_sees_its_own_copy(script in prop::collection::vec((0..3_usize, action()), 1..120)) {
        let database = Database::new(Pace::Asked);
        let mut sessions: Vec<_> = (0..3).map(|_| begin(&database)).collect();
        let mut committed: BTreeMap<u64, BTreeMap<u8, u8>> = BTreeMap::from([(0, BTreeMap::new())]);
        let mut own: Vec<BTreeMap<u8, Option<u8>>> = vec![BTreeMap::new(); 3];
        for (who, action) in script {
            let session = &mut sessions[who];
            let result = match &action {
                Action::Put(key, value) => session.put(1, &[*key], &[*value]).map(|()| _ = own[who].insert(*key, Some(*value))),
                Action::Delete(key) => session.delete(1, &[*key]).map(|there| if there { own[who].insert(*key, None); }),
                _ => Ok(()),
            };
            if let Err(EngineError::Conflict { .. }) = result {
                own[who].clear();
                session.begin().unwrap();
                continue;
            }
            result.unwrap();
            let mut view = committed.range(..=session.snapshot()).next_back().unwrap().1.clone();
            for (key, value) in &own[who] {
                match value { Some(value) => _ = view.insert(*key, *value), None => _ = view.remove(key) }
            }
            match action {
                Action::Get(key) => {
                    let mut value = Vec::new();
                    let found = session.get(1, &[key], &mut value).unwrap();
                    prop_assert_eq!(found.then(|| value[0]), view.get(&key).copied());
                }
                Action::Scan(from, below, down) => {
                    let mut found = Vec::new();
                    session.scan(1, &[from], &[below], down, |key, value| { found.push((key[0], value[0])); true }).unwrap();
                    let mut expected: Vec<_> = view.into_iter().filter(|(key, _)| (from..below).contains(key)).collect();
                    if down { expected.reverse(); }
                    prop_assert_eq!(found, expected);
                }
                Action::Commit => {
                    let ticket = session.commit_soon().unwrap();
                    session.wait(ticket).unwrap();
                    if !own[who].is_empty() {
                        // The newest state with these changes: the view may be older where others changed other rows.
                        let mut state = committed.values().next_back().unwrap().clone();
                        for (key, value) in std::mem::take(&mut own[who]) {
                            match value { Some(value) => _ = state.insert(key, value), None => _ = state.remove(&key) }
                        }
                        committed.insert(ticket.commit, state);
                    }
                    session.begin().unwrap();
                }
                Action::Abort => {
                    own[who].clear();
                    session.begin().unwrap();
                }
                _ => {}
            }
        }
    }
}
