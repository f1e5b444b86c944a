//! Large tables of atomics that cost memory only where they are used.

use std::{
    alloc::{Layout, alloc_zeroed},
    sync::atomic::AtomicU64,
};

use super::word::Word;
use crate::BufferError;

/// A kind of atomic whose zero bytes are a value.
///
/// # Safety
/// All bytes zero must be a valid value of the type.
pub(crate) unsafe trait Zeroed {}

// SAFETY: an atomic integer is its integer.
unsafe impl Zeroed for AtomicU64 {}
// SAFETY: a transparent atomic integer.
unsafe impl Zeroed for Word {}

/// `count` zeros. The kernel gives pages of them when they are first touched.
pub(crate) fn zeros<T: Zeroed>(count: usize) -> Result<Box<[T]>, BufferError> {
    let layout = Layout::array::<T>(count.max(1)).map_err(|_| too_much(count))?;
    // SAFETY: the layout has a size above zero.
    let start = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if start.is_null() {
        return Err(too_much(layout.size()));
    }
    let slice = std::ptr::slice_from_raw_parts_mut(start, count.max(1));
    // SAFETY: allocated by the global allocator with the layout of this slice, and zeros are values of it.
    Ok(unsafe { Box::from_raw(slice) })
}

fn too_much(bytes: usize) -> BufferError {
    BufferError::Memory { bytes, source: std::io::ErrorKind::OutOfMemory.into() }
}
