//! Every unit once, in random order: a permutation that needs no memory.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

const ROUNDS: usize = 4;

/// A pseudo-random permutation of the units, walked from end to end: a Feistel network over the next even number of bits,
/// with cycle walking (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). Threads that share a file walk the
/// same permutation, each its own residue class, so that together they visit every unit once a round.
#[derive(Clone, Debug)]
pub struct Shuffle {
    units: u64,
    half_bits: u32,
    mask: u64,
    keys: [u64; ROUNDS],
    first: u64,
    step: u64,
    at: u64,
}

impl Shuffle {
    /// The walk of thread `index` of `of`. Those with the same `order` share the order of the first round.
    pub fn new(units: u64, index: u32, of: u32, order: u64) -> Self {
        let bits = (64 - units.saturating_sub(1).leading_zeros()).max(2);
        let half_bits = bits.div_ceil(2);
        let first = u64::from(index) % units;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(order);
        let keys = std::array::from_fn(|_| rng.next_u64() | 1);
        let step = u64::from(of.max(1)).min(units);
        Self { units, half_bits, mask: (1 << half_bits) - 1, keys, first, step, at: first }
    }

    /// The next unit. After a round a new order begins where no other thread shares the file.
    #[inline(always)]
    pub fn next_unit(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        if self.at >= self.units {
            self.begin_anew(rng);
        }
        let unit = self.permute(self.at);
        self.at += self.step;
        unit
    }

    #[cold]
    fn begin_anew(&mut self, rng: &mut Xoshiro256PlusPlus) {
        self.at = self.first;
        if self.step == 1 {
            self.keys = std::array::from_fn(|_| rng.next_u64() | 1);
        }
    }

    #[inline(always)]
    fn permute(&self, index: u64) -> u64 {
        let mut unit = index;
        loop {
            let (mut left, mut right) = (unit >> self.half_bits, unit & self.mask);
            for key in self.keys {
                let mixed = (right ^ (key >> 32)).wrapping_mul(key | 1);
                (left, right) = (right, left ^ ((mixed ^ (mixed >> 29)) >> 7 & self.mask));
            }
            unit = (left << self.half_bits) | right;
            if unit < self.units {
                return unit;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_unit_comes_once_a_round(units in 1u64..3000, rounds in 1usize..4, seed: u64) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut shuffle = Shuffle::new(units, 0, 1, seed);
            for _ in 0..rounds {
                let mut seen = vec![false; units as usize];
                for _ in 0..units {
                    let unit = shuffle.next_unit(&mut rng) as usize;
                    prop_assert!(!std::mem::replace(&mut seen[unit], true));
                }
            }
        }

        #[test]
        fn threads_share_a_round_without_overlap(units in 8u64..3000, threads in 2u32..8) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut seen = vec![0u32; units as usize];
            for thread in 0..threads {
                let mut shuffle = Shuffle::new(units, thread, threads, 7);
                let mine = (units - u64::from(thread)).div_ceil(u64::from(threads));
                (0..mine).for_each(|_| seen[shuffle.next_unit(&mut rng) as usize] += 1);
            }
            prop_assert!(seen.iter().all(|count| *count == 1));
        }
    }

    #[test]
    fn classes_go_their_own_ways() {
        let walk = |order| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut shuffle = Shuffle::new(10_000, 0, 1, order);
            (0..1000).map(|_| shuffle.next_unit(&mut rng)).collect::<Vec<u64>>()
        };
        let together = walk(1).iter().zip(walk(2)).filter(|(one, other)| *one == other).count();
        assert!(together < 10, "{together} of 1000 steps coincide");
    }

    #[test]
    fn neighbours_in_time_are_not_neighbours_in_space() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut shuffle = Shuffle::new(100_000, 0, 1, 7);
        let walk: Vec<u64> = (0..100_000).map(|_| shuffle.next_unit(&mut rng)).collect();
        let close = walk.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 64).count();
        assert!(close < 400, "{close} of 100000 steps are shorter than 64 units; about 128 are expected");
        let mean = walk[..10_000].iter().sum::<u64>() as f64 / 10_000.0;
        assert!(
            (mean / 50_000.0 - 1.0).abs() < 0.05,
            "the first tenth of the walk covers the whole file evenly: {mean}"
        );
    }
}
