//! Updates and removals. The bucket in which the record was found is locked under the very version under which it was
//! found, so that nothing has to be looked up again.

use assay_pmem::{Medium, Offset, PmemError};

use super::{
    bucket::{Record, key_word},
    directory::Directory,
    entry::Key,
    find::Found,
    lock::Held,
    table::Dash,
};
use crate::error::IndexError;

impl<M: Medium, D: Directory> Dash<M, D> {
    /// Changes the value of a key; `false` where it is not there.
    ///
    /// # Errors
    /// Where the pool is full.
    #[inline]
    pub(super) fn update(&self, key: &Key<'_>, value: &[u8]) -> Result<bool, IndexError> {
        loop {
            let Some(found) = self.find(key) else { return Ok(false) };
            if !self.lock_as(found.bucket, found.version) {
                continue;
            }
            let _held = self.hold([found.bucket, 0]);
            match (key.inline(value), found.record.pointer) {
                (Some(record), false) => self.replace_word(&found, record.value),
                (new, _) => self.replace_entry(&found, key, value, new)?,
            }
            return Ok(true);
        }
    }

    /// Removes a key; `false` where it is not there.
    ///
    /// # Errors
    /// Where the pool is damaged, or full in the middle of a merge.
    #[inline]
    pub(super) fn remove(&self, key: &Key<'_>) -> Result<bool, IndexError> {
        loop {
            let Some(found) = self.find(key) else { return Ok(false) };
            let Some(held) = self.lock_found(&found) else { continue };
            // Looked at before the flush, which may take the line out of the caches.
            let empty = found.overflow.is_none() && self.head(found.bucket).without(found.slot).slots() == 0;
            self.erase(&found)?;
            drop(held);
            if empty {
                D::emptied(self, key.hash)?;
            }
            return Ok(true);
        }
    }

    /// What a removal changes: the record's bucket, and its home where that is another one's business.
    #[inline(always)]
    fn lock_found(&self, found: &Found) -> Option<Held<'_, M, D>> {
        if found.overflow.is_none() {
            return self.lock_as(found.bucket, found.version).then(|| self.hold([found.bucket, 0]));
        }
        if !self.lock_as(found.home.own, found.home_version) {
            return None;
        }
        let home = self.hold([found.home.own, 0]);
        if !self.lock_as(found.bucket, found.version) {
            return None;
        }
        std::mem::forget(home);
        Some(self.hold([found.home.own, found.bucket]))
    }

    fn replace_word(&self, found: &Found, value: u64) {
        let at = found.bucket + key_word(found.slot) as u64 * 8 + 8;
        self.medium().store(at, value);
        self.medium().flush(at, 8); // value
        self.medium().fence(); // updated
    }

    /// Where the old value or the new one is an entry: blocks and words change together.
    #[inline(never)]
    fn replace_entry(
        &self,
        found: &Found,
        key: &Key<'_>,
        value: &[u8],
        inline: Option<Record>,
    ) -> Result<(), PmemError> {
        let mut transaction = self.pool().begin();
        let new = match inline {
            Some(record) => record,
            None => self.write_entry(&mut transaction, key, value)?,
        };
        let at = found.bucket + key_word(found.slot) as u64 * 8;
        if found.record.pointer {
            transaction.free(Offset::<u64>::new(found.record.value))?;
        }
        transaction.set(Offset::new(at + 8), new.value)?;
        if found.record.pointer != new.pointer {
            transaction.set(Offset::new(at), new.key)?;
            let head = self.head(found.bucket).with_kind(found.slot, new.pointer);
            transaction.set(Offset::new(found.bucket), head.0)?;
        }
        transaction.commit();
        Ok(())
    }

    fn erase(&self, found: &Found) -> Result<(), PmemError> {
        let head = self.head(found.bucket).without(found.slot);
        let home = found.overflow.map(|index| self.head(found.home.own).without_overflow(index));
        if found.record.pointer {
            let mut transaction = self.pool().begin();
            transaction.free(Offset::<u64>::new(found.record.value))?;
            transaction.set(Offset::new(found.bucket), head.0)?;
            if let Some(home) = home {
                transaction.set(Offset::new(found.home.own), home.0)?;
            }
            transaction.commit();
            return Ok(());
        }
        let medium = self.medium();
        medium.store(found.bucket, head.0);
        medium.flush(found.bucket, 8); // slot free
        if let Some(home) = home {
            // Not flushed: a home that remembers too much costs a look into the stash, no more.
            medium.store(found.home.own, home.0);
        }
        medium.fence(); // removed
        Ok(())
    }
}
