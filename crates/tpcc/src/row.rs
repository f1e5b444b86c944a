//! Rows of fixed size: every column lies at a place that is known when the program is built.
//!
//! A store that hands out the bytes of a row lets a transaction read or change single columns in place, without
//! decoding the rest and without memory of its own.

use std::marker::PhantomData;

use crate::{
    error::{Result, TpccError},
    text::Text,
};

/// What a column can hold. Integers are little-endian.
pub trait Field: Sized {
    /// Bytes in a row.
    const SIZE: usize;
    /// Writes it.
    fn store(&self, out: &mut [u8]);
    /// Reads it.
    fn load(from: &[u8]) -> Self;
}

macro_rules! integer_field {
    ($($kind:ty),*) => {$(
        impl Field for $kind {
            const SIZE: usize = size_of::<$kind>();
            #[inline(always)]
            fn store(&self, out: &mut [u8]) {
                out[..Self::SIZE].copy_from_slice(&self.to_le_bytes());
            }
            #[inline(always)]
            fn load(from: &[u8]) -> Self {
                let mut bytes = [0; Self::SIZE];
                bytes.copy_from_slice(&from[..Self::SIZE]);
                Self::from_le_bytes(bytes)
            }
        }
    )*};
}

integer_field!(u8, u16, u32, i32, i64);

impl<const N: usize> Field for Text<N> {
    const SIZE: usize = N + 2;
    #[inline(always)]
    fn store(&self, out: &mut [u8]) {
        Text::store(self, out);
    }
    #[inline(always)]
    fn load(from: &[u8]) -> Self {
        Text::load(from)
    }
}

impl<T: Field, const N: usize> Field for [T; N] {
    const SIZE: usize = T::SIZE * N;
    fn store(&self, out: &mut [u8]) {
        for (at, part) in self.iter().enumerate() {
            part.store(&mut out[at * T::SIZE..(at + 1) * T::SIZE]);
        }
    }
    fn load(from: &[u8]) -> Self {
        std::array::from_fn(|at| T::load(&from[at * T::SIZE..]))
    }
}

/// Where a column lies in its row.
#[derive(Debug)]
pub struct Column<T> {
    at: usize,
    kind: PhantomData<T>,
}

impl<T: Field> Column<T> {
    /// The column at a place.
    pub const fn at(at: usize) -> Self {
        Self { at, kind: PhantomData }
    }

    /// Reads it out of a whole row.
    #[inline(always)]
    pub fn get(&self, row: &[u8]) -> T {
        T::load(&row[self.at..self.at + T::SIZE])
    }

    /// Writes it into a whole row.
    #[inline(always)]
    pub fn set(&self, row: &mut [u8], value: &T) {
        value.store(&mut row[self.at..self.at + T::SIZE]);
    }
}

impl<T: Field, const N: usize> Column<[T; N]> {
    /// One element of an array.
    pub const fn item(&self, index: usize) -> Column<T> {
        assert!(index < N);
        Column::at(self.at + index * T::SIZE)
    }
}

/// A row of fixed size.
pub trait Row: Sized {
    /// Bytes of it.
    const SIZE: usize;
    /// Its table, for messages.
    const NAME: &'static str;
    /// Writes it to the first `SIZE` bytes.
    fn encode(&self, out: &mut [u8]);
    /// Reads it from the first `SIZE` bytes.
    fn decode(from: &[u8]) -> Self;

    /// The bytes, if they can be a row of this table.
    ///
    /// # Errors
    /// [`TpccError::Damaged`].
    #[inline]
    fn whole(bytes: &[u8]) -> Result<&[u8]> {
        if bytes.len() == Self::SIZE { Ok(bytes) } else { Err(wrong_size(Self::NAME, bytes.len(), Self::SIZE)) }
    }
}

#[cold]
fn wrong_size(name: &str, seen: usize, size: usize) -> TpccError {
    TpccError::damaged(format!("a row of table {name} ({seen} bytes where it has {size})"))
}

/// Declares a row: a structure, and one constant per column that says where it lies.
macro_rules! row {
    ($(#[$meta:meta])* $name:ident $text:literal { $($(#[$field_meta:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$field_meta])* pub $field: $kind),* }

        #[allow(non_upper_case_globals, reason = "a column has the name of its field")]
        impl $name {
            row!(@columns 0; $($field: $kind,)*);
        }

        impl $crate::row::Row for $name {
            const SIZE: usize = 0 $(+ <$kind as $crate::row::Field>::SIZE)*;
            const NAME: &'static str = $text;
            #[inline]
            fn encode(&self, out: &mut [u8]) { $(Self::$field.set(out, &self.$field);)* }
            #[inline]
            fn decode(from: &[u8]) -> Self { Self { $($field: Self::$field.get(from)),* } }
        }
    };
    (@columns $at:expr; $field:ident: $kind:ty, $($rest:tt)*) => {
        #[doc = concat!("Where `", stringify!($field), "` lies.")]
        pub const $field: $crate::row::Column<$kind> = $crate::row::Column::at($at);
        row!(@columns $at + <$kind as $crate::row::Field>::SIZE; $($rest)*);
    };
    (@columns $at:expr;) => {};
}

pub(crate) use row;
