//! Indexes in virtual time: the same play for the same seed, and what must hold between twins.

use std::{path::PathBuf, sync::atomic::AtomicBool};

use assay_index::Kind;
use assay_instruments::Watch;
use assay_record::{Provenance, Status, WorkRecord};
use assay_twin::{Driven, Host, TWIN_VERSION, Target, Twin};
use assay_work::index::{IndexJob, run};
use serde_json::{Value, json};

fn catalog<T: serde::de::DeserializeOwned>(kind: &str, name: &str) -> T {
    let path = format!("{}/../../catalog/{kind}/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    assay_twin::document::parse_file(path.as_ref()).unwrap()
}

fn driven(name: &str, modules: u32) -> Driven {
    let target = Target::Device { twin: Box::new(catalog::<Twin>("twins", name)), modules };
    let host: Host = catalog("hosts", "xeon-6242r");
    Driven { version: TWIN_VERSION, label: format!("twin:{name}*{modules}"), target, host, file_system: None }
}

fn place_of(kind: Kind, modules: u32) -> Driven {
    if kind.in_pmem() { driven("pmem100-128g", modules) } else { driven("p4800x", 1) }
}

/// Keys behind caches that hold little of them, or a pool that holds half.
fn document(kind: Kind, workload: &str, threads: u32, modules: u32) -> Value {
    // What lies on modules lies in memory here. Nothing of a drive does.
    let folder = if kind.in_pmem() { "/dev/shm" } else { "/" };
    json!({
        "version": 1, "name": "twin", "index": kind.name(), "target": folder, "workload": workload, "keys": if kind.in_pmem() { 5000 } else { 20_000 },
        "threads": threads, "warmup_s": 0.00001, "window": {"operations": 3000},
        "pool_bytes": if kind.in_pmem() { 64 << 20 } else { 256 << 10 },
        "twin": {"data": place_of(kind, modules), "cache_bytes": 16384, "turn_ns": 300.0},
    })
}

fn play_of(document: &Value) -> WorkRecord {
    let interrupted = AtomicBool::new(false);
    let job = IndexJob::parse(&document.to_string()).unwrap();
    run(&job, &mut Watch { emit: &mut |_| {}, interrupted: &interrupted }).unwrap()
}

fn rate(record: &WorkRecord) -> f64 {
    let figure = &record.figures["ops_per_s"];
    let band = figure.band.unwrap();
    assert!(figure.provenance == Provenance::Modelled && band.low < figure.value && figure.value < band.high);
    figure.value
}

fn trace(record: &WorkRecord) -> &str {
    record.subject.settings["io_trace"].as_str().unwrap()
}

#[test]
fn every_index_is_played_and_found_right() {
    for kind in Kind::ALL {
        for workload in ["ycsb-a", "insert", "remove"] {
            let record = play_of(&document(kind, workload, 3, 4));
            assert!(record.checks.iter().all(|check| check.passed), "{kind:?} {workload}: {:?}", record.checks);
            assert_eq!(record.verdict.status, Status::Valid, "{kind:?} {workload}: {:?}", record.verdict);
            let done: u64 = record.parts.iter().map(|part| part.succeeded + part.empty).sum();
            assert_eq!(done, 3000, "{kind:?} {workload}");
            assert!(
                rate(&record) > 0.0 && record.targets[0].target.starts_with("twin:") && !record.targets[0].emulated
            );
        }
    }
}

#[test]
fn a_twin_is_played_beside_somebody_who_measures_where_its_bytes_lie() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let measured = std::fs::File::open(place.path()).unwrap();
    rustix::fs::flock(&measured, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let mut wanted = document(Kind::DashEh, "lookup", 1, 1);
    wanted["target"] = json!(place.path());
    assert_eq!(play_of(&wanted).verdict.status, Status::Valid);
}

/// Of a process of its own this holds of each index (`tests/index/test_twins.py`). What others here still look at is given back
/// to a pool later, and BzTree then takes other blocks.
#[test]
fn the_same_seed_gives_the_same_answer_and_another_seed_another() {
    for kind in [Kind::Fptree, Kind::DashLh, Kind::SsdBtree] {
        let wanted = document(kind, "ycsb-a", 4, 4);
        let (first, second) = (play_of(&wanted), play_of(&wanted));
        assert_eq!(first.figures, second.figures, "{kind:?}");
        assert_eq!((trace(&first), &first.verdict), (trace(&second), &second.verdict), "{kind:?}");
        let mut other = wanted;
        other["seed"] = json!(2);
        assert_ne!(trace(&first), trace(&play_of(&other)), "{kind:?}");
    }
}

#[test]
fn what_an_operation_takes_is_its_computing_and_its_waits() {
    let record = play_of(&document(Kind::DashEh, "lookup", 1, 1));
    let figure = |name: &str| record.figures[name].value;
    let (cpu, waits) = (figure("cpu_ns_per_op"), figure("memory_wait_ns_per_op"));
    println!("{cpu} ns of computing, {waits} ns of waits, {} lines", figure("lines_read_per_op"));
    assert!((cpu - 300.0).abs() < 3.0, "a declared cost is what each operation computes: {cpu}");
    assert!(((cpu + waits) * rate(&record) / 1e9 - 1.0).abs() < 0.02);
    assert!((1.0..4.0).contains(&figure("lines_read_per_op")) && figure("lines_written_per_op") < 0.01);
}

#[test]
fn more_modules_and_more_threads_up_to_the_knee_are_never_slower() {
    let rate_of = |kind, workload, threads, modules| {
        let mut wanted = document(kind, workload, threads, modules);
        wanted["window"] = json!({"operations": 20_000});
        rate(&play_of(&wanted))
    };
    for (kind, workload) in [(Kind::Fptree, "lookup"), (Kind::DashEh, "update")] {
        let modules = [1, 2, 4, 6].map(|modules| rate_of(kind, workload, 16, modules));
        let threads = [1, 2, 4, 8].map(|threads| rate_of(kind, workload, threads, 6));
        println!("{kind:?} {workload}: by modules {modules:.0?}, by threads {threads:.0?}");
        let grows = |rates: [f64; 4]| rates.windows(2).all(|two| two[1] > two[0] * 0.98);
        assert!(grows(modules) && grows(threads) && threads[3] > threads[0] * 3.0);
        assert!(modules[3] > modules[0] * 1.1, "sixteen threads crowd one module");
    }
}

#[test]
fn what_operations_cost_is_learnt_once_and_then_the_same_job_gives_the_same_play() {
    let folder = tempfile::tempdir().unwrap();
    let costs: PathBuf = folder.path().join("costs");
    for kind in [Kind::DashEh, Kind::SsdHash] {
        let mut wanted = document(kind, "lookup", 2, 4);
        wanted["twin"]["costs"] = json!(costs);
        wanted["twin"]["turn_ns"] = Value::Null;
        let (first, second) = (play_of(&wanted), play_of(&wanted));
        println!("{kind:?}: {}", first.subject.settings["cpu_time"]);
        let told = first.subject.settings["cpu_time"].as_str().unwrap();
        assert!(told.contains("learnt on this machine"), "{told}");
        assert_eq!(first.figures, second.figures);
        assert_eq!(first.subject.settings, second.subject.settings);
    }
    assert_eq!(std::fs::read_dir(&costs).unwrap().count(), 2, "one file for each");
}

#[test]
fn what_cannot_be_played_is_refused_with_a_sentence() {
    let refused = |change: fn(&mut Value)| {
        let mut wanted = document(Kind::Fptree, "lookup", 2, 4);
        change(&mut wanted);
        let error = IndexJob::parse(&wanted.to_string()).expect_err("it was taken");
        assert!(error.exit_code() == 2 && !error.fix().is_empty());
        error.to_string()
    };
    let many = refused(|job| job["threads"] = json!(41));
    assert!(many.contains("41 threads") && many.contains("40 hardware threads"), "{many}");
    assert!(refused(|job| job["threads"] = json!(0)).contains("0 threads"));
    assert!(refused(|job| job["twin"]["data"] = json!(driven("p4800x", 1))).contains("is none"));
    assert!(refused(|job| job["index"] = json!("ssd-btree")).contains("lies on a drive"));
    assert!(refused(|job| job["twin"]["turn_ns"] = json!(1.0)).contains("turns of 1 ns"));
    assert!(refused(|job| job["twin"]["cache_bytes"] = json!(64)).contains("4 KiB"));
    assert!(refused(|job| job["pin"] = json!(true)).contains("no CPUs to pin to"));
    let whole = refused(|job| {
        (job["keys"], job["sizes"]) = (
            json!(400_000_000),
            json!({"key": {"least": 8, "most": 8},
        "value": {"least": 4000, "most": 4000}}),
        )
    });
    assert!(whole.contains("do not fit into"), "{whole}");
}
