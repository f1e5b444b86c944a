//! The tree survives every crash that was tried, with one thread and with several.

use crate::common::some_case;
use assay_pmem::crash::{Explorer, Summary};

fn explore(threads: u64, images: u64, seeds: std::ops::Range<u64>) -> Summary {
    let mut total = Summary::default();
    let histories = seeds.end - seeds.start;
    for seed in seeds {
        let explorer =
            Explorer { seed, images: images / histories, nested_every: 24, nested_images: 16, ..Explorer::default() };
        let found = explorer
            .explore(&some_case(seed, threads))
            .unwrap_or_else(|violation| panic!("{threads} threads, seed {seed}: {violation}"));
        total.images += found.images;
        total.nested_images += found.nested_images;
        total.moments += found.moments;
        total.exhausted += found.exhausted;
        total.events += found.events;
    }
    eprintln!("{threads} threads, {histories} histories: {total:?}");
    total
}

#[test]
fn every_crash_of_one_thread_that_was_tried_is_survived() {
    assert!(explore(1, 2000, 0..10).images >= 2000);
}

#[test]
fn every_crash_of_two_threads_that_was_tried_is_survived() {
    assert!(explore(2, 2000, 100..116).images >= 2000);
}

#[test]
fn every_crash_of_three_threads_that_was_tried_is_survived() {
    assert!(explore(3, 1000, 200..208).images >= 1000);
}

#[test]
#[ignore = "takes minutes: `./assay test crash`"]
fn a_hundred_thousand_crash_images_without_a_violation() {
    let images = explore(1, 30_000, 1000..1100).images
        + explore(2, 30_000, 2000..2200).images
        + explore(3, 20_000, 3000..3100).images;
    eprintln!("{images} images");
    assert!(images >= 100_000);
}
