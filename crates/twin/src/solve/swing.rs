//! How much an answer that comes to no rest swings.

/// Operations per second between which an answer moved in the last rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Swing {
    low: f64,
    high: f64,
}

impl Swing {
    pub fn take(&mut self, ops_per_s: f64) {
        let first = self.high == 0.0;
        self.low = if first { ops_per_s } else { self.low.min(ops_per_s) };
        self.high = self.high.max(ops_per_s);
    }

    /// As a share of the lowest.
    pub fn share(&self) -> f64 {
        if self.low > 0.0 { self.high / self.low - 1.0 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Swing;

    #[test]
    fn a_swing_is_the_share_by_which_the_highest_answer_lies_above_the_lowest() {
        let mut swing = Swing::default();
        assert_eq!(swing.share(), 0.0, "nobody looked");
        [120.0, 100.0, 150.0, 110.0].into_iter().for_each(|rate| swing.take(rate));
        assert!((swing.share() - 0.5).abs() < 1e-12);
    }
}
