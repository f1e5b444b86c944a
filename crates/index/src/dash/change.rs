//! Updates and removals. The bucket in which the record was found is locked under the very version under which it was
//! found, so that nothing has to be looked up again.

use assay_pmem::{Medium, Offset, PmemError};

use super::{
    bucket::{BucketHead, Record, key_word},
    directory::Directory,
    entry::EntryKey,
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
    pub(super) fn update(&self, key: &EntryKey<'_>, value: &[u8]) -> Result<bool, IndexError> {
        loop {
            let Some(found) = self.find(key) else { return Ok(false) };
            if self.update_found(&found, key, value)? {
                return Ok(true);
            }
        }
    }

    /// Changes the value of a record that was found; `false` where it has to be looked for again.
    ///
    /// # Errors
    /// Where the pool is full.
    #[inline(always)]
    fn update_found(&self, found: &Found, key: &EntryKey<'_>, value: &[u8]) -> Result<bool, IndexError> {
        let Some(_held) = self.lock_found(found) else { return Ok(false) };
        match (key.inline(value), found.record.pointer) {
            (Some(record), false) => self.replace_word(found.bucket, found.slot, record.value),
            (new, _) => self.replace_entry(found, key, value, new)?,
        }
        Ok(true)
    }

    /// Removes a key; `false` where it is not there.
    ///
    /// # Errors
    /// Where the pool is damaged.
    #[inline]
    pub(super) fn remove(&self, key: &EntryKey<'_>) -> Result<bool, IndexError> {
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

    /// The record's bucket, and its home too where that is another one: a split locks a segment's own buckets and not its
    /// chain, so nothing there may change while the home is not held.
    #[inline(always)]
    fn lock_found(&self, found: &Found) -> Option<Held<'_, M, D>> {
        if found.overflow.is_none() {
            return self.lock_as(found.bucket, found.version).then(|| self.hold(found.bucket, 0));
        }
        if !self.lock_as(found.home.own, found.home_version) {
            return None;
        }
        let home = self.hold(found.home.own, 0);
        if !self.lock_as(found.bucket, found.version) {
            return None;
        }
        std::mem::forget(home);
        Some(self.hold(found.home.own, found.bucket))
    }

    /// The moment of an update.
    #[inline(always)]
    pub(super) fn replace_word(&self, bucket: u64, slot: usize, value: u64) {
        let at = bucket + key_word(slot) as u64 * 8 + 8;
        self.medium().store(at, value);
        self.medium().flush(at, 8); // value
        self.medium().fence(); // updated
    }

    /// Where the old value or the new one is an entry: blocks and words change together.
    #[inline(never)]
    fn replace_entry(
        &self,
        found: &Found,
        key: &EntryKey<'_>,
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
        self.hide((found.bucket, head), home.map(|head| (found.home.own, head)));
        Ok(())
    }

    /// The moment of a removal: a head does not show it any more, and the home does not send anybody there.
    #[inline(always)]
    pub(super) fn hide(&self, hidden: (u64, BucketHead), home: Option<(u64, BucketHead)>) {
        let medium = self.medium();
        medium.store(hidden.0, hidden.1.0);
        medium.flush(hidden.0, 8); // slot free
        if let Some((bucket, head)) = home {
            // Not flushed: a home that remembers too much costs a look into the stash, no more.
            medium.store(bucket, head.0);
        }
        medium.fence(); // removed
    }
}

#[cfg(test)]
mod tests {
    use assay_pmem::{Mapped, Pool, Shape};

    use super::*;
    use crate::{
        dash::{DashShape, Linear},
        index::{Index, Session},
    };

    type Table = Dash<Mapped, Linear>;

    fn bytes(key: u64) -> [u8; 8] {
        key.to_le_bytes()
    }

    /// A key in a chain, and what a thread knows of it that is about to change it.
    fn in_a_chain(table: &Table, keys: u64) -> Option<(u64, Found)> {
        let chained = |found: &Found| table.chained_buckets(found.home.segment).any(|bucket| bucket == found.bucket);
        (0..keys).find_map(|key| Some((key, table.find(&EntryKey::new(&bytes(key))).filter(chained)?)))
    }

    /// An update that found its record in a chain went on under the chain's own lock, which a split does not take: it
    /// wrote a new value where nobody looked any more, and gave the old one's block away.
    #[test]
    fn an_update_does_not_go_on_in_the_chain_of_a_segment_that_was_split() {
        let pool = Pool::create(Mapped::memory(32 << 20).unwrap(), &Shape::new("dash-lh-1")).unwrap();
        let table: Table = Dash::create(pool, &DashShape::tiny()).unwrap();
        let mut session = table.session();
        let long = [7; 40];
        let (mut keys, mut tried) = (0, 0);
        while keys < 4_000 {
            let before = in_a_chain(&table, keys);
            (0..50).for_each(|more| assert!(session.insert(&bytes(keys + more), &long).unwrap()));
            keys += 50;
            let Some((key, found)) = before else { continue };
            let now = table.find(&EntryKey::new(&bytes(key))).unwrap();
            if (now.bucket, now.slot) == (found.bucket, found.slot) {
                continue;
            }
            tried += 1;
            assert!(!table.update_found(&found, &EntryKey::new(&bytes(key)), &[8; 40]).unwrap(), "key {key} of {keys}");
        }
        assert!(tried > 3, "{tried} records left a chain");
        (0..keys).for_each(|key| {
            let mut value = Vec::new();
            assert!(session.lookup(&bytes(key), &mut value).unwrap() && value == long, "key {key}");
        });
        drop(session);
        table.verify().unwrap();
    }
}
