//! What a terminal counts. One thread writes, the controller reads at any time.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use assay_instruments::tally::{AtLeast, Latencies};

use crate::{
    input::{By, Input},
    kind::Kind,
};

/// Counters of one kind of transaction.
#[derive(Debug, Default)]
pub struct KindTally {
    /// From the start of the first try to the end of the last.
    pub service: Latencies,
    /// From the intended start; only where there is a rate.
    pub response: Option<Latencies>,
    /// Were due and never begun: in the response times, as lower bounds.
    pub never: Mutex<AtLeast>,
    /// Committed.
    pub committed: AtomicU64,
    /// Rolled back by rule.
    pub rolled_back: AtomicU64,
    /// Failed, or given up after too many tries.
    pub failed: AtomicU64,
    /// Tries that met another transaction.
    pub conflicts: AtomicU64,
}

/// All that one terminal counts.
#[derive(Debug, Default)]
pub struct Tally {
    /// By kind, in the order of [`Kind::ALL`].
    pub kinds: [KindTally; 5],
    /// What the audit of the mix wants (clause 9.2.2.5).
    pub audit: [AtomicU64; AUDITED],
    /// Orders delivered.
    pub delivered: AtomicU64,
    /// Late starts that were the driver's own, ns.
    pub lateness: Option<Latencies>,
    /// A bit for each warehouse that was used.
    pub touched: Vec<AtomicU64>,
}

/// Counters of the audit.
pub const AUDITED: usize = 7;
/// Lines of New-Orders.
pub const LINES: usize = 0;
/// Lines that another warehouse supplied.
pub const REMOTE_LINES: usize = 1;
/// Payments at a warehouse that is not the customer's.
pub const REMOTE_PAYMENTS: usize = 2;
/// Payments of customers who were named.
pub const NAMED_PAYMENTS: usize = 3;
/// Order-Status of customers who were named.
pub const NAMED_STATUS: usize = 4;
/// Deliveries that found a district without an undelivered order.
pub const SKIPPED_DELIVERIES: usize = 5;
/// New-Orders, rolled back or not.
pub const ORDERS: usize = 6;

/// Adds to a counter that this thread alone writes.
#[inline]
pub fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}

impl Tally {
    /// A tally; `open` where there is a rate.
    pub fn new(warehouses: u32, open: bool) -> Self {
        let kind = || KindTally { response: open.then(Latencies::new), ..KindTally::default() };
        Self {
            kinds: std::array::from_fn(|_| kind()),
            lateness: open.then(Latencies::new),
            touched: (0..=warehouses / 64).map(|_| AtomicU64::new(0)).collect(),
            ..Self::default()
        }
    }

    /// The counters of a kind.
    #[inline]
    pub fn of(&self, kind: Kind) -> &KindTally {
        &self.kinds[kind as usize]
    }

    #[inline]
    fn touch(&self, warehouse: u32) {
        let (word, bit) = (warehouse as usize / 64, warehouse % 64);
        let word = &self.touched[word];
        let seen = word.load(Relaxed);
        if seen & (1 << bit) == 0 {
            word.store(seen | 1 << bit, Relaxed);
        }
    }

    /// Counts what the audit wants to know of a transaction that was done.
    #[inline]
    pub fn audit(&self, input: &Input) {
        self.touch(input.warehouse());
        match input {
            Input::NewOrder(order) => {
                add(&self.audit[ORDERS], 1);
                add(&self.audit[LINES], u64::from(order.count));
                for line in order.lines().iter().filter(|line| line.supply != order.warehouse) {
                    add(&self.audit[REMOTE_LINES], 1);
                    self.touch(line.supply);
                }
            }
            Input::Payment(payment) => {
                self.touch(payment.customer_warehouse);
                add(&self.audit[REMOTE_PAYMENTS], u64::from(payment.customer_warehouse != payment.warehouse));
                add(&self.audit[NAMED_PAYMENTS], u64::from(matches!(payment.by, By::Name(_))));
            }
            Input::OrderStatus { by, .. } => add(&self.audit[NAMED_STATUS], u64::from(matches!(by, By::Name(_)))),
            Input::Delivery { .. } | Input::StockLevel { .. } => {}
        }
    }
}

/// Warehouses that any of the terminals used.
pub fn touched(tallies: &[Tally]) -> u32 {
    let words = tallies.first().map_or(0, |tally| tally.touched.len());
    let any = |word: usize| tallies.iter().fold(0, |bits, tally| bits | tally.touched[word].load(Relaxed));
    (0..words).map(|word| any(word).count_ones()).sum()
}
