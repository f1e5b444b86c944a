//! Real runs of every path, operation and means of durability, on a disk and in memory.

use crate::support::{assert_consistent, assert_empty, in_memory, job, on_disk, run_job};
use assay_load::LoadError;
use assay_path::PathError;
use assay_record::{ClassResult, Record};
use serde_json::{Value, json};

/// Windows to try on a machine that is so busy that nothing gets done in one.
const WINDOWS: usize = 20;

/// Runs a job; none where this machine cannot do it.
fn possible(job: &Value) -> Option<Record> {
    let mut tries = (0..WINDOWS).map(|_| run_job(job));
    let done = tries.find(|outcome| !matches!(outcome, Err(LoadError::NothingDone { .. })));
    match done.unwrap_or_else(|| panic!("nothing was done in {WINDOWS} windows: {job}")) {
        Ok(record) => Some(record),
        Err(LoadError::Path(error @ PathError::Unavailable { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}: {job}"),
    }
}

fn operations() -> [Value; 3] {
    [json!({"kind": "read"}), json!({"kind": "write"}), json!({"kind": "mix", "write_percent": 25})]
}

/// Flushes follow writes at their rate; those at the edges may belong to a write on the other side.
fn assert_flushed(class: &ClassResult, kind: &str, every: u64, in_flight: u64) {
    let flushes = class.flush.as_ref().map_or(0, |flush| flush.count);
    let wanted = if matches!(kind, "none" | "o_dsync" | "rwf_dsync") { 0 } else { class.writes / every };
    let slack = if wanted == 0 { 0 } else { 1 + in_flight };
    assert!(flushes.abs_diff(wanted) <= slack, "{kind}: {flushes} flushes of {} writes, every {every}", class.writes);
}

fn check_path(folder: &std::path::Path, path: &str, depth: u32, kinds: &[&str]) {
    for operation in operations() {
        let writes = operation["kind"] != "read";
        for kind in if writes { kinds } else { &["none"][..] } {
            let every = if matches!(*kind, "none" | "o_dsync" | "rwf_dsync") { 1 } else { 3 };
            let mut job = job(folder);
            job["window"]["measure_s"] = json!(0.1);
            job["classes"][0]["path"]["kind"] = json!(path);
            job["classes"][0]["operation"] = operation.clone();
            job["classes"][0]["depth"] = json!(depth);
            job["classes"][0]["durability"] = json!({"kind": kind, "every": every});
            let Some(record) = possible(&job) else { continue };
            let class = &record.classes[0];
            assert!(class.operations > 0, "{path} {operation} {kind}");
            assert_consistent(class, 4096);
            assert_flushed(class, kind, every, u64::from(depth));
            match operation["kind"].as_str() {
                Some("read") => assert_eq!(class.writes, 0),
                Some("write") => assert_eq!(class.reads, 0),
                // One in four by chance: six standard deviations of their number, and what the edges cut.
                _ => {
                    let chance = (6.0 * 0.433 * (class.operations as f64).sqrt()) as u64;
                    let of = (class.writes, class.operations);
                    assert!((of.0 * 4).abs_diff(of.1) <= 4 * (chance + u64::from(depth) + 1), "{of:?}");
                }
            }
            assert_empty(folder);
        }
    }
}

const FILE_MEANS: [&str; 5] = ["none", "fdatasync", "fsync", "o_dsync", "rwf_dsync"];

#[test]
fn pread_on_disk_and_in_memory() {
    check_path(on_disk().path(), "pread", 1, &FILE_MEANS);
    if let Some(folder) = in_memory() {
        check_path(folder.path(), "pread", 1, &FILE_MEANS[..3]);
    }
}

#[test]
fn mmap_on_disk_and_in_memory() {
    check_path(on_disk().path(), "mmap", 1, &["none", "msync"]);
    if let Some(folder) = in_memory() {
        check_path(folder.path(), "mmap", 1, &["none", "msync"]);
    }
}

#[test]
fn libaio_on_disk_and_in_memory() {
    check_path(on_disk().path(), "libaio", 8, &FILE_MEANS);
    if let Some(folder) = in_memory() {
        check_path(folder.path(), "libaio", 4, &FILE_MEANS[..3]);
    }
}

#[test]
fn io_uring_on_disk_and_in_memory() {
    check_path(on_disk().path(), "io_uring", 8, &FILE_MEANS);
    if let Some(folder) = in_memory() {
        check_path(folder.path(), "io_uring", 1, &FILE_MEANS[..3]);
    }
}

#[test]
fn pmem_in_memory() {
    if let Some(folder) = in_memory() {
        check_path(folder.path(), "pmem", 1, &["none", "persist"]);
    }
}

#[test]
fn the_null_path_with_one_and_with_many_in_flight() {
    for (depth, batch) in [(1, 1), (32, 1), (32, 8)] {
        let mut job = job(std::path::Path::new("/"));
        job["targets"][0] = json!({"id": "t", "kind": "null"});
        job["classes"][0]["path"]["kind"] = json!("null");
        job["classes"][0]["depth"] = json!(depth);
        job["classes"][0]["batch"] = json!(batch);
        let record = run_job(&job).unwrap();
        assert_consistent(&record.classes[0], 4096);
        assert!(record.classes[0].operations > 10_000);
    }
}

#[test]
fn members_threads_and_sizes_mix() {
    let (one, other, folder) = (on_disk(), on_disk(), on_disk());
    let members = [one.path(), other.path(), folder.path()];
    let mut job = job(members[0]);
    job["targets"][0]["members"] = json!(members);
    job["datasets"][0] = json!({"name": "d", "target": "t", "bytes": 96 * 16384, "stripe_bytes": 16384, "content": "stamped", "files": 2});
    job["classes"][0]["size"] = json!([{"bytes": 4096, "weight": 3}, {"bytes": 16384, "weight": 1}]);
    job["classes"][0]["threads"] = json!(4);
    job["checks"] = json!({"data": true});
    for pattern in ["uniform", "sequential"] {
        job["classes"][0]["pattern"]["kind"] = json!(pattern);
        let record = run_job(&job).unwrap();
        let class = &record.classes[0];
        let check = class.check.as_ref().unwrap();
        assert_eq!((check.wrong, &check.examples), (0, &Vec::new()), "{pattern}");
        assert_eq!(check.blocks * 4096, class.bytes, "{pattern}: every block read was verified");
        assert_eq!(class.reads, class.operations);
    }
    members.iter().for_each(|member| assert_empty(member));
}

#[test]
fn bound_files_lie_on_one_member_each() {
    let (one, other) = (on_disk(), on_disk());
    let mut job = job(one.path());
    job["targets"][0]["members"] = json!([one.path(), other.path()]);
    job["datasets"][0] = json!({"name": "d", "target": "t", "bytes": 1 << 18, "files": 2, "placement": "bound"});
    job["classes"][0]["threads"] = json!(2);
    job["classes"][0]["operation"]["kind"] = json!("write");
    let record = run_job(&job).unwrap();
    assert_consistent(&record.classes[0], 4096);
}

#[test]
fn a_growing_log_wraps() {
    for path in ["pread", "io_uring", "libaio"] {
        let folder = on_disk();
        let mut job = job(folder.path());
        job["datasets"][0] = json!({"name": "d", "target": "t", "bytes": 64 * 4096, "layout": "grow", "files": 2});
        job["classes"][0]["path"]["kind"] = json!(path);
        job["classes"][0]["operation"]["kind"] = json!("write");
        job["classes"][0]["pattern"]["kind"] = json!("sequential");
        job["classes"][0]["threads"] = json!(2);
        job["classes"][0]["depth"] = json!(if path == "pread" { 1 } else { 4 });
        let Some(record) = possible(&job) else { continue };
        assert!(record.classes[0].operations > 256, "{path} wrapped");
        assert_consistent(&record.classes[0], 4096);
        assert_empty(folder.path());
    }
}

#[test]
fn a_hundred_threads_are_one_class() {
    let folder = on_disk();
    let mut job = job(folder.path());
    job["classes"][0]["threads"] = json!(128);
    let record = run_job(&job).unwrap();
    assert_consistent(&record.classes[0], 4096);
    assert_eq!(record.classes[0].asked_depth, 128);
}

#[test]
fn a_job_without_room_for_its_buffers_is_refused() {
    let folder = on_disk();
    let mut job = job(folder.path());
    job["classes"][0]["buffer_bytes"] = json!(1u64 << 60);
    let error = run_job(&job).unwrap_err();
    assert_eq!(error.exit_code(), 4, "{error}");
    assert!(error.to_string().contains("available"), "{error}");
    assert_empty(folder.path());
}
