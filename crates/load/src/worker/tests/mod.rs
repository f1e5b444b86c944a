//! The loops against paths that follow a script, and against an allocator that counts.

mod allocation;
mod blocking;
mod overdue;
mod queued;
mod scripted;

use std::sync::{Arc, atomic::AtomicU64};

use assay_instruments::{clock::Clock, tally::Tally};
use assay_path::Arena;
use assay_record::{Class, Durability, DurabilityKind, Operation, Sizes};

use super::{Edges, Task};
use crate::{generator::Spread, seat};

/// A class on the null path, to be changed.
fn class(operation: Operation, depth: u32, batch: u32) -> Class {
    Class { operation, depth, batch, size: Sizes::One(512), ..seat::null_class(false) }
}

fn durable(class: Class, every: u32) -> Class {
    Class { durability: Durability { kind: DurabilityKind::Fdatasync, every }, ..class }
}

/// All that a loop needs.
struct Bench {
    task: Task,
    tally: Tally,
    arena: Arena,
    until: Arc<AtomicU64>,
}

fn bench(class: &Class, segments: u32) -> Bench {
    let mut task = seat::null_task(class, Clock::new());
    task.segments = segments;
    task.spread = Spread::new(segments as usize, 512);
    let arena = Arena::new(task.memory.bytes()).expect("memory");
    Bench { task, tally: seat::tally_for(class), arena, until: Arc::new(AtomicU64::new(u64::MAX)) }
}

/// Edges of a window that ends now.
fn closed(bench: &Bench) -> Edges {
    let edges = Edges::default();
    edges.close_now(bench.task.clock.now());
    edges
}
