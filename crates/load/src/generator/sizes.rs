//! How large operations are.

use assay_record::Sizes;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::RngCore};

use super::pattern::below;

/// Chooses sizes by weight.
#[derive(Clone, Debug)]
pub struct SizePicker {
    one: u32,
    /// Cumulative weights with their sizes; empty where there is one size.
    cumulative: Vec<(u64, u32)>,
    total: u64,
    unit: u64,
}

impl SizePicker {
    pub fn new(sizes: &Sizes) -> Self {
        match sizes {
            Sizes::One(bytes) => Self { one: *bytes as u32, cumulative: Vec::new(), total: 0, unit: *bytes },
            Sizes::Mix(shares) => {
                let mut total = 0;
                let cumulative: Vec<(u64, u32)> = shares
                    .iter()
                    .map(|share| {
                        total += u64::from(share.weight);
                        (total, share.bytes as u32)
                    })
                    .collect();
                let unit = shares.iter().map(|share| share.bytes).min().unwrap_or(1);
                Self { one: unit as u32, cumulative, total, unit }
            }
        }
    }

    /// Offsets are multiples of this: the smallest size, bytes.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    #[inline(always)]
    pub fn next(&self, rng: &mut Xoshiro256PlusPlus) -> u32 {
        if self.cumulative.is_empty() {
            return self.one;
        }
        let ticket = below(rng.next_u64(), self.total);
        self.cumulative.iter().find(|(weight, _)| ticket < *weight).map_or(self.one, |(_, bytes)| *bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::SizeShare;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn sizes_come_by_weight() {
        let picker = SizePicker::new(&Sizes::Mix(vec![
            SizeShare { bytes: 4096, weight: 3 },
            SizeShare { bytes: 16384, weight: 1 },
        ]));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let small = (0..40_000).filter(|_| picker.next(&mut rng) == 4096).count();
        assert!((29_500..30_500).contains(&small), "{small} of 40000");
    }
}
