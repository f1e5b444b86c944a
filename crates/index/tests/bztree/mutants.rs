//! Whoever removes a flush or a fence of the tree, or swaps two persists, is caught. This program runs nothing else: blocks
//! are used again only while no other thread reads anything.

use std::collections::BTreeMap;

use crate::common::{
    Action::{Insert, Lookup, Remove, Update, Upsert},
    Case, TINY, WIDE, code_at, some_case, steps,
};
use assay_pmem::crash::{Allowed, Explorer, MutantReport, try_mutants, try_recovery_mutants};

/// Lines whose mutants may all live, by what stands beside them, and why.
const ARGUED: &[(&str, &str)] = &[
    ("dirty word", "few threads meet one by chance: the test of dirty words has histories in which they do"),
    ("earlier record of the tail", "as for dirty words"),
    ("records of others durable", "as for dirty words"),
    (
        "late pointer",
        "it takes a helper that sleeps through an operation's end while a word comes back to its old value: \
        the model checker has that interleaving, no history of a few dozen operations does",
    ),
    (
        "helped",
        "what a helper changed is flushed by the owner too, who fences before it is done; the fence is for a late \
        pointer of an operation that failed meanwhile",
    ),
    (
        "blocks durably taken",
        "the owner's next fence comes before its operation is decided; it takes a helper that is \
        faster than the owner, and a crash before that fence",
    ),
];

/// A history in which everything happens: all kinds of values, splits of leaves and inner nodes, merges, a tree that
/// shrinks to one leaf, and threads that meet in the same leaf.
fn everything() -> Case {
    let first = [
        (Insert, 1, 0),
        (Update, 1, 0),
        (Update, 1, 2),
        (Insert, 2, 1),
        (Upsert, 2, 0),
        (Insert, 3, 0),
        (Lookup, 2, 0),
        (Remove, 1, 0),
        (Insert, 4, 2),
        (Remove, 3, 0),
        (Insert, 1, 0),
        (Upsert, 4, 1),
    ];
    let second = [(Upsert, 1, 0), (Insert, 3, 0), (Lookup, 1, 0), (Remove, 2, 0), (Upsert, 2, 2), (Insert, 5, 0)];
    let after = [(Insert, 6, 0), (Insert, 7, 2), (Remove, 6, 0), (Upsert, 1, 1), (Insert, 8, 0), (Insert, 9, 0)];
    let threads = vec![steps(1000, &first), steps(2000, &second)];
    Case { loaded: vec![0, 10, 11], threads, afterwards: steps(9000, &after), seed: 7, nodes: TINY, stop: None }
}

/// Leaves are replaced by each second operation, in the space of those that were replaced before.
fn space_used_again() -> Case {
    let pairs = |stamp: u64, keys: std::ops::Range<u64>| {
        steps(stamp, &keys.flat_map(|key| [(Insert, key, 0), (Remove, key, 0)]).collect::<Vec<_>>())
    };
    Case {
        loaded: vec![],
        threads: vec![pairs(1000, 0..4)],
        afterwards: pairs(9000, 0..2),
        seed: 1,
        nodes: WIDE,
        stop: None,
    }
}

/// Caught and planted mistakes by line of code.
#[derive(Default)]
struct Lines(BTreeMap<String, (usize, usize)>);

impl Lines {
    fn add(&mut self, report: MutantReport) {
        eprintln!("{} of {} mutants caught in {} images", report.caught, report.mutants, report.images);
        for (site, (caught, planted)) in report.sites {
            let counts = self.0.entry(site).or_default();
            *counts = (counts.0 + caught, counts.1 + planted);
        }
    }

    /// Lines of this crate of which no mutant was caught and that no argument allows.
    fn judge(&self) {
        let mut blind = Vec::new();
        for (site, (caught, planted)) in self.0.iter().filter(|(site, _)| site.contains("index/src")) {
            let code = code_at(site);
            let argued = ARGUED.iter().any(|(text, _)| code.contains(text));
            eprintln!("{caught:5} of {planted:5}  {}", code.trim());
            if *caught == 0 && !argued {
                blind.push(code);
            }
        }
        assert!(blind.is_empty(), "nobody notices when these lines are missing: {blind:#?}");
    }
}

fn mutants(lines: &mut Lines, case: &Case, images: u64) {
    let explorer = Explorer { images, nested_every: 16, nested_images: 16, depth: 1, ..Explorer::default() };
    lines.add(try_mutants(case, &explorer, NONE).unwrap_or_else(|violation| panic!("{violation}")));
}

fn recovery_mutants(lines: &mut Lines, case: &Case, images: u64) {
    let explorer = Explorer { images, nested_every: 3, nested_images: 24, depth: 1, ..Explorer::default() };
    lines.add(try_recovery_mutants(case, &explorer, NONE).unwrap_or_else(|violation| panic!("{violation}")));
}

const NONE: &[Allowed] = &[];

#[test]
fn every_line_that_flushes_or_fences_is_missed() {
    let mut lines = Lines::default();
    mutants(&mut lines, &everything(), 300);
    mutants(&mut lines, &space_used_again(), 150);
    recovery_mutants(&mut lines, &everything(), 250);
    lines.judge();
}

#[test]
#[ignore = "it takes minutes: run it after changes to the tree"]
fn every_line_that_flushes_or_fences_is_missed_by_many_histories() {
    let mut lines = Lines::default();
    mutants(&mut lines, &everything(), 3000);
    mutants(&mut lines, &space_used_again(), 1000);
    recovery_mutants(&mut lines, &everything(), 1500);
    recovery_mutants(&mut lines, &space_used_again(), 300);
    for seed in 0..30 {
        mutants(&mut lines, &some_case(seed, 2 + seed % 2), 1500);
    }
    lines.judge();
}
