//! Which operations are writes.

use assay_record::Operation;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::RngCore};

use super::pattern::below;

/// Draws reads and writes at random: at 20 % each operation is a write with a chance of one in five. A fixed order would
/// fall in step with whatever else has a period: flushes, batches, other classes.
#[derive(Clone, Copy, Debug)]
pub struct Mixer {
    percent: u64,
}

impl Mixer {
    pub fn new(operation: Operation) -> Self {
        let percent = match operation {
            Operation::Read => 0,
            Operation::Write | Operation::Trim => 100,
            Operation::Mix { write_percent } => u64::from(write_percent),
        };
        Self { percent }
    }

    /// Whether the next operation is a write. A class that does not mix draws nothing.
    #[inline(always)]
    pub fn next(&self, rng: &mut Xoshiro256PlusPlus) -> bool {
        match self.percent {
            0 => false,
            100.. => true,
            percent => below(rng.next_u64(), 100) < percent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    fn drawn(write_percent: u8, seed: u64, count: usize) -> Vec<bool> {
        let mixer = Mixer::new(Operation::Mix { write_percent });
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..count).map(|_| mixer.next(&mut rng)).collect()
    }

    #[test]
    fn writes_have_their_share_and_no_period() {
        let writes = drawn(20, 7, 100_000);
        let share = |picked: &mut dyn Iterator<Item = bool>| {
            let picked: Vec<bool> = picked.collect();
            picked.iter().filter(|write| **write).count() as f64 / picked.len() as f64
        };
        assert!((share(&mut writes.iter().copied()) - 0.2).abs() < 0.005);
        for lag in 1..=10 {
            let after = share(&mut writes.windows(lag + 1).filter(|part| part[0]).map(|part| part[lag]));
            assert!((after - 0.2).abs() < 0.015, "{lag} after a write there is one with {after}");
        }
    }

    #[test]
    fn a_seed_repeats_its_mix() {
        assert_eq!(drawn(30, 5, 1000), drawn(30, 5, 1000));
        assert_ne!(drawn(30, 5, 1000), drawn(30, 6, 1000));
    }

    #[test]
    fn what_does_not_mix_draws_nothing() {
        for (percent, write) in [(0, false), (100, true)] {
            assert!(drawn(percent, 1, 100).iter().all(|one| *one == write));
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let before = rng.clone();
        Mixer::new(Operation::Read).next(&mut rng);
        assert_eq!(rng, before);
    }
}
