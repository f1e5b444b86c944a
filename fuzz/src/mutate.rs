//! Changes of inputs by chance.

use rand_xoshiro::{
    Xoshiro256StarStar,
    rand_core::{RngCore, SeedableRng},
};

/// Longer inputs are cut: what is read is bounded by its size elsewhere.
const LONGEST: usize = 16 << 10;
/// What parsers trip over: ends of ranges, depth, text that is none.
const WORDS: [&[u8]; 20] = [
    b"0",
    b"-1",
    b"1e400",
    b"18446744073709551616",
    b"9223372036854775807",
    b"4294967296",
    b"-0.0",
    b"NaN",
    b"null",
    b"true",
    b"[[[[[[[[",
    b"{\"",
    b"\"\"",
    b"\\u0000",
    b"\xff\xfe",
    b"\xf0\x9f\x92\xbe",
    b"\n",
    b"\0",
    b"../../x",
    b",",
];

/// Makes new inputs of known ones.
pub struct Mutator {
    chance: Xoshiro256StarStar,
}

impl Mutator {
    pub fn new(seed: u64) -> Self {
        Self { chance: Xoshiro256StarStar::seed_from_u64(seed) }
    }

    fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.chance.next_u64() % end as u64) as usize }
    }

    /// One of the known inputs, with one to six changes.
    pub fn changed(&mut self, known: &[Vec<u8>]) -> Vec<u8> {
        let mut input = known[self.below(known.len())].clone();
        for _ in 0..=self.below(6) {
            let other = self.below(known.len());
            self.change(&mut input, &known[other]);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        let (at, length) = (self.below(input.len() + 1), 1 + self.below(16));
        let end = (at + length).min(input.len());
        match self.below(7) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = self.chance.next_u32() as u8,
            2 => drop(input.drain(at..end)),
            3 => {
                let copy = input[at..end].to_vec();
                input.splice(at..at, copy);
            }
            4 => input.truncate(at),
            5 => {
                let from = self.below(other.len() + 1);
                let piece = &other[from..(from + 4 * length).min(other.len())];
                input.splice(at..end, piece.iter().copied());
            }
            _ => self.put_word(input),
        }
    }

    /// A whole number or word of the input becomes one of those that parsers trip over.
    fn put_word(&mut self, input: &mut Vec<u8>) {
        let word = WORDS[self.below(WORDS.len())];
        let at = self.below(input.len() + 1);
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let end = at + input[at..].iter().take_while(|byte| plain(byte)).count();
        input.splice(at..end, word.iter().copied());
    }
}
