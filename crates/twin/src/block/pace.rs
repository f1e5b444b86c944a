//! A secant for a rate that asks for itself, inside of a bracket.

/// Part of the way that is gone before anything is known of the slope.
const FIRST_STEP: f64 = 0.5;

/// The rate that was tried in the round before, the one that it asked for, and between which two rates the answer lies.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// What was tried.
    pub tried: f64,
    wanted: f64,
    low: f64,
    high: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { tried: 0.0, wanted: 0.0, low: 0.0, high: f64::INFINITY }
    }
}

impl Pace {
    /// The rate to try next. What is asked for falls as what is tried rises, so that going all the way overshoots: the
    /// slope between two rounds says how far to go, and the bracket how far at most.
    pub fn next(&mut self, tried: f64, wanted: f64) -> f64 {
        let (run, rise) = (tried - self.tried, wanted - self.wanted);
        let known = self.wanted > 0.0 && run.abs() > 1e-12 * tried;
        let slope = if known { (rise / run).min(0.0) } else { 0.0 };
        let (low, high) = if wanted > tried { (tried, self.high) } else { (self.low, tried) };
        *self = Self { tried, wanted, low, high };
        let way = if known { 1.0 / (1.0 - slope) } else { FIRST_STEP };
        let next = tried + (wanted - tried) * way;
        if next > low && next < high || low >= high {
            next
        } else {
            f64::midpoint(low.max(tried.min(wanted)), high.min(tried.max(wanted)))
        }
    }
}
