//! Whatever a crash leaves behind, acknowledged operations are there, others wholly or not at all, and nothing leaks.

use assay_pmem::crash::{Explorer, Summary};

use super::case::Case;

fn explore(images: u64, from_seed: u64) -> (Summary, u64) {
    let (mut total, mut seed) = (Summary::default(), from_seed);
    while total.images < images {
        seed += 1;
        let explorer = Explorer { seed, images: 500, nested_every: 24, nested_images: 24, ..Explorer::default() };
        let case = Case::by_chance(seed, 16);
        let found = explorer
            .explore(&case)
            .unwrap_or_else(|violation| panic!("history {seed}, {:?}, words {}: {violation}", case.start, case.words));
        total.images += found.images;
        total.nested_images += found.nested_images;
        total.moments += found.moments;
        total.exhausted += found.exhausted;
    }
    (total, seed - from_seed)
}

#[test]
fn some_thousand_images_without_a_violation() {
    let (total, histories) = explore(4000, 0);
    println!("{total:?} of {histories} histories");
    assert!(total.nested_images > 100, "{total:?}");
}

#[test]
#[ignore = "takes minutes: `./assay test crash`"]
fn a_hundred_thousand_images_without_a_violation() {
    let (total, histories) = explore(100_000, 1_000_000);
    println!("{total:?} of {histories} histories");
    assert!(total.nested_images > 10_000, "{total:?}");
}
