//! Drives of the catalog over sizes, depths and mixes: answers that no drive gives are not given.

use std::path::PathBuf;

use assay_twin::{
    Target, Twin,
    analytic::{DeviceAnswer, DeviceLoad},
};

use super::model::{load, solve};

const DEPTHS: [f64; 4] = [1.0, 2.0, 8.0, 128.0];
/// Saturated: more in flight than any station needs.
const DEEP: f64 = 128.0;
/// More than any of the drives holds: all of it is worked on.
const WHOLE: f64 = 1e13;

fn drive(name: &str) -> Target {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../catalog/twins").join(format!("{name}.toml"));
    let twin: Twin = assay_twin::document::parse_file(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    Target::Device { twin: Box::new(twin), modules: 1 }
}

fn asked(target: &Target, load: &DeviceLoad) -> DeviceAnswer {
    solve(target, std::slice::from_ref(load))[0]
}

fn mix(target: &Target, bytes: f64, in_flight: f64, writes: f64) -> f64 {
    let load = DeviceLoad { think_ns: 20_000.0, working_set_bytes: WHOLE, ..load(writes, bytes, in_flight) };
    asked(target, &load).ops_per_s
}

/// A lone request once met its own programs as if they were another's, so that answers jumped by a factor of five from one
/// share of reads to the next.
#[test]
fn mixes_of_few_requests_come_to_rest() {
    for name in ["sn850x", "970evoplus", "990pro", "9100max"] {
        let target = drive(name);
        for bytes in [65_536.0, 262_144.0, 1_048_576.0] {
            for percent in (5..100).step_by(5) {
                let writes = f64::from(percent) / 100.0;
                let rates = DEPTHS.map(|depth| mix(&target, bytes, depth, writes));
                let most = mix(&target, bytes, DEEP, 1.0);
                let said = || format!("{name}, {bytes} B, {percent} % writes: {rates:.0?} 1/s, writes alone {most:.0}");
                assert!(rates.windows(2).all(|pair| pair[1] > 0.93 * pair[0]), "fewer with more in flight: {}", said());
                assert!(rates.iter().all(|rate| rate * writes < 1.01 * most), "more writes than alone: {}", said());
                let least = mix(&target, bytes, 1.0, 1.0).min(mix(&target, bytes, 1.0, 0.0));
                assert!(rates[0] > 0.4 * least, "less than either alone ({least:.0}): {}", said());
            }
        }
    }
}

/// Reads and writes of an Optane drive share what it has: both directions of its link are not filled at once.
#[test]
fn a_mix_on_an_optane_drive_lies_between_its_parts() {
    for name in ["p4800x", "p5800x", "optane-m16"] {
        let target = drive(name);
        for bytes in [4096.0, 16_384.0, 131_072.0] {
            let (reads, writes) = (mix(&target, bytes, DEEP, 0.0), mix(&target, bytes, DEEP, 1.0));
            for share in [0.1, 0.3, 0.5, 0.7] {
                let both = mix(&target, bytes, DEEP, share);
                let time = (1.0 - share) / reads + share / writes;
                assert!(
                    (both * time - 1.0).abs() < 0.08,
                    "{name}, {bytes} B, {share}: {both:.0}, {reads:.0}, {writes:.0}"
                );
            }
        }
    }
}

/// The guide of the P4500 says 10 us for sequential reads of 4 KiB at depth 1, the host's 2 us among them; 4 KiB of them
/// at a time, or pages, give the same bandwidth.
#[test]
fn sequential_reads_were_read_ahead() {
    let lone = |name: &str| {
        let alone = DeviceLoad { sequential: true, ..load(0.0, 4096.0, 1.0) };
        asked(&drive(name), &alone).mean_ns
    };
    assert!((8_000.0..12_000.0).contains(&lone("p4500")), "{} ns", lone("p4500"));
    let streams = |threads: f64| {
        let load = DeviceLoad { sequential: true, threads, ..load(0.0, 16_384.0, threads) };
        asked(&drive("p4500"), &load).mean_ns
    };
    assert!(streams(8.0) > 2.0 * streams(1.0), "of many streams the drive sees none go on: {} ns", streams(8.0));
    for name in ["970evoplus", "970pro", "p4500"] {
        let deep = |bytes: f64| {
            let deep = DeviceLoad { sequential: true, ..load(0.0, bytes, DEEP) };
            asked(&drive(name), &deep).ops_per_s * bytes
        };
        assert!(deep(16_384.0) > 0.97 * deep(4096.0), "{name}: {} and {} B/s", deep(16_384.0), deep(4096.0));
    }
}
