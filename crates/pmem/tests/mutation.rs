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
        // The last one allocates whole chunks, which takes a redo log.
        let bytes = if index + 1 == steps.len() { 70_000 } else { 200 };
        Operation { action, slot, bytes, lane, stamp }
    });
    Case { operations: every_action(), afterwards: afterwards.collect() }
}

fn judge(report: &MutantReport, most_allowed: usize) {
    eprintln!("{report}");
    assert!(report.unexplained().is_empty(), "{report}");
    assert!(report.blind_sites().is_empty(), "never caught: {:?}\n{report}", report.blind_sites());
    assert!(report.survivors.len() <= most_allowed, "too much is allowed: {:?}", report.survivors);
}

/// Each argument is for some of the instances of its line; a line of which no instance is caught fails all the same.
const ALLOWED: &[Allowed] = &[
    Allowed {
        file: "src/log.rs",
        line_has: "log cleared",
        why: "a log that stays valid is brought to the same end again; it does harm only where another thread changes the \
              same words or uses the same block before this lane's next log",
    },
    Allowed { file: "src/transaction.rs", line_has: "log void", why: "as for the flush before it" },
    Allowed { file: "tests/common/mod.rs", line_has: "after a lazy commit", why: "as for the flush before it" },
    Allowed { file: "tests/common/mod.rs", line_has: "own log reset", why: "as for the pool's own logs" },
    Allowed {
        file: "src/transaction.rs",
        line_has: "before the log",
        why: "a transaction without new content has nothing that must be durable before its log",
    },
    Allowed {
        file: "src/heap/mod.rs",
        line_has: "chunk made",
        why: "the thread that made the chunk fences again before it links a block of it; it does harm where another \
              thread takes a block of it first",
    },
];

#[test]
fn every_forgotten_flush_or_fence_and_every_swap_is_caught() {
    let explorer = Explorer { images: 6000, nested_every: 32, depth: 1, ..Explorer::default() };
    let report = try_mutants(&case(), &explorer, ALLOWED).unwrap_or_else(|violation| panic!("{violation}"));
    judge(&report, 55);
}

#[test]
fn every_forgotten_flush_or_fence_of_recovery_is_caught() {
    let explorer = Explorer { images: 4000, nested_every: 1, nested_images: 64, depth: 1, ..Explorer::default() };
    let report = try_recovery_mutants(&case(), &explorer, ALLOWED).unwrap_or_else(|violation| panic!("{violation}"));
    judge(&report, 3);
}
