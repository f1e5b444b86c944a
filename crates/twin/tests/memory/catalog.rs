//! Twins of the catalog, and questions to the device alone.

use std::path::PathBuf;

use assay_record::Persist;
use assay_twin::{
    PathKey, Target, Twin,
    analytic::{DeviceAnswer, DeviceLoad, answer},
};

pub const GIB: f64 = (1u64 << 30) as f64;

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../catalog")
}

pub fn twin(name: &str) -> Twin {
    let path = folder().join("twins").join(format!("{name}.toml"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn modules(name: &str, modules: u32) -> Target {
    Target::Device { twin: Box::new(twin(name)), modules }
}

/// Closed reads of a load-and-store program.
pub fn reads(size_bytes: f64, sequential: bool, threads: f64) -> DeviceLoad {
    DeviceLoad {
        write_share: 0.0,
        size_bytes,
        sequential,
        in_flight: threads,
        threads,
        bunch: 1.0,
        think_ns: 0.0,
        rate_per_s: f64::INFINITY,
        flushes_per_op: 0.0,
        working_set_bytes: 1e11,
        duration_s: 0.0,
        path: PathKey::Pmem,
        persist: Persist::Auto,
        fenced: false,
    }
}

pub fn writes(size_bytes: f64, sequential: bool, threads: f64, persist: Persist) -> DeviceLoad {
    DeviceLoad { write_share: 1.0, persist, ..reads(size_bytes, sequential, threads) }
}

pub fn ask(target: &Target, loads: &[DeviceLoad]) -> Vec<DeviceAnswer> {
    let mut answers = vec![DeviceAnswer::default(); loads.len()];
    answer(target, loads, &mut answers).expect("the model answers");
    answers
}

/// Bytes per second of one load alone.
pub fn rate(target: &Target, load: DeviceLoad) -> f64 {
    ask(target, &[load])[0].ops_per_s * load.size_bytes
}

#[test]
fn every_twin_of_memory_reads_and_answers() {
    for name in [
        "pmem100-128g",
        "pmem100-256g",
        "pmem100-512g",
        "pmem200-256g",
        "ddr4-2666-32g",
        "ddr4-2933-32g",
        "ddr4-3200-32g",
        "ddr5-4800-32g",
        "nvdimm-n",
        "cz120",
        "cxl-a1000",
        "cxl-e3s-96g",
        "cxl-fpga",
    ] {
        let target = modules(name, 2);
        target.validate().expect(name);
        for load in [reads(256.0, false, 4.0), writes(256.0, true, 4.0, Persist::Nt)] {
            let answer = ask(&target, &[load])[0];
            assert!(answer.ops_per_s > 1e6 && answer.mean_ns > 0.0, "{name}: {answer:?}");
            assert!(answer.p50.low_ns <= answer.p99.high_ns && answer.p99.mid_ns <= answer.p999.high_ns, "{name}");
        }
    }
}
