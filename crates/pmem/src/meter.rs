//! A medium that counts what an operation costs, and that can be as slow as modules that are not there.

use std::{
    cell::{Cell, RefCell},
    ops::Sub,
};

use crate::{
    delay::{Delays, Ticks, wait},
    medium::{LINE_BYTES, MEDIA_BLOCK_BYTES, Medium},
};

/// Blocks that a module's write-combining buffer holds: 16 KiB on Optane modules.
const COMBINED_BLOCKS: usize = 64;

/// What a thread has done on metered media since it began.
///
/// Flushes and fences are counted; blocks are modelled: a read misses where the block is not among the last ones that
/// the thread touched (a cache of `cached_blocks`), a write-back counts where its block is not among the 64 that the
/// module's buffer combines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cache lines written back, and lines stored around the caches.
    pub flushes: u64,
    /// Fences.
    pub fences: u64,
    /// Blocks of 256 B read from the media.
    pub blocks_read: u64,
    /// Blocks of 256 B written to the media.
    pub blocks_written: u64,
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            flushes: self.flushes - before.flushes,
            fences: self.fences - before.fences,
            blocks_read: self.blocks_read - before.blocks_read,
            blocks_written: self.blocks_written - before.blocks_written,
        }
    }
}

/// What this thread has done so far. The difference of two is what lies between them.
pub fn counts() -> Counts {
    COUNTS.get()
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { flushes: 0, fences: 0, blocks_read: 0, blocks_written: 0 }) };
    static BLOCKS: RefCell<Blocks> = const { RefCell::new(Blocks { cached: Vec::new(), combined: [0; COMBINED_BLOCKS] }) };
}

/// Blocks that are near, by their number plus one; direct-mapped.
#[derive(Debug)]
struct Blocks {
    cached: Vec<u64>,
    combined: [u64; COMBINED_BLOCKS],
}

/// Counts, and waits where delays were given.
#[derive(Debug)]
pub struct Metered<M> {
    medium: M,
    cached_blocks: usize,
    delays: Option<Ticks>,
}

impl<M: Medium> Metered<M> {
    /// Counts on a medium; each thread is taken to have a cache of that many blocks of 256 B (rounded up to a power
    /// of two).
    pub fn new(medium: M, cached_blocks: usize) -> Self {
        Self { medium, cached_blocks: cached_blocks.next_power_of_two(), delays: None }
    }

    /// As slow as a twin says; figures got on it are emulated.
    #[must_use]
    pub fn with_delays(self, delays: Delays) -> Self {
        Self { delays: Some(delays.ticks()), ..self }
    }

    /// What it counts on.
    pub fn inner(&self) -> &M {
        &self.medium
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut now = COUNTS.get();
        change(&mut now);
        COUNTS.set(now);
    }

    fn touch(&self, at: u64, length: usize) {
        let missed = BLOCKS.with_borrow_mut(|blocks| blocks.touch(at, length, self.cached_blocks));
        if missed != 0 {
            self.count(|counts| counts.blocks_read += missed);
            self.delay(|ticks| ticks.block_read * missed);
        }
    }

    fn written_back(&self, at: u64, length: usize) {
        let lines = lines(at, length);
        let blocks = BLOCKS.with_borrow_mut(|blocks| blocks.write(at, length));
        self.count(|counts| {
            counts.flushes += lines;
            counts.blocks_written += blocks;
        });
        self.delay(|ticks| ticks.flush * lines + ticks.block_written * blocks);
    }

    #[inline(always)]
    fn delay(&self, ticks: impl FnOnce(&Ticks) -> u64) {
        if let Some(delays) = &self.delays {
            wait(ticks(delays));
        }
    }
}

fn lines(at: u64, length: usize) -> u64 {
    (at % LINE_BYTES as u64 + length as u64).div_ceil(LINE_BYTES as u64)
}

impl Blocks {
    fn touch(&mut self, at: u64, length: usize, size: usize) -> u64 {
        if self.cached.len() != size {
            self.cached = vec![0; size];
        }
        replace(&mut self.cached, at, length)
    }

    fn write(&mut self, at: u64, length: usize) -> u64 {
        replace(&mut self.combined, at, length)
    }
}

/// Makes a range's blocks near; how many were not.
fn replace(near: &mut [u64], at: u64, length: usize) -> u64 {
    if length == 0 {
        return 0;
    }
    let block = MEDIA_BLOCK_BYTES as u64;
    let (first, last) = (at / block, (at + length as u64 - 1) / block);
    let mut missed = 0;
    for block in first..=last {
        let slot = &mut near[(block % near.len() as u64) as usize];
        missed += u64::from(*slot != block + 1);
        *slot = block + 1;
    }
    missed
}

// SAFETY: memory and its life are those of the medium inside.
unsafe impl<M: Medium> Medium for Metered<M> {
    #[inline(always)]
    fn start(&self) -> *mut u8 {
        self.medium.start()
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.medium.bytes()
    }

    fn emulated(&self) -> bool {
        self.delays.is_some() || self.medium.emulated()
    }

    #[inline(always)]
    #[track_caller]
    fn store(&self, at: u64, value: u64) {
        self.touch(at, 8);
        self.medium.store(at, value);
    }

    #[inline(always)]
    #[track_caller]
    fn compare_exchange(&self, at: u64, current: u64, new: u64) -> Result<u64, u64> {
        self.touch(at, 8);
        self.medium.compare_exchange(at, current, new)
    }

    #[inline(always)]
    #[track_caller]
    fn set_bits(&self, at: u64, bits: u64) -> u64 {
        self.touch(at, 8);
        self.medium.set_bits(at, bits)
    }

    #[inline(always)]
    #[track_caller]
    fn clear_bits(&self, at: u64, bits: u64) -> u64 {
        self.touch(at, 8);
        self.medium.clear_bits(at, bits)
    }

    #[inline(always)]
    #[track_caller]
    fn write(&self, at: u64, bytes: &[u8]) {
        self.touch(at, bytes.len());
        self.medium.write(at, bytes);
    }

    #[inline(always)]
    #[track_caller]
    fn stream(&self, at: u64, bytes: &[u8]) {
        self.written_back(at, bytes.len());
        self.medium.stream(at, bytes);
    }

    #[inline(always)]
    #[track_caller]
    fn flush(&self, at: u64, length: usize) {
        self.written_back(at, length);
        self.medium.flush(at, length);
    }

    #[inline(always)]
    #[track_caller]
    fn fence(&self) {
        self.count(|counts| counts.fences += 1);
        self.delay(|ticks| ticks.fence);
        self.medium.fence();
    }

    #[inline(always)]
    #[track_caller]
    fn reads(&self, at: u64, length: usize) {
        self.touch(at, length);
        self.medium.reads(at, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mapped;

    fn cost(medium: &Metered<Mapped>, action: impl FnOnce(&Metered<Mapped>)) -> Counts {
        let before = counts();
        action(medium);
        counts() - before
    }

    #[test]
    fn lines_fences_and_blocks_are_counted_apart() {
        let medium = Metered::new(Mapped::memory(1 << 20).unwrap(), 16);
        let first = cost(&medium, |medium| {
            medium.write(8192 + 60, &[7; 8]);
            medium.persist(8192 + 60, 8);
        });
        assert_eq!(first, Counts { flushes: 2, fences: 1, blocks_read: 1, blocks_written: 1 });
        let again = cost(&medium, |medium| medium.publish(8192 + 128, 1));
        assert_eq!(again, Counts { flushes: 1, fences: 1, blocks_read: 0, blocks_written: 0 }, "the block is near");
        let far = cost(&medium, |medium| medium.stream(65536, &[1; 512]));
        assert_eq!(far, Counts { flushes: 8, fences: 0, blocks_read: 0, blocks_written: 2 });
    }

    #[test]
    fn a_block_that_was_pushed_out_is_read_again() {
        let medium = Metered::new(Mapped::memory(1 << 20).unwrap(), 16);
        let walk = |medium: &Metered<Mapped>| {
            (0..32).for_each(|block| {
                medium.load(block * 256);
            })
        };
        assert_eq!(cost(&medium, walk).blocks_read, 32);
        assert_eq!(cost(&medium, walk).blocks_read, 32, "32 blocks do not fit into a cache of 16");
        assert_eq!(
            cost(&medium, |medium| {
                medium.load(31 * 256);
            })
            .blocks_read,
            0
        );
    }

    #[test]
    fn delays_make_it_emulated() {
        let medium = Metered::new(Mapped::memory(1 << 16).unwrap(), 16).with_delays(Delays::default());
        assert!(medium.emulated());
    }
}
