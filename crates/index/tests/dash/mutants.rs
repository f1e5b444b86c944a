//! Whoever leaves out a flush or a fence of Dash, or swaps two persists, is caught.

use std::collections::BTreeMap;

use crate::common::Case;
use assay_index::dash::{Directory, Extendible, Linear};
use assay_pmem::crash::{
    CrashCase, Event, Explorer, Mark, MutantReport, Recorder, What, try_mutants, try_recovery_mutants,
};

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

fn history<D: Directory>(case: &Case<D>) -> Vec<Event> {
    let recorder = Recorder::new(case.bytes());
    case.set_up(recorder.clone()).unwrap();
    recorder.start_recording();
    case.run(recorder.clone()).unwrap();
    recorder.stop_recording()
}

/// Whether an event was made by a line of Dash that says this.
fn is_of(event: &Event, line: &str) -> bool {
    let site = format!("{}:{}", event.site.file(), event.site.line());
    site.contains("src/dash/") && source(&site).contains(line)
}

/// How many operations had ended before an event.
fn ended(events: &[Event], at: usize) -> usize {
    events[..at].iter().filter(|event| matches!(event.what, What::Mark(Mark::End(_)))).count()
}

/// Where in a history a line first made something durable, in operations that had ended.
fn place(events: &[Event], line: &str) -> Option<usize> {
    let mut known = BTreeMap::new();
    let mut is_it = |event: &Event| {
        let site = (event.site.file(), event.site.line());
        event.what == What::Fence && *known.entry(site).or_insert_with(|| is_of(event, line))
    };
    events.iter().position(&mut is_it).map(|at| ended(events, at))
}

fn moved(events: &[Event]) -> Option<usize> {
    place(events, "// its slot is free")
}

fn split(events: &[Event]) -> Option<usize> {
    place(events, "// split")
}

/// Where a record was first moved out of a slot that lies in another line than its head. Within one line stores become
/// durable in their order, and the flush between them has nothing to do.
fn move_between_lines(events: &[Event]) -> Option<usize> {
    let flushed = events.iter().enumerate().filter_map(|(at, event)| match event.what {
        What::Flush { line, .. } if event.site.file().ends_with("insert.rs") => Some((at, line, event)),
        _ => None,
    });
    let flushed: Vec<_> = flushed.collect();
    let between = |pair: &&[(usize, u32, &Event)]| {
        let [(_, head, dropped), (_, record, written)] = pair[..] else { return false };
        (head + 1..head + 4).contains(&record)
            && is_of(dropped, "// original dropped")
            && is_of(written, "// record written")
    };
    flushed.windows(2).find(between).map(|pair| ended(events, pair[0].0))
}

/// Histories in which something happens, with their seeds. In one operation of thousands it does, so a table is filled
/// until it has, and the history begins shortly before that.
fn cases_with<D: Directory>(
    happens: impl Fn(&[Event]) -> Option<usize>,
    length: usize,
) -> impl Iterator<Item = (u64, Case<D>)> {
    (1..).filter_map(move |seed| {
        let filled = Case::<D>::of_insertions(seed);
        let at = happens(&history(&filled))?;
        let case = filled.cut(at.saturating_sub(length / 2), length);
        happens(&history(&case)).map(|_| (seed, case))
    })
}

fn by_chance<D: Directory>(seeds: std::ops::Range<u64>, length: usize) -> impl Iterator<Item = (u64, Case<D>)> {
    seeds.map(move |seed| (seed, Case::by_chance(seed, length)))
}

fn work<D: Directory>(sites: &mut Sites, cases: impl IntoIterator<Item = (u64, Case<D>)>, images: u64) {
    for (seed, case) in cases {
        let explorer = Explorer { seed, images, nested_every: 12, depth: 1, nested_images: 24, ..Explorer::default() };
        let report = try_mutants(&case, &explorer, &[]);
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
    work::<Extendible>(&mut sites, by_chance(8..9, 14), 300);
    let removes = by_chance(1..100, 6).filter(|(_, case)| place(&history(case), "// removed").is_some());
    work::<Extendible>(&mut sites, removes.take(1), 300);
    for line in ["// inserted", "// shown", "// record written", "// updated", "// removed"] {
        let found = sites.iter().find(|(site, _)| source(site).contains(line));
        assert!(found.is_some_and(|(_, (caught, _))| *caught > 0), "{line}: {found:?}");
    }
}

/// A slot that a moved record leaves is durably free before it is used again.
#[test]
fn moving_a_record_out_of_the_way() {
    let mut sites = Sites::new();
    work(&mut sites, cases_with::<Linear>(moved, 6).take(1), 150);
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
    work(&mut sites, cases_with::<Linear>(split, 4).take(1), 200);
    for line in ["// new segment durable", "// split"] {
        let found = sites.iter().find(|(site, _)| source(site).contains(line));
        assert!(found.is_some_and(|(_, (caught, _))| *caught > 0), "{line}: {found:?}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn every_line_is_caught_or_argued_for() {
    let parts: [fn(&mut Sites); 7] = [
        |sites| work::<Extendible>(sites, by_chance(1..9, 14), 300),
        |sites| work::<Linear>(sites, by_chance(1..5, 14), 300),
        |sites| work(sites, cases_with::<Linear>(moved, 6).take(4), 400),
        |sites| work(sites, cases_with::<Linear>(move_between_lines, 6).take(3), 400),
        |sites| work(sites, cases_with::<Linear>(split, 4).take(4), 300),
        |sites| recovery::<Extendible>(sites, 1..7),
        |sites| recovery::<Linear>(sites, 1..7),
    ];
    let mut all = Sites::new();
    std::thread::scope(|scope| {
        let one = |part: fn(&mut Sites)| {
            scope.spawn(move || {
                let mut sites = Sites::new();
                part(&mut sites);
                sites
            })
        };
        for part in parts.map(one) {
            for (site, (caught, planted)) in part.join().unwrap() {
                let counts = all.entry(site).or_default();
                *counts = (counts.0 + caught, counts.1 + planted);
            }
        }
    });
    judge(&all);
}
