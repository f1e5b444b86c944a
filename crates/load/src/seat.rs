//! What a worker is given: built before the window, from the class and its place among the threads.

use assay_instruments::{
    clock::Clock,
    tally::{Latencies, Tally},
};
use assay_record::{
    Arrivals, Class, Durability, DurabilityKind, Operation, PathKind, PathSpec, Pattern, RateScope, Sizes,
};

use crate::{
    arrivals::Schedule,
    generator::{FileShare, Generator, Spread, writes},
    worker::{Faults, FlushRule, MemoryPlan, Pacer, Task},
};

/// A seed of its own for every thread of every class, from the job's seed.
pub fn seed_of(seed: u64, class: usize, thread: u32) -> u64 {
    let mixed = seed ^ (class as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ u64::from(thread).wrapping_mul(0xbf58_476d_1ce4_e5b9)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// How often a worker calls for a flush; never where durability lies in the write itself or is not asked for.
pub(crate) fn flush_rule(class: &Class) -> FlushRule {
    let every = match class.durability.kind {
        DurabilityKind::None | DurabilityKind::ODsync | DurabilityKind::RwfDsync => u32::MAX,
        // Each store carries its own fence then: a call of its own would only time itself.
        DurabilityKind::Persist if class.durability.every == 1 => u32::MAX,
        DurabilityKind::Fdatasync | DurabilityKind::Fsync | DurabilityKind::Msync | DurabilityKind::Persist => {
            class.durability.every
        }
    };
    FlushRule { every: if writes(class.operation) { every } else { u32::MAX } }
}

/// Writes of a thread between two calls that make them durable; none where it makes no such calls.
pub fn flush_every(class: &Class) -> Option<u32> {
    let every = flush_rule(class).every;
    (every != u32::MAX).then_some(every)
}

/// The path of a class as it is opened. Under a rate a read from persistent memory ends before its time is taken, as if
/// `fenced` were set: without a fence the time would be that of issuing it.
pub fn path_of(class: &Class) -> PathSpec {
    let timed = class.path.kind == PathKind::Pmem && class.arrivals != Arrivals::Closed;
    PathSpec { fenced: class.path.fenced || timed, ..class.path.clone() }
}

/// Whether a class is driven by the queued loop.
pub fn is_queued(class: &Class) -> bool {
    class.path.kind.is_queued() || (class.path.kind == PathKind::Null && class.depth > 1)
}

/// The tally of one thread, with the histograms that its class needs.
pub fn tally_for(class: &Class) -> Tally {
    let open = class.arrivals != Arrivals::Closed;
    let waits = open || class.think.is_some();
    let mixes = matches!(class.operation, Operation::Mix { write_percent: 1..=99 });
    Tally {
        response: open.then(Latencies::new),
        lateness: waits.then(Latencies::new),
        write_service: mixes.then(Latencies::new),
        flush: (flush_rule(class).every != u32::MAX).then(Latencies::new),
        ..Tally::default()
    }
}

/// Memory that one thread of a class takes, bytes: buffers, and histograms of warm-up, window and what comes after it, with
/// what their reader remembers.
pub(crate) fn memory_bytes(class: &Class) -> u64 {
    let histograms = 3 * 5 + 1;
    MemoryPlan::new(class, 0).bytes_wide().saturating_add(histograms * Latencies::BYTES)
}

/// A task of one thread.
pub(crate) fn task(
    class: &Class,
    share: FileShare,
    thread: u32,
    spread: Spread,
    segments: u32,
    clock: Clock,
    seed: u64,
) -> Task {
    let mut generator = Generator::new(class, share, seed);
    let schedule = Schedule::of(class, thread, clock.hz(), generator.rng());
    Task {
        clock,
        generator,
        schedule,
        spread,
        segments,
        memory: MemoryPlan::new(class, thread),
        flush: flush_rule(class),
        growing: false,
        trims: class.operation == Operation::Trim,
        pacer: Pacer::default(),
        checker: None,
        second_look: None,
        faults: Faults::default(),
    }
}

/// A task on nothing: a file of a gibibyte that is not there.
pub(crate) fn null_task(class: &Class, clock: Clock) -> Task {
    let largest = crate::generator::largest_size(&class.size).max(1);
    let share = FileShare { bytes: (1u64 << 30).next_multiple_of(largest), index: 0, of: 1, stripe: 0, order: 1 };
    task(class, share, 0, Spread::new(1, largest), 1, clock, 1)
}

/// 4 KiB random reads on the null path; with `open_loop` due at a rate far above what any machine reaches.
pub(crate) fn null_class(open_loop: bool) -> Class {
    let arrivals = Arrivals::Fixed { rate_per_s: 1e9, scope: RateScope::Total };
    Class {
        name: "null".to_owned(),
        dataset: "nothing".to_owned(),
        path: PathSpec::plain(PathKind::Null),
        operation: Operation::Read,
        pattern: Pattern::Uniform,
        size: Sizes::One(4096),
        threads: 1,
        depth: 1,
        batch: 1,
        arrivals: if open_loop { arrivals } else { Arrivals::Closed },
        think: None,
        durability: Durability { kind: DurabilityKind::None, every: 1 },
        buffer_bytes: 0,
        dirty_bytes: 0,
        start_s: 0.0,
        pin: None,
        objective: None,
    }
}
