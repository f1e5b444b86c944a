//! A thread's way into the tree.

use assay_pmem::{Medium, pin};

use super::{FpTree, change::Write, key::Probe, read::ScannedEntry};
use crate::{
    error::IndexError,
    index::{Session, Visit},
    patience::has_room_now,
};

/// A thread's way into an FPTree.
///
/// With keys of any length each operation is pinned, so that blocks and separators that it sees stay. With words there is
/// nothing that could go: what a late reader reads is told by the latch's version.
pub struct FpSession<'t, M: Medium> {
    tree: &'t FpTree<M>,
    entries: Vec<ScannedEntry>,
}

impl<'t, M: Medium> FpSession<'t, M> {
    pub(super) fn new(tree: &'t FpTree<M>) -> Self {
        Self { tree, entries: Vec::with_capacity(super::leaf::RECORDS) }
    }

    #[inline(always)]
    fn write(&mut self, key: &[u8], value: &[u8], how: Write) -> Result<Option<bool>, IndexError> {
        match self.try_write(key, value, how) {
            Err(refused) => self.write_again(refused, key, value, how),
            answer => answer,
        }
    }

    /// The pool may be full of leaves and blocks that were given back, while another thread sleeps that is pinned: this one
    /// was pinned itself until now.
    #[cold]
    fn write_again(
        &mut self,
        refused: IndexError,
        key: &[u8],
        value: &[u8],
        how: Write,
    ) -> Result<Option<bool>, IndexError> {
        if has_room_now(&refused) { self.try_write(key, value, how) } else { Err(refused) }
    }

    #[inline(always)]
    fn try_write(&self, key: &[u8], value: &[u8], how: Write) -> Result<Option<bool>, IndexError> {
        if self.tree.words {
            return self.tree.write(&Probe::word(key)?, value, how);
        }
        let _guard = pin();
        self.tree.write(&Probe::any(key)?, value, how)
    }
}

impl<M: Medium> Session for FpSession<'_, M> {
    #[inline]
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.write(key, value, Write::Insert)?.is_some())
    }

    #[inline]
    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.write(key, value, Write::Update)?.is_some())
    }

    #[inline]
    fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.write(key, value, Write::Upsert)? == Some(true))
    }

    #[inline]
    fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, IndexError> {
        value.clear();
        if self.tree.words {
            let found = self.tree.word_of(&Probe::word(key)?);
            value.extend_from_slice(found.map(u64::to_ne_bytes).as_ref().map_or(&[], |bytes| &bytes[..]));
            return Ok(found.is_some());
        }
        let _guard = pin();
        let found = self.tree.value_of(&Probe::any(key)?)?;
        value.extend_from_slice(found.unwrap_or_default());
        Ok(found.is_some())
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<bool, IndexError> {
        if self.tree.words {
            return self.tree.remove(&Probe::word(key)?);
        }
        let _guard = pin();
        self.tree.remove(&Probe::any(key)?)
    }

    fn scan(&mut self, from: &[u8], limit: usize, visit: &mut Visit<'_>) -> Result<usize, IndexError> {
        let _guard = pin();
        self.tree.scan_from(from, limit, &mut self.entries, visit)
    }
}
