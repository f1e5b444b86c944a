//! Insertion: the emptier of two buckets, a third bucket, the stash, and then the directory is asked for room.

use std::sync::atomic::Ordering::Relaxed;

use assay_pmem::{Medium, Offset, PmemError, Transaction};

use super::{
    bucket::{BucketHead, Record, Witness, key_word, lowest, with_fingerprint},
    directory::Directory,
    entry::EntryKey,
    geometry::Home,
    hash::Hash,
    table::Dash,
};
use crate::error::IndexError;

/// A free slot in a bucket that is locked.
#[derive(Clone, Copy, Debug)]
struct Free {
    bucket: u64,
    slot: usize,
    guest: bool,
    overflow: Option<Overflow>,
}

/// What the home bucket has to know of a slot in a stash.
#[derive(Clone, Copy, Debug)]
struct Overflow {
    /// Number of the stash bucket; none in a chain.
    stash: Option<u64>,
}

/// Heads that are to change together: one, or a stash bucket's and the home's.
#[derive(Debug)]
struct Heads {
    shown: (u64, BucketHead),
    home: Option<(u64, BucketHead)>,
}

impl<M: Medium, D: Directory> Dash<M, D> {
    /// Adds a record; `false` where the key is there.
    ///
    /// # Errors
    /// Where the pool is full.
    #[inline]
    pub(super) fn insert(&self, key: &EntryKey<'_>, value: &[u8]) -> Result<bool, IndexError> {
        loop {
            let spot = D::locate(self, key.hash);
            let home = self.shape.home(spot.segment, key.hash);
            self.prefetch(&home);
            let held = self.lock_home(&home);
            if !D::still(self, key.hash, spot) {
                continue;
            }
            if self.find_locked(&home, key).is_some() {
                return Ok(false);
            }
            if let Some(free) = self.free_slot(&home, key.hash) {
                self.fill(&home, free, key, value)?;
                return Ok(true);
            }
            drop(held);
            D::make_room(self, spot, key.hash)?;
        }
    }

    /// A slot for a key whose two buckets are locked. One in a stash is in a bucket that is locked beside them.
    #[inline(always)]
    fn free_slot(&self, home: &Home, hash: Hash) -> Option<Free> {
        match self.free_slot_nearby(home, hash) {
            Some((bucket, slot, guest)) => Some(Free { bucket, slot, guest, overflow: None }),
            None => self.free_slot_elsewhere(home, hash),
        }
    }

    /// A free slot in the emptier of a key's two buckets, and whether it would be a guest there.
    #[inline(always)]
    pub(super) fn free_slot_nearby(&self, home: &Home, hash: Hash) -> Option<(u64, usize, bool)> {
        let (own, next) = (self.head(home.own), self.head(home.next));
        let guest = own.count() > next.count();
        let (bucket, head) = if guest { (home.next, next) } else { (home.own, own) };
        head.free_slot(hash.fingerprint()).map(|slot| (bucket, slot, guest))
    }

    #[cold]
    #[inline(never)]
    fn free_slot_elsewhere(&self, home: &Home, hash: Hash) -> Option<Free> {
        self.displace_next(home).or_else(|| self.displace_guest(home)).or_else(|| self.free_stash_slot(home, hash))
    }

    /// A record that is at home in the next bucket becomes a guest one further.
    fn displace_next(&self, home: &Home) -> Option<Free> {
        let head = self.head(home.next);
        let slot = lowest(head.slots() & !head.guests())?;
        let third = self.shape.bucket(home.segment, self.shape.next(self.shape.next(home.index)));
        self.move_to(home.next, slot, third, true)?;
        Some(Free { bucket: home.next, slot, guest: true, overflow: None })
    }

    /// A guest in this bucket goes back to its home, the bucket before.
    fn displace_guest(&self, home: &Home) -> Option<Free> {
        let head = self.head(home.own);
        let slot = lowest(head.slots() & head.guests())?;
        let third = self.shape.bucket(home.segment, self.shape.previous(home.index));
        self.move_to(home.own, slot, third, false)?;
        Some(Free { bucket: home.own, slot, guest: false, overflow: None })
    }

    /// Moves a record into another bucket, if that is not locked and has room. The copy is durable before the original
    /// goes, which is durable before its slot is used again. A crash between leaves both; repair removes one.
    fn move_to(&self, from: u64, slot: usize, to: u64, guest: bool) -> Option<()> {
        if !self.try_lock(to) {
            return None;
        }
        let _held = self.hold(to, 0);
        let (head, medium) = (self.head(to), self.medium());
        let record = self.record(from, slot, self.head(from).is_pointer(slot));
        let hash = record.hash();
        let target = head.free_slot(hash.fingerprint())?;
        let witness = self.write_record(to, target, &record, hash);
        medium.store(to, head.with(target, guest, record.pointer, witness).0);
        medium.flush(to, 8); // moved
        medium.fence(); // copy durable
        medium.store(from, self.head(from).without(slot).0);
        medium.flush(from, 8); // original dropped
        medium.fence(); // its slot is free
        Some(())
    }

    /// A slot in the stash or the chain, its bucket locked.
    fn free_stash_slot(&self, home: &Home, hash: Hash) -> Option<Free> {
        let stash = (0..self.shape.stash).map(|index| (self.shape.stash(home.segment, index), Some(index)));
        let mut all = stash.chain(self.chained_buckets(home.segment).map(|bucket| (bucket, None)));
        all.find_map(|(bucket, stash)| {
            self.lock(home.segment, bucket);
            match self.head(bucket).free_slot(hash.fingerprint()) {
                Some(slot) => Some(Free { bucket, slot, guest: false, overflow: Some(Overflow { stash }) }),
                None => {
                    self.unlock(bucket);
                    None
                }
            }
        })
    }

    /// Fills a free slot and makes that durable.
    #[inline(always)]
    fn fill(&self, home: &Home, free: Free, key: &EntryKey<'_>, value: &[u8]) -> Result<(), PmemError> {
        let _stash = self.hold(if free.overflow.is_some() { free.bucket } else { 0 }, 0);
        match key.inline(value) {
            Some(record) => {
                let witness = self.write_record(free.bucket, free.slot, &record, key.hash);
                let heads = self.heads_after(home, free, &record, key.hash, witness);
                self.show(heads.shown, heads.home);
                Ok(())
            }
            None => self.fill_with_entry(home, free, key, value),
        }
    }

    #[inline(never)]
    fn fill_with_entry(&self, home: &Home, free: Free, key: &EntryKey<'_>, value: &[u8]) -> Result<(), PmemError> {
        let mut transaction = self.pool().begin();
        let record = self.write_entry(&mut transaction, key, value)?;
        self.write_record(free.bucket, free.slot, &record, key.hash);
        self.medium().flush(free.bucket, 24); // fingerprint of an entry
        let heads = self.heads_after(home, free, &record, key.hash, Witness::NONE);
        self.commit_heads(transaction, &heads)
    }

    /// Stores a record and its fingerprint where no head shows them yet. Answers with the witness under which a head may
    /// show it before a fence; where there can be none it has fenced.
    #[inline(always)]
    pub(super) fn write_record(&self, bucket: u64, slot: usize, record: &Record, hash: Hash) -> Witness {
        let (words, medium, place) = (self.bucket(bucket), self.medium(), key_word(slot));
        let at = bucket + place as u64 * 8;
        let witness = Witness::of(slot, words[place].load(Relaxed), record.key);
        medium.store(at + 8, record.value);
        medium.store(at, record.key);
        medium.flush(at, 16); // record written
        let (word, fingerprints) = with_fingerprint(words, slot, hash.fingerprint());
        medium.store(bucket + word as u64 * 8, fingerprints);
        witness.unwrap_or_else(|| {
            medium.fence(); // the same key was there before: nothing would tell them apart
            Witness::NONE
        })
    }

    /// The heads that show a record: its bucket's, and the home's where it overflowed.
    #[inline(always)]
    fn heads_after(&self, home: &Home, free: Free, record: &Record, hash: Hash, witness: Witness) -> Heads {
        let head = self.head(free.bucket).with(free.slot, free.guest, record.pointer, witness);
        let own = free.overflow.map(|overflow| {
            let (head, index) = self.head(home.own).with_overflow(overflow.stash);
            if let Some(index) = index {
                self.store_overflow_fingerprint(home.own, index, hash);
            }
            (home.own, head)
        });
        Heads { shown: (free.bucket, head), home: own }
    }

    fn store_overflow_fingerprint(&self, bucket: u64, index: usize, hash: Hash) {
        let (word, fingerprints) = with_fingerprint(self.bucket(bucket), 14 + index, hash.fingerprint());
        self.medium().store(bucket + word as u64 * 8, fingerprints);
    }

    /// The moment of an insertion: a head shows it, and the home's where it overflowed.
    #[inline(always)]
    pub(super) fn show(&self, shown: (u64, BucketHead), home: Option<(u64, BucketHead)>) {
        let medium = self.medium();
        for (bucket, head) in std::iter::once(shown).chain(home) {
            medium.store(bucket, head.0);
            medium.flush(bucket, 8); // shown
        }
        medium.fence(); // inserted
    }

    /// The same where blocks change hands with it.
    fn commit_heads(&self, mut transaction: Transaction<'_, M>, heads: &Heads) -> Result<(), PmemError> {
        for (bucket, head) in [Some(heads.shown), heads.home].into_iter().flatten() {
            transaction.set(Offset::new(bucket), head.0)?;
        }
        transaction.commit();
        Ok(())
    }
}
