//! The search for one wait of a network while all others stay.
//!
//! All that stays is summed up once, so that a trial costs a division for each class: a network of several classes is
//! solved by some thousand trials.

/// Rounds of one search for a wait.
const SEARCH_AT_MOST: usize = 60;
/// Times that a search may double what it tries.
const DOUBLINGS: usize = 80;
/// How near to full, and to the work that stands there, a wait has to be.
const NEAR: f64 = 1e-8;

/// A class as one wait sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassSeen {
    /// Operations per ns with the wait that was tried last.
    pub rate: f64,
    /// Operations in flight.
    pub in_flight: f64,
    /// Operations per ns at most.
    pub most: f64,
    /// Time of an operation apart from all waits, thinking with it, ns.
    pub apart_ns: f64,
    /// Its other waits, ns.
    pub others_ns: f64,
    /// How many times an operation meets the wait.
    pub weight: f64,
    /// What of the wait is a customer of the class itself, ns.
    pub itself_ns: f64,
    /// Time of a server that an operation takes there, ns.
    pub demand_ns: f64,
    /// What is left on average of an operation in service there, ns.
    pub residual_ns: f64,
    /// What an operation adds to the load of the place, and to that of the link where page cache fills, ns.
    pub asks_ns: [f64; 2],
}

/// A place while its wait is searched.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// All classes.
    pub classes: Vec<ClassSeen>,
    /// The wait that was tried last, ns.
    pub wait_ns: f64,
    /// Share of the place's time that its load may take, and that the work which stands there is served in.
    pub shares: [f64; 2],
    /// Mean of what is left of background work, ns.
    pub pause_ns: f64,
    /// Room in buffers, where nothing is served: its wait is the least that keeps the load.
    pub room: bool,
    /// Longest that anybody waits, ns.
    pub most_ns: f64,
}

impl Probe {
    /// Finds the wait, beginning with the last one: the least that does not ask more of the place than it can do, or, where
    /// that is more, the wait that is the work which stands there.
    pub(super) fn settle(&mut self) {
        let before = self.wait_ns;
        self.attempt(before);
        if self.rests() {
            return;
        }
        let known = [(before, self.idle()), (before, self.excess())];
        self.attempt(0.0);
        if self.idle() < 0.0 {
            let least = self.root((0.0, self.idle()), known[0], Self::idle);
            self.attempt(least.min(self.most_ns));
        }
        if !self.room && self.excess() < 0.0 {
            let wait = self.root((self.wait_ns, self.excess()), known[1], Self::excess);
            self.attempt(wait);
        }
    }

    /// Tries a wait: all rates follow.
    fn attempt(&mut self, wait_ns: f64) {
        self.wait_ns = wait_ns;
        for class in &mut self.classes {
            let waits = class.others_ns + class.weight * (wait_ns - class.itself_ns).max(0.0);
            class.rate = (class.in_flight / (class.apart_ns + waits.max(0.0)).max(1e-6)).min(class.most);
        }
    }

    /// What is asked of the place over what it can do.
    fn load(&self) -> f64 {
        let asked = |which: usize| self.classes.iter().map(|class| class.rate * class.asks_ns[which]).sum::<f64>();
        asked(0).max(asked(1)) / self.shares[0]
    }

    /// How much longer the wait is than the work that stands there, ns.
    fn excess(&self) -> f64 {
        let unfinished = |class: &ClassSeen| {
            class.rate * class.demand_ns * (class.residual_ns + (self.wait_ns - class.itself_ns).max(0.0))
        };
        let work: f64 = self.classes.iter().map(unfinished).sum();
        self.wait_ns - work / self.shares[1] - self.pause_ns
    }

    fn rests(&self) -> bool {
        let load = self.load();
        let full = (load - 1.0).abs() < NEAR;
        let excess = if self.room { self.wait_ns } else { self.excess() };
        load < 1.0 + NEAR && (excess.abs() < NEAR * self.wait_ns.max(1.0) || full && excess > 0.0)
    }

    /// How far the place is from full; negative where more is asked than it can do. In the reciprocal, which grows about
    /// linearly with the wait.
    fn idle(&self) -> f64 {
        1.0 / self.load() - 1.0
    }

    /// Where `value`, below zero at `low`, is zero; `known` is another wait whose value is known. False position in the
    /// Illinois way, once a wait is found that is long enough.
    fn root(&mut self, low: (f64, f64), known: (f64, f64), value: impl Fn(&Self) -> f64) -> f64 {
        let (mut low, mut high) = self.bracket(low, known, &value);
        let mut side = 0;
        for _ in 0..SEARCH_AT_MOST {
            if high.0 - low.0 <= 1e-10 * high.0 || high.1.abs() < 1e-12 {
                break;
            }
            let share = (-low.1 / (high.1 - low.1)).clamp(0.001, 0.999);
            let middle = low.0 + share * (high.0 - low.0);
            self.attempt(middle);
            let seen = value(self);
            if seen < 0.0 {
                low = (middle, seen);
                high.1 *= if side < 0 { 0.5 } else { 1.0 };
                side = -1;
            } else {
                high = (middle, seen);
                low.1 *= if side > 0 { 0.5 } else { 1.0 };
                side = 1;
            }
        }
        high.0
    }

    /// Two waits between which `value` reaches zero.
    fn bracket(
        &mut self,
        mut low: (f64, f64),
        known: (f64, f64),
        value: impl Fn(&Self) -> f64,
    ) -> ((f64, f64), (f64, f64)) {
        if known.0 > low.0 && known.1 >= 0.0 {
            return (low, known);
        }
        let mut step = (low.0 * 0.1).max(1.0);
        if known.0 > low.0 {
            // Nearly a line: a little beyond where it leads.
            let beyond = 1.01 * (known.0 - low.0) * known.1 / (low.1 - known.1);
            step = if beyond > 0.0 && beyond.is_finite() { beyond.max(known.0 * 1e-9) } else { known.0 - low.0 };
            low = known;
        }
        let mut high = low;
        for _ in 0..DOUBLINGS {
            self.attempt(low.0 + step);
            high = (low.0 + step, value(self));
            if high.1 >= 0.0 {
                break;
            }
            (low, step) = (high, step * 2.0);
        }
        (low, high)
    }
}
