//! The kernels of this path for those who keep structures in persistent memory.

use super::{Isa, Store, isa::FlushSupport, kernel};

/// One way to write cache lines back, chosen once; a copy of it costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Persister {
    isa: Isa,
    write_back: Store,
    around: Store,
}

impl Persister {
    /// The best that this CPU has; none where it cannot write back a cache line.
    pub fn detect() -> Option<Self> {
        Self::available().first().copied()
    }

    /// All that this CPU has, the best first.
    pub fn available() -> Vec<Self> {
        let has = FlushSupport::detect();
        let all = [(has.clwb, Store::WriteBack), (has.clflushopt, Store::FlushOptimised), (has.basic, Store::Flush)];
        let of = |write_back| Self {
            isa: Isa::detect(),
            write_back,
            around: if has.non_temporal { Store::NonTemporal } else { write_back },
        };
        all.into_iter().filter(|(there, _)| *there).map(|(_, store)| of(store)).collect()
    }

    /// Name of the instruction that writes a line back.
    pub fn instruction(self) -> &'static str {
        match (self.write_back, cfg!(target_arch = "aarch64")) {
            (Store::WriteBack, false) => "clwb",
            (Store::WriteBack, true) => "dc cvap",
            (Store::FlushOptimised, _) => "clflushopt",
            (Store::Flush, true) => "dc cvac",
            _ => "clflush",
        }
    }

    /// Writes back every cache line of a range; a fence completes it.
    ///
    /// # Safety
    /// The range is mapped.
    #[inline(always)]
    pub unsafe fn write_back(self, start: *const u8, length: usize) {
        // SAFETY: the caller's promise; the instruction is one that the CPU has.
        unsafe { kernel::push_out(self.write_back, start, length) }
    }

    /// Copies with ordinary stores.
    ///
    /// # Safety
    /// `length` bytes at `from` can be read and at `to` written, and the ranges are apart.
    #[inline(always)]
    pub unsafe fn copy(self, to: *mut u8, from: *const u8, length: usize) {
        // SAFETY: the caller's promise; the loops are ones that the CPU has.
        unsafe { kernel::copy(self.isa, to, from, length) }
    }

    /// Copies around the caches, or with stores and write-backs where there is no such way; a fence completes it.
    ///
    /// # Safety
    /// As [`Persister::copy`].
    #[inline(always)]
    pub unsafe fn stream(self, to: *mut u8, from: *const u8, length: usize) {
        // SAFETY: the caller's promise; the loops are ones that the CPU has.
        unsafe { kernel::write(self.isa, self.around, to, from, length) }
    }

    /// Stores and write-backs before it are durable before any store after it.
    #[inline(always)]
    pub fn fence(self) {
        kernel::store_fence();
    }
}
