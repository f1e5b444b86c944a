//! Copy loops and cache control of x86-64.
//!
//! The loops are written as assembly, so that one build holds all of them, each inlined where it is used, whatever CPU
//! it was compiled for. AVX-512 keeps to registers that leave no dirty upper halves behind.

use std::arch::asm;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// One instruction set's way to move a line.
pub(super) trait VectorLane {
    /// Copies 64 bytes.
    ///
    /// # Safety
    /// 64 bytes at `from` can be read and 64 at `to` written; the CPU has the instruction set.
    unsafe fn copy_line(to: *mut u8, from: *const u8);

    /// Copies 64 bytes around the caches.
    ///
    /// # Safety
    /// As [`VectorLane::copy_line`], and `to` is a multiple of 64.
    unsafe fn stream_line(to: *mut u8, from: *const u8);

    /// Leaves the registers as other code expects them.
    ///
    /// # Safety
    /// The CPU has the instruction set.
    unsafe fn finish();
}

/// 64-byte registers.
pub(super) struct Avx512;
/// 32-byte registers.
pub(super) struct Avx2;
/// 16-byte registers.
pub(super) struct Sse2;

impl VectorLane for Avx512 {
    #[inline(always)]
    unsafe fn copy_line(to: *mut u8, from: *const u8) {
        // SAFETY: the caller's promise covers both ranges and the instruction set.
        unsafe {
            asm!("vmovdqu64 zmm16, [{from}]", "vmovdqu64 [{to}], zmm16", from = in(reg) from, to = in(reg) to,
                out("xmm16") _, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    unsafe fn stream_line(to: *mut u8, from: *const u8) {
        // SAFETY: the caller's promise covers both ranges, the alignment and the instruction set.
        unsafe {
            asm!("vmovdqu64 zmm16, [{from}]", "vmovntdq [{to}], zmm16", from = in(reg) from, to = in(reg) to,
                out("xmm16") _, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    unsafe fn finish() {}
}

impl VectorLane for Avx2 {
    #[inline(always)]
    unsafe fn copy_line(to: *mut u8, from: *const u8) {
        // SAFETY: the caller's promise covers both ranges and the instruction set.
        unsafe {
            asm!("vmovdqu ymm0, [{from}]", "vmovdqu ymm1, [{from} + 32]", "vmovdqu [{to}], ymm0",
                "vmovdqu [{to} + 32], ymm1", from = in(reg) from, to = in(reg) to,
                out("xmm0") _, out("xmm1") _, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    unsafe fn stream_line(to: *mut u8, from: *const u8) {
        // SAFETY: the caller's promise covers both ranges, the alignment and the instruction set.
        unsafe {
            asm!("vmovdqu ymm0, [{from}]", "vmovdqu ymm1, [{from} + 32]", "vmovntdq [{to}], ymm0",
                "vmovntdq [{to} + 32], ymm1", from = in(reg) from, to = in(reg) to,
                out("xmm0") _, out("xmm1") _, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    unsafe fn finish() {
        // SAFETY: the CPU has AVX; every register whose upper half is cleared is named.
        unsafe {
            asm!("vzeroupper", out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _,
                out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(nomem, nostack, preserves_flags));
        }
    }
}

impl VectorLane for Sse2 {
    #[inline(always)]
    unsafe fn copy_line(to: *mut u8, from: *const u8) {
        // SAFETY: the caller's promise covers both ranges.
        unsafe {
            asm!("movdqu xmm0, [{from}]", "movdqu xmm1, [{from} + 16]", "movdqu xmm2, [{from} + 32]",
                "movdqu xmm3, [{from} + 48]", "movdqu [{to}], xmm0", "movdqu [{to} + 16], xmm1",
                "movdqu [{to} + 32], xmm2", "movdqu [{to} + 48], xmm3", from = in(reg) from, to = in(reg) to,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    unsafe fn stream_line(to: *mut u8, from: *const u8) {
        // SAFETY: the caller's promise covers both ranges and the alignment.
        unsafe {
            asm!("movdqu xmm0, [{from}]", "movdqu xmm1, [{from} + 16]", "movdqu xmm2, [{from} + 32]",
                "movdqu xmm3, [{from} + 48]", "movntdq [{to}], xmm0", "movntdq [{to} + 16], xmm1",
                "movntdq [{to} + 32], xmm2", "movntdq [{to} + 48], xmm3", from = in(reg) from, to = in(reg) to,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    unsafe fn finish() {}
}

/// Copies with ordinary stores.
///
/// # Safety
/// `length` bytes at `from` can be read and at `to` written, the ranges are apart, the CPU has the lane's instructions.
#[inline(always)]
pub(super) unsafe fn copy<L: VectorLane>(to: *mut u8, from: *const u8, length: usize) {
    let lines = length / LINE;
    // SAFETY: every line and the rest lie inside the caller's ranges.
    unsafe {
        for line in 0..lines {
            L::copy_line(to.add(line * LINE), from.add(line * LINE));
        }
        L::finish();
        let rest = length % LINE;
        if rest != 0 {
            to.add(lines * LINE).copy_from_nonoverlapping(from.add(lines * LINE), rest);
        }
    }
}

/// Copies around the caches. What does not fill a line goes through them and is flushed.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
pub(super) unsafe fn stream<L: VectorLane>(to: *mut u8, from: *const u8, length: usize) {
    let head = to.align_offset(LINE).min(length);
    let lines = (length - head) / LINE;
    let rest = head + lines * LINE;
    // SAFETY: head, lines and rest follow each other inside the caller's ranges; the lines begin at a multiple of 64.
    unsafe {
        if head != 0 {
            ragged(to, from, head);
        }
        for line in 0..lines {
            L::stream_line(to.add(head + line * LINE), from.add(head + line * LINE));
        }
        L::finish();
        if rest != length {
            ragged(to.add(rest), from.add(rest), length - rest);
        }
    }
}

#[cold]
unsafe fn ragged(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: the caller's ranges.
    unsafe {
        to.copy_from_nonoverlapping(from, length);
        each_line(to, length, |line| flush(line));
    }
}

/// Calls `action` for every cache line of a range.
#[inline(always)]
pub(super) fn each_line(start: *const u8, length: usize, action: impl Fn(*const u8)) {
    let skew = start as usize % LINE;
    let first = start.wrapping_sub(skew);
    for line in 0..(length + skew).div_ceil(LINE) {
        action(first.wrapping_add(line * LINE));
    }
}

macro_rules! line_instruction {
    ($(#[$about:meta])* $name:ident, $text:literal) => {
        $(#[$about])*
        ///
        /// # Safety
        /// The address is mapped; the CPU has the instruction.
        #[inline(always)]
        pub(super) unsafe fn $name(line: *const u8) {
            // SAFETY: changes no byte of memory; mapping and CPU are the caller's promise.
            unsafe { asm!($text, line = in(reg) line, options(nostack, preserves_flags)) }
        }
    };
}

line_instruction!(
    /// Writes a line back and keeps it.
    write_back,
    "clwb [{line}]"
);
line_instruction!(
    /// Writes a line back and drops it.
    flush_optimised,
    "clflushopt [{line}]"
);
line_instruction!(
    /// Writes a line back and drops it, in order.
    flush,
    "clflush [{line}]"
);

/// Stores and write-backs before it are done before any store after it.
#[inline(always)]
pub(super) fn store_fence() {
    // SAFETY: SSE is part of x86-64; no operand.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) }
}

/// Loads before it have ended before anything after it begins.
#[inline(always)]
pub(super) fn load_fence() {
    // SAFETY: SSE2 is part of x86-64; no operand.
    unsafe { asm!("lfence", options(nostack, preserves_flags)) }
}
