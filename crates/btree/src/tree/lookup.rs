//! Finding entries, one at a time or many at once.

use assay_buffer::{Attempt, Optimistic, Worker};

use super::{Finger, Tree, chain, under};
use crate::{
    TreeError,
    node::{Found, Value, View},
};

impl Tree {
    /// Puts the value of a key into `value`, which is cleared first; `false` where the key is not there.
    ///
    /// # Errors
    /// Where the key cannot be one, or a page cannot be read.
    #[inline]
    pub fn lookup(&self, worker: &Worker<'_>, key: &[u8], value: &mut Vec<u8>) -> Result<bool, TreeError> {
        self.check_key(key)?;
        Ok(worker.retry(|| self.try_lookup(worker, key, value))?)
    }

    /// Hands the value of a key to `read`, which may be called several times; the last call counts, and what it saw before
    /// may have been torn, so all that it does is to copy. `false` where the key is not there. The search begins at the
    /// finger, which points to the key's leaf afterwards.
    ///
    /// # Errors
    /// As [`Tree::lookup`].
    #[inline]
    pub fn lookup_with(
        &self,
        worker: &Worker<'_>,
        key: &[u8],
        finger: &mut Finger,
        mut read: impl FnMut(&[u8]),
    ) -> Result<bool, TreeError> {
        self.check_key(key)?;
        let from = *finger;
        let there = worker.retry(|| {
            let (leaf, known) = self.leaf_at(worker, key, from)?;
            let found = self.read_leaf(worker, &leaf, (key, known), &mut read)?;
            *finger = Finger { page: leaf.page(), version: leaf.version(), slot: found.slot as u16 };
            Ok(found.exact)
        })?;
        Ok(there)
    }

    #[inline(always)]
    fn read_leaf(
        &self,
        worker: &Worker<'_>,
        leaf: &Optimistic<'_>,
        (key, known): (&[u8], Option<usize>),
        read: &mut impl FnMut(&[u8]),
    ) -> Attempt<Found> {
        let (found, elsewhere) = leaf.read(|page| {
            let view = View(page);
            let found = known.map_or_else(|| view.find(key), |slot| Found { slot, exact: true });
            if !found.exact {
                return (found, None);
            }
            match view.value(found.slot) {
                Value::Here(bytes) => {
                    read(bytes);
                    (found, None)
                }
                Value::Elsewhere { bytes, first } => (found, Some((bytes, first))),
            }
        })?;
        if let Some((bytes, first)) = elsewhere {
            let mut value = Vec::new();
            under(leaf, chain::read(worker, first, bytes, &mut value))?;
            read(&value);
        }
        Ok(found)
    }

    /// One attempt at [`Tree::lookup`], for those who wait in a way of their own.
    ///
    /// # Errors
    /// What stands in the way.
    #[inline]
    pub fn try_lookup(&self, worker: &Worker<'_>, key: &[u8], value: &mut Vec<u8>) -> Attempt<bool> {
        let leaf = self.leaf(worker, key)?;
        let found = self.read_leaf(worker, &leaf, (key, None), &mut |bytes| {
            value.clear();
            value.extend_from_slice(bytes);
        })?;
        Ok(found.exact)
    }

    /// Looks several keys up with their reads in flight together, from one thread and without tasks. `found` is called with
    /// the position and the value of each key that is there, in any order.
    ///
    /// # Errors
    /// As [`Tree::lookup`].
    pub fn lookup_many(
        &self,
        worker: &Worker<'_>,
        keys: &[&[u8]],
        found: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), TreeError> {
        keys.iter().try_for_each(|key| self.check_key(key))?;
        let mut value = Vec::new();
        worker.retry_many(keys.len(), &mut |position| {
            if self.try_lookup(worker, keys[position], &mut value)? {
                found(position, &value);
            }
            Ok(())
        })?;
        Ok(())
    }
}
