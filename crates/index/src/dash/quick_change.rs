//! Changes of most records: key and value of 8 bytes, in one of the key's two buckets.
//!
//! They take the steps of `insert` and `change`, in that order, and leave whatever is not so simple to them. Their answers
//! fit into a register: one that passes through memory is read back only when the stores before it have left the CPU,
//! those to lines that were just flushed included.

use std::sync::atomic::{Ordering::Acquire, fence};

use assay_pmem::Medium;

use super::{bucket::Record, directory::Directory, hash::Hash, lock::Held, table::Dash};

/// What a removal came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    Missing,
    Removed,
    /// And its bucket is empty now.
    Emptied,
}

/// A record whose bucket is locked.
struct Locked<'t, M: Medium, D: Directory> {
    bucket: u64,
    slot: usize,
    _held: Held<'t, M, D>,
}

impl<M: Medium, D: Directory> Dash<M, D> {
    /// Adds a record; `false` where its key is there, none where that takes a closer look.
    #[inline(always)]
    pub(super) fn insert_quickly(&self, hash: Hash, record: &Record) -> Option<bool> {
        let spot = D::locate(self, hash);
        let home = self.shape.home(spot.segment, hash);
        self.prefetch(&home);
        let _held = self.lock_home(&home);
        if !D::still(self, hash, spot) {
            return None;
        }
        let looked = self.look(&home, record.key, hash);
        if looked.found.is_some() {
            return Some(false);
        }
        let (bucket, slot, guest) = self.free_slot_nearby(&home, hash).filter(|_| !looked.unsure)?;
        let witness = self.write_record(bucket, slot, record, hash);
        self.show((bucket, self.head(bucket).with(slot, guest, false, witness)), None);
        Some(true)
    }

    /// Changes a value; `false` where the key is not there, none where that takes a closer look.
    #[inline(always)]
    pub(super) fn update_quickly(&self, hash: Hash, record: &Record) -> Option<bool> {
        let Some(locked) = self.lock_quickly(record.key, hash)? else { return Some(false) };
        self.replace_word(locked.bucket, locked.slot, record.value);
        Some(true)
    }

    /// Removes a record; none where that takes a closer look.
    #[inline(always)]
    pub(super) fn remove_quickly(&self, word: u64, hash: Hash) -> Option<Removal> {
        let Some(locked) = self.lock_quickly(word, hash)? else { return Some(Removal::Missing) };
        let head = self.head(locked.bucket).without(locked.slot);
        self.hide((locked.bucket, head), None);
        Some(if head.slots() == 0 { Removal::Emptied } else { Removal::Removed })
    }

    /// Locks the bucket of a key's record under the version under which it was found; none in it where the key is missing.
    #[inline(always)]
    fn lock_quickly(&self, word: u64, hash: Hash) -> Option<Option<Locked<'_, M, D>>> {
        let spot = D::locate(self, hash);
        let home = self.shape.home(spot.segment, hash);
        self.prefetch(&home);
        let versions = (self.version(spot.segment, home.own), self.version(spot.segment, home.next));
        if !D::still(self, hash, spot) {
            return None;
        }
        let looked = self.look(&home, word, hash);
        fence(Acquire);
        let unchanged = self.unchanged(home.own, versions.0) && self.unchanged(home.next, versions.1);
        let Some((bucket, slot, _)) = looked.found else {
            return if unchanged && !looked.unsure { Some(None) } else { None };
        };
        let version = if bucket == home.own { versions.0 } else { versions.1 };
        if !unchanged || !self.lock_as(bucket, version) {
            return None;
        }
        Some(Some(Locked { bucket, slot, _held: self.hold(bucket, 0) }))
    }
}
