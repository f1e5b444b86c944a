//! Large tables of atomics that cost memory only where they are used.

use std::{
    marker::PhantomData,
    ops::Deref,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64},
};

use assay_path::Arena;

use super::word::Word;
use crate::BufferError;

/// A kind of atomic whose zero bytes are a value.
///
/// # Safety
/// All bytes zero must be a valid value of the type, which needs no drop and is aligned to 4 KiB at most.
pub unsafe trait Zeroed: Sync {}

// SAFETY: false.
unsafe impl Zeroed for AtomicBool {}
// SAFETY: an atomic integer is its integer.
unsafe impl Zeroed for AtomicU32 {}
// SAFETY: as above.
unsafe impl Zeroed for AtomicU64 {}
// SAFETY: a transparent atomic integer.
unsafe impl Zeroed for Word {}

/// Atomics side by side, zero at first. The kernel gives pages of them when they are first touched, huge ones where it has
/// them: they are looked up at random, and most looks would miss the processor's cache of addresses otherwise.
#[derive(Debug)]
pub struct ZeroedArray<T> {
    arena: Arena,
    count: usize,
    kind: PhantomData<[T]>,
}

// SAFETY: a shared reference gives shared references to its entries alone, which may be shared.
unsafe impl<T: Zeroed> Sync for ZeroedArray<T> {}

impl<T: Zeroed> Deref for ZeroedArray<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: mapped as long as the table, that many entries long, aligned, and zeros are values of it.
        unsafe { std::slice::from_raw_parts(self.arena.start().cast(), self.count) }
    }
}

impl<T: Zeroed> ZeroedArray<T> {
    /// `count` zeros, one at least.
    ///
    /// # Errors
    /// Where there is not that much memory.
    pub fn zeros(count: usize) -> Result<Self, BufferError> {
        let count = count.max(1);
        let bytes = count.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize / 2);
        let arena = bytes.ok_or_else(|| std::io::ErrorKind::OutOfMemory.into()).and_then(Arena::new);
        let arena = arena.map_err(|source| BufferError::Memory { bytes: bytes.unwrap_or(usize::MAX), source })?;
        Ok(Self { arena, count, kind: PhantomData })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn a_table_has_its_entries_and_each_is_zero_at_first() {
        for count in [1, 7, 1 << 18, (1 << 18) + 1] {
            let table = ZeroedArray::<AtomicU64>::zeros(count).unwrap();
            assert_eq!(table.len(), count);
            assert!(table.iter().all(|entry| entry.load(Relaxed) == 0));
            table[count - 1].store(9, Relaxed);
            assert_eq!(table.iter().map(|entry| entry.load(Relaxed)).sum::<u64>(), 9);
        }
        assert_eq!(ZeroedArray::<AtomicU32>::zeros(0).unwrap().len(), 1);
    }

    #[test]
    fn more_than_there_is_memory_for_is_an_error() {
        for count in [1 << 55, usize::MAX] {
            assert!(matches!(ZeroedArray::<AtomicU64>::zeros(count), Err(BufferError::Memory { .. })), "{count}");
        }
    }
}
