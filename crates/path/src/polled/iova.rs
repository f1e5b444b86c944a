//! Addresses behind the IOMMU: which ranges exist, and which of them are taken.

/// Addresses of devices with 32 bits, and the window of interrupts, lie below; nothing is put there if it can be helped.
const FLOOR: u64 = 1 << 32;
/// Ranges begin at multiples of a huge page, so that the IOMMU can use large entries.
const ALIGNMENT: u64 = 2 << 20;

/// Ranges of addresses, first and last, in order; and what of them is taken, first and length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Addresses {
    ranges: Vec<(u64, u64)>,
    taken: Vec<(u64, u64)>,
}

impl Addresses {
    /// Nothing is taken of `ranges`.
    pub fn new(mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.sort_unstable();
        Self { ranges, taken: Vec::new() }
    }

    /// Takes a range of `bytes`; none where nothing is left that is as long.
    pub fn take(&mut self, bytes: u64) -> Option<u64> {
        let above = self.ranges.iter().find_map(|range| self.first_fit(*range, FLOOR, bytes));
        let at = above.or_else(|| self.ranges.iter().find_map(|range| self.first_fit(*range, ALIGNMENT, bytes)))?;
        self.taken.push((at, bytes));
        self.taken.sort_unstable();
        Some(at)
    }

    fn first_fit(&self, (first, last): (u64, u64), floor: u64, bytes: u64) -> Option<u64> {
        let mut at = first.max(floor).checked_next_multiple_of(ALIGNMENT)?;
        for (taken, length) in &self.taken {
            let ends = at.checked_add(bytes)?;
            if ends <= *taken {
                break;
            }
            at = at.max(taken.checked_add(*length)?.checked_next_multiple_of(ALIGNMENT)?);
        }
        (at.checked_add(bytes)? - 1 <= last).then_some(at)
    }

    /// Gives a range back.
    pub fn release(&mut self, at: u64) {
        self.taken.retain(|(taken, _)| *taken != at);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn intel() -> Addresses {
        Addresses::new(vec![(0xfef0_0000, (1 << 39) - 1), (0, 0xfedf_ffff)])
    }

    #[test]
    fn ranges_lie_above_the_window_of_interrupts_where_there_is_room() {
        let mut addresses = intel();
        assert_eq!(addresses.take(4096), Some(FLOOR));
        assert_eq!(addresses.take(4096), Some(FLOOR + ALIGNMENT));
        assert_eq!(addresses.take(1 << 40), None);
        addresses.release(FLOOR);
        assert_eq!(addresses.take(ALIGNMENT), Some(FLOOR));
    }

    #[test]
    fn a_small_address_space_is_used_from_below() {
        let mut addresses = Addresses::new(vec![(0, (1 << 30) - 1)]);
        assert_eq!(addresses.take(4096), Some(ALIGNMENT), "address 0 is never given away");
    }

    proptest! {
        #[test]
        fn no_two_ranges_overlap(steps in prop::collection::vec((1_u64..64, any::<bool>()), 1..60)) {
            let mut addresses = intel();
            for (pages, release) in steps {
                let at = addresses.take(pages << 20);
                prop_assert!(at.is_some());
                if let (true, Some((first, _))) = (release, addresses.taken.first().copied()) {
                    addresses.release(first);
                }
                let apart = addresses.taken.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0);
                prop_assert!(apart, "{:?}", addresses.taken);
            }
        }
    }
}
