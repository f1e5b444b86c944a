//! All descriptors of a pool, and who has which.

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use assay_pmem::{Medium, PmemError, Pool};

use super::{descriptor::DESCRIPTOR_BYTES, recovery::recover, word::HELPERS};

/// Bytes that so many descriptors take. They are to be zero at first.
pub const fn area_bytes(descriptors: u16) -> usize {
    descriptors as usize * DESCRIPTOR_BYTES as usize
}

/// Things of which a thread takes one for a while, without waiting.
#[derive(Debug)]
pub(super) struct ClaimSlots {
    taken: Box<[AtomicU64]>,
    count: usize,
}

impl ClaimSlots {
    fn new(count: usize) -> Self {
        Self { taken: (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(), count }
    }

    /// A free one, looked for from `hint` on.
    pub(super) fn take(&self, hint: usize) -> Option<usize> {
        (0..self.count).map(|step| (hint + step) % self.count).find(|&slot| {
            let bit = 1 << (slot % 64);
            let word = &self.taken[slot / 64];
            word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::AcqRel) & bit == 0
        })
    }

    pub(super) fn release(&self, slot: usize) {
        self.taken[slot / 64].fetch_and(!(1 << (slot % 64)), Ordering::AcqRel);
    }
}

/// The descriptors of a pool. A thread works through a [`Worker`](super::Worker).
#[derive(Debug)]
pub struct DescriptorTable {
    pub(super) area: u64,
    pub(super) descriptors: Arc<ClaimSlots>,
    pub(super) helpers: ClaimSlots,
    /// By helper: attempts so far, which go on counting with the next thread that gets its number.
    pub(super) attempts: Box<[AtomicU32]>,
}

impl DescriptorTable {
    /// Recovers: brings each operation that was cut off to its end, or takes it back. Nobody may be working yet.
    ///
    /// # Errors
    /// Where a descriptor says what cannot be.
    pub fn open<M: Medium>(pool: &Pool<M>, area: u64, descriptors: u16) -> Result<Self, PmemError> {
        recover(pool, area, descriptors)?;
        Ok(Self::without_recovery(area, descriptors))
    }

    pub(super) fn without_recovery(area: u64, descriptors: u16) -> Self {
        Self {
            area,
            descriptors: Arc::new(ClaimSlots::new(usize::from(descriptors))),
            helpers: ClaimSlots::new(HELPERS),
            attempts: (0..HELPERS).map(|_| AtomicU32::new(0)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_is_taken_once() {
        let slots = ClaimSlots::new(70);
        let mut taken: Vec<usize> = (0..70).map(|_| slots.take(65).unwrap()).collect();
        assert_eq!(slots.take(3), None);
        taken.sort_unstable();
        assert!(taken.iter().copied().eq(0..70));
        slots.release(68);
        assert_eq!(slots.take(0), Some(68));
    }
}
