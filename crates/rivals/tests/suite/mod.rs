//! What every rival must do, as our own indexes do: it is a map, across lives, threads and kinds of work.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};

use assay_index::{Index, IndexError, Session};
use assay_record::Status;
use assay_rivals::{Durability, Engine, Settings, Task, TpccJob, index, soak, tpcc};
use assay_soak::{Finding, SoakJob};
use assay_work::index::{IndexJob, Watch};
use serde_json::json;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn settings(durability: Durability) -> Settings {
    Settings { cache_bytes: 8 << 20, durability, threads: 4, ..Settings::default() }
}

/// Numbers that are the same in every run (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Of 300 keys of 1 to 40 bytes.
    fn key(&mut self) -> Vec<u8> {
        let number = self.next() % 300;
        let mut key = number.to_be_bytes()[6..].to_vec();
        key.resize(1 + (number as usize * 7) % 40, number as u8);
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let lengths = [0, 8, 100, 1000, 16 << 10];
        let number = self.next();
        vec![number as u8; lengths[(number >> 32) as usize % 5]]
    }
}

/// A history of every operation against a model, closed and opened again in between.
pub fn it_is_a_map_across_lives<E: Engine + Index>(seed: u64) {
    for &durability in E::durabilities() {
        let folder = tempfile::tempdir().unwrap();
        let (mut model, mut numbers) = (Model::new(), Numbers(seed));
        for life in 0..3 {
            let db = E::start(folder.path(), &settings(durability), 1).unwrap();
            let mut session = db.session();
            for step in 0..250 {
                let at = format!("{} {durability:?}, seed {seed}, life {life}, step {step}", E::NAME);
                one_step(&mut session, &mut model, &mut numbers, &at);
            }
            everything_is_there(&mut session, &model);
            assert!(db.used_bytes() > 0);
        }
    }
}

fn one_step(session: &mut impl Session, model: &mut Model, numbers: &mut Numbers, at: &str) {
    let (key, value) = (numbers.key(), numbers.value());
    let there = model.contains_key(&key);
    match numbers.next() % 6 {
        0 => {
            assert_eq!(session.insert(&key, &value).unwrap(), !there, "insert, {at}");
            model.entry(key).or_insert(value);
        }
        1 => {
            assert_eq!(session.update(&key, &value).unwrap(), there, "update, {at}");
            model.entry(key).and_modify(|old| *old = value);
        }
        2 => {
            assert_eq!(session.upsert(&key, &value).unwrap(), !there, "upsert, {at}");
            model.insert(key, value);
        }
        3 => {
            assert_eq!(session.remove(&key).unwrap(), there, "remove, {at}");
            model.remove(&key);
        }
        4 => {
            let mut found = b"left over".to_vec();
            assert_eq!(session.lookup(&key, &mut found).unwrap(), there, "lookup, {at}");
            assert_eq!(found, model.get(&key).cloned().unwrap_or_default(), "lookup, {at}");
        }
        _ => {
            let mut seen = Vec::new();
            let count = session.scan(&key, 7, &mut |key, value| {
                seen.push((key.to_vec(), value.to_vec()));
                true
            });
            let right: Vec<_> = model.range(key..).take(7).map(|(key, value)| (key.clone(), value.clone())).collect();
            assert_eq!((count.unwrap(), seen), (right.len(), right), "scan, {at}");
        }
    }
}

fn everything_is_there(session: &mut impl Session, model: &Model) {
    let mut seen = Model::new();
    session.scan(&[], usize::MAX, &mut |key, value| seen.insert(key.to_vec(), value.to_vec()).is_none()).unwrap();
    assert!(seen == *model, "a scan of everything saw {} entries of {}", seen.len(), model.len());
    assert_eq!(session.scan(&[], 0, &mut |_, _| true).unwrap(), 0);
    let ended = session.scan(&[], 5, &mut |_, _| false).unwrap();
    assert_eq!(ended, model.len().min(1), "a visit that ends the scan");
    let keys: Vec<&[u8]> = model.keys().map(Vec::as_slice).chain([b"not there".as_slice()]).collect();
    let mut found = Model::new();
    session
        .lookup_many(&keys, &mut |at, value| assert!(found.insert(keys[at].to_vec(), value.to_vec()).is_none()))
        .unwrap();
    assert!(found == *model, "looked up together, {} of {} were found", found.len(), model.len());
}

/// Four threads insert the same keys: each key is added by exactly one, and nobody sees half a value.
pub fn threads_race_and_one_wins<E: Engine + Index>() {
    let folder = tempfile::tempdir().unwrap();
    let db = E::start(folder.path(), &settings(Durability::None), 1).unwrap();
    let (added, removed) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (db, added, removed) = (&db, &added, &removed);
            scope.spawn(move || {
                let (mut session, mut value) = (db.session(), Vec::new());
                for number in 0..200_u64 {
                    let key = number.to_be_bytes();
                    added.fetch_add(u32::from(session.insert(&key, &[thread; 64]).unwrap()), Relaxed);
                    session.update(&key, &[thread; 64]).unwrap();
                    if session.lookup(&key, &mut value).unwrap() {
                        assert!(value.len() == 64 && value.iter().all(|byte| *byte == value[0]), "{value:?}");
                    }
                    if number % 4 == 0 {
                        removed.fetch_add(u32::from(session.remove(&key).unwrap()), Relaxed);
                    }
                }
            });
        }
    });
    let left = db.session().scan(&[], usize::MAX, &mut |_, _| true).unwrap() as u32;
    assert_eq!(added.into_inner() - removed.into_inner(), left, "{}", E::NAME);
}

/// Keys and options that cannot be are refused, and change nothing.
pub fn what_cannot_be_is_refused<E: Engine + Index>() {
    let folder = tempfile::tempdir().unwrap();
    let db = E::start(folder.path(), &settings(Durability::None), 1).unwrap();
    let mut session = db.session();
    for key in [&[][..], &[1; 1025]] {
        let answers = [session.insert(key, b"v"), session.lookup(key, &mut Vec::new()), session.remove(key)];
        for answer in answers {
            assert!(matches!(answer, Err(IndexError::KeyLength { .. })), "{}: {answer:?}", E::NAME);
        }
    }
    assert_eq!(session.scan(&[], usize::MAX, &mut |_, _| true).unwrap(), 0);
    drop(session);
    drop(db);
    for durability in Durability::ALL.into_iter().filter(|one| !E::durabilities().contains(one)) {
        let refused = E::start(folder.path(), &settings(durability), 1).err().expect("it has no such durability");
        assert_eq!(refused.exit_code(), 2);
        assert!(refused.to_string().contains(durability.name()), "{refused}");
    }
}

/// The runner's own checks pass on every kind of work, and the record says what it must.
pub fn the_runner_finds_nothing_wrong<E: Engine + Index>() {
    for workload in ["insert", "remove", "missing", "ycsb-a", "ycsb-e", "ycsb-f"] {
        let folder = tempfile::tempdir().unwrap();
        let job = json!({
            "version": 1, "name": "test", "index": E::NAME, "target": folder.path(), "workload": workload,
            "keys": 400, "threads": 2, "warmup_s": 0.0, "window": {"operations": 200},
            "sizes": {"key": {"least": 8, "most": 24}, "value": {"least": 0, "most": 300}},
        });
        let job = IndexJob::parse(&job.to_string()).unwrap();
        let record = index(&job, &mut Watch { emit: &mut |_| {}, interrupted: &AtomicBool::new(false) }).unwrap();
        let failed: Vec<_> = record.checks.iter().filter(|check| !check.passed).collect();
        assert!(failed.is_empty() && record.checks.len() >= 5, "{} {workload}: {failed:?}", E::NAME);
        assert_eq!((record.subject.name.as_str(), record.durability.as_str()), (E::NAME, "none"));
        assert!(record.subject.version.starts_with(|first: char| first.is_ascii_digit()), "{}", record.subject.version);
        assert_eq!(record.subject.settings["kernel_page_cache"], "not bounded");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it left something behind");
    }
}

fn tpcc_job(engine: &str, folder: &Path, order: serde_json::Value) -> TpccJob {
    let mut whole = json!({"scale": {"warehouses": 2, "items": 200, "customers": 30}, "seed": 5, "check": true});
    whole.as_object_mut().unwrap().extend(order.as_object().unwrap().clone());
    serde_json::from_value(json!({"store": {"engine": engine, "folder": folder}, "order": whole})).unwrap()
}

/// TPC-C: loaded, opened again and driven, all conditions hold; and a condition that is broken is found.
pub fn tpcc_holds_its_conditions<E: Engine>() {
    let folder = tempfile::tempdir().unwrap();
    let interrupted = AtomicBool::new(false);
    let run = |order| {
        let mut around = Watch { emit: &mut |_| {}, interrupted: &interrupted };
        tpcc(&tpcc_job(E::NAME, folder.path(), order), &mut around).unwrap()
    };
    let loaded = run(json!({"load": true}));
    assert!(loaded.checks.len() >= 12 && loaded.checks.iter().all(|check| check.passed), "{:?}", loaded.checks);
    let driven = run(json!({"drive": {"terminals": 3, "ramp_s": 0.0, "measure_s": 0.3, "interval_s": 0.1}}));
    let failed: Vec<_> = driven.checks.iter().filter(|check| !check.passed).collect();
    assert!(failed.is_empty() && driven.checks.len() >= 14, "{}: {failed:?}", E::NAME);
    assert!(driven.parts.iter().map(|part| part.succeeded).sum::<u64>() > 0);
    assert_eq!((driven.subject.name.as_str(), driven.durability.as_str()), (E::NAME, "none"));
    let spoilt = run(json!({"spoil": 3}));
    assert!(spoilt.checks.iter().any(|check| !check.passed), "a broken condition was not found");
    assert_eq!(spoilt.verdict.status, Status::Invalid);
}

/// Work to its end is all there; where it was not done, all that was acknowledged is lost.
pub fn what_was_acknowledged_is_found_and_elsewhere_missed<E: Engine + Index>() {
    let (there, nowhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let job = |place: &Path| {
        SoakJob::parse(
            &json!({"version": 1, "name": E::NAME, "store": E::NAME, "place": place, "threads": 2, "keys": 16,
                    "turns": 40, "journal": there.path().join("journal")})
            .to_string(),
        )
        .unwrap()
    };
    let mut at_work = 0;
    let mut emit = |_| at_work += 1;
    let work = Task::Work(&mut Watch { emit: &mut emit, interrupted: &AtomicBool::new(false) });
    assert!(soak(&job(there.path()), work).unwrap().is_none());
    assert_eq!(at_work, 1);
    let check = |place: &Path| -> Finding { soak(&job(place), Task::Check).unwrap().unwrap() };
    assert_eq!((check(there.path()).whole(), check(there.path()).turns), (true, 80));
    let missed = check(nowhere.path());
    assert!(!missed.whole() && missed.datasets[0].lost > 0, "{missed:?}");
}
