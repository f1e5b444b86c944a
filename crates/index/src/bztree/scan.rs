//! Entries in order, a leaf at a time.

use std::ops::Deref;

use assay_pmem::{Medium, PmemError, Pool, pin};

use super::{key::Key, session::BzSession};
use crate::{error::IndexError, index::Visit};

impl<M: Medium, P: Deref<Target = Pool<M>>> BzSession<'_, P> {
    /// Nobody is kept waiting by what the visitor does: it sees copies, and this thread is not pinned meanwhile.
    pub(super) fn visit(&mut self, from: &[u8], limit: usize, visit: &mut Visit<'_>) -> Result<usize, IndexError> {
        self.snapshot.from.clear();
        self.snapshot.from.extend_from_slice(from);
        let mut seen = 0;
        while seen < limit {
            let more = self.copy_leaf(limit - seen)?;
            if !self.snapshot.show(&mut seen, visit) || !more {
                break;
            }
        }
        Ok(seen)
    }

    /// Copies up to `limit` entries of the leaf in which the scan goes on; whether there is a next leaf.
    fn copy_leaf(&mut self, limit: usize) -> Result<bool, PmemError> {
        let _guard = pin();
        let key = Key::new(&self.snapshot.from);
        let (leaf, end) = self.tree.leaf_and_end(&self.worker, &key, limit)?;
        let first = leaf.first_not_below(&key)?;
        loop {
            let free = self.snapshot.collect_tail(&leaf)?;
            self.snapshot.merge(&leaf, first, limit);
            if self.snapshot.is_still_so(&leaf, free) {
                break;
            }
        }
        self.snapshot.copy_long(&leaf)?;
        let Some(end) = end else { return Ok(false) };
        end.bytes(&mut self.snapshot.from);
        Ok(true)
    }
}
