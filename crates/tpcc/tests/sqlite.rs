//! TPC-C on SQLite: conditions hold, and every spoilt row is found.

#![cfg(feature = "sqlite")]

use std::{ops::ControlFlow, thread};

use assay_tpcc::{
    Scale, Session, Store, TpccError,
    input::{Asker, Choice, Mix},
    random::NonUniform,
    sql::{SqliteOptions, SqliteStore},
    transaction::{Outcome, execute},
};
use tempfile::TempDir;

const SCALE: Scale = Scale { warehouses: 2, items: 100, customers: 20 };

fn loaded() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tpcc.sqlite").display().to_string();
    let options = format!("{{\"path\": {path:?}, \"synchronous\": \"off\"}}");
    let options: SqliteOptions = serde_json::from_str(&options).unwrap();
    let store = SqliteStore::new(options);
    store.load(&SCALE, 1, &mut |_| ControlFlow::Continue(())).unwrap();
    (folder, store)
}

fn work(store: &impl Store, terminal: u32, count: u32) -> (u64, u64) {
    let constants = NonUniform::for_run(&NonUniform::for_load(1), 9);
    let seed = 40 + u64::from(terminal);
    let mut asker = Asker::new(SCALE, Choice::Uniform, &Mix::default(), constants, terminal, seed).unwrap();
    let mut session = store.session().unwrap();
    let (mut orders, mut all) = (0, 0);
    for date in 1..=i64::from(count) {
        let input = asker.ask(date);
        loop {
            match execute(&mut session, &input) {
                Ok(Outcome::Committed { delivered }) => {
                    all += u64::from(delivered);
                    orders += u64::from(input.kind().name() == "new_order");
                }
                Ok(Outcome::RolledBack) => {}
                Err(TpccError::Conflict) => {
                    session.abort().unwrap();
                    continue;
                }
                Err(error) => panic!("seed {seed}: {error}"),
            }
            break;
        }
    }
    (orders, all)
}

fn broken(store: &impl Store, delivered: u64) -> Vec<String> {
    let checks = store.check(&SCALE, delivered).unwrap();
    assert_eq!(checks.len(), 12);
    checks.into_iter().filter(|check| !check.passed).map(|check| check.name).collect()
}

#[test]
fn conditions_hold_after_terminals_at_the_same_time() {
    let (_folder, store) = loaded();
    assert_eq!(broken(&store, 0), Vec::<String>::new());
    let done: Vec<(u64, u64)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|terminal| {
                let store = &store;
                scope.spawn(move || work(store, terminal, 150))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let (orders, delivered) = done.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(delivered > 0);
    assert_eq!(broken(&store, delivered), Vec::<String>::new());
    assert_eq!(store.orders_taken(&SCALE).unwrap(), orders);
}

#[test]
fn every_condition_can_fail_and_names_itself() {
    for condition in 1..=12_u8 {
        let (_folder, store) = loaded();
        store.spoil(condition).unwrap();
        let broken = broken(&store, 0);
        assert!(broken.contains(&format!("consistency-{condition}")), "{condition}: {broken:?}");
        assert!(broken.len() <= 3, "{condition} breaks no more than what follows from it: {broken:?}");
    }
}
