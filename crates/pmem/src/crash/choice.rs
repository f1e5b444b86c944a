//! One of the many images that a moment allows.

use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::RngCore};

use super::replay::Pending;

/// How much of each dirty line arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice(Vec<Kept>);

/// Of one line: how many of its ordinary stores, in order, and which of those around the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    ordinary: usize,
    streamed: u64,
}

/// A dirty line.
pub(super) struct CacheLine<'a> {
    pub(super) number: u32,
    pub(super) stores: &'a [Pending],
}

impl CacheLine<'_> {
    fn ordinary(&self) -> usize {
        self.stores.iter().filter(|store| !store.streamed).count()
    }

    /// Streams beyond 64 in one line share their fate with the last of them.
    fn streamed(&self) -> u32 {
        (self.stores.len() - self.ordinary()).min(63) as u32
    }

    fn alternatives(&self) -> u64 {
        (self.ordinary() as u64 + 1).saturating_mul(1 << self.streamed())
    }

    fn all(&self) -> Kept {
        Kept { ordinary: self.ordinary(), streamed: (1 << self.streamed()) - 1 }
    }

    fn some(&self, random: &mut Xoshiro256PlusPlus) -> Kept {
        self.nth(random.next_u64() % self.alternatives())
    }

    fn nth(&self, number: u64) -> Kept {
        let ordinary = self.ordinary() as u64 + 1;
        Kept { ordinary: (number % ordinary) as usize, streamed: number / ordinary }
    }
}

impl Kept {
    const NOTHING: Self = Self { ordinary: 0, streamed: 0 };
}

/// How many images there are; saturating.
pub(super) fn count(lines: &[CacheLine<'_>]) -> u64 {
    lines.iter().fold(1, |count, line| count.saturating_mul(line.alternatives()))
}

impl Choice {
    /// The n-th of all.
    pub(super) fn nth(lines: &[CacheLine<'_>], mut number: u64) -> Self {
        let digit = |line: &CacheLine<'_>| {
            let kept = line.nth(number % line.alternatives());
            number /= line.alternatives();
            kept
        };
        Self(lines.iter().map(digit).collect())
    }

    /// One by chance. The first ones are those that find most: everything lost, everything kept, one line alone kept,
    /// one alone lost.
    pub(super) fn sample(lines: &[CacheLine<'_>], number: u64, random: &mut Xoshiro256PlusPlus) -> Self {
        let nothing = || Self(lines.iter().map(|_| Kept::NOTHING).collect());
        let all = || Self(lines.iter().map(CacheLine::all).collect());
        let line = (number / 2).wrapping_sub(1) as usize;
        match (number, number % 2 == 0) {
            (0, _) => nothing(),
            (1, _) => all(),
            (_, true) if line < lines.len() => nothing().with_line(lines, line, true),
            (_, false) if line < lines.len() => all().with_line(lines, line, false),
            _ => Self::random(lines, random),
        }
    }

    fn random(lines: &[CacheLine<'_>], random: &mut Xoshiro256PlusPlus) -> Self {
        let bias = random.next_u64() % 4;
        let one = |line: &CacheLine<'_>| match (bias, random.next_u64() % 4) {
            (0, 1..) => Kept::NOTHING,
            (1, 1..) => line.all(),
            (2, dice) => [Kept::NOTHING, line.all()][dice as usize % 2],
            _ => line.some(random),
        };
        Self(lines.iter().map(one).collect())
    }

    /// The words that arrived, in order.
    pub(super) fn words<'a>(&'a self, lines: &'a [CacheLine<'a>]) -> impl Iterator<Item = (u32, u64)> + 'a {
        self.0.iter().zip(lines).flat_map(|(kept, line)| arrived(*kept, line.stores))
    }

    /// The same, with one line lost entirely or kept entirely.
    pub(super) fn with_line(&self, lines: &[CacheLine<'_>], line: usize, keep: bool) -> Self {
        let mut kept = self.0.clone();
        kept[line] = if keep { lines[line].all() } else { Kept::NOTHING };
        Self(kept)
    }

    /// Lines that are neither lost nor kept, or that are lost, in words.
    pub(super) fn describe(&self, lines: &[CacheLine<'_>]) -> Vec<String> {
        let sentence = |(kept, line): (&Kept, &CacheLine<'_>)| {
            let arrived = kept.ordinary + kept.streamed.count_ones() as usize;
            let at = u64::from(line.number) * 64;
            format!("line {at:#x}: {arrived} of {} stores arrived", line.stores.len())
        };
        self.0.iter().zip(lines).map(sentence).collect()
    }
}

fn arrived(kept: Kept, stores: &[Pending]) -> impl Iterator<Item = (u32, u64)> {
    let (mut ordinary, mut streamed) = (0, 0u32);
    stores.iter().filter_map(move |store| {
        let arrives = if store.streamed {
            let bit = kept.streamed >> streamed.min(62) & 1 == 1;
            streamed += 1;
            bit
        } else {
            ordinary += 1;
            ordinary <= kept.ordinary
        };
        arrives.then_some((store.word, store.value))
    })
}
