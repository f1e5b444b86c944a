//! What the generator itself costs: the load of a class on the null path, on this machine, now.

use std::sync::atomic::AtomicU64;

use assay_instruments::{clock::Clock, counters::Cost, tally::Tally};
use assay_path::{Arena, null::Null};
use assay_record::Class;

use crate::{
    seat,
    worker::{BlockingLoop, QueuedLoop},
};

/// Slices of a baseline; the best of them counts, because a neighbour can only slow it down.
const SLICES: u32 = 5;
/// Length of one slice, ns.
const SLICE_NS: u64 = 4_000_000;

/// Length of a slice where the cost of counting is learnt, ns.
const COST_SLICE_NS: u64 = 500_000;

/// One thread's ceiling.
#[derive(Clone, Copy, Debug)]
pub struct Ceiling {
    /// Operations per second of one thread.
    pub ops_per_s: f64,
    /// Cycles of the clock per operation.
    pub cycles_per_op: f64,
}

/// Measures the ceiling of a class: same stream, same bookkeeping, nothing moved. Takes about 20 ms.
///
/// Arrivals are taken as closed, because a schedule or a pause would only show its own rate.
pub fn ceiling(class: &Class, queued: bool, clock: Clock) -> std::io::Result<Ceiling> {
    let arrivals = assay_record::Arrivals::Closed;
    let closed = Class { arrivals, think: None, threads: 1, buffer_bytes: 0, ..class.clone() };
    best_of(&closed, queued, clock, SLICES, SLICE_NS)
}

/// Best of `slices` slices of `slice_ns` each; arrivals as the class declares them.
///
/// # Errors
/// The kernel's answer where there is no memory for the buffers.
pub fn best_of(class: &Class, queued: bool, clock: Clock, slices: u32, slice_ns: u64) -> std::io::Result<Ceiling> {
    let mut best = Ceiling { ops_per_s: 0.0, cycles_per_op: f64::INFINITY };
    let mut task = seat::null_task(class, clock);
    let arena = Arena::new(task.memory.bytes())?;
    let tally = seat::tally_for(class);
    let mut blocking = BlockingLoop::new(Null::new(1), &arena);
    let mut queue = QueuedLoop::new(Null::new(class.depth), &arena, class.depth, class.batch);
    if let Some(schedule) = &mut task.schedule {
        schedule.begin(clock.now());
    }
    for _ in 0..slices.max(1) {
        let mut work = |until: &AtomicU64| {
            if queued { queue.work(&mut task, &tally, until) } else { blocking.work(&mut task, &tally, until) }
        };
        let Some(slice) = slice(&mut work, &tally, clock, slice_ns) else {
            return Err(std::io::Error::other("operations on the null path failed; this is a defect of assay"));
        };
        if slice.ops_per_s > best.ops_per_s {
            best = slice;
        }
    }
    Ok(best)
}

fn slice(work: &mut dyn FnMut(&AtomicU64) -> bool, tally: &Tally, clock: Clock, slice_ns: u64) -> Option<Ceiling> {
    let before = tally.service.count();
    let start = clock.now();
    if !work(&AtomicU64::new(start + clock.ns_to_ticks(slice_ns))) {
        return None;
    }
    let ticks = clock.now().saturating_sub(start).max(1) as f64;
    let operations = tally.service.count().wrapping_sub(before).max(1) as f64;
    Some(Ceiling { ops_per_s: operations / ticks * clock.hz(), cycles_per_op: ticks / operations })
}

/// What counting costs on this machine; see [`Cost::learn`].
pub fn counting_cost(clock: Clock) -> Option<Cost> {
    Cost::learn(clock, null_ns)
}

/// One operation on the null path, ns.
fn null_ns(clock: Clock) -> Option<f64> {
    let ceiling = best_of(&seat::null_class(false), false, clock, 2, COST_SLICE_NS).ok()?;
    Some(1e9 / ceiling.ops_per_s)
}

/// The load of `assay bench null`: 4 KiB random reads, due at a rate that no machine reaches, so that every operation has an
/// intended start, and both service and response time are recorded in full.
pub fn null_bench(clock: Clock, open_loop: bool, seconds: f64) -> std::io::Result<Ceiling> {
    let class = seat::null_class(open_loop);
    let slices = 10;
    let slice_ns = (seconds * 1e9 / f64::from(slices)) as u64;
    best_of(&class, false, clock, slices, slice_ns.max(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_loops_run_on_nothing_and_complete_everything() {
        let clock = Clock::new();
        for (queued, depth, batch) in [(false, 1, 1), (true, 1, 1), (true, 32, 1), (true, 32, 8), (true, 7, 7)] {
            let class = Class { depth, batch, ..seat::null_class(false) };
            let ceiling = best_of(&class, queued, clock, 2, 1_000_000).unwrap();
            assert!(ceiling.ops_per_s > 0.0 && ceiling.cycles_per_op.is_finite());
        }
    }
}
