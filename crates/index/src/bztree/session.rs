//! A thread's way into the tree.

use std::ops::Deref;

use assay_pmem::{Medium, Pool, pin};

use super::{
    BzTree,
    key::Key,
    put::{Mode, Put},
    snapshot::Snapshot,
};
use crate::{
    error::IndexError,
    index::{KEY_BYTES_AT_MOST, Session, Visit},
    pmwcas::Worker,
    sizes::VALUE_BYTES_AT_MOST,
};

/// A thread's way into a tree.
#[derive(Debug)]
pub struct BzSession<'t, P> {
    pub(super) tree: &'t BzTree<P>,
    pub(super) worker: Worker<'t>,
    pub(super) snapshot: Snapshot,
}

impl<'t, M: Medium, P: Deref<Target = Pool<M>>> BzSession<'t, P> {
    pub(super) fn new(tree: &'t BzTree<P>) -> Self {
        Self { tree, worker: tree.table.worker(), snapshot: Snapshot::default() }
    }
}

/// # Errors
/// Where no key is so long.
fn checked(key: &[u8]) -> Result<Key<'_>, IndexError> {
    if key.is_empty() || key.len() > KEY_BYTES_AT_MOST {
        return Err(IndexError::KeyLength { bytes: key.len(), most: KEY_BYTES_AT_MOST });
    }
    Ok(Key::new(key))
}

/// # Errors
/// Where key or value cannot be stored.
fn put<'a>(key: &'a [u8], value: &'a [u8], mode: Mode) -> Result<Put<'a>, IndexError> {
    if value.len() > VALUE_BYTES_AT_MOST {
        return Err(IndexError::ValueLength { bytes: value.len(), most: VALUE_BYTES_AT_MOST });
    }
    Ok(Put::new(checked(key)?, value, mode))
}

impl<M: Medium, P: Deref<Target = Pool<M>>> Session for BzSession<'_, P> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.put(&put(key, value, Mode::Insert)?)? == Some(true))
    }

    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.put(&put(key, value, Mode::Update)?)? == Some(false))
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.put(&put(key, value, Mode::Upsert)?)? == Some(true))
    }

    #[inline]
    fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, IndexError> {
        value.clear();
        let key = checked(key)?;
        let _guard = pin();
        let leaf = self.tree.leaf_of(&self.worker, &key)?;
        match leaf.find(&key)? {
            Some(slot) => {
                leaf.value(slot.meta, value)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn remove(&mut self, key: &[u8]) -> Result<bool, IndexError> {
        self.take(&checked(key)?)
    }

    fn scan(&mut self, from: &[u8], limit: usize, visit: &mut Visit<'_>) -> Result<usize, IndexError> {
        if from.len() > KEY_BYTES_AT_MOST {
            return Err(IndexError::KeyLength { bytes: from.len(), most: KEY_BYTES_AT_MOST });
        }
        self.visit(from, limit, visit)
    }
}
