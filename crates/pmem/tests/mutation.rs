//! Whoever removes a flush or a fence of the pool, or swaps two persists, is caught.

mod common;

use assay_pmem::crash::{Allowed, Explorer, MutantReport, try_mutants, try_recovery_mutants};
use common::{Action, Case, Operation, every_action};

/// The work after recovery moves and frees what the work before it linked, in the other thread: a log that was not
/// cleared does harm.
fn case() -> Case {
    use Action::{ClearNow, Fill, Move};
    let steps = [(Move, 2, 1), (Move, 0, 1), (ClearNow, 3, 0), (Fill, 2, 1), (ClearNow, 1, 0), (Fill, 0, 1)];
    let afterwards = steps.iter().enumerate().map(|(index, &(action, slot, lane))| {
        let stamp = index as u64 + 100;
        Operation { action, slot, bytes: 200, lane, stamp }
    });
    Case { operations: every_action(), afterwards: afterwards.collect() }
}

fn judge(report: &MutantReport, most_allowed: usize) {
    println!("{report}");
    assert!(report.unexplained().is_empty(), "{report}");
    assert!(report.blind_sites().is_empty(), "never caught: {:?}\n{report}", report.blind_sites());
    assert!(report.survivors.len() <= most_allowed, "too much is allowed: {:?}", report.survivors);
}

const ALLOWED: &[Allowed] = &[];

#[test]
fn every_forgotten_flush_or_fence_and_every_swap_is_caught() {
    let explorer = Explorer { images: 6000, nested_every: 32, depth: 1, ..Explorer::default() };
    let report = try_mutants(&case(), &explorer, ALLOWED).unwrap_or_else(|violation| panic!("{violation}"));
    judge(&report, 1000);
}

#[test]
fn every_forgotten_flush_or_fence_of_recovery_is_caught() {
    let explorer = Explorer { images: 4000, nested_every: 1, nested_images: 64, depth: 1, ..Explorer::default() };
    let report = try_recovery_mutants(&case(), &explorer, ALLOWED).unwrap_or_else(|violation| panic!("{violation}"));
    judge(&report, 1000);
}
