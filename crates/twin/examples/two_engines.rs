//! How far the simulation and the analytic solution are apart over random scenarios of one to four classes.
//!
//! `cargo run --release -p assay-twin --example two_engines [SCENARIOS [SEED [FIRST]]]` prints the distribution, by kind
//! of scenario, and the scenarios that are furthest apart. A seed beyond the first draws others; the same one, the same.
//! FIRST is the scenario to begin with: `1 1 646` compares the one that is printed as seed 1000646.

#![allow(clippy::print_stdout, reason = "a tool that prints")]

#[path = "../tests/scenario/mod.rs"]
mod scenario;

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

use scenario::{Catalog, Pair, Scenario};

const SHARES: [f64; 5] = [0.5, 0.75, 0.9, 0.99, 1.0];
/// Classes that ended fewer operations are left out: chance alone moves them.
const OPERATIONS_AT_LEAST: u64 = 400;

struct Seen {
    kinds: Vec<String>,
    words: String,
    seed: u64,
    pairs: Vec<Pair>,
}

fn main() {
    let argument =
        |index: usize, default: u64| std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (count, seed, first) = (argument(1, 2000), argument(2, 1), argument(3, 0));
    let began = Instant::now();
    let (seen, refused) = compare_all(first..first + count, seed);
    report(&seen);
    println!("{} scenarios, {refused} refused, {:.0} s", seen.len(), began.elapsed().as_secs_f64());
}

fn compare_all(which: std::ops::Range<u64>, seed: u64) -> (Vec<Seen>, usize) {
    let catalog = Catalog::read();
    let next = AtomicU64::new(which.start);
    let work = || {
        let (mut seen, mut refused) = (Vec::new(), 0);
        loop {
            let index = next.fetch_add(1, Relaxed);
            if index >= which.end {
                return (seen, refused);
            }
            let seed = seed * 1_000_000 + index;
            let compared = Scenario::draw(&catalog, seed).map(|one| (one.compare(), one));
            match compared {
                Some((Ok(pairs), one)) => seen.push(Seen { kinds: one.kinds, words: one.words, seed, pairs }),
                _ => refused += 1,
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(2);
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = (Vec::new(), 0);
        for handle in handles {
            let (seen, refused) = handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all.0.extend(seen);
            all.1 += refused;
        }
        all
    })
}

fn report(seen: &[Seen]) {
    let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut worst: Vec<(f64, String)> = Vec::new();
    for one in seen {
        for pair in one.pairs.iter().filter(|pair| pair.operations >= OPERATIONS_AT_LEAST) {
            groups.entry(" all classes".to_owned()).or_default().push(pair.apart());
            one.kinds.iter().for_each(|kind| groups.entry(kind.clone()).or_default().push(pair.apart()));
            let words = format!("{}: {:.0} and {:.0}/s | {}", pair.name, pair.simulated, pair.solved, one.words);
            worst.push((pair.apart(), format!("seed {} {words}", one.seed)));
        }
    }
    println!(
        "{:<14} {:>7}  simulated over analytic, or the other way round: median, 75, 90, 99 %, most",
        "", "figures"
    );
    for (kind, apart) in &mut groups {
        apart.sort_by(f64::total_cmp);
        let at = |share: f64| apart[((apart.len() - 1) as f64 * share) as usize];
        let figures = SHARES.map(|share| format!("{:>7.3}", at(share))).join(" ");
        println!("{kind:<14} {:>7}  {figures}", apart.len());
    }
    worst.sort_by(|one, other| other.0.total_cmp(&one.0));
    let shown = std::env::var("WORST").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    worst.iter().take(shown).for_each(|(apart, words)| println!("{apart:.2} {words}"));
}
