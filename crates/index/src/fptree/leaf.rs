//! A leaf: 1024 bytes of persistent memory.
//!
//! ```text
//! 0      bitmap: bit i says that record i counts; the one word that commits a change
//! 8      fingerprints: a byte per record
//! 64     offset of the next leaf; 0 for the last
//! 72     low key: no key of this leaf is below it. A word, or the offset of a block; 0 for the first leaf
//! 128    56 records of 16 bytes: head of the key, payload
//! ```
//!
//! Bitmap and fingerprints share a cache line: stores to one line become durable in their order, so a fingerprint that
//! was stored before the bitmap needs no flush of its own.

use assay_pmem::Medium;

/// Bytes of a leaf: a power of two, and a multiple of what modules write at once.
pub(super) const LEAF_BYTES: usize = 1024;
/// Records of a leaf.
pub(super) const RECORDS: usize = 56;
/// All records.
pub(super) const FULL: u64 = (1 << RECORDS) - 1;
pub(super) const LINE: u64 = 64;
pub(super) const NEXT: u64 = 64;
pub(super) const LOW: u64 = 72;
pub(super) const FIRST_RECORD: u64 = 128;
pub(super) const RECORD_BYTES: u64 = 16;
pub(super) const PRINTS: u64 = 8;

/// Where a record of a leaf lies.
#[inline(always)]
pub(super) fn record_at(leaf: u64, slot: usize) -> u64 {
    leaf + FIRST_RECORD + slot as u64 * RECORD_BYTES
}

/// Lines of records, and records of one.
const RECORD_LINES: usize = RECORDS / PER_LINE;
const PER_LINE: usize = (LINE / RECORD_BYTES) as usize;

/// The first slot of the line in which a key of this fingerprint lies where there was room. So a search asks for that line
/// together with the fingerprints, and mostly waits once.
#[inline(always)]
fn home(print: u8) -> usize {
    ((usize::from(print) * RECORD_LINES) >> 8) * PER_LINE
}

/// A free slot for a key of this fingerprint; at `RECORDS` or above where all are taken.
#[inline(always)]
pub(super) fn free_slot(bitmap: u64, print: u8) -> usize {
    let (free, home) = (!bitmap & FULL, home(print));
    let near = free & ((1 << PER_LINE) - 1) << home;
    (if near == 0 { free } else { near }).trailing_zeros() as usize
}

/// A leaf to be read. What it says is one state only if the leaf's latch says so afterwards.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'p, M> {
    medium: &'p M,
    at: u64,
    base: *const u8,
}

impl<'p, M: Medium> Leaf<'p, M> {
    #[inline(always)]
    pub(super) fn new(medium: &'p M, at: u64) -> Self {
        Self { medium, at, base: medium.at(at, LEAF_BYTES) }
    }

    #[inline(always)]
    fn word(&self, within: u64) -> u64 {
        debug_assert!(within % 8 == 0 && within < LEAF_BYTES as u64);
        // SAFETY: `new` has checked the whole leaf; its words are aligned and only ever stored to whole.
        unsafe { self.base.add(within as usize).cast::<u64>().read_volatile() }
    }

    /// Asks for all of it, so that a scan finds it in the caches when it is done with the leaf before.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        #[cfg(target_arch = "x86_64")]
        for line in 0..LEAF_BYTES / LINE as usize {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: inside the leaf; a prefetch reads nothing that the program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.base.add(line * LINE as usize).cast()) };
        }
    }

    #[inline(always)]
    pub(super) fn bitmap(&self) -> u64 {
        self.word(0)
    }

    #[inline(always)]
    pub(super) fn next(&self) -> u64 {
        self.medium.reads(self.at + NEXT, 16);
        self.word(NEXT)
    }

    #[inline(always)]
    pub(super) fn low(&self) -> u64 {
        self.medium.reads(self.at + NEXT, 16);
        self.word(LOW)
    }

    #[inline(always)]
    pub(super) fn head(&self, slot: usize) -> u64 {
        self.medium.reads(record_at(self.at, slot), RECORD_BYTES as usize);
        self.word(FIRST_RECORD + slot as u64 * RECORD_BYTES)
    }

    #[inline(always)]
    pub(super) fn payload(&self, slot: usize) -> u64 {
        self.word(FIRST_RECORD + slot as u64 * RECORD_BYTES + 8)
    }

    pub(super) fn print(&self, slot: usize) -> u8 {
        (self.word(PRINTS + slot as u64 / 8 * 8) >> (slot % 8 * 8)) as u8
    }

    /// Asks for the line in which a key of this fingerprint most probably lies.
    #[inline(always)]
    pub(super) fn expect(&self, print: u8) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let within = FIRST_RECORD as usize + home(print) * RECORD_BYTES as usize;
            // SAFETY: inside the leaf; a prefetch reads nothing that the program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.base.add(within).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = print;
    }

    /// Tells the medium that a line was asked for in vain, where the key was elsewhere or nowhere.
    #[inline(always)]
    pub(super) fn expected_in_vain(&self, print: u8, found: Option<usize>) {
        let home = home(print);
        if cfg!(target_arch = "x86_64") && found.is_none_or(|slot| !(home..home + PER_LINE).contains(&slot)) {
            self.medium.reads(record_at(self.at, home), LINE as usize);
        }
    }

    /// Records that count and have this fingerprint.
    #[inline(always)]
    pub(super) fn matches(&self, print: u8) -> u64 {
        self.medium.reads(self.at, LINE as usize);
        // SAFETY: the first 64 bytes of the leaf, which is aligned to its size.
        let equal = unsafe { equal_bytes(self.base, print) };
        (equal >> PRINTS) & self.bitmap()
    }

    /// Stores a fingerprint, which counts once the bitmap says so.
    #[inline(always)]
    #[track_caller]
    pub(super) fn set_print(&self, slot: usize, print: u8) {
        self.medium.write(self.at + PRINTS + slot as u64, &[print]);
    }

    /// Slots that count.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> + use<M> {
        bits(self.bitmap())
    }
}

/// Numbers of the bits that are set.
#[inline(always)]
pub(super) fn bits(mut left: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(bit)
    })
}

/// Which of 64 bytes equal one, as bits.
///
/// # Safety
/// 64 bytes can be read there, and the address is a multiple of 64.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[inline(always)]
unsafe fn equal_bytes(bytes: *const u8, byte: u8) -> u64 {
    use std::arch::x86_64::{_mm256_cmpeq_epi8, _mm256_load_si256, _mm256_movemask_epi8, _mm256_set1_epi8};
    // SAFETY: the caller vouches for the range and its alignment; the build targets AVX2.
    unsafe {
        let wanted = _mm256_set1_epi8(byte as i8);
        let half = |index: usize| {
            let equal = _mm256_cmpeq_epi8(_mm256_load_si256(bytes.add(index * 32).cast()), wanted);
            u64::from(_mm256_movemask_epi8(equal) as u32)
        };
        half(0) | half(1) << 32
    }
}

/// Which of 64 bytes equal one, as bits. SSE2 is part of every x86-64: no dispatch, no call.
///
/// # Safety
/// 64 bytes can be read there, and the address is a multiple of 64.
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx2")))]
#[inline(always)]
unsafe fn equal_bytes(bytes: *const u8, byte: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_load_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: the caller vouches for the range and its alignment.
    unsafe {
        let wanted = _mm_set1_epi8(byte as i8);
        let quarter = |index: usize| {
            let equal = _mm_cmpeq_epi8(_mm_load_si128(bytes.add(index * 16).cast()), wanted);
            u64::from(_mm_movemask_epi8(equal) as u16)
        };
        quarter(0) | quarter(1) << 16 | quarter(2) << 32 | quarter(3) << 48
    }
}

/// Which of 64 bytes equal one, as bits.
///
/// # Safety
/// 64 bytes can be read there, and the address is a multiple of 64.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn equal_bytes(bytes: *const u8, byte: u8) -> u64 {
    // SAFETY: as the caller vouches.
    unsafe { portable_equal_bytes(bytes, byte) }
}

/// The same without vector instructions.
///
/// # Safety
/// 64 bytes can be read there, and the address is a multiple of 8.
#[cfg(any(test, not(target_arch = "x86_64")))]
unsafe fn portable_equal_bytes(bytes: *const u8, byte: u8) -> u64 {
    const LOW_BITS: u64 = 0x0101_0101_0101_0101;
    const SEVEN: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    (0..8).fold(0, |all, word| {
        // SAFETY: inside of the 64 bytes, and aligned.
        let word_bytes = unsafe { bytes.add(word * 8).cast::<u64>().read_volatile() };
        let differs = u64::from_le(word_bytes) ^ (LOW_BITS * u64::from(byte));
        // The upper bit of a byte is set where the byte is 0, and nowhere else.
        let zero = !(((differs & SEVEN) + SEVEN) | differs | SEVEN);
        // Gathers the eight upper bits into one byte.
        all | ((zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (word * 8)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[repr(align(64))]
    struct Line([u8; 64]);

    proptest! {
        #[test]
        fn both_ways_to_compare_give_what_a_loop_gives(bytes in prop::array::uniform32(0u8..4), byte in 0u8..4, add in 0u8..255) {
            let line = Line(std::array::from_fn(|index| bytes[index % 32].wrapping_add(add)));
            let byte = byte.wrapping_add(add);
            let wanted = (0..64).filter(|&index| line.0[index] == byte).fold(0u64, |all, index| all | 1 << index);
            // SAFETY: a line of 64 bytes, aligned.
            let (fast, portable) = unsafe { (equal_bytes(line.0.as_ptr(), byte), portable_equal_bytes(line.0.as_ptr(), byte)) };
            prop_assert_eq!(fast, wanted);
            prop_assert_eq!(portable, wanted);
        }
    }

    #[test]
    fn a_key_goes_to_its_line_while_there_is_room_and_then_anywhere() {
        for print in 0..=u8::MAX {
            let home = home(print);
            assert!(home % PER_LINE == 0 && home + PER_LINE <= RECORDS);
            let mut bitmap = 0;
            for taken in 0..RECORDS {
                let slot = free_slot(bitmap, print);
                assert!(slot < RECORDS && bitmap & 1 << slot == 0, "{print}: {slot}");
                assert_eq!(taken < PER_LINE, (home..home + PER_LINE).contains(&slot), "{print}: {slot}");
                bitmap |= 1 << slot;
            }
            assert!(bitmap == FULL && free_slot(bitmap, print) >= RECORDS);
        }
        let lines: std::collections::BTreeSet<_> = (0..=u8::MAX).map(home).collect();
        assert_eq!(lines.len(), RECORD_LINES, "each line is the home of some");
    }

    #[test]
    fn parts_do_not_overlap() {
        assert!(PRINTS + RECORDS as u64 <= NEXT && LOW + 8 <= FIRST_RECORD);
        assert_eq!(FIRST_RECORD + RECORDS as u64 * RECORD_BYTES, LEAF_BYTES as u64);
    }
}
