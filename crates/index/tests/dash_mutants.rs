//! Whoever leaves out a flush or a fence of Dash, or swaps two persists, is caught.

mod dash_common;

use std::collections::BTreeMap;

use assay_index::dash::{Directory, Extendible, Linear};
use assay_pmem::crash::{CrashCase, Event, Explorer, MutantReport, Recorder, What, try_mutants, try_recovery_mutants};
use dash_common::Case;

/// Lines that no crash shows to be needed, and why they are there.
const NEVER_CAUGHT: &[(&str, &str)] = &[
    ("// closed", "a table that does not know that it was closed is repaired once more, and loses nothing"),
    (
        "// all stamped",
        "after a crash everything older than that crash is repaired anyway; it matters where another thread closes the \
         table, and power is lost then",
    ),
];

/// Caught and planted, by line of code.
type Sites = BTreeMap<String, (usize, usize)>;

fn add(sites: &mut Sites, report: &MutantReport) {
    for (site, (caught, planted)) in report.sites.iter().filter(|(site, _)| site.contains("src/dash/")) {
        let counts = sites.entry(site.clone()).or_default();
        *counts = (counts.0 + caught, counts.1 + planted);
    }
}

fn source(site: &str) -> String {
    let (file, line) = site.rsplit_once(':').unwrap();
    let path = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap().trim().to_owned()
}

/// Every line was caught at least once, or is one of those that are argued for.
fn judge(sites: &Sites) {
    let mut blind = Vec::new();
    for (site, (caught, planted)) in sites {
        let line = source(site);
        eprintln!("{caught:4} of {planted:4}  {site}  {line}");
        let argued = NEVER_CAUGHT.iter().any(|(has, _)| line.contains(has));
        if *caught == 0 && !argued {
            blind.push(format!("{site}: {line}"));
        }
    }
    assert!(blind.is_empty(), "never caught: {blind:#?}");
}

fn history<D: Directory>(seed: u64, length: usize) -> Vec<Event> {
    let case = Case::<D>::by_chance(seed, length);
    let recorder = Recorder::new(case.bytes());
    case.set_up(recorder.clone()).unwrap();
    recorder.start_recording();
    case.run(recorder.clone()).unwrap();
    recorder.stop_recording()
}

fn has(events: &[Event], line: &str) -> bool {
    let fences = events.iter().filter(|event| event.what == What::Fence);
    let sites: std::collections::BTreeSet<String> =
        fences.map(|event| format!("{}:{}", event.site.file(), event.site.line())).collect();
    sites.iter().any(|site| site.contains("src/dash/") && source(site).contains(line))
}

/// Histories in which this line has something to do.
fn seeds_with<D: Directory>(line: &'static str, length: usize) -> impl Iterator<Item = u64> {
    (1..).filter(move |&seed| has(&history::<D>(seed, length), line))
}

fn work<D: Directory>(sites: &mut Sites, seeds: impl IntoIterator<Item = u64>, length: usize, images: u64) {
    for seed in seeds {
        let explorer = Explorer { seed, images, nested_every: 12, depth: 1, nested_images: 24, ..Explorer::default() };
        let report = try_mutants(&Case::<D>::by_chance(seed, length), &explorer, &[]);
        let report = report.unwrap_or_else(|violation| panic!("{violation}"));
        eprintln!("{} {seed}: {} of {} in {} images", D::NAME, report.caught, report.mutants, report.images);
        add(sites, &report);
    }
}

fn recovery<D: Directory>(sites: &mut Sites, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let explorer =
            Explorer { seed, images: 60, nested_every: 4, depth: 1, nested_images: 40, ..Explorer::default() };
        let report = try_recovery_mutants(&Case::<D>::by_chance(seed, 5), &explorer, &[]);
        let report = report.unwrap_or_else(|violation| panic!("{violation}"));
        eprintln!("{} {seed}, recovery: {} of {} in {} images", D::NAME, report.caught, report.mutants, report.images);
        add(sites, &report);
    }
}

/// The lines of ordinary work are caught in a few short histories.
#[test]
fn lines_that_every_change_goes_through() {
    let mut sites = Sites::new();
    work::<Extendible>(&mut sites, [8], 14, 300);
    work::<Extendible>(&mut sites, seeds_with::<Extendible>("// removed", 6).take(1).collect::<Vec<_>>(), 6, 300);
    for line in ["// inserted", "// shown", "// record written", "// updated", "// removed"] {
        let found = sites.iter().find(|(site, _)| source(site).contains(line));
        assert!(found.is_some_and(|(_, (caught, _))| *caught > 0), "{line}: {found:?}");
    }
}

/// A slot that a moved record leaves is durably free before it is used again.
#[test]
fn moving_a_record_out_of_the_way() {
    let mut sites = Sites::new();
    let seeds: Vec<u64> = seeds_with::<Linear>("// its slot is free", 6).take(1).collect();
    work::<Linear>(&mut sites, seeds, 6, 150);
    let counts = |line: &str| sites.iter().find(|(site, _)| source(site).contains(line)).map(|(_, counts)| *counts);
    for line in ["// copy durable", "// its slot is free"] {
        eprintln!("{line}: {:?}", counts(line));
    }
    assert!(counts("// copy durable").is_some_and(|(caught, _)| caught > 0), "{sites:?}");
}

/// What makes a new segment reachable is durable before anybody can use it.
#[test]
fn splitting_in_turn() {
    let mut sites = Sites::new();
    let seeds: Vec<u64> = seeds_with::<Linear>("// split", 4).take(1).collect();
    work::<Linear>(&mut sites, seeds, 4, 200);
    for line in ["// new segment durable", "// split"] {
        let found = sites.iter().find(|(site, _)| source(site).contains(line));
        assert!(found.is_some_and(|(_, (caught, _))| *caught > 0), "{line}: {found:?}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn every_line_is_caught_or_argued_for() {
    let mut sites = Sites::new();
    work::<Extendible>(&mut sites, 1..9, 14, 300);
    work::<Linear>(&mut sites, 1..5, 14, 300);
    let moving: Vec<u64> = seeds_with::<Linear>("// its slot is free", 6).take(6).collect();
    work::<Linear>(&mut sites, moving, 6, 400);
    let splitting: Vec<u64> = seeds_with::<Linear>("// split", 4).take(4).collect();
    work::<Linear>(&mut sites, splitting, 4, 300);
    recovery::<Extendible>(&mut sites, 1..7);
    recovery::<Linear>(&mut sites, 1..7);
    judge(&sites);
}
