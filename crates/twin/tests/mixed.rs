//! Reads and writes of one load through the page cache: both engines, and what holds for them.

mod scenario;

use assay_record::Job;
use assay_twin::{Driven, Host, TWIN_VERSION, Target, Twin};
use scenario::{Scenario, solved};
use serde_json::json;

fn document<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog").join(name);
    assay_twin::document::parse_file(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A job of one mix on a drive.
fn mix(drive: &str, path: &str, write_percent: u32, threads: u32, depth: u32) -> Scenario {
    let target = Target::device(document::<Twin>(&format!("twins/{drive}.toml")));
    let host: Host = document("hosts/i9-9900k.toml");
    let label = format!("{write_percent} % writes on {drive}, {path} {threads}x{depth}");
    let driven = Driven { version: TWIN_VERSION, label: label.clone(), target, host, file_system: None };
    let job = json!({
        "version": assay_record::FORMAT_VERSION,
        "name": "mix",
        "seed": 11,
        "targets": [{"id": "t", "kind": "twin", "twin": driven}],
        "datasets": [{"name": "data", "target": "t", "bytes": 32_u64 << 30}],
        "classes": [{
            "name": "mix",
            "dataset": "data",
            "path": {"kind": path, "direct": false},
            "operation": {"kind": "mix", "write_percent": write_percent},
            "pattern": {"kind": "uniform"},
            "size": 4096,
            "threads": threads,
            "depth": depth,
            "durability": {"kind": "none"},
        }],
        "window": {"warmup_s": 2.0, "measure_s": 10.0, "interval_ms": 1000},
        "cache": "cold",
    });
    let job: Job = serde_json::from_value(job).unwrap_or_else(|error| panic!("{label}: {error}"));
    Scenario { seed: 11, kinds: Vec::new(), words: label, job }
}

#[test]
fn writes_of_a_mix_do_not_wait_for_the_drive_in_either_engine() {
    for (path, threads, depth) in [("pread", 1, 1), ("pread", 8, 1), ("io_uring", 2, 16)] {
        for write_percent in [10, 50, 90] {
            let one = mix("p4610", path, write_percent, threads, depth);
            let pairs = one.compare().unwrap_or_else(|error| panic!("{}: {error}", one.words));
            assert!(pairs[0].apart() < 1.25, "{}: {:?}", one.words, pairs[0]);
        }
    }
}

#[test]
fn more_writes_never_make_a_mix_through_the_page_cache_slower_while_memory_has_room() {
    let rates = [10, 30, 50, 70, 90].map(|write_percent| {
        let one = mix("p4610", "pread", write_percent, 1, 1);
        solved(&one.job).unwrap_or_else(|error| panic!("{}: {error}", one.words)).streams[0].ops_per_s
    });
    assert!(rates.windows(2).all(|pair| pair[1] > pair[0] * 0.999), "{rates:?}");
}
