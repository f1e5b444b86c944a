//! Bytes that others may be changing while they are read.

use std::{
    marker::PhantomData,
    ops::Range,
    sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering},
};

/// A view of a page. What it gives may be torn, so nothing is believed before the page was seen to be unchanged; but it
/// never leaves the page: what lies outside reads as zeros, or as nothing.
#[derive(Clone, Copy, Debug)]
pub struct Racy<'a> {
    start: *const u8,
    bytes: usize,
    life: PhantomData<&'a [u8]>,
}

/// No page is smaller.
const PAGE_BYTES_AT_LEAST: usize = 4096;

macro_rules! word {
    ($name:ident, $kind:ty, $atomic:ty) => {
        /// A little-endian number at an offset that is a multiple of its size.
        #[inline(always)]
        pub fn $name(self, at: usize) -> $kind {
            debug_assert_eq!(at % size_of::<$kind>(), 0);
            // Of a place that is known when the program is built, that it lies in the smallest page is known then as well.
            if at + size_of::<$kind>() > PAGE_BYTES_AT_LEAST && at + size_of::<$kind>() > self.bytes {
                return 0;
            }
            // SAFETY: inside the page, aligned since the page is, and mapped as long as the view lives.
            let word = unsafe { <$atomic>::from_ptr(self.start.add(at).cast::<$kind>().cast_mut()) };
            <$kind>::from_le(word.load(Ordering::Relaxed))
        }
    };
}

impl<'a> Racy<'a> {
    /// # Safety
    /// `start` is a page of `bytes` bytes, at least [`PAGE_BYTES_AT_LEAST`], that stays mapped for `'a`, aligned to 8.
    #[inline(always)]
    pub(super) unsafe fn new(start: *const u8, bytes: usize) -> Self {
        debug_assert!(bytes >= PAGE_BYTES_AT_LEAST);
        Self { start, bytes, life: PhantomData }
    }

    /// A view of a page that nobody changes.
    ///
    /// # Panics
    /// Where it is no page: smaller than any, or not aligned to 8.
    #[inline(always)]
    pub fn of(bytes: &'a [u8]) -> Self {
        assert!(bytes.len() >= PAGE_BYTES_AT_LEAST && bytes.as_ptr().addr() % 8 == 0, "this is no page");
        Self { start: bytes.as_ptr(), bytes: bytes.len(), life: PhantomData }
    }

    /// Bytes of the page.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> usize {
        self.bytes
    }

    word!(u8, u8, AtomicU8);
    word!(u16, u16, AtomicU16);
    word!(u32, u32, AtomicU32);
    word!(u64, u64, AtomicU64);

    /// Of numbers of four bytes that begin at `at` and every `stride` bytes, the first of `numbers` for which `below` does
    /// not hold; it holds for those before it. `numbers.end` where they leave the page.
    #[inline(always)]
    pub fn first_not(self, at: usize, stride: usize, numbers: Range<usize>, below: impl Fn(u32) -> bool) -> usize {
        let Range { start: mut from, end } = numbers;
        if from >= end || at % 4 != 0 || stride % 4 != 0 || at + (end - 1) * stride + 4 > self.bytes {
            return end;
        }
        let number = |index: usize| {
            // SAFETY: `index` is below `end`, whose number lies inside the page; aligned as the page is.
            let word = unsafe { AtomicU32::from_ptr(self.start.add(at + index * stride).cast::<u32>().cast_mut()) };
            u32::from_le(word.load(Ordering::Relaxed))
        };
        let mut left = end - from;
        while left > 1 {
            let half = left / 2;
            // Without a branch, which compilers make of an `if` here: which way it goes cannot be foretold.
            let all = usize::from(below(number(from + half - 1))).wrapping_neg();
            from += half & all;
            left -= half;
        }
        from + usize::from(below(number(from)))
    }

    /// Bytes to compare or to copy: they may change meanwhile, so nothing else is done with them. Empty where the range
    /// leaves the page.
    #[inline(always)]
    pub fn slice(self, at: usize, bytes: usize) -> &'a [u8] {
        if at > self.bytes || bytes > self.bytes - at {
            return &[];
        }
        // SAFETY: inside the page and mapped. Others may write meanwhile: whoever reads compares or copies byte by byte and
        // believes nothing before validation, so that any value will do.
        unsafe { std::slice::from_raw_parts(self.start.add(at), bytes) }
    }

    /// Asks the processor for a line.
    #[inline(always)]
    pub fn prefetch(self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        if at < self.bytes {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: inside the page; a prefetch reads nothing that the program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.start.add(at).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }
}
