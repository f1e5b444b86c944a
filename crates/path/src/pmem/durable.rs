//! Which stores and flushes a write uses.

use assay_record::Persist;

use super::isa::FlushSupport;

/// Bytes from which non-temporal stores beat stores with flushes on the media that this path is made for: below one
/// internal block of 256 B they would be read, changed and written again.
pub(super) const NON_TEMPORAL_FROM: u32 = 256;

/// How a write's bytes leave the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// They stay in the caches.
    Plain,
    /// Stores around the caches.
    NonTemporal,
    /// Stores, then a write-back of each line that keeps it cached (`clwb`, `dc cvap`).
    WriteBack,
    /// Stores, then a write-back of each line that drops it (`clflushopt`).
    FlushOptimised,
    /// Stores, then the oldest flush there is (`clflush`, `dc cvac`).
    Flush,
}

/// The stores for small and for large writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stores {
    pub(super) small: Store,
    pub(super) large: Store,
}

impl Stores {
    /// What is asked for, as far as the CPU has it; otherwise the name of what is missing.
    pub(super) fn choose(asked: Persist, has: FlushSupport) -> Result<Self, &'static str> {
        let both = |store| Ok(Self { small: store, large: store });
        match asked {
            Persist::None => both(Store::Plain),
            Persist::Nt if has.non_temporal => both(Store::NonTemporal),
            Persist::Clwb if has.clwb => both(Store::WriteBack),
            Persist::Clflushopt if has.clflushopt => both(Store::FlushOptimised),
            Persist::Auto => Self::automatic(has),
            Persist::Nt => Err("non-temporal stores that reach persistence"),
            Persist::Clwb => Err("clwb"),
            Persist::Clflushopt => Err("clflushopt"),
        }
    }

    fn automatic(has: FlushSupport) -> Result<Self, &'static str> {
        let small = match has {
            FlushSupport { clwb: true, .. } => Store::WriteBack,
            FlushSupport { clflushopt: true, .. } => Store::FlushOptimised,
            FlushSupport { basic: true, .. } => Store::Flush,
            _ => return Err("an instruction that writes back a cache line"),
        };
        Ok(Self { small, large: if has.non_temporal { Store::NonTemporal } else { small } })
    }

    #[inline(always)]
    pub(super) fn of(self, length: u32) -> Store {
        if length >= NON_TEMPORAL_FROM { self.large } else { self.small }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: FlushSupport = FlushSupport { clwb: true, clflushopt: true, basic: true, non_temporal: true };

    #[test]
    fn automatic_is_non_temporal_from_256_bytes_and_clwb_below() {
        let stores = Stores::choose(Persist::Auto, ALL).unwrap();
        assert_eq!(stores.of(64), Store::WriteBack);
        assert_eq!(stores.of(255), Store::WriteBack);
        assert_eq!(stores.of(256), Store::NonTemporal);
    }

    #[test]
    fn automatic_falls_back_to_what_an_older_cpu_has() {
        let no_clwb = FlushSupport { clwb: false, ..ALL };
        let oldest = FlushSupport { clflushopt: false, ..no_clwb };
        assert_eq!(Stores::choose(Persist::Auto, no_clwb).unwrap().of(64), Store::FlushOptimised);
        assert_eq!(Stores::choose(Persist::Auto, oldest).unwrap().of(64), Store::Flush);
    }

    #[test]
    fn what_is_asked_for_by_name_is_not_replaced_by_something_else() {
        let none = FlushSupport { clwb: false, clflushopt: false, basic: false, non_temporal: false };
        for asked in [Persist::Auto, Persist::Nt, Persist::Clwb, Persist::Clflushopt] {
            assert!(Stores::choose(asked, none).is_err(), "{asked:?}");
        }
        assert!(Stores::choose(Persist::None, none).is_ok());
    }
}
