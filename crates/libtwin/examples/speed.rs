//! Submissions per second of one core: `cargo run --release -p assay-libtwin --example speed`.
#![allow(clippy::print_stdout, reason = "a tool that prints")]

use std::{cmp::Reverse, collections::BinaryHeap, fs, hint::black_box, path::Path, time::Instant};

use assay_libtwin::{Op, Twin};

const SUBMISSIONS: u64 = 5_000_000;

/// Millions a second of requests of 4 KiB that come one every `gap_ns`, without a heap of events.
fn alone(twin: &mut Twin, op: Op, gap_ns: u64) -> f64 {
    let (begin, mut chance) = (Instant::now(), 1_u64);
    for index in 0..SUBMISSIONS {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        black_box(twin.submit(index * gap_ns, op, (chance >> 28) << 12, 4096));
    }
    SUBMISSIONS as f64 / begin.elapsed().as_secs_f64() / 1e6
}

/// The same of 32 in flight, 70 % reads, each followed by the next when it is answered: what a simulator does.
fn loops(twin: &mut Twin) -> f64 {
    let (begin, mut chance) = (Instant::now(), 1_u64);
    let mut events: BinaryHeap<Reverse<u64>> = (0..32).map(Reverse).collect();
    for _ in 0..SUBMISSIONS {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let Some(mut first) = events.peek_mut() else { break };
        let op = if chance % 10 < 7 { Op::Read } else { Op::Write };
        *first = Reverse(twin.submit(first.0, op, (chance >> 28) << 12, 4096));
    }
    SUBMISSIONS as f64 / begin.elapsed().as_secs_f64() / 1e6
}

fn main() {
    println!("{:<12} {:>10} {:>10} {:>22}", "twin", "reads", "writes", "70/30, 32 in flight");
    for name in ["970evoplus", "p4610", "p5800x", "disk-7200", "gp3", "i3-2xlarge"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../catalog/twins/{name}.toml"));
        let text = fs::read_to_string(&path).expect("a twin of the catalog");
        let fresh = || Twin::open(&text, 1).expect("a drive");
        let [reads, writes] = [Op::Read, Op::Write].map(|op| alone(&mut fresh(), op, 20_000));
        println!("{name:<12} {reads:>6.1} M/s {writes:>6.1} M/s {:>18.1} M/s", loops(&mut fresh()));
    }
}
