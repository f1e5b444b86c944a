//! A value that is to be stored.

use super::{
    key::Key,
    meta::{Meta, word_value},
};

/// What a put does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Insert,
    Update,
    Upsert,
}

/// A value for a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Put<'a> {
    pub(super) key: Key<'a>,
    pub(super) value: &'a [u8],
    pub(super) mode: Mode,
    /// The meta word without its offset.
    pub(super) meta: Meta,
}

impl<'a> Put<'a> {
    pub(super) fn new(key: Key<'a>, value: &'a [u8], mode: Mode) -> Self {
        let meta = Meta::live(key.print(), word_value(value).is_some(), value.len(), key.bytes.len(), 0);
        Self { key, value, mode, meta }
    }

    /// Words that it takes in a leaf: head, value and rest.
    pub(super) fn words(&self) -> usize {
        1 + self.meta.data_words()
    }
}
