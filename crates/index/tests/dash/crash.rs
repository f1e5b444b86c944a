//! Dash survives every crash that was tried, crashes of its lazy recovery included.

use crate::common::Case;
use assay_index::dash::{Directory, Extendible, Linear};
use assay_pmem::crash::{Explorer, Summary};

/// Images of one kind of table in CI, and where somebody asks for all.
const FEW: u64 = 5_000;
const MANY: u64 = 100_000;

fn explore<D: Directory>(images: u64, per_history: u64, first_seed: u64) -> Summary {
    let (mut total, mut seed, start) = (Summary::default(), first_seed, std::time::Instant::now());
    while total.images < images {
        let explorer = Explorer { seed, images: per_history, depth: 2, nested_images: 24, ..Explorer::default() };
        let case = Case::<D>::by_chance(seed, 16);
        let found = explorer.explore(&case).unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        total.images += found.images;
        total.nested_images += found.nested_images;
        total.moments += found.moments;
        total.exhausted += found.exhausted;
        total.events += found.events;
        seed += 1;
    }
    eprintln!("{}: {total:?} of {} histories in {:?}", D::NAME, seed - first_seed, start.elapsed());
    total
}

#[test]
fn extendible_hashing_survives_sampled_crashes() {
    assert!(explore::<Extendible>(FEW, 150, 1).nested_images > FEW / 20);
}

#[test]
fn linear_hashing_survives_sampled_crashes() {
    assert!(explore::<Linear>(FEW, 150, 1).nested_images > FEW / 20);
}

#[test]
#[ignore = "takes minutes: `./assay test crash`"]
fn a_hundred_thousand_images_of_extendible_hashing() {
    explore::<Extendible>(MANY, 700, 1000);
}

#[test]
#[ignore = "takes minutes: `./assay test crash`"]
fn a_hundred_thousand_images_of_linear_hashing() {
    explore::<Linear>(MANY, 700, 1000);
}
