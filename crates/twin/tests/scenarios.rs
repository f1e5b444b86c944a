//! What holds for any scenario of one to four classes on twins of the catalog, by both engines.
//!
//! `cargo run --release -p assay-twin --example two_engines` prints how far the two are apart over thousands of scenarios.

mod scenario;

use scenario::{Catalog, Pair, Scenario};

/// Scenarios that each test draws, and the seed of the first one: always the same ones.
const SCENARIOS: u64 = 60;
const SEED: u64 = 7_000_000;

fn compared() -> Vec<(Scenario, Vec<Pair>)> {
    let catalog = Catalog::read();
    let drawn = (0..SCENARIOS).filter_map(|index| Scenario::draw(&catalog, SEED + index));
    drawn.filter_map(|one| one.compare().ok().map(|pairs| (one, pairs))).collect()
}

fn rank(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

#[test]
fn both_engines_keep_laws_and_agree() {
    let all = compared();
    assert!(all.len() as u64 > SCENARIOS * 9 / 10, "{} of {SCENARIOS} scenarios could be played", all.len());
    let mut apart = Vec::new();
    for (scenario, pairs) in &all {
        for pair in pairs {
            let said = || format!("{} of seed {}: {pair:?} | {}", pair.name, scenario.seed, scenario.words);
            littles_law(pair, &said);
            rates_are_no_more_than_asked(pair, &said);
            if pair.operations >= 400 {
                apart.push(pair.apart());
            }
        }
    }
    apart.sort_by(f64::total_cmp);
    let (median, most) = (rank(&apart, 0.5), rank(&apart, 0.75));
    assert!(
        median < 1.05 && most < 1.4,
        "the engines are {median:.3} apart in the middle, {most:.3} at three quarters"
    );
}

/// No more is in flight than there may be: what is served a second times its mean latency. Loads that do not depend on one
/// another overlap in memory, and are left out.
fn littles_law(pair: &Pair, said: &dyn Fn() -> String) {
    if pair.solved_mean_ns > 0.0 && !said().contains("(memory)") {
        let inside = pair.solved * pair.solved_mean_ns / 1e9;
        assert!(inside <= pair.in_flight * 1.01, "{inside:.2} in flight by the solution: {}", said());
    }
    if !said().contains("(memory)") {
        let inside = pair.simulated * pair.simulated_mean_ns / 1e9;
        assert!(inside <= pair.in_flight * 1.05, "{inside:.2} in flight by the simulation: {}", said());
    }
}

fn rates_are_no_more_than_asked(pair: &Pair, said: &dyn Fn() -> String) {
    let Some(asked) = pair.asked else { return };
    assert!(pair.solved <= asked * 1.001, "the solution does more than is asked: {}", said());
    let chance = 6.0 / (pair.operations.max(1) as f64).sqrt();
    // What was due while the page cache filled is made up for when it is full.
    let due = if said().contains("buffered") { 1.0 + scenario::WARMUP_S / scenario::MEASURE_S } else { 1.0 };
    assert!(pair.simulated <= asked * (due + 0.02 + chance), "the simulation does more than is asked: {}", said());
}
