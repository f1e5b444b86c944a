//! Cache control of 64-bit Arm. The instructions are written by their system encoding, which every assembler takes.

use std::arch::asm;

/// Bytes of the smallest data cache line of this CPU.
fn line_bytes() -> usize {
    let register: u64;
    // SAFETY: Linux lets user space read CTR_EL0 (and emulates it where it must).
    unsafe { asm!("mrs {}, ctr_el0", out(reg) register, options(nomem, nostack, preserves_flags)) }
    4 << ((register >> 16) & 0xf)
}

/// Calls `action` for every cache line of a range.
#[inline]
pub(super) fn each_line(start: *const u8, length: usize, action: impl Fn(*const u8)) {
    let line = line_bytes();
    let skew = start as usize % line;
    let first = start.wrapping_sub(skew);
    for index in 0..(length + skew).div_ceil(line) {
        action(first.wrapping_add(index * line));
    }
}

/// Writes a line back to the point of persistence (`dc cvap`).
///
/// # Safety
/// The address is mapped; the CPU has the instruction.
#[inline(always)]
pub(super) unsafe fn write_back(line: *const u8) {
    // SAFETY: changes no byte of memory; mapping and CPU are the caller's promise.
    unsafe { asm!("sys #3, c7, c12, #1, {}", in(reg) line, options(nostack, preserves_flags)) }
}

/// Writes a line back to the point of coherency (`dc cvac`).
///
/// # Safety
/// The address is mapped.
#[inline(always)]
pub(super) unsafe fn flush(line: *const u8) {
    // SAFETY: changes no byte of memory; the mapping is the caller's promise.
    unsafe { asm!("sys #3, c7, c10, #1, {}", in(reg) line, options(nostack, preserves_flags)) }
}

/// Stores and write-backs before it are done before anything after it.
#[inline(always)]
pub(super) fn store_fence() {
    // SAFETY: a barrier, no operand.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) }
}

/// Loads before it have ended before anything after it begins.
#[inline(always)]
pub(super) fn load_fence() {
    // SAFETY: barriers, no operand.
    unsafe { asm!("dsb ishld", "isb", options(nostack, preserves_flags)) }
}
