//! The kernels: one `match` for each operation, outside of the copy loop.

use super::{Isa, Store};

#[cfg(target_arch = "aarch64")]
use super::arm as cpu;
#[cfg(target_arch = "x86_64")]
use super::x86 as cpu;

/// Copies with ordinary stores.
///
/// # Safety
/// `length` bytes at `from` can be read and at `to` written, the ranges are apart, and the CPU has `isa`.
#[inline(always)]
pub(super) unsafe fn copy(isa: Isa, to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => cpu::copy::<cpu::Avx512>(to, from, length),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => cpu::copy::<cpu::Avx2>(to, from, length),
            #[cfg(target_arch = "x86_64")]
            Isa::Sse2 => cpu::copy::<cpu::Sse2>(to, from, length),
            _ => to.copy_from_nonoverlapping(from, length),
        }
    }
}

/// Copies, and pushes what was stored out of the caches the way that `store` says. A fence completes it.
///
/// # Safety
/// As [`copy`], and the CPU has what `store` needs.
#[inline(always)]
pub(super) unsafe fn write(isa: Isa, store: Store, to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: the caller's promise; the lines written back are those just stored to.
    unsafe {
        if store == Store::NonTemporal {
            return stream(isa, to, from, length);
        }
        copy(isa, to, from, length);
        push_out(store, to, length);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn stream(isa: Isa, to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: the caller's promise; every x86-64 has SSE2.
    unsafe {
        match isa {
            Isa::Avx512 => cpu::stream::<cpu::Avx512>(to, from, length),
            Isa::Avx2 => cpu::stream::<cpu::Avx2>(to, from, length),
            Isa::Sse2 | Isa::Portable => cpu::stream::<cpu::Sse2>(to, from, length),
        }
    }
}

/// Never chosen here: these CPUs have no stores around the caches that reach persistence.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn stream(isa: Isa, to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        copy(isa, to, from, length);
        push_out(Store::Flush, to, length);
    }
}

/// Writes back every line of a range the way that `store` says.
///
/// # Safety
/// The range is mapped, and the CPU has what `store` needs.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(super) unsafe fn push_out(store: Store, start: *const u8, length: usize) {
    match store {
        // SAFETY: the lines are mapped, and the CPU has what was chosen.
        Store::WriteBack => cpu::each_line(start, length, |line| unsafe { cpu::write_back(line) }),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Store::FlushOptimised => cpu::each_line(start, length, |line| unsafe { cpu::flush_optimised(line) }),
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: as above.
        Store::FlushOptimised => cpu::each_line(start, length, |line| unsafe { cpu::flush(line) }),
        // SAFETY: as above.
        Store::Flush => cpu::each_line(start, length, |line| unsafe { cpu::flush(line) }),
        Store::Plain | Store::NonTemporal => {}
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(super) unsafe fn push_out(_store: Store, _start: *const u8, _length: usize) {}

/// Stores and write-backs before it are done before any store after it.
#[inline(always)]
pub(super) fn store_fence() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    cpu::store_fence();
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Loads before it have ended before anything after it begins.
#[inline(always)]
pub(super) fn load_fence() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    cpu::load_fence();
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pmem::isa::FlushSupport;

    fn stores() -> Vec<Store> {
        let has = FlushSupport::detect();
        let all = [
            (true, Store::Plain),
            (has.non_temporal, Store::NonTemporal),
            (has.clwb, Store::WriteBack),
            (has.clflushopt, Store::FlushOptimised),
            (has.basic, Store::Flush),
        ];
        all.into_iter().filter_map(|(there, store)| there.then_some(store)).collect()
    }

    /// What lies before and after the range must not change, so whole buffers are compared.
    fn check(from: &[u8], to_at: usize, from_at: usize, length: usize) {
        let mut wanted = vec![0xA5u8; from.len()];
        wanted[to_at..to_at + length].copy_from_slice(&from[from_at..from_at + length]);
        for isa in Isa::available() {
            for store in stores() {
                let mut to = vec![0xA5u8; from.len()];
                // SAFETY: both ranges lie inside their buffers; kernels and stores are those that the CPU has.
                unsafe { write(isa, store, to.as_mut_ptr().add(to_at), from.as_ptr().add(from_at), length) };
                store_fence();
                assert_eq!(to, wanted, "{isa:?} {store:?} to {to_at} from {from_at} length {length}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn every_kernel_equals_a_plain_copy(
            seed in any::<u64>(), to_at in 0usize..200, from_at in 0usize..200, length in 0usize..10_000,
        ) {
            let from: Vec<u8> = (0..10_400u64).map(|i| (i.wrapping_mul(seed | 1) >> 7) as u8).collect();
            check(&from, to_at, from_at, length);
        }
    }

    #[test]
    fn every_kernel_copies_every_small_size_at_every_alignment() {
        let from: Vec<u8> = (0..600u32).map(|i| (i * 7 + 3) as u8).collect();
        for to_at in [0, 1, 8, 63, 64] {
            for length in 0..300 {
                check(&from, to_at, 5, length);
            }
        }
    }
}
