//! Where threads write what they have done, and what the controller gathers of it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use assay_instruments::tally::{Latencies, Snapshot, Sum};
use assay_record::IntervalPoint;

use crate::index::workload::{Mix, Operation};

/// What a thread and the controller share. One line for each thread: the thread writes, the controller reads.
#[repr(align(128))]
pub(super) struct Desk {
    pub(super) done: AtomicU64,
    latencies: [Option<Latencies>; Operation::COUNT],
}

impl Desk {
    pub(super) fn new(mix: Mix) -> Self {
        let latencies = Operation::ALL.map(|operation| mix.has(operation).then(Latencies::new));
        Self { done: AtomicU64::new(0), latencies }
    }

    /// So many operations are done.
    pub(super) fn did(&self, done: u64) {
        self.done.store(done, Relaxed);
    }

    #[inline(always)]
    pub(super) fn took(&self, operation: Operation, ns: u64) {
        if let Some(latencies) = &self.latencies[operation as usize] {
            latencies.record(ns);
        }
    }
}

/// What the controller has gathered.
pub(super) struct Series {
    seen: Vec<[Option<Snapshot>; Operation::COUNT]>,
    sums: [Option<Sum>; Operation::COUNT],
    operations: u64,
    pub(super) at_s: f64,
    pub(super) points: Vec<IntervalPoint>,
}

impl Series {
    pub(super) fn new(desks: &[Desk]) -> Self {
        let has = |desk: &Desk, operation: Operation| desk.latencies[operation as usize].is_some();
        let seen = |desk: &Desk| Operation::ALL.map(|operation| has(desk, operation).then(Snapshot::default));
        let sums =
            Operation::ALL.map(|operation| desks.first().is_some_and(|desk| has(desk, operation)).then(Sum::default));
        Self { seen: desks.iter().map(seen).collect(), sums, operations: 0, at_s: 0.0, points: Vec::new() }
    }

    pub(super) fn gather(&mut self, desks: &[Desk], at_s: f64) {
        let mut interval = Sum::default();
        for (desk, seen) in desks.iter().zip(&mut self.seen) {
            let parts = desk.latencies.iter().zip(seen).zip(&mut self.sums);
            for ((latencies, seen), sum) in parts {
                if let (Some(latencies), Some(seen), Some(sum)) = (latencies, seen, sum) {
                    let mut fresh = Sum::default();
                    latencies.drain_into(seen, &mut fresh);
                    interval.merge(&fresh);
                    sum.merge(&fresh);
                }
            }
        }
        let operations: u64 = desks.iter().map(|desk| desk.done.load(Relaxed)).sum();
        self.points.push(IntervalPoint {
            at_s,
            length_s: at_s - self.at_s,
            operations: operations - self.operations,
            bytes: 0,
            mean_ns: interval.mean(),
            p50_ns: interval.percentile(50.0),
            p99_ns: interval.percentile(99.0),
            max_ns: interval.histogram().max(),
        });
        (self.operations, self.at_s) = (operations, at_s);
    }

    pub(super) fn service(&self) -> Vec<(Operation, Sum)> {
        let one = |operation: Operation| self.sums[operation as usize].clone().map(|sum| (operation, sum));
        Operation::ALL.into_iter().filter_map(one).collect()
    }
}
