//! Which keys are picked how often.

use assay_index::IndexError;
use rand_distr::{Distribution as _, Zipf};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::RngCore};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A prime below 2^32: as a factor it permutes the numbers below any count that it does not divide.
const STEP: u64 = 2_654_435_761;
/// One for counts that the first divides.
const OTHER_STEP: u64 = 2_246_822_519;

/// How often which key is picked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "law", deny_unknown_fields)]
pub enum Distribution {
    /// All alike.
    Uniform,
    /// The key of rank r in proportion to `1 / r^theta`; ranks are scattered over all keys.
    Zipf {
        /// The exponent, above 0 and at most 4.
        theta: f64,
    },
    /// A share `1 - skew` of all picks goes to a share `skew` of the keys, and so on within (Gray et al., SIGMOD 1994,
    /// "self-similar"); scattered over all keys.
    SelfSimilar {
        /// Between 0 and 0.5.
        skew: f64,
    },
    /// As Zipf, where the newest key has the first rank.
    Latest {
        /// The exponent, above 0 and at most 4.
        theta: f64,
    },
}

impl Distribution {
    /// In words, for records.
    pub fn describe(self) -> String {
        match self {
            Self::Uniform => "uniform".to_owned(),
            Self::Zipf { theta } => format!("zipf {theta}"),
            Self::SelfSimilar { skew } => format!("self-similar {skew}"),
            Self::Latest { theta } => format!("latest {theta}"),
        }
    }

    pub(crate) fn validate(self) -> Result<(), IndexError> {
        let (good, range) = match self {
            Self::Uniform => (true, ""),
            Self::Zipf { theta } | Self::Latest { theta } => {
                (theta > 0.0 && theta <= 4.0, "an exponent above 0 and at most 4")
            }
            Self::SelfSimilar { skew } => (skew > 0.0 && skew < 0.5, "a skew above 0 and below 0.5"),
        };
        let seen = || format!("the distribution {} was asked for", self.describe());
        if good { Ok(()) } else { Err(IndexError::job(seen(), format!("ask for {range}"))) }
    }
}

/// Picks numbers below a count.
#[derive(Clone, Debug)]
pub struct Picker {
    law: Law,
    count: u64,
    step: u64,
}

#[derive(Clone, Debug)]
enum Law {
    Uniform,
    Zipf(Zipf<f64>),
    Latest(Zipf<f64>),
    SelfSimilar { exponent: f64 },
}

impl Picker {
    /// Picks below `count`, which is at least 1.
    ///
    /// # Errors
    /// [`IndexError::Job`] where the parameters cannot be.
    pub fn new(distribution: Distribution, count: u64) -> Result<Self, IndexError> {
        distribution.validate()?;
        let zipf = |theta: f64| {
            Zipf::new(count as f64, theta)
                .map_err(|error| IndexError::job(format!("no Zipf law over {count} keys: {error}"), "change theta"))
        };
        let law = match distribution {
            Distribution::Uniform => Law::Uniform,
            Distribution::Zipf { theta } => Law::Zipf(zipf(theta)?),
            Distribution::Latest { theta } => Law::Latest(zipf(theta)?),
            Distribution::SelfSimilar { skew } => Law::SelfSimilar { exponent: skew.ln() / (1.0 - skew).ln() },
        };
        let step = if count % STEP == 0 { OTHER_STEP } else { STEP };
        Ok(Self { law, count, step })
    }

    /// Whether it counts from the newest key backwards.
    pub fn is_latest(&self) -> bool {
        matches!(self.law, Law::Latest(_))
    }

    /// The next one. For [`Distribution::Latest`] it is an age: 0 is the newest.
    #[inline(always)]
    pub fn pick(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        match &self.law {
            Law::Uniform => below(random.next_u64(), self.count),
            Law::Zipf(zipf) => self.scatter(rank(zipf.sample(random), self.count)),
            Law::Latest(zipf) => rank(zipf.sample(random), self.count),
            Law::SelfSimilar { exponent } => {
                let unit = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
                self.scatter(((self.count as f64 * unit.powf(*exponent)) as u64).min(self.count - 1))
            }
        }
    }

    /// Neighbouring ranks lie far apart, and no two at one place.
    #[inline(always)]
    fn scatter(&self, rank: u64) -> u64 {
        rank * self.step % self.count
    }
}

/// A number below `count` (Lemire's multiplication; the bias is below `count / 2^64`).
#[inline(always)]
pub(super) fn below(random: u64, count: u64) -> u64 {
    ((u128::from(random) * u128::from(count)) >> 64) as u64
}

#[inline(always)]
fn rank(sample: f64, count: u64) -> u64 {
    (sample as u64 - 1).min(count - 1)
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    const PICKS: u64 = 200_000;

    fn tally(distribution: Distribution, count: u64) -> Vec<u64> {
        let picker = Picker::new(distribution, count).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut tally = vec![0; count as usize];
        (0..PICKS).for_each(|_| tally[picker.pick(&mut random) as usize] += 1);
        tally
    }

    fn share_of_top(distribution: Distribution, count: u64, top: usize) -> f64 {
        let mut tally = tally(distribution, count);
        tally.sort_unstable_by(|a, b| b.cmp(a));
        tally[..top].iter().sum::<u64>() as f64 / PICKS as f64
    }

    #[test]
    fn a_fifth_of_the_keys_gets_four_fifths_of_self_similar_picks() {
        let share = share_of_top(Distribution::SelfSimilar { skew: 0.2 }, 1000, 200);
        assert!((share - 0.8).abs() < 0.02, "{share}");
    }

    #[test]
    fn the_first_rank_of_zipf_has_its_weight() {
        let harmonic: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.99)).sum();
        let share = share_of_top(Distribution::Zipf { theta: 0.99 }, 1000, 1);
        assert!((share - 1.0 / harmonic).abs() < 0.01, "{share} and not {}", 1.0 / harmonic);
    }

    #[test]
    fn the_newest_is_picked_most() {
        let tally = tally(Distribution::Latest { theta: 0.99 }, 1000);
        assert!(tally[0] > tally[10] && tally[10] > tally[500]);
    }

    #[test]
    fn every_key_is_picked_uniformly_and_scattering_loses_none() {
        assert!(tally(Distribution::Uniform, 1000).iter().all(|&picks| (100..320).contains(&picks)));
        for count in [1, 2, 1000, 4096, STEP.min(65_537)] {
            let picker = Picker::new(Distribution::Uniform, count).unwrap();
            let mut seen: Vec<u64> = (0..count).map(|rank| picker.scatter(rank)).collect();
            seen.sort_unstable();
            assert!(seen.iter().enumerate().all(|(index, &id)| index as u64 == id), "{count}");
        }
    }

    #[test]
    fn impossible_parameters_are_refused() {
        for wrong in [Distribution::Zipf { theta: 0.0 }, Distribution::SelfSimilar { skew: 0.5 }] {
            assert!(Picker::new(wrong, 10).unwrap_err().to_string().contains("was asked for"));
        }
    }
}
