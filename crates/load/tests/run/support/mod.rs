//! Jobs for real runs, in folders that go away.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use assay_instruments::Watch;
use assay_load::{LoadError, run};
use assay_record::{ClassResult, Event, Job, Record};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder on the disk of the build folder.
pub fn on_disk() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

/// A folder in memory; none where there is no such file system.
pub fn in_memory() -> Option<TempDir> {
    let folder = tempfile::tempdir_in("/dev/shm").ok();
    if folder.is_none() {
        eprintln!("skipped: no folder in /dev/shm");
    }
    folder
}

/// A job with one class of 4 KiB uniform reads through `pread` on a file of 1 MiB, 0.2 s.
pub fn job(folder: &Path) -> Value {
    json!({
        "version": 1, "name": "test", "seed": 7, "scratch": "s", "free_percent_at_least": 0.0,
        "targets": [{"id": "t", "kind": "folder", "members": [folder]}],
        "datasets": [{"name": "d", "target": "t", "bytes": 1 << 20}],
        "classes": [class("c")],
        "window": {"measure_s": 0.2, "interval_ms": 20}
    })
}

/// 4 KiB uniform reads of data set `d` through `pread`.
pub fn class(name: &str) -> Value {
    json!({
        "name": name, "dataset": "d", "path": {"kind": "pread"}, "operation": {"kind": "read"},
        "pattern": {"kind": "uniform"}, "size": 4096
    })
}

pub fn parse(job: &Value) -> Job {
    Job::parse(&job.to_string()).unwrap_or_else(|error| panic!("{error}: {job}"))
}

pub fn run_job(job: &Value) -> Result<Record, LoadError> {
    run_watched(job, |_, _| {})
}

/// Runs a job; `each` sees every event and may set the flag of the interrupt.
///
/// A disk that others use may hold every operation for longer than the short window of a test: such a job is run again,
/// twice at most.
pub fn run_watched(job: &Value, mut each: impl FnMut(&Event, &AtomicBool)) -> Result<Record, LoadError> {
    for _ in 0..2 {
        match run_once(job, &mut each) {
            Err(error @ LoadError::NothingDone { .. }) => {
                eprintln!("run again: {error}");
                // A journal is never written over.
                if let Some(journal) = job["checks"]["acknowledgements"].as_str() {
                    let _ = std::fs::remove_file(journal);
                }
            }
            other => return other,
        }
    }
    run_once(job, &mut each)
}

fn run_once(job: &Value, each: &mut impl FnMut(&Event, &AtomicBool)) -> Result<Record, LoadError> {
    let interrupted = AtomicBool::new(false);
    let mut emit = |event: Event| each(&event, &interrupted);
    run(&parse(job), &mut Watch { emit: &mut emit, interrupted: &interrupted })
}

/// Runs a job that interrupts itself at the first event that `when` picks.
pub fn run_interrupted(job: &Value, when: impl Fn(&Event) -> bool) -> Result<Record, LoadError> {
    run_watched(job, |event, flag| {
        if when(event) {
            flag.store(true, Relaxed);
        }
    })
}

/// Nothing of a run is left in its folder.
pub fn assert_empty(folder: &Path) {
    let left: Vec<_> = std::fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// What holds of every result, whatever was measured.
pub fn assert_consistent(class: &ClassResult, size: u64) {
    let name = &class.name;
    assert_eq!(class.bytes, class.operations * size, "{name}");
    assert_eq!(class.reads + class.writes, class.operations, "{name}");
    let after = class.overdue.map_or(0, |overdue| overdue.completed);
    let missing = class.overdue.map_or(0, |overdue| overdue.missing);
    // What was due in the window and never started has a response time, and no service time.
    let served = class.operations + after;
    assert!((served..=served + missing).contains(&class.service.count), "{name}");
    let sum = |of: fn(&assay_record::IntervalPoint) -> u64| class.intervals.iter().map(of).sum::<u64>();
    assert_eq!(sum(|point| point.operations), class.operations, "{name}");
    assert_eq!(sum(|point| point.bytes), class.bytes, "{name}");
    assert!(class.intervals.windows(2).all(|pair| pair[0].at_s < pair[1].at_s), "{name}");
    let depth = class.achieved_depth.value;
    assert!(depth <= f64::from(class.asked_depth) * 1.001 && depth >= 0.0, "{name}: {depth} in flight");
    let service = &class.service;
    let ordered = [service.min_ns, service.p50_ns, service.p90_ns, service.p99_ns, service.p999_ns, service.max_ns];
    assert!(ordered.windows(2).all(|pair| pair[0] <= pair[1]), "{name}: {ordered:?}");
    if let Some(response) = &class.response {
        assert_eq!(response.count, served + missing, "{name}");
        assert!(response.mean_ns >= service.mean_ns, "{name}: {} < {}", response.mean_ns, service.mean_ns);
    }
    if let (Some(reads), Some(writes)) = (&class.read_service, &class.write_service) {
        assert_eq!(reads.count + writes.count, class.service.count, "{name}");
        assert!(reads.count >= class.reads && writes.count >= class.writes, "{name}");
    }
    assert!(class.errors.is_empty(), "{name}: {:?}", class.errors);
}
