//! Whoever removes a flush or a fence, or swaps two persists, is caught.

use assay_pmem::crash::{Allowed, Explorer, try_mutants, try_recovery_mutants};

use super::case::{Action, Case, LONE, Operation, Start};

/// Each argument is for some of the instances of its line; a line of which no instance is caught fails all the same.
const ALLOWED: &[Allowed] = &[
    Allowed {
        file: "",
        line_has: "log cleared",
        why: "a log that stays valid is brought to the same end again; it does harm only where the same words change or \
              the same block is used before this lane's next log",
    },
    Allowed { file: "src/transaction.rs", line_has: "log void", why: "as for the flush before it" },
    Allowed {
        file: "src/transaction.rs",
        line_has: "before the log",
        why: "where records were made durable before and nothing new is linked, it has nothing to do",
    },
    Allowed {
        file: "src/heap/mod.rs",
        line_has: "chunk made",
        why: "the thread that made the chunk fences again before it links a block of it",
    },
    Allowed {
        file: "fptree/change.rs",
        line_has: "bitmap without a record",
        why: "where the removal left nothing, the join that follows takes the leaf out of the list in a transaction",
    },
    Allowed { file: "fptree/change.rs", line_has: "record gone", why: "as for the flush before it" },
    Allowed {
        file: "fptree/join.rs",
        line_has: "records that moved",
        why: "a record that a split took away comes back to its own slot, where the same bytes still lie",
    },
];

fn operations(steps: &[(Action, u64)]) -> Vec<Operation> {
    steps.iter().zip(1..).map(|(&(action, key), stamp)| Operation { action, key, stamp }).collect()
}

/// Every kind of change: inserts, a split, updates, removals, a join.
fn cases() -> Vec<Case> {
    use Action::{Insert, Remove, Update, Upsert};
    let grow =
        [(Insert, 60), (Update, 3), (Insert, 61), (Insert, 62), (Remove, 9), (Upsert, 9), (Upsert, 63), (Update, 61)];
    let shrink = [(Remove, 0), (Update, 2), (Insert, 1), (Remove, 28), (Update, 30)];
    let empty = [(Remove, LONE), (Insert, LONE), (Update, 3), (Remove, 4)];
    let made = [(Insert, 1), (Insert, 2), (Update, 1), (Remove, 2)];
    let starts = [
        (Start::Full, &grow[..]),
        (Start::Sparse, &shrink[..]),
        (Start::Lone, &empty[..]),
        (Start::Nothing, &made[..]),
    ];
    let afterwards = operations(&[(Insert, 65), (Remove, 12), (Update, 16), (Insert, 66)]);
    let case = |words| {
        let afterwards = afterwards.clone();
        starts.map(move |(start, steps)| Case {
            words,
            start,
            operations: operations(steps),
            afterwards: afterwards.clone(),
            state: Default::default(),
        })
    };
    case(true).into_iter().chain(case(false)).collect()
}

#[test]
fn every_line_that_flushes_or_fences_is_caught() {
    let explorer = Explorer { images: 700, nested_every: 64, depth: 1, ..Explorer::default() };
    let mut sites = std::collections::BTreeMap::new();
    let (mut mutants, mut caught, mut images, mut survivors) = (0, 0, 0, Vec::new());
    for case in cases() {
        let report = try_mutants(&case, &explorer, ALLOWED).unwrap_or_else(|violation| panic!("{violation}"));
        for (site, (hit, planted)) in &report.sites {
            let counts: &mut (usize, usize) = sites.entry(site.clone()).or_default();
            *counts = (counts.0 + hit, counts.1 + planted);
        }
        let name = format!("{:?} words {}", case.start, case.words);
        survivors.extend(report.unexplained().into_iter().map(|survivor| format!("{name}: {survivor:?}")));
        (mutants, caught, images) = (mutants + report.mutants, caught + report.caught, images + report.images);
    }
    println!("{caught} of {mutants} mutants caught in {images} images");
    sites.iter().for_each(|(site, (hit, planted))| println!("    {site}: {hit} of {planted}"));
    let own = |site: &&String| site.contains("fptree");
    let blind: Vec<_> = sites.iter().filter(|(_, (hit, _))| *hit == 0).map(|(site, _)| site).filter(own).collect();
    assert!(blind.is_empty(), "never caught: {blind:?}");
    let unexplained: Vec<_> = survivors.iter().filter(|survivor| survivor.contains("fptree")).collect();
    assert!(unexplained.is_empty(), "{unexplained:#?}");
}

#[test]
fn every_line_of_recovery_that_flushes_or_fences_is_caught() {
    let explorer = Explorer { images: 300, nested_every: 1, nested_images: 32, depth: 1, ..Explorer::default() };
    let case = cases().remove(3);
    let report = try_recovery_mutants(&case, &explorer, ALLOWED).unwrap_or_else(|violation| panic!("{violation}"));
    println!("{report}");
    let blind: Vec<_> = report.blind_sites().into_iter().filter(|site| site.contains("fptree")).collect();
    assert!(blind.is_empty(), "never caught: {blind:?}\n{report}");
}
