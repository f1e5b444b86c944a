//! Whether a table is sound, and how full it is.

use std::collections::{BTreeSet, HashSet};

use assay_pmem::Medium;

use super::{
    bucket::{SLOTS, matches},
    directory::Directory,
    entry::EntryKey,
    table::Dash,
};

/// How a table is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Filling {
    /// Records.
    pub records: u64,
    /// Of them, in stashes.
    pub in_stash: u64,
    /// Of them, in stashes that were chained on.
    pub in_chain: u64,
    /// Of them, in blocks of their own.
    pub by_pointer: u64,
    /// Segments.
    pub segments: u64,
    /// Slots of all buckets, stashes included.
    pub slots: u64,
}

impl Filling {
    /// Records per slot.
    pub fn load_factor(&self) -> f64 {
        self.records as f64 / self.slots.max(1) as f64
    }
}

impl<M: Medium, D: Directory> Dash<M, D> {
    /// Repairs every segment that a crash left and nobody has touched yet.
    pub fn repair_all(&self) {
        for segment in D::segments(self) {
            if !self.is_repaired(segment) {
                self.repair(segment);
            }
        }
    }

    /// How full it is. Nobody should be changing it.
    pub fn filling(&self) -> Filling {
        self.repair_all();
        let mut filling = Filling::default();
        for segment in D::segments(self) {
            filling.segments += 1;
            let stash = self.shape.stash(segment, 0);
            for bucket in self.own_buckets(segment) {
                self.count_bucket(&mut filling, bucket, bucket >= stash, false);
            }
            for bucket in self.chained_buckets(segment) {
                self.count_bucket(&mut filling, bucket, false, true);
            }
        }
        filling
    }

    fn count_bucket(&self, filling: &mut Filling, bucket: u64, stash: bool, chain: bool) {
        let head = self.head(bucket);
        let count = u64::from(head.count());
        filling.records += count;
        filling.slots += SLOTS as u64;
        filling.in_stash += if stash { count } else { 0 };
        filling.in_chain += if chain { count } else { 0 };
        filling.by_pointer += u64::from((head.slots() & head.pointers()).count_ones());
    }

    /// Checks everything: each record where lookups find it, once; fingerprints; what overflowed; and that the pool's blocks
    /// are the table's, each in use once. Nobody else should be at it.
    ///
    /// # Errors
    /// What is wrong, in a sentence.
    pub fn verify(&self) -> Result<Filling, String> {
        self.repair_all();
        let mut entries = Vec::new();
        for segment in D::segments(self) {
            self.verify_segment(segment, &mut entries)?;
        }
        D::examine(self)?;
        self.verify_blocks(entries)?;
        Ok(self.filling())
    }

    fn verify_segment(&self, segment: u64, entries: &mut Vec<u64>) -> Result<(), String> {
        let mut seen = HashSet::new();
        for bucket in self.own_buckets(segment).chain(self.chained_buckets(segment)) {
            let head = self.head(bucket);
            for slot in (0..SLOTS).filter(|slot| head.slots() >> slot & 1 == 1) {
                let record = self.record(bucket, slot, head.is_pointer(slot));
                let (hash, at) = (record.hash(), || format!("slot {slot} of bucket {bucket:#x}"));
                if !D::belongs(self, segment, hash) {
                    return Err(format!("{} holds a key of another segment", at()));
                }
                if matches(self.bucket(bucket), hash.fingerprint()) >> slot & 1 == 0 {
                    return Err(format!("{} has another key's fingerprint", at()));
                }
                let word = record.key.to_le_bytes();
                let key = if record.pointer { self.entry(record.value).0 } else { &word };
                let found = self.find(&EntryKey::new(key)).ok_or_else(|| format!("{}: its key is not found", at()))?;
                if (found.bucket, found.slot) != (bucket, slot) || !seen.insert(key.to_vec()) {
                    return Err(format!("{}: its key is at slot {} of {:#x} too", at(), found.slot, found.bucket));
                }
                if record.pointer {
                    entries.push(record.value);
                }
            }
            if head.slots() | head.guests() | head.pointers() != head.slots() {
                return Err(format!("the head of bucket {bucket:#x} marks slots that are not in use"));
            }
        }
        Ok(())
    }

    fn verify_blocks(&self, entries: Vec<u64>) -> Result<(), String> {
        let mut linked = D::blocks(self);
        linked.extend(entries);
        let wanted: BTreeSet<u64> = linked.iter().copied().collect();
        if wanted.len() != linked.len() {
            return Err("two places lead to one block".to_owned());
        }
        let allocated = self.pool().allocated().map_err(|error| error.to_string())?;
        let found: BTreeSet<u64> = allocated.iter().map(|block| block.at).collect();
        if let Some(leaked) = found.difference(&wanted).next() {
            return Err(format!("block {leaked:#x} is allocated and nothing leads to it"));
        }
        match wanted.difference(&found).next() {
            Some(lost) => Err(format!("block {lost:#x} is in use and not allocated")),
            None => Ok(()),
        }
    }
}
