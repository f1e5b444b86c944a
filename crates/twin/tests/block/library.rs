//! The library that other programs play drives with gives what the simulation of a job gives.

use std::{cmp::Reverse, collections::BinaryHeap, path::Path, sync::atomic::AtomicBool};

use assay_libtwin::{Op, Twin};
use assay_record::Job;
use assay_twin::{Budget, Driven, TWIN_VERSION, Target, Watch, play_within};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};
use serde_json::json;

use crate::{invariants::free_host, model::SEED};

const SECONDS: f64 = 2.0;
const BUDGET: Budget = Budget { settled: 300_000, at_most: 300_000, long: 1e12 };

#[derive(Clone, Copy, Debug)]
struct Question {
    write_percent: u64,
    depth: u64,
    flushes: bool,
}

/// Operations per second, and mean, median and 99th percentile of their time, ns.
#[derive(Clone, Copy, Debug)]
struct Figures([f64; 4]);

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../catalog/twins/{name}.toml"));
    std::fs::read_to_string(path).unwrap()
}

/// The job on a host that costs nothing.
fn simulated(name: &str, asked: Question) -> Figures {
    let twin = assay_libtwin::document::read(&text(name)).unwrap();
    let bytes = (twin.capacity_bytes.value / 2.0) as u64 & !0xf_ffff;
    let (target, host) = (Target::device(twin), free_host());
    let driven = Driven { version: TWIN_VERSION, label: name.into(), target, host, file_system: None };
    let operation = match asked.write_percent {
        0 => json!({"kind": "read"}),
        100 => json!({"kind": "write"}),
        percent => json!({"kind": "mix", "write_percent": percent}),
    };
    let job = json!({
        "version": assay_record::FORMAT_VERSION, "name": "library", "seed": SEED,
        "targets": [{"id": "t", "kind": "twin", "twin": driven}],
        "datasets": [{"name": "d", "target": "t", "bytes": bytes}],
        "classes": [{
            "name": "c", "dataset": "d", "path": {"kind": "libaio", "direct": true}, "operation": operation,
            "pattern": {"kind": "uniform"}, "size": 4096, "threads": 1, "depth": asked.depth,
            "durability": {"kind": if asked.flushes { "fdatasync" } else { "none" }},
        }],
        "window": {"warmup_s": SECONDS / 4.0, "measure_s": SECONDS, "interval_ms": 1000},
    });
    let job: Job = serde_json::from_value(job).unwrap();
    let interrupted = AtomicBool::new(false);
    let record = play_within(&job, &mut Watch { emit: &mut |_| {}, interrupted: &interrupted }, BUDGET).unwrap();
    let class = &record.classes[0];
    let service = &class.service;
    Figures([class.ops_rate.value, service.mean_ns, service.p50_ns as f64, service.p99_ns as f64])
}

/// The same load in a loop of ten lines around the library.
fn played(name: &str, asked: Question) -> Figures {
    let mut twin = Twin::open_holding(&text(name), SEED, 0.5).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let blocks = twin.describe().capacity_bytes / 2 / 4096;
    let (begin, end) = ((SECONDS / 4.0 * 1e9) as u64, (SECONDS * 1.25 * 1e9) as u64);
    let mut events: BinaryHeap<Reverse<u64>> = (0..asked.depth).map(Reverse).collect();
    let mut took: Vec<u64> = Vec::new();
    while let Some(Reverse(now)) = events.pop() {
        if now >= end {
            break;
        }
        let write = random.next_u64() % 100 < asked.write_percent;
        let op = if write { Op::Write } else { Op::Read };
        let done = twin.submit(now, op, random.next_u64() % blocks * 4096, 4096);
        if now >= begin {
            took.push(done - now);
        }
        // The flush is asked for when the write has been answered; with one in flight nothing comes in between.
        events.push(Reverse(if write && asked.flushes { twin.flush(done) } else { done }));
    }
    took.sort_unstable();
    let at = |rank: f64| took[(took.len() as f64 * rank) as usize] as f64;
    let mean = took.iter().sum::<u64>() as f64 / took.len() as f64;
    Figures([took.len() as f64 / SECONDS, mean, at(0.5), at(0.99)])
}

#[test]
fn the_library_and_the_simulation_agree() {
    let mut wrong = Vec::new();
    for name in ["970evoplus", "p4610", "p5800x", "disk-7200", "gp3"] {
        for write_percent in [0, 30, 100] {
            for depth in [1, 16, 128] {
                let asked = Question { write_percent, depth, flushes: false };
                let (one, other) = (simulated(name, asked), played(name, asked));
                // Of some hundred operations the 99th percentile is the second largest; chance moves it most everywhere.
                let few = one.0[0] * SECONDS < 5_000.0;
                let allowed = if few { [0.1, 0.1, 0.1, f64::INFINITY] } else { [0.05, 0.05, 0.05, 0.1] };
                if (0..4).any(|index| (one.0[index] / other.0[index] - 1.0).abs() > allowed[index]) {
                    wrong.push(format!("{name} {asked:?}: simulation {:.0?}, library {:.0?}", one.0, other.0));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "(seed {SEED})\n{}", wrong.join("\n"));
}

#[test]
fn durable_writes_agree() {
    for name in ["970evoplus", "p4610", "p5800x", "gp3"] {
        let asked = Question { write_percent: 100, depth: 1, flushes: true };
        let (one, other) = (simulated(name, asked).0[0], played(name, asked).0[0]);
        assert!((one / other - 1.0).abs() < 0.05, "{name}: simulation {one:.0}/s, library {other:.0}/s (seed {SEED})");
    }
}
