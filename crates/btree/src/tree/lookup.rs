//! Finding entries, one at a time or many at once.

use assay_buffer::{Attempt, Worker};

use super::{Tree, chain, under};
use crate::{
    TreeError,
    node::{Value, View},
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

    /// One attempt at [`Tree::lookup`], for those who wait in a way of their own.
    ///
    /// # Errors
    /// What stands in the way.
    #[inline]
    pub fn try_lookup(&self, worker: &Worker<'_>, key: &[u8], value: &mut Vec<u8>) -> Attempt<bool> {
        let leaf = self.leaf(worker, key)?;
        let found = leaf.read(|page| {
            let view = View(page);
            let found = view.find(key);
            found.exact.then(|| match view.value(found.slot) {
                Value::Here(bytes) => {
                    value.clear();
                    value.extend_from_slice(bytes);
                    None
                }
                Value::Elsewhere { bytes, first } => Some((bytes, first)),
            })
        })?;
        if let Some(Some((bytes, first))) = found {
            value.clear();
            under(&leaf, chain::read(worker, first, bytes, value))?;
        }
        Ok(found.is_some())
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
