//! What hardware counters cost on this machine, learnt before a run that would use them.

use std::sync::OnceLock;

use assay_record::{CountingCost, Figure, Method, Unit};

use super::{handover, perf::PerfCounters};
use crate::{clock::Clock, environment::own_provenance};

/// Adjacent pairs of slices, one without counters and one with, in alternating order.
pub const COST_PAIRS: usize = 9;
/// Share of a context switch, or of an operation on nothing, above which counting is not done inside a judged window.
pub const BENDS_FROM: f64 = 0.01;

/// What counting costs, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// One context switch without counters.
    pub switch_plain_ns: f64,
    /// What counters add to it.
    pub switch_added_ns: f64,
    /// One operation on the null path without counters.
    pub null_plain_ns: f64,
    /// What counters add to it.
    pub null_added_ns: f64,
}

impl Cost {
    /// Learns it, once in a process: some 40 ms where counting is cheap, up to half a second where a switch takes a
    /// millisecond. None where no cycles can be counted here, which is known at once. `null_ns` measures one operation on
    /// the null path, ns.
    pub fn learn(clock: Clock, null_ns: fn(Clock) -> Option<f64>) -> Option<Self> {
        static LEARNT: OnceLock<Option<Cost>> = OnceLock::new();
        *LEARNT.get_or_init(|| PerfCounters::open().counts_cycles().then(|| Self::of_pairs(clock, null_ns)).flatten())
    }

    fn of_pairs(clock: Clock, null_ns: fn(Clock) -> Option<f64>) -> Option<Self> {
        let order: Vec<bool> = (0..COST_PAIRS).flat_map(|pair| [pair % 2 == 1, pair % 2 == 0]).collect();
        let null: Option<Vec<f64>> = order.iter().map(|&counted| counted_or_not(clock, counted, null_ns)).collect();
        let (switch_plain_ns, switch_added_ns) = paired(&order, &handover::slices(clock, &order))?;
        let (null_plain_ns, null_added_ns) = paired(&order, &null?)?;
        Some(Self { switch_plain_ns, switch_added_ns, null_plain_ns, null_added_ns })
    }

    /// Counting bends a load: one that waits in the kernel switches, one that does not just runs.
    pub fn bends(&self, waits: bool) -> bool {
        let by_switch = waits && self.switch_added_ns > BENDS_FROM * self.switch_plain_ns;
        by_switch || self.null_added_ns > BENDS_FROM * self.null_plain_ns
    }

    /// What counting adds to an operation that switches this often, ns.
    pub fn added_ns(&self, switches_per_op: f64) -> f64 {
        self.null_added_ns + switches_per_op * self.switch_added_ns
    }

    /// As it stands in a record.
    pub fn recorded(&self) -> CountingCost {
        let figure = |value| Figure::new(value, Unit::Nanoseconds, own_provenance(), Method::Loop);
        CountingCost {
            switch_plain: figure(self.switch_plain_ns),
            switch_added: figure(self.switch_added_ns),
            null_plain: figure(self.null_plain_ns),
            null_added: figure(self.null_added_ns),
            pairs: COST_PAIRS as u32,
        }
    }
}

/// One operation on the null path, ns.
fn counted_or_not(clock: Clock, counted: bool, null_ns: fn(Clock) -> Option<f64>) -> Option<f64> {
    let mut counters = counted.then(PerfCounters::open);
    if let Some(counters) = &mut counters {
        counters.start();
    }
    null_ns(clock)
}

/// Median without counters, and median difference of the adjacent pairs, at least 0. `order` has the two of a pair one after
/// the other.
fn paired(order: &[bool], slices: &[f64]) -> Option<(f64, f64)> {
    let pairs: Vec<(f64, f64)> = order
        .chunks_exact(2)
        .zip(slices.chunks_exact(2))
        .map(|(counted, ns)| if counted[0] { (ns[1], ns[0]) } else { (ns[0], ns[1]) })
        .collect();
    let plain = median(pairs.iter().map(|pair| pair.0).collect())?;
    let added = median(pairs.iter().map(|pair| pair.1 - pair.0).collect())?;
    Some((plain, added.max(0.0)))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEAR: Cost =
        Cost { switch_plain_ns: 7_000.0, switch_added_ns: 370_000.0, null_plain_ns: 60.0, null_added_ns: 0.0 };

    #[test]
    fn one_slow_slice_changes_nothing() {
        let order = [false, true, true, false, false, true];
        let found = paired(&order, &[10.0, 12.0, 13.0, 10.0, 11.0, 900.0]);
        assert_eq!(found, Some((10.0, 3.0)));
        assert_eq!(paired(&order, &[10.0, 9.0, 9.0, 10.0, 10.0, 9.0]), Some((10.0, 0.0)));
        assert_eq!(paired(&[], &[]), None);
    }

    #[test]
    fn what_switches_is_bent_by_dear_switches_and_what_does_not_is_not() {
        assert!(DEAR.bends(true) && !DEAR.bends(false));
        assert_eq!(DEAR.added_ns(2.0), 740_000.0);
        let cheap = Cost { switch_added_ns: 60.0, ..DEAR };
        assert!(!cheap.bends(true));
        assert!(Cost { null_added_ns: 1.0, ..cheap }.bends(false));
    }
}
