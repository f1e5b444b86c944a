//! Transactions over a key-value store in memory: conditions hold after any of them, and every spoilt row is found.

use std::{ops::ControlFlow, thread};

use assay_tpcc::{
    KvStore, Scale, Session, Store, TpccError,
    input::{Asker, Choice, Mix},
    memory::MemoryKv,
    random::NonUniform,
    transaction::{Outcome, execute},
};
use proptest::prelude::*;

const SCALE: Scale = Scale { warehouses: 3, items: 100, customers: 20 };

fn loaded() -> KvStore<MemoryKv> {
    let store = KvStore::new(MemoryKv::default(), SCALE.warehouses);
    store.load(&SCALE, 1, &mut |_| ControlFlow::Continue(())).unwrap();
    store
}

#[derive(Debug, Default)]
struct Done {
    orders: u64,
    delivered: u64,
}

fn work(store: &KvStore<MemoryKv>, terminal: u32, seed: u64, count: u32) -> Done {
    work_on(store, Choice::Uniform, &Mix::default(), (terminal, seed), count)
}

fn work_on(store: &KvStore<MemoryKv>, choice: Choice, mix: &Mix, (terminal, seed): (u32, u64), count: u32) -> Done {
    let constants = NonUniform::for_run(&NonUniform::for_load(1), seed);
    let mut asker = Asker::new(SCALE, choice, mix, constants, terminal, seed).unwrap();
    let mut session = store.session().unwrap();
    let mut done = Done::default();
    for date in 1..=i64::from(count) {
        let input = asker.ask(date);
        loop {
            match execute(&mut session, &input) {
                Ok(Outcome::Committed { delivered }) => {
                    done.delivered += u64::from(delivered);
                    done.orders += u64::from(input.kind().name() == "new_order");
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
    done
}

fn broken(store: &KvStore<MemoryKv>, delivered: u64) -> Vec<String> {
    let checks = store.check(&SCALE, delivered).unwrap();
    assert_eq!(checks.len(), 12);
    checks
        .into_iter()
        .filter(|check| !check.passed)
        .map(|check| format!("{}: {}", check.name, check.evidence))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    #[test]
    fn conditions_hold_after_any_transactions(seed in any::<u64>()) {
        let store = loaded();
        let done = work(&store, 0, seed, 150);
        prop_assert_eq!(broken(&store, done.delivered), Vec::<String>::new());
        prop_assert_eq!(store.orders_taken(&SCALE).unwrap(), done.orders);
    }
}

#[test]
fn conditions_hold_after_a_load_and_after_terminals_at_the_same_time() {
    let store = loaded();
    assert_eq!(broken(&store, 0), Vec::<String>::new());
    let done: Vec<Done> = thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|terminal| {
                let store = &store;
                scope.spawn(move || work(store, terminal, 77 + u64::from(terminal), 100))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let delivered = done.iter().map(|done| done.delivered).sum();
    assert!(delivered > 0);
    assert_eq!(broken(&store, delivered), Vec::<String>::new());
    assert_eq!(store.orders_taken(&SCALE).unwrap(), done.iter().map(|done| done.orders).sum::<u64>());
}

#[test]
fn every_condition_can_fail_and_names_itself() {
    for condition in 1..=12_u8 {
        let store = loaded();
        let done = work(&store, 0, 5, 60);
        store.spoil(condition).unwrap();
        let broken = broken(&store, done.delivered);
        let name = format!("consistency-{condition}:");
        assert!(broken.iter().any(|check| check.starts_with(&name)), "{condition}: {broken:?}");
        let expected = match condition {
            1 | 4 | 9 | 10 | 11 => 2,
            3 | 7 | 8 => 3,
            5 => 2,
            _ => 1,
        };
        assert!(broken.len() <= expected, "{condition} breaks no more than what follows from it: {broken:?}");
    }
    assert!(loaded().spoil(13).is_err());
}

#[test]
fn conditions_are_broken_where_the_first_districts_have_no_orders_left_to_deliver() {
    let deliveries = Mix { new_order: 0, payment: 0, order_status: 0, delivery: 100, stock_level: 0 };
    let undelivered = SCALE.undelivered();
    for condition in [3, 5, 7, 11] {
        // One, two and no orders are left in the districts of the first warehouse.
        for count in undelivered - 2..=undelivered {
            let store = loaded();
            let done = work_on(&store, Choice::Home, &deliveries, (0, 5), count);
            assert_eq!(broken(&store, done.delivered), Vec::<String>::new());
            store.spoil(condition).unwrap();
            let name = format!("consistency-{condition}:");
            let broken = broken(&store, done.delivered);
            assert!(broken.iter().any(|check| check.starts_with(&name)), "{condition}, {count}: {broken:?}");
        }
    }
    let store = loaded();
    for terminal in 0..3 {
        work_on(&store, Choice::Home, &deliveries, (terminal, 5), undelivered);
    }
    let told = store.spoil(3).unwrap_err().to_string();
    assert!(told.contains("no district has 3 orders"), "{told}");
}
