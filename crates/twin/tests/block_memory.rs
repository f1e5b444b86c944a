//! Memory as a block device: calls and page cache of a drive, and copies by the CPU that asks.

mod scenario;

use assay_twin::{PathKey, Stream, StreamPath, TwinError, solve};
use scenario::{Catalog, Pair, Scenario};
use serde_json::{Value, json};

const HOST: &str = "xeon-8260l";

fn class(operation: &Value, pattern: &str, size: u64, threads: u32, direct: bool) -> Value {
    json!({
        "name": format!("{}, {pattern}, {size} x {threads}, direct {direct}", operation["kind"]),
        "path": {"kind": "pread", "direct": direct},
        "operation": operation,
        "pattern": {"kind": pattern},
        "size": size,
        "threads": threads,
    })
}

fn compared(class: Value, file_system: Option<&str>) -> Pair {
    let catalog = Catalog::read();
    let scenario = Scenario::on(catalog.blocks("pmem100-128g", 6), catalog.host(HOST), file_system, &[class]);
    scenario.compare().unwrap_or_else(|error| panic!("{}: {error}", scenario.words)).remove(0)
}

#[test]
fn both_engines_agree_on_direct_calls_and_on_the_page_cache() {
    let mut seen = Vec::new();
    for operation in [json!({"kind": "read"}), json!({"kind": "write"}), json!({"kind": "mix", "write_percent": 30})] {
        for (pattern, size) in [("uniform", 4096), ("sequential", 16_384), ("sequential", 524_288)] {
            for (threads, direct) in [(1, true), (8, true), (32, true), (1, false), (8, false), (32, false)] {
                let pair = compared(class(&operation, pattern, size, threads, direct), None);
                seen.push((pair.apart(), pair));
            }
        }
    }
    seen.sort_by(|one, other| one.0.total_cmp(&other.0));
    let at = |share: f64| &seen[((seen.len() - 1) as f64 * share) as usize];
    assert!(at(0.5).0 < 1.03 && at(0.9).0 < 1.15 && at(1.0).0 < 1.4, "{:#?}", &seen[seen.len() - 8..]);
}

fn solved(block: bool, path: PathKey, size_bytes: f64, threads: u32) -> f64 {
    let catalog = Catalog::read();
    let target = catalog.blocks("pmem100-128g", 6);
    let target =
        if let (false, assay_twin::Target::Block { memory }) = (block, &target) { *memory.clone() } else { target };
    let stream = Stream {
        threads,
        sequential: true,
        working_set_bytes: 1e11,
        ..Stream::closed("scan", 0.0, size_bytes, StreamPath::plain(path))
    };
    let solution = solve(&target, catalog.host(HOST), &[stream]).expect("the model answers");
    solution.streams[0].bandwidth_bytes_per_s
}

/// The page cache copies everything twice, and one thread reads nothing ahead of itself: it copies what it asks for.
#[test]
fn a_scan_through_the_page_cache_is_slower_than_one_on_dax() {
    let dax = solved(false, PathKey::DaxPread, 131_072.0, 1);
    let direct = solved(true, PathKey::PreadDirect, 131_072.0, 1);
    let cached = solved(true, PathKey::PreadBuffered, 131_072.0, 1);
    assert!((0.8..1.01).contains(&(direct / dax)), "large copies hide what a call costs: {direct:e} of {dax:e}");
    assert!(cached < 0.8 * direct, "{cached:e} of {direct:e}");
}

/// What a study found of small requests: the block layer costs more than the copy.
#[test]
fn small_direct_calls_cost_more_than_calls_on_dax() {
    let dax = solved(false, PathKey::DaxPread, 512.0, 1);
    let direct = solved(true, PathKey::PreadDirect, 512.0, 1);
    assert!(direct < 0.6 * dax, "{direct:e} of {dax:e}");
}

#[test]
fn what_memory_as_a_block_device_cannot_do_is_refused_in_words() {
    let catalog = Catalog::read();
    let ask = |key: PathKey| {
        let stream = Stream::closed("load", 0.0, 4096.0, StreamPath::plain(key));
        match solve(&catalog.blocks("pmem100-128g", 1), catalog.host(HOST), &[stream]) {
            Err(error @ TwinError::NotPossible { .. }) => error.to_string(),
            other => panic!("{key:?}: {other:?}"),
        }
    };
    for key in [PathKey::Pmem, PathKey::DaxPread, PathKey::Passthrough, PathKey::Polled, PathKey::IoUringPolled] {
        assert!(ask(key).contains("takes no NVMe commands, no stores and is not polled"));
    }
}

/// A request has ended when the call that hands it over returns: nothing of it goes on beside the next one.
#[test]
fn a_depth_does_nothing_in_either_engine() {
    let rates = [1, 32].map(|depth| {
        let mut deep = class(&json!({"kind": "read"}), "uniform", 4096, 2, true);
        (deep["path"]["kind"], deep["depth"]) = (json!("io_uring"), json!(depth));
        compared(deep, Some("ext4"))
    });
    let [one, deep] = &rates;
    // A thread that copies by itself sleeps over nothing, and is not woken.
    assert!(one.apart() < 1.01, "{one:?}");
    assert!(
        (deep.solved / one.solved - 1.0).abs() < 1e-9 && (deep.simulated / one.simulated - 1.0).abs() < 0.01,
        "{rates:?}"
    );
}
