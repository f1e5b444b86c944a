//! Operations that a thread hands over at once: none of its slots is used again before as many have ended.

mod scenario;

use scenario::{Catalog, Pair, Scenario};
use serde_json::json;

const KINDS: [(&str, &str, u64); 3] = [("reads", "read", 4096), ("writes", "write", 16_384), ("mixed", "mix", 16_384)];

fn compared(drive: &str, (name, operation, size): (&str, &str, u64), (threads, depth, batch): (u32, u32, u32)) -> Pair {
    let mut class = json!({
        "name": name,
        "path": {"kind": "libaio", "direct": true},
        "operation": {"kind": operation},
        "pattern": {"kind": "uniform"},
        "size": size,
        "threads": threads,
        "depth": depth,
        "batch": batch,
    });
    if operation == "mix" {
        class["operation"]["write_percent"] = json!(30);
    }
    let scenario = Scenario::written(&Catalog::read(), drive, "epyc-7702p", None, &[class]);
    let mut pairs = scenario.compare().unwrap_or_else(|error| panic!("{drive}, {name} {depth}/{batch}: {error}"));
    pairs.remove(0)
}

/// Without a part for batches the solution let reads of 32 in flight, all handed over at once, come out 2.2 times as fast.
#[test]
fn both_engines_wait_for_the_last_of_a_batch() {
    for drive in ["p4610", "p5800x"] {
        for kind in KINDS {
            for shape in [(1, 4, 4), (1, 8, 8), (1, 32, 8), (1, 32, 16), (1, 32, 24), (1, 32, 32), (4, 16, 16)] {
                let pair = compared(drive, kind, shape);
                assert!(pair.apart() < 1.2, "{drive}, {shape:?}: {pair:?}");
                let latency = pair.solved_mean_ns / pair.simulated_mean_ns;
                assert!((0.75..1.35).contains(&latency), "{drive}, {shape:?}: {pair:?}");
            }
        }
    }
}

/// Both engines have less of a drive the more is handed over at once, as long as it has room.
#[test]
fn larger_batches_of_the_same_depth_give_no_more() {
    let rates = [1, 4, 8, 16].map(|batch| compared("p4610", KINDS[1], (1, 16, batch)));
    for (one, larger) in rates.iter().zip(&rates[1..]) {
        assert!(larger.solved <= one.solved * 1.001, "{one:?}, then {larger:?}");
        assert!(larger.simulated <= one.simulated * 1.01, "{one:?}, then {larger:?}");
    }
}

/// Rates and pauses hand over one at a time, and calls that block have one.
#[test]
fn a_batch_of_a_class_with_a_rate_is_none() {
    let scenario = |batch: u32| {
        let class = json!({
            "name": "reads", "path": {"kind": "libaio", "direct": true}, "operation": {"kind": "read"},
            "pattern": {"kind": "uniform"}, "size": 4096, "threads": 1, "depth": 32, "batch": batch,
            "arrivals": {"kind": "fixed", "rate_per_s": 100_000.0, "scope": "total"},
        });
        Scenario::written(&Catalog::read(), "p4610", "epyc-7702p", None, &[class])
    };
    let [one, many] = [1, 32].map(|batch| scenario::solved(&scenario(batch).job).expect("the twin answers").streams);
    assert_eq!(one[0].ops_per_s, many[0].ops_per_s);
    assert_eq!(one[0].mean_ns, many[0].mean_ns);
}

/// All classes of the scenario of a seed of the sweep (`examples/two_engines.rs`) are within `most` times by both engines.
fn near(seed: u64, most: f64) {
    let drawn = Scenario::draw(&Catalog::read(), seed);
    let one = drawn.unwrap_or_else(|| panic!("seed {seed} draws nothing"));
    let pairs = one.compare().unwrap_or_else(|error| panic!("{}: {error}", one.words));
    for pair in &pairs {
        assert!(pair.apart() < most, "seed {seed}: {}: {pair:?}", one.words);
    }
}

/// Beside reads a batch of writes waits for the drive's attention, not for its link. It waited for neither in the solution, and
/// came out 1.6 times as fast.
#[test]
fn seed_1001166_a_batch_waits_for_the_drives_attention() {
    near(1_001_166, 1.12);
}

/// The longest of a batch's waits was taken from how busy the dies were, wherever it waited: 2.8 and 3.2 times too long beside
/// scans that fill a link of few servers.
#[test]
fn seeds_5000018_and_5001019_the_longest_wait_of_a_batch_is_that_of_the_station_where_it_waits() {
    [5_000_018, 5_001_019].into_iter().for_each(|seed| near(seed, 1.15));
}

/// Lone readers met a batch of 64 large reads as if it came one by one, and came out 1.8 and 2.6 times too slow.
#[test]
fn seed_5001084_who_waited_for_a_batch_is_ahead_of_the_next_one() {
    near(5_001_084, 1.25);
}

/// A batch of reads and writes waits for its writes where those wait for room.
#[test]
fn seed_3000429_a_batch_that_reads_and_writes_waits_for_the_kind_that_takes_longer() {
    near(3_000_429, 1.1);
}

/// Of drives that were measured under load every operation draws its latency; a batch waits for the longest.
#[test]
fn seeds_8000599_and_8001939_a_batch_waits_for_the_longest_of_the_latencies_that_were_measured() {
    [8_000_599, 8_001_939].into_iter().for_each(|seed| near(seed, 1.12));
}
