//! Pointers that stay right wherever a pool is mapped.

use std::{
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
};

/// Place of a `T` in a pool, bytes from the pool's start; 0 points nowhere. It takes one word in persistent memory, of
/// which the upper bits are free for marks: no pool reaches 2^48 bytes.
#[repr(transparent)]
pub struct Offset<T> {
    bytes: u64,
    what: PhantomData<fn() -> T>,
}

impl<T> Offset<T> {
    /// Points nowhere.
    pub const NULL: Self = Self::new(0);

    /// The place that many bytes from the pool's start.
    pub const fn new(bytes: u64) -> Self {
        Self { bytes, what: PhantomData }
    }

    /// Bytes from the pool's start.
    #[inline(always)]
    pub const fn raw(self) -> u64 {
        self.bytes
    }

    /// Whether it points nowhere.
    #[inline(always)]
    pub const fn is_null(self) -> bool {
        self.bytes == 0
    }

    /// The same place, seen as another type.
    #[inline(always)]
    pub const fn cast<U>(self) -> Offset<U> {
        Offset::new(self.bytes)
    }

    /// A field of what is there; `within` comes from `offset_of!`.
    #[inline(always)]
    pub const fn field<U>(self, within: usize) -> Offset<U> {
        Offset::new(self.bytes + within as u64)
    }

    /// The element that many `T`s further on.
    #[inline(always)]
    pub const fn element(self, index: usize) -> Self {
        Self::new(self.bytes + (index * size_of::<T>()) as u64)
    }
}

impl<T> Clone for Offset<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Offset<T> {}

impl<T> Default for Offset<T> {
    fn default() -> Self {
        Self::NULL
    }
}

impl<T> PartialEq for Offset<T> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<T> Eq for Offset<T> {}

impl<T> Hash for Offset<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes.hash(state);
    }
}

impl<T> fmt::Debug for Offset<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "+{:#x}", self.bytes)
    }
}
