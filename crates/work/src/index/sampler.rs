//! Which operations of a thread are timed.

use assay_index::mix;

/// One of so many, by chance: the gaps between two of them are even over 1 to twice as many. It counts down, so that an
/// operation that is not timed costs no random number.
pub(super) struct Sampler {
    left: u32,
    /// The widest gap.
    most: u32,
    random: u64,
}

impl Sampler {
    /// Of a thread; of `every` operations one is timed.
    pub(super) fn new(every: u32, seed: u64) -> Self {
        let mut sampler = Self { left: 0, most: every.saturating_mul(2).saturating_sub(1).max(1), random: seed };
        sampler.left = sampler.gap();
        sampler
    }

    /// Whether the next operation is one.
    #[inline(always)]
    pub(super) fn is_due(&mut self) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.left = self.gap();
        true
    }

    fn gap(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        1 + (((mix(self.random) >> 32) * u64::from(self.most)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_so_many_is_timed_and_none_at_a_fixed_distance() {
        for every in [1, 2, 16, 1000] {
            let mut sampler = Sampler::new(every, 7);
            let due: Vec<u32> = (0..200_000).filter(|_| sampler.is_due()).collect();
            let wanted = 200_000.0 / f64::from(every);
            // Five standard deviations of gaps that are even over 1 to twice as many.
            let width = 5.0 * wanted.sqrt() / 3f64.sqrt();
            assert!((due.len() as f64 - wanted).abs() <= width.max(1.0), "{every}: {}", due.len());
            let gaps: std::collections::HashSet<u32> = due.windows(2).map(|two| two[1] - two[0]).collect();
            assert_eq!(gaps.len() > 1, every > 1, "{every}");
        }
    }

    #[test]
    fn the_widest_gap_that_can_be_asked_for_is_one() {
        assert!(!Sampler::new(u32::MAX, 1).is_due());
        assert!(Sampler::new(0, 1).is_due());
    }
}
