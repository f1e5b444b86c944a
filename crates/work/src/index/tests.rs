//! The runner on an index in plain memory, right and wrong.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, atomic::AtomicBool},
    time::Duration,
};

use assay_index::{About, Factory, Index, IndexError, Opened, Session, Visit};
use assay_record::{Status, WorkRecord};

use super::{Watch, run_on};
use crate::index::job::IndexJob;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// What is wrong with an index on purpose.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// One insert in a thousand is acknowledged and not done.
    LosesInserts,
    /// A value of another key is read now and then.
    MixesValues,
    /// After reopening an entry is gone.
    Forgets,
    /// What it looks at when it is examined cannot be.
    Breaks,
    /// One lookup in forty takes longer than the window.
    Lingers,
}

struct Memory<'m> {
    map: &'m Mutex<Map>,
    fault: Fault,
}

struct Maker {
    map: Mutex<Map>,
    fault: Fault,
}

impl Memory<'_> {
    fn map(&self) -> MutexGuard<'_, Map> {
        self.map.lock().unwrap()
    }
}

impl Index for Memory<'_> {
    type Session<'a>
        = TestSession<'a>
    where
        Self: 'a;

    fn session(&self) -> TestSession<'_> {
        TestSession { memory: Memory { map: self.map, fault: self.fault }, turn: 0 }
    }

    fn examine(&self) -> Option<Result<String, String>> {
        assert!(self.fault != Fault::Breaks, "a leaf that is none");
        None
    }

    fn used_bytes(&self) -> u64 {
        self.map().iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() as u64 * 2
    }
}

struct TestSession<'m> {
    memory: Memory<'m>,
    turn: u64,
}

impl Session for TestSession<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        self.turn += 1;
        if self.memory.map().contains_key(key) {
            return Ok(false);
        }
        if self.memory.fault != Fault::LosesInserts || self.turn % 1000 != 0 {
            self.memory.map().insert(key.to_vec(), value.to_vec());
        }
        Ok(true)
    }

    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.memory.map().get_mut(key).map(|old| *old = value.to_vec()).is_some())
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.memory.map().insert(key.to_vec(), value.to_vec()).is_none())
    }

    fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, IndexError> {
        self.turn += 1;
        if self.memory.fault == Fault::Lingers && self.turn % 40 == 0 {
            std::thread::sleep(Duration::from_millis(60));
        }
        value.clear();
        let map = self.memory.map();
        let found = map.get(key);
        value.extend(found.into_iter().flatten());
        if self.memory.fault == Fault::MixesValues && self.turn % 100 == 0 {
            value.reverse();
        }
        Ok(found.is_some())
    }

    fn remove(&mut self, key: &[u8]) -> Result<bool, IndexError> {
        Ok(self.memory.map().remove(key).is_some())
    }

    fn scan(&mut self, from: &[u8], limit: usize, visit: &mut Visit<'_>) -> Result<usize, IndexError> {
        let map = self.memory.map();
        let entries = map.range(from.to_vec()..).take(limit);
        Ok(entries.take_while(|(key, value)| visit(key, value)).count())
    }
}

/// A factory hands out indexes that outlive no borrow of it, so the map is leaked for the test's length.
struct Leaked(&'static Maker);

impl Factory for Leaked {
    type Index = Memory<'static>;
    type Counted = Memory<'static>;

    fn create(&self) -> Result<Memory<'static>, IndexError> {
        Ok(Memory { map: &self.0.map, fault: self.0.fault })
    }

    fn open(&self) -> Result<Opened<Memory<'static>>, IndexError> {
        if self.0.fault == Fault::Forgets {
            self.0.map.lock().unwrap().pop_first();
        }
        Ok(Opened { index: self.create()?, recovery: Duration::from_micros(3) })
    }

    fn open_counted(&self) -> Option<Result<Memory<'static>, IndexError>> {
        Some(self.create())
    }

    fn about(&self) -> About {
        About { emulated: true, durability: "none", version: None, settings: BTreeMap::new() }
    }
}

fn job(workload: &str, threads: u32, window: &str) -> IndexJob {
    let text = format!(
        r#"{{"version": 1, "name": "t", "index": "fptree", "target": "/", "workload": "{workload}", "keys": 5000,
            "threads": {threads}, "warmup_s": 0.01, "window": {window}, "counted_operations": 100}}"#
    );
    IndexJob::parse(&text).unwrap()
}

fn try_run(fault: Fault, job: &IndexJob) -> Result<WorkRecord, IndexError> {
    let maker = Box::leak(Box::new(Maker { map: Mutex::default(), fault }));
    let interrupted = AtomicBool::new(false);
    run_on(&Leaked(maker), job, &mut Watch { emit: &mut |_| {}, interrupted: &interrupted })
}

fn run(fault: Fault, job: &IndexJob) -> WorkRecord {
    try_run(fault, job).unwrap()
}

fn check<'r>(record: &'r WorkRecord, name: &str) -> &'r assay_record::WorkCheck {
    record.checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no check {name}"))
}

#[test]
fn every_workload_runs_on_one_thread_and_on_three_and_is_found_right() {
    for workload in crate::index::workload::WorkloadName::ALL {
        for threads in [1, 3] {
            let record = run(Fault::None, &job(workload.name(), threads, r#"{"operations": 3000}"#));
            assert!(record.checks.iter().all(|check| check.passed), "{workload:?}: {:?}", record.checks);
            assert_ne!(record.verdict.status, Status::Invalid, "{workload:?}");
            let done: u64 = record.parts.iter().map(|part| part.succeeded + part.empty).sum();
            assert!((3000..3003).contains(&done), "{workload:?}: {done}");
            assert!(record.figures["ops_per_s"].value > 0.0 && record.figures["load_ops_per_s"].value > 0.0);
        }
    }
}

#[test]
fn inserts_after_a_parallel_load_all_succeed() {
    let record = run(Fault::None, &job("insert", 3, r#"{"operations": 3000}"#));
    assert_eq!((record.parts[0].succeeded, record.parts[0].empty), (3000, 0));
}

#[test]
fn a_window_by_time_ends_and_has_a_series() {
    let record = run(Fault::None, &job("ycsb-a", 2, r#"{"seconds": 0.6}"#));
    assert!(record.measured_s > 0.0);
    let done: u64 = record.parts.iter().map(|part| part.succeeded).sum();
    assert_eq!(record.intervals.iter().map(|point| point.operations).sum::<u64>(), done);
    assert!(record.parts.iter().all(|part| part.service.as_ref().unwrap().count > 0));
}

/// Seen as 110 ms of CPU an operation: threads that heard of the window when it was over had done nothing in it.
#[test]
fn a_thread_that_hears_late_of_a_short_window_works_in_it_all_the_same() {
    for threads in [1, 3] {
        let short = job("lookup", threads, r#"{"seconds": 0.005}"#);
        let record = run(Fault::Lingers, &IndexJob { checked_entries: 10, ..short });
        let done: u64 = record.parts.iter().map(|part| part.succeeded + part.empty).sum();
        assert!(done >= u64::from(threads) * 32, "{done} operations of {threads} threads");
        assert_eq!(record.intervals.iter().map(|point| point.operations).sum::<u64>(), done);
    }
}

/// Seen as lookups of 10 ns in a table of a gigabyte: the clock was read before memory had answered. Now what is under way is
/// waited for, so that short operations are timed more rarely.
#[test]
fn short_operations_are_timed_more_rarely_where_nobody_says_how_often() {
    let share = |index: &str, said: &str| {
        let text = format!(r#"{{"index": "{index}"{said}}}"#);
        let mut document: serde_json::Value = serde_json::to_value(job("lookup", 1, r#"{"operations": 50}"#)).unwrap();
        document.as_object_mut().unwrap().remove("sample_every");
        document.as_object_mut().unwrap().extend(serde_json::from_str::<serde_json::Map<_, _>>(&text).unwrap());
        IndexJob::parse(&document.to_string()).unwrap().timed_one_in()
    };
    assert_eq!(share("dash-eh", ""), 4 * share("ssd-btree", ""));
    assert_eq!(share("dash-eh", r#", "sample_every": 3"#), 3);
}

#[test]
fn keys_run_out_and_the_window_ends() {
    let record = run(Fault::None, &job("remove", 2, r#"{"seconds": 60.0}"#));
    assert_eq!(record.parts[0].succeeded, 5000);
}

/// Values are looked at where operations are timed, one of 64: the window is so long that some fifteen wrong ones are among them.
#[test]
fn an_index_that_lies_is_invalid() {
    for (fault, name) in [
        (Fault::LosesInserts, "contents-lookups"),
        (Fault::MixesValues, "values"),
        (Fault::Forgets, "contents-lookups"),
    ] {
        let workload = if fault == Fault::LosesInserts { "insert" } else { "lookup" };
        let record = run(fault, &job(workload, 1, r#"{"operations": 100000}"#));
        assert!(!check(&record, name).passed, "{name}");
        assert_eq!(record.verdict.status, Status::Invalid);
    }
}

/// Seen as a program that ended with a panic and no word: the window had not met the damage, the check did.
#[test]
fn an_index_that_a_check_finds_broken_is_refused_with_what_was_seen() {
    let said = try_run(Fault::Breaks, &job("lookup", 1, r#"{"operations": 50}"#)).unwrap_err();
    assert!(matches!(&said, IndexError::Damaged { what } if what.contains("a leaf that is none")), "{said}");
}
