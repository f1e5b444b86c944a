//! The stream of operations of one thread: pure, seeded, and ignorant of who serves it.

mod mixer;
mod pattern;
mod placement;
mod shuffle;
mod sizes;

use assay_record::{Class, Operation, Sizes};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

pub use self::placement::{SegmentOffset, Spread};
use self::{mixer::Mixer, pattern::Positions, sizes::SizePicker};

/// One operation, not yet placed on members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextOp {
    /// A write (otherwise a read).
    pub write: bool,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u32,
}

/// What a generator needs to know of the file that it works on.
#[derive(Clone, Copy, Debug)]
pub struct FileShare {
    /// Length of the file, bytes.
    pub bytes: u64,
    /// Which of the threads that share the file this is.
    pub index: u32,
    /// How many threads share it.
    pub of: u32,
    /// Seed of a shuffled order: the same for all threads of a class, another for every class.
    pub order: u64,
    /// Pages that no operation may cross, because neighbours lie on other members, bytes; 0 where the file lies on one.
    pub stripe: u64,
}

/// Generates operations without end.
#[derive(Clone, Debug)]
pub struct Generator {
    rng: Xoshiro256PlusPlus,
    positions: Positions,
    sizes: SizePicker,
    mixer: Mixer,
    bytes: u64,
}

impl Generator {
    /// The generator of one thread of a class. Equal arguments give equal streams.
    pub fn new(class: &Class, share: FileShare, seed: u64) -> Self {
        let sizes = SizePicker::new(&class.size);
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let positions = Positions::new(&class.pattern, share, sizes.unit());
        Self { rng, positions, sizes, mixer: Mixer::new(class.operation), bytes: share.bytes }
    }

    /// The next operation. It lies inside the file as a whole.
    #[inline(always)]
    pub fn step(&mut self) -> NextOp {
        let write = self.mixer.next(&mut self.rng);
        let length = self.sizes.next(&mut self.rng);
        let offset = self.positions.next(&mut self.rng, length);
        debug_assert!(offset + u64::from(length) <= self.bytes);
        NextOp { write, offset, length }
    }

    /// Randomness of this thread, for its schedule.
    pub fn rng(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.rng
    }
}

/// Largest size of a class, bytes.
pub fn largest_size(sizes: &Sizes) -> u64 {
    match sizes {
        Sizes::One(bytes) => *bytes,
        Sizes::Mix(shares) => shares.iter().map(|share| share.bytes).max().unwrap_or(0),
    }
}

/// Whether a class changes what lies there: it writes, or trims.
pub fn writes(operation: Operation) -> bool {
    !matches!(operation, Operation::Read | Operation::Mix { write_percent: 0 })
}

/// Whether a class reads at all.
pub fn reads(operation: Operation) -> bool {
    !matches!(operation, Operation::Write | Operation::Trim | Operation::Mix { write_percent: 100 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::{Arrivals, Durability, DurabilityKind, PathKind, PathSpec, Pattern, SizeShare};
    use proptest::prelude::*;

    fn class(operation: Operation, pattern: Pattern, size: Sizes) -> Class {
        Class {
            name: "c".into(),
            dataset: "d".into(),
            path: PathSpec::plain(PathKind::Null),
            operation,
            pattern,
            size,
            threads: 1,
            depth: 1,
            batch: 1,
            arrivals: Arrivals::Closed,
            think: None,
            durability: Durability { kind: DurabilityKind::None, every: 1 },
            buffer_bytes: 0,
            dirty_bytes: 0,
            start_s: 0.0,
            pin: None,
            objective: None,
        }
    }

    fn patterns() -> impl Strategy<Value = Pattern> {
        prop_oneof![
            Just(Pattern::Sequential),
            Just(Pattern::Uniform),
            Just(Pattern::Shuffled),
            (0.2f64..2.0).prop_map(|theta| Pattern::Zipf { theta }),
            (0u8..=100, 1u8..=100)
                .prop_map(|(operations_percent, pages_percent)| Pattern::HotSpot { operations_percent, pages_percent }),
        ]
    }

    fn sizes() -> impl Strategy<Value = Sizes> {
        prop_oneof![
            (0u32..8).prop_map(|power| Sizes::One(64 << power)),
            proptest::collection::vec((0u32..6, 1u32..9), 1..4).prop_map(|shares| Sizes::Mix(
                shares.into_iter().map(|(power, weight)| SizeShare { bytes: 512 << power, weight }).collect()
            )),
        ]
    }

    proptest! {
        #[test]
        fn every_operation_lies_inside_the_file_and_is_aligned(
            pattern in patterns(), size in sizes(), pages in 1u64..200, index in 0u32..4, seed: u64,
        ) {
            let largest = largest_size(&size);
            let bytes = largest * pages;
            let class = class(Operation::Mix { write_percent: 20 }, pattern, size);
            let mut generator = Generator::new(&class, FileShare { bytes, index, of: 4, stripe: 0, order: 1 }, seed);
            let unit = SizePicker::new(&class.size).unit();
            for _ in 0..500 {
                let operation = generator.step();
                prop_assert!(operation.offset + u64::from(operation.length) <= bytes);
                prop_assert_eq!(operation.offset % unit, 0);
            }
        }

        #[test]
        fn equal_seeds_give_equal_streams(pattern in patterns(), seed: u64) {
            let class = class(Operation::Mix { write_percent: 50 }, pattern, Sizes::One(4096));
            let share = FileShare { bytes: 4096 * 1000, index: 0, of: 1, stripe: 0, order: 1 };
            let (mut a, mut b) = (Generator::new(&class, share, seed), Generator::new(&class, share, seed));
            for _ in 0..200 { prop_assert_eq!(a.step(), b.step()); }
        }
    }

    #[test]
    fn no_operation_crosses_a_stripe() {
        let shares = |weight| vec![SizeShare { bytes: 4096, weight }, SizeShare { bytes: 16_384, weight: 1 }];
        for pattern in [Pattern::Sequential, Pattern::Uniform, Pattern::Zipf { theta: 0.9 }] {
            let class = class(Operation::Read, pattern, Sizes::Mix(shares(2)));
            let share = FileShare { bytes: 16_384 * 50, index: 0, of: 1, stripe: 16_384, order: 1 };
            let mut generator = Generator::new(&class, share, 9);
            for _ in 0..2_000 {
                let step = generator.step();
                let last = step.offset + u64::from(step.length) - 1;
                assert_eq!(step.offset / 16_384, last / 16_384, "{pattern:?}: {step:?}");
                assert!(last < share.bytes);
            }
        }
    }

    #[test]
    fn a_sequential_stream_visits_every_page_once_a_round() {
        let class = class(Operation::Read, Pattern::Sequential, Sizes::One(4096));
        let mut generator =
            Generator::new(&class, FileShare { bytes: 4096 * 10, index: 1, of: 2, stripe: 0, order: 1 }, 1);
        let round: Vec<u64> = (0..10).map(|_| generator.step().offset / 4096).collect();
        assert_eq!(round, [5, 6, 7, 8, 9, 0, 1, 2, 3, 4], "the second of two threads starts in the middle");
    }

    #[test]
    fn a_zipf_stream_has_the_heads_weight_and_is_scattered() {
        let pages = 10_000u64;
        let class = class(Operation::Read, Pattern::Zipf { theta: 0.99 }, Sizes::One(4096));
        let mut generator =
            Generator::new(&class, FileShare { bytes: 4096 * pages, index: 0, of: 1, stripe: 0, order: 1 }, 7);
        let mut seen = vec![0u32; pages as usize];
        (0..200_000).for_each(|_| seen[(generator.step().offset / 4096) as usize] += 1);
        let hottest = seen.iter().max().copied().unwrap();
        let harmonic: f64 = (1..=pages).map(|rank| (rank as f64).powf(-0.99)).sum();
        let expected = 200_000.0 / harmonic;
        assert!((f64::from(hottest) / expected - 1.0).abs() < 0.05, "{hottest} against {expected}");
        let neighbours: Vec<usize> = {
            let mut ranked: Vec<usize> = (0..pages as usize).collect();
            ranked.sort_by_key(|page| std::cmp::Reverse(seen[*page]));
            ranked[..5].to_vec()
        };
        assert!(neighbours.windows(2).any(|pair| pair[0].abs_diff(pair[1]) > 100), "hot pages are not neighbours");
    }

    #[test]
    fn a_hot_spot_gets_its_share() {
        let pattern = Pattern::HotSpot { operations_percent: 95, pages_percent: 5 };
        let class = class(Operation::Read, pattern, Sizes::One(4096));
        let mut generator =
            Generator::new(&class, FileShare { bytes: 4096 * 1000, index: 0, of: 1, stripe: 0, order: 1 }, 3);
        let hot = (0..100_000).filter(|_| generator.step().offset / 4096 < 50).count();
        assert!((94_000..=96_000).contains(&hot), "{hot} of 100000 on the hot pages");
    }
}
