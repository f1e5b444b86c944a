//! What this CPU can copy and flush with.

/// Instruction set of the copy loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// 64-byte registers.
    Avx512,
    /// 32-byte registers.
    Avx2,
    /// 16-byte registers, which every x86-64 has.
    Sse2,
    /// The library's copy.
    Portable,
}

impl Isa {
    /// The widest that this CPU has.
    pub fn detect() -> Self {
        *Self::available().first().unwrap_or(&Self::Portable)
    }

    /// All that this CPU has, the widest first.
    pub fn available() -> Vec<Self> {
        let mut all = Vec::with_capacity(4);
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                all.push(Self::Avx512);
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                all.push(Self::Avx2);
            }
            all.push(Self::Sse2);
        }
        all.push(Self::Portable);
        all
    }
}

/// How cache lines can be written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlushSupport {
    pub(super) clwb: bool,
    pub(super) clflushopt: bool,
    /// The oldest instruction, or its counterpart of another architecture.
    pub(super) basic: bool,
    /// Stores that go around the caches.
    pub(super) non_temporal: bool,
}

impl FlushSupport {
    #[cfg(target_arch = "x86_64")]
    pub(super) fn detect() -> Self {
        // SAFETY: every x86-64 has CPUID, and leaf 0 says whether leaf 7 exists.
        #[allow(unused_unsafe, reason = "safe since Rust 1.94, unsafe in older ones")]
        let leaf = unsafe {
            use std::arch::x86_64::{__cpuid, __cpuid_count};
            if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 }
        };
        Self { clwb: leaf & (1 << 24) != 0, clflushopt: leaf & (1 << 23) != 0, basic: true, non_temporal: true }
    }

    #[cfg(target_arch = "aarch64")]
    pub(super) fn detect() -> Self {
        let to_persistence = std::arch::is_aarch64_feature_detected!("dpb");
        Self { clwb: to_persistence, clflushopt: false, basic: true, non_temporal: false }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(super) fn detect() -> Self {
        Self { clwb: false, clflushopt: false, basic: false, non_temporal: false }
    }
}

/// Names of the instruction sets that the kernels of this path use here, for a record's environment.
pub fn features() -> Vec<String> {
    let flush = FlushSupport::detect();
    let isa = Isa::available().into_iter().filter_map(|isa| match isa {
        Isa::Avx512 => Some("avx512f"),
        Isa::Avx2 => Some("avx2"),
        Isa::Sse2 => Some("sse2"),
        Isa::Portable => None,
    });
    let arm = cfg!(target_arch = "aarch64");
    let flushes = [
        (flush.clwb, if arm { "dcpop" } else { "clwb" }),
        (flush.clflushopt, "clflushopt"),
        (flush.basic, if arm { "dc-cvac" } else { "clflush" }),
    ];
    let flushes = flushes.into_iter().filter_map(|(there, name)| there.then_some(name));
    isa.chain(flushes).map(str::to_owned).collect()
}
