//! In which order offsets come.

use assay_record::Pattern;
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::RngCore};

use super::{FileShare, shuffle::Shuffle};

/// A number below `bound` from 64 random bits, by multiplication (Lemire, "Fast Random Integer Generation in an Interval",
/// 2019, without the rejection step: the bias is below `bound` / 2^64).
#[inline(always)]
pub fn below(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

/// Produces offsets.
#[derive(Clone, Debug)]
pub struct Positions {
    law: Law,
    unit: u64,
    bytes: u64,
    /// Units in the file; a position plus the largest size may cross its end, so sizes beyond the unit are checked.
    units: u64,
    stripe: u64,
}

#[derive(Clone, Debug)]
enum Law {
    Sequential { at: u64 },
    Uniform,
    Shuffled(Shuffle),
    Zipf { ranks: Zipf<f64>, step: u64 },
    HotSpot { operations_percent: u64, hot_units: u64 },
}

impl Positions {
    pub fn new(pattern: &Pattern, share: FileShare, unit: u64) -> Self {
        let units = (share.bytes / unit).max(1);
        let law = match *pattern {
            Pattern::Sequential => {
                let first = u128::from(units) * u128::from(share.index) / u128::from(share.of.max(1));
                Law::Sequential { at: first as u64 * unit }
            }
            Pattern::Uniform => Law::Uniform,
            Pattern::Shuffled => Law::Shuffled(Shuffle::new(units, share.index, share.of, share.order)),
            Pattern::Zipf { theta } => match Zipf::new(units as f64, theta) {
                Ok(ranks) => Law::Zipf { ranks, step: coprime_step(units) },
                Err(_) => Law::Uniform,
            },
            Pattern::HotSpot { operations_percent, pages_percent } => Law::HotSpot {
                operations_percent: u64::from(operations_percent),
                hot_units: (units * u64::from(pages_percent) / 100).max(1),
            },
        };
        Self { law, unit, bytes: share.bytes, units, stripe: share.stripe }
    }

    #[inline(always)]
    pub fn next(&mut self, rng: &mut Xoshiro256PlusPlus, length: u32) -> u64 {
        let length = u64::from(length);
        let offset = match &mut self.law {
            Law::Sequential { at } => {
                let next = *at + to_next_stripe(*at, length, self.stripe);
                let offset = if next + length > self.bytes { 0 } else { next };
                *at = offset + length;
                return offset;
            }
            Law::Uniform => below(rng.next_u64(), self.units) * self.unit,
            Law::Shuffled(shuffle) => shuffle.next_unit(rng) * self.unit,
            Law::Zipf { ranks, step } => {
                let rank = (ranks.sample(rng) as u64 - 1).min(self.units - 1);
                (u128::from(rank) * u128::from(*step) % u128::from(self.units)) as u64 * self.unit
            }
            Law::HotSpot { operations_percent, hot_units } => {
                let hot = below(rng.next_u64(), 100) < *operations_percent || *hot_units == self.units;
                let random = rng.next_u64();
                let unit =
                    if hot { below(random, *hot_units) } else { *hot_units + below(random, self.units - *hot_units) };
                unit * self.unit
            }
        };
        let offset = if offset + length > self.bytes { (self.bytes - length) / self.unit * self.unit } else { offset };
        if to_next_stripe(offset, length, self.stripe) == 0 { offset } else { offset - offset % self.stripe }
    }
}

/// Bytes to go on so that an operation does not cross a page of the spread; 0 where it does not. Only mixed sizes do.
#[inline(always)]
fn to_next_stripe(offset: u64, length: u64, stripe: u64) -> u64 {
    if stripe == 0 {
        return 0;
    }
    let inside = offset % stripe;
    if inside + length > stripe { stripe - inside } else { 0 }
}

/// A step with no common divisor with `units`, near the golden section: multiplying ranks by it scatters neighbours.
fn coprime_step(units: u64) -> u64 {
    let mut step = ((units as f64 * 0.618_033_988_749_895) as u64) | 1;
    while gcd(step, units) != 1 {
        step += 2;
    }
    step
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_scatters_every_rank_to_a_place_of_its_own() {
        for units in [1u64, 2, 3, 10, 64, 1000, 4096, 65_537] {
            let step = coprime_step(units);
            let mut seen = vec![false; units as usize];
            (0..units).for_each(|rank| seen[(u128::from(rank) * u128::from(step) % u128::from(units)) as usize] = true);
            assert!(seen.iter().all(|place| *place), "{units} units, step {step}");
        }
    }

    #[test]
    fn numbers_below_a_bound_are_even() {
        use rand_xoshiro::rand_core::SeedableRng;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut seen = [0u32; 7];
        (0..70_000).for_each(|_| seen[below(rng.next_u64(), 7) as usize] += 1);
        assert!(seen.iter().all(|count| (9_500..10_500).contains(count)), "{seen:?}");
    }
}
