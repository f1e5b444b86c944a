//! Random numbers and text as the specification wants them (clauses 2.1.6, 4.3.2).

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use crate::text::Text;

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A stream of random numbers; a few cycles each.
#[derive(Clone, Debug)]
pub struct Dice(Xoshiro256PlusPlus);

/// Seed of one of many streams.
pub fn stream_seed(seed: u64, stream: u64) -> u64 {
    let mixed = (seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

impl Dice {
    /// A stream.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// For distributions of libraries.
    pub fn generator(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.0
    }

    /// One of `low..=high`, each as likely (to 1 in 2^32, by Lemire's multiplication).
    #[inline]
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        debug_assert!(low <= high);
        let width = u64::from(high - low) + 1;
        low + (((self.0.next_u64() >> 32) * width) >> 32) as u32
    }

    /// True `percent` times of a hundred.
    #[inline]
    pub fn percent(&mut self, percent: u32) -> bool {
        self.between(1, 100) <= percent
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Letters and digits, `low` to `high` of them (an a-string).
    pub fn text<const N: usize>(&mut self, low: u32, high: u32) -> Text<N> {
        let length = self.between(low, high);
        let mut text = Text::EMPTY;
        (0..length).for_each(|_| text.push(&[LETTERS[self.between(0, 61) as usize]]));
        text
    }

    /// Digits (an n-string).
    pub fn digits<const N: usize>(&mut self, length: u32) -> Text<N> {
        let mut text = Text::EMPTY;
        (0..length).for_each(|_| text.push(&[b'0' + self.between(0, 9) as u8]));
        text
    }

    /// A brand: 26 to 50 letters, with `ORIGINAL` somewhere in one of ten.
    pub fn brand(&mut self) -> Text<50> {
        let text: Text<50> = self.text(26, 50);
        if !self.percent(10) {
            return text;
        }
        let bytes = text.bytes();
        let at = self.between(0, bytes.len() as u32 - 8) as usize;
        let mut branded = Text::of(&bytes[..at]);
        branded.push(b"ORIGINAL");
        branded.push(&bytes[at + 8..]);
        branded
    }

    /// A zip code: four digits, then `11111`.
    pub fn zip(&mut self) -> Text<9> {
        let mut zip = self.digits(4);
        zip.push(b"11111");
        zip
    }
}

/// A last name out of its number, 0 to 999 (clause 4.3.2.3).
pub fn last_name(number: u16) -> Text<16> {
    let mut name = Text::EMPTY;
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        name.push(SYLLABLES[usize::from(digit)].as_bytes());
    }
    name
}

/// The non-uniform random numbers (clause 2.1.6), with their constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonUniform {
    name: u32,
    customer: u32,
    item: u32,
}

impl NonUniform {
    /// Constants for a load.
    pub fn for_load(seed: u64) -> Self {
        let mut dice = Dice::new(stream_seed(seed, 0xc0));
        Self { name: dice.between(0, 255), customer: dice.between(0, 1023), item: dice.between(0, 8191) }
    }

    /// Constants for a run over what was loaded with `load`: the one for names lies as far from the load's as clause
    /// 2.1.6.1 wants.
    pub fn for_run(load: &Self, seed: u64) -> Self {
        let mut dice = Dice::new(stream_seed(seed, 0xc1));
        let far = |name: u32| {
            let distance = name.abs_diff(load.name);
            (65..=119).contains(&distance) && distance != 96 && distance != 112
        };
        let name = std::iter::repeat_with(|| dice.between(0, 255)).find(|name| far(*name));
        Self { name: name.unwrap_or(load.name), ..Self::for_load(seed) }
    }

    fn draw(dice: &mut Dice, mask: u32, constant: u32, low: u32, high: u32) -> u32 {
        let both = dice.between(0, mask) | dice.between(low, high);
        (both + constant) % (high - low + 1) + low
    }

    /// Number of a last name, below `names`.
    #[inline]
    pub fn name(&self, dice: &mut Dice, names: u16) -> u16 {
        Self::draw(dice, 255, self.name, 0, u32::from(names) - 1) as u16
    }

    /// A customer of `customers`.
    #[inline]
    pub fn customer(&self, dice: &mut Dice, customers: u16) -> u16 {
        Self::draw(dice, 1023, self.customer, 1, u32::from(customers)) as u16
    }

    /// An item of `items`.
    #[inline]
    pub fn item(&self, dice: &mut Dice, items: u32) -> u32 {
        Self::draw(dice, 8191, self.item, 1, items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_syllables() {
        assert_eq!(last_name(371).as_str(), "PRICALLYOUGHT");
        assert_eq!(last_name(0).as_str(), "BARBARBAR");
        assert!((0..1000).all(|number| last_name(number).bytes().len() <= 16));
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut dice = Dice::new(7);
        let seen: Vec<u32> = (0..10_000).map(|_| dice.between(3, 9)).collect();
        assert!(seen.iter().all(|number| (3..=9).contains(number)));
        for number in 3..=9 {
            let share = seen.iter().filter(|seen| **seen == number).count() as f64 / 1e4;
            assert!((share - 1.0 / 7.0).abs() < 0.02, "{number}: {share}");
        }
    }

    #[test]
    fn non_uniform_numbers_favour_some_and_stay_within_bounds() {
        let constants = NonUniform::for_run(&NonUniform::for_load(1), 2);
        let mut dice = Dice::new(3);
        let mut counts = vec![0_u32; 3001];
        (0..300_000).for_each(|_| counts[usize::from(constants.customer(&mut dice, 3000))] += 1);
        assert_eq!(counts[0], 0);
        let most = counts.iter().max().unwrap();
        assert!(*most > 400, "uniform would give a hundred each: {most}");
        assert!((0..1000).all(|_| constants.item(&mut dice, 20) <= 20));
        assert!((0..1000).all(|_| constants.name(&mut dice, 30) < 30));
    }

    #[test]
    fn the_constant_of_a_run_lies_as_far_from_the_loads_as_it_must() {
        for seed in 0..200 {
            let (load, run) = (NonUniform::for_load(seed), NonUniform::for_run(&NonUniform::for_load(seed), seed + 1));
            let distance = load.name.abs_diff(run.name);
            assert!((65..=119).contains(&distance) && distance != 96 && distance != 112, "seed {seed}: {distance}");
        }
    }

    #[test]
    fn a_tenth_of_the_brands_is_original() {
        let mut dice = Dice::new(11);
        let brands: Vec<_> = (0..5000).map(|_| dice.brand()).collect();
        assert!(brands.iter().all(|brand| (26..=50).contains(&brand.bytes().len())));
        let original = brands.iter().filter(|brand| brand.as_str().contains("ORIGINAL")).count();
        assert!((400..=600).contains(&original), "{original}");
    }
}
