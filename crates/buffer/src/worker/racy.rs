//! Bytes that others may be changing while they are read.

use std::{
    marker::PhantomData,
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

macro_rules! word {
    ($name:ident, $kind:ty, $atomic:ty) => {
        /// A little-endian number at an offset that is a multiple of its size.
        #[inline(always)]
        pub fn $name(self, at: usize) -> $kind {
            debug_assert_eq!(at % size_of::<$kind>(), 0);
            if at + size_of::<$kind>() > self.bytes {
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
    /// `start` is a page of `bytes` bytes that stays mapped for `'a`, aligned to 8.
    pub(super) unsafe fn new(start: *const u8, bytes: usize) -> Self {
        Self { start, bytes, life: PhantomData }
    }

    /// A view of bytes that nobody changes.
    pub fn of(bytes: &'a [u8]) -> Self {
        debug_assert_eq!(bytes.as_ptr().align_offset(8), 0);
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
