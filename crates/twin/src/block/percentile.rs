//! Percentiles of a drive's latency, as bands.

use std::f64::consts::{LN_2, LN_10};

use assay_libtwin::rules::FLUSH_SPREAD;

use super::network::{At, Customer, Flow, Group, State};
use crate::Percentile;

/// How much longer the 99th of a hundred unqueued operations takes, over the mean: AnandTech's Intel P3700 and Micron 9100
/// at queue depth 1 (2017) 1.23 and 1.09, Optane P4800X 1.12.
const STEADY_TAIL: f64 = 0.15;

/// A rank among all operations: the share of them beyond it, and how many means of an exponential wait that is,
/// -ln of the share.
#[derive(Clone, Copy, Debug)]
pub struct Rank {
    rare: f64,
    folds: f64,
}

impl Rank {
    /// Share of all operations that take longer.
    pub fn rare(&self) -> f64 {
        self.rare
    }

    /// Means of an exponential wait.
    pub fn folds(&self) -> f64 {
        self.folds
    }
}

/// The median, the 99th and the 99.9th percentile.
pub const RANKS: [Rank; 3] = [
    Rank { rare: 0.5, folds: LN_2 },
    Rank { rare: 0.01, folds: 2.0 * LN_10 },
    Rank { rare: 0.001, folds: 3.0 * LN_10 },
];

/// What the tail is made of.
pub struct Tail {
    served_ns: f64,
    queue_ns: f64,
    flush_ns: f64,
    busy: f64,
    blocked: f64,
    block_ns: f64,
}

impl Tail {
    /// Of a class in its load.
    pub fn of(group: &Group, customer: &Customer, flow: &Flow, state: &State) -> Self {
        let fork = customer.visits[At::Medium as usize].fork.max(1.0);
        let reads = customer.visits[At::Medium as usize].stages > 0.0;
        let blocked =
            if reads && state.background > 0.0 { 1.0 - (1.0 - state.background.min(1.0)).powf(fork) } else { 0.0 };
        Self {
            served_ns: flow.mean_ns - flow.queue_ns - flow.flush_ns,
            queue_ns: flow.queue_ns,
            flush_ns: flow.flush_ns,
            busy: state.busiest().1.min(1.0),
            blocked,
            block_ns: group.background_ns.min(group.pause_ns),
        }
    }

    /// The percentile at a rank. Waits are exponential where stations idle; where they are full a fixed
    /// number of customers share them, and waits vary less. A few meet a program or an erase: up to all of it.
    pub fn at(&self, rank: Rank) -> Percentile {
        let Rank { rare, folds } = rank;
        let tail = rare < 0.1;
        let served = self.served_ns * if tail { 1.0 + STEADY_TAIL } else { 1.0 };
        let spread = if tail { 1.0 - 0.6 * self.busy } else { 1.0 + 0.45 * self.busy };
        let mut mid = served + self.queue_ns * folds * spread;
        if tail && self.blocked > rare {
            mid = mid.max(served + self.queue_ns + self.block_ns * (1.0 - rare / self.blocked));
        }
        mid += self.flush_ns * if tail { 1.0 + 2.3 * FLUSH_SPREAD } else { 0.95 };
        let (down, up) = if tail { (1.35, 1.9) } else { (1.1, 1.15) };
        Percentile { low_ns: mid / down, mid_ns: mid, high_ns: mid * up }
    }
}
