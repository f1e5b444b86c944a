//! What was due when the window closed is served with its own due instant, or counts as "at least".

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use assay_instruments::tally::Latencies;
use assay_path::Null;
use assay_record::{Arrivals, Class, Operation, RateScope};

use super::{Bench, bench, class};
use crate::{
    overdue::Overdue,
    seat,
    worker::{BlockingLoop, Edges, QueuedLoop},
};

const RATE: f64 = 1000.0;

/// A class of a thousand operations a second of which none was begun in a window that opened and closed so long ago, s.
fn stalled(depth: u32, opened: f64, closed: f64) -> (Class, Bench, Edges) {
    let arrivals = Arrivals::Fixed { rate_per_s: RATE, scope: RateScope::Total };
    let class = Class { arrivals, ..class(Operation::Read, depth, 1) };
    let mut bench = bench(&class, 1);
    let clock = bench.task.clock;
    let now = clock.now();
    let ago = |seconds: f64| now - clock.ns_to_ticks((seconds * 1e9) as u64);
    let edges = Edges::default();
    edges.open.store(ago(opened), Relaxed);
    edges.close.store(ago(closed), Relaxed);
    if let Some(schedule) = &mut bench.task.schedule {
        schedule.begin(edges.open.load(Relaxed));
    }
    (class, bench, edges)
}

fn settled(depth: u32, opened: f64, closed: f64) -> Overdue {
    let (class, mut bench, edges) = stalled(depth, opened, closed);
    let mut overdue = Overdue::new(seat::tally_for(&class));
    if depth == 1 {
        BlockingLoop::new(Null::new(1), &bench.arena).settle(&mut bench.task, &edges, &mut overdue);
    } else {
        let path = Null::new(depth);
        QueuedLoop::new(path, &bench.arena, depth, 1).settle(&mut bench.task, &edges, &mut overdue);
    }
    overdue
}

/// Smallest and largest response time, ns.
fn extremes(overdue: &Overdue) -> (u64, u64) {
    let sum = assay_instruments::series::sum_of(std::iter::once(overdue.tally.response.as_ref())).expect("responses");
    (sum.min, sum.max)
}

#[test]
fn what_was_due_is_served_after_the_close_from_the_instant_it_was_due() {
    for depth in [1, 4] {
        let overdue = settled(depth, 0.7495, 0.25);
        assert_eq!((overdue.completed(), overdue.missing()), (500, 0), "depth {depth}: half a second of it");
        let (least, most) = extremes(&overdue);
        assert!(least >= 250_000_000 && most >= 749_000_000, "depth {depth}: {least} to {most} ns");
        assert_eq!(overdue.tally.response.as_ref().map(Latencies::count), Some(500));
        assert!(overdue.waited > 0);
    }
}

#[test]
fn what_is_due_after_the_close_is_not_waited_for() {
    let (class, mut bench, edges) = stalled(1, 0.0, 0.0);
    let mut overdue = Overdue::new(seat::tally_for(&class));
    std::thread::sleep(Duration::from_millis(5));
    BlockingLoop::new(Null::new(1), &bench.arena).settle(&mut bench.task, &edges, &mut overdue);
    assert_eq!((overdue.completed(), overdue.missing()), (0, 0));
}

#[test]
fn what_cannot_be_served_within_the_bound_counts_as_at_least() {
    for depth in [1, 4] {
        let overdue = settled(depth, 3.4995, 3.0);
        assert_eq!((overdue.completed(), overdue.missing()), (0, 500), "depth {depth}: the bound is a second");
        assert!(overdue.response.from_ns >= 3_000_000_000);
        assert_eq!(overdue.tally.response.as_ref().map(Latencies::count), Some(500));
    }
}
