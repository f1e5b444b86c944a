//! Several loads on modules of memory, by both engines.

mod scenario;

use scenario::{Catalog, Pair, Scenario};

const SEED: u64 = 1_000_000;
const SCENARIOS: u64 = 800;
/// Fewer operations than this, and chance alone parts the engines.
const OPERATIONS: u64 = 400;

fn on_memory(catalog: &Catalog, seed: u64) -> Option<(Scenario, Vec<Pair>)> {
    let one = Scenario::draw(catalog, seed).filter(|one| one.kinds.iter().any(|kind| kind == "memory"))?;
    let pairs = one.compare().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    Some((one, pairs))
}

#[test]
fn who_shares_modules_gets_the_same_by_both_engines() {
    let catalog = Catalog::read();
    let all: Vec<_> = (0..SCENARIOS).filter_map(|index| on_memory(&catalog, SEED + index)).collect();
    let mut apart: Vec<(f64, String)> = Vec::new();
    for (one, pairs) in &all {
        let long = pairs.iter().filter(|pair| pair.operations >= OPERATIONS);
        apart.extend(long.map(|pair| (pair.apart(), format!("seed {}: {pair:?} | {}", one.seed, one.words))));
    }
    apart.sort_by(|one, other| one.0.total_cmp(&other.0));
    let at = |share: f64| &apart[((apart.len() - 1) as f64 * share) as usize];
    assert!(apart.len() > 150, "{} figures", apart.len());
    assert!(at(0.9).0 < 1.1 && at(1.0).0 < 2.0, "nine of ten {:?}, worst {:?}", at(0.9), at(1.0));
}

/// Seed 1000999 has 16 threads of a rate beside 16 others on 16 hardware threads: half of them ran, with half of the rate.
#[test]
fn a_rate_is_kept_by_those_of_its_threads_that_run() {
    let (one, pairs) = on_memory(&Catalog::read(), 1_000_999).expect("the scenario is on memory");
    let paced: Vec<&Pair> = pairs.iter().filter(|pair| pair.asked.is_some()).collect();
    assert!(!paced.is_empty(), "{}", one.words);
    for pair in paced {
        let asked = pair.asked.unwrap_or_default();
        assert!(pair.simulated > 0.97 * asked.min(pair.solved), "{pair:?} | {}", one.words);
    }
}
