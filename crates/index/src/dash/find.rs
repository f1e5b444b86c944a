//! Lookups: no lock is taken and nothing is written.
//!
//! Whatever changes a key's records, where they lie included, changes the version of its home or of the next bucket,
//! for a moment at least, except a new value, which is one word. So what was read between two equal looks at both is
//! what was there. The directory is asked after the first look: a segment that had been split before it is not the
//! key's any more, and one that is split after it has other versions.

use std::sync::atomic::{Ordering::Acquire, Ordering::Relaxed, fence};

use assay_pmem::Medium;

use super::{
    bucket::{BucketHead, LINE_WORDS, Record, SLOTS, WORDS, Words, key_word, matches},
    directory::Directory,
    entry::EntryKey,
    geometry::Home,
    table::Dash,
};

/// Bytes of a bucket's head, fingerprints and lock.
pub(super) const HEAD_BYTES: usize = 32;

/// A record that was found, and under which versions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) record: Record,
    pub(super) bucket: u64,
    pub(super) slot: usize,
    /// Of `bucket`.
    pub(super) version: u64,
    pub(super) home: Home,
    /// Of the home bucket.
    pub(super) home_version: u64,
    /// It lies in a stash, and the home's overflow fingerprint of this number is its own, if one is.
    pub(super) overflow: Option<Option<usize>>,
}

/// A place of a record.
#[derive(Clone, Copy, Debug)]
struct SlotRef {
    bucket: u64,
    slot: usize,
    version: u64,
}

impl<M: Medium, D: Directory> Dash<M, D> {
    /// The record of a key.
    #[inline(always)]
    pub(super) fn find(&self, key: &EntryKey<'_>) -> Option<Found> {
        loop {
            let spot = D::locate(self, key.hash);
            let home = self.shape.home(spot.segment, key.hash);
            self.prefetch(&home);
            let versions = (self.version(spot.segment, home.own), self.version(spot.segment, home.next));
            if !D::still(self, key.hash, spot) {
                continue;
            }
            let valid = || {
                fence(Acquire);
                self.unchanged(home.own, versions.0) && self.unchanged(home.next, versions.1)
            };
            let found = self.search(&home, versions, key, &valid);
            if valid() {
                return found;
            }
        }
    }

    /// Asks for both buckets, so that head and record are waited for once and not one after the other.
    #[inline(always)]
    pub(super) fn prefetch(&self, home: &Home) {
        for bucket in [home.own, home.next] {
            (0..WORDS).step_by(LINE_WORDS).for_each(|word| self.ask_for(bucket, word));
        }
    }

    /// Asks for the line of a bucket that begins with a word.
    #[inline(always)]
    pub(super) fn ask_for(&self, bucket: u64, word: usize) {
        ask_for(self.bucket(bucket), word);
    }

    /// As [`Dash::find`], by who has the key's two buckets locked.
    #[inline(always)]
    pub(super) fn find_locked(&self, home: &Home, key: &EntryKey<'_>) -> Option<Found> {
        self.search(home, (0, 0), key, &|| true)
    }

    #[inline(always)]
    fn search(
        &self,
        home: &Home,
        versions: (u64, u64),
        key: &EntryKey<'_>,
        valid: &impl Fn() -> bool,
    ) -> Option<Found> {
        self.medium().reads(home.own, HEAD_BYTES);
        self.medium().reads(home.next, HEAD_BYTES);
        let (own, next) = (self.bucket(home.own), self.bucket(home.next));
        let (own_head, next_head) = (BucketHead(own[0].load(Relaxed)), BucketHead(next[0].load(Relaxed)));
        let fingerprint = key.hash.fingerprint();
        let own_matches = matches(own, fingerprint) & own_head.in_use();
        let next_matches = matches(next, fingerprint) & next_head.slots() & next_head.guests();
        let mut all = own_matches & ((1 << SLOTS) - 1) & !own_head.guests() | next_matches << 16;
        let pointers = own_head.pointers() | next_head.pointers() << 16;
        while all != 0 {
            let slot = all.trailing_zeros() as usize;
            // In which of the two a record lies is a coin's throw, on which no branch should depend.
            let which = (slot as u64 >> 4 & 1).wrapping_neg();
            let either = |own: u64, next: u64| own ^ (own ^ next) & which;
            let bucket = either(home.own, home.next);
            self.reads_record(bucket, slot & 15);
            if let Some(record) = self.matched(self.bucket(bucket), slot & 15, pointers >> slot & 1 == 1, key, valid) {
                let (version, home_version) = (either(versions.0, versions.1), versions.0);
                let (slot, home) = (slot & 15, *home);
                return Some(Found { record, bucket, slot, version, home, home_version, overflow: None });
            }
            all &= all - 1;
        }
        if own_head.has_overflow() { self.search_overflow(home, versions.0, own_head, key, valid) } else { None }
    }

    /// Says that the record in a slot is read.
    #[inline(always)]
    pub(super) fn reads_record(&self, bucket: u64, slot: usize) {
        self.medium().reads(bucket + key_word(slot) as u64 * 8, 16);
    }

    /// The record in a slot whose fingerprint matched, if it is the key's.
    #[inline(always)]
    fn matched(
        &self,
        words: &Words,
        slot: usize,
        pointer: bool,
        key: &EntryKey<'_>,
        valid: &impl Fn() -> bool,
    ) -> Option<Record> {
        let place = key_word(slot);
        let record = Record { key: words[place].load(Relaxed), value: words[place + 1].load(Relaxed), pointer };
        let same = if record.pointer {
            // Only what was valid when it was read is a pointer that can be followed.
            record.key == key.hash.0 && valid() && self.entry_has_key(record.value, key.bytes)
        } else {
            key.word == Some(record.key)
        };
        same.then_some(record)
    }

    /// Stash and chain, as far as the home bucket says that something of its own lies there.
    #[inline(never)]
    fn search_overflow(
        &self,
        home: &Home,
        home_version: u64,
        head: BucketHead,
        key: &EntryKey<'_>,
        valid: &impl Fn() -> bool,
    ) -> Option<Found> {
        let found = |place: SlotRef, record: Record, overflow: Option<usize>| {
            let SlotRef { bucket, slot, version } = place;
            let overflow = Some(overflow);
            Found { record, bucket, slot, version, home: *home, home_version, overflow }
        };
        let fingerprints = matches(self.bucket(home.own), key.hash.fingerprint()) & head.in_use();
        for index in (0..2).filter(|index| fingerprints >> (SLOTS + index) & 1 == 1) {
            let bucket = self.shape.stash(home.segment, head.stash_of(index).min(self.shape.stash - 1));
            if let Some((place, record)) = self.search_stash(home, bucket, key, valid) {
                return Some(found(place, record, Some(index)));
            }
        }
        if head.others() == 0 {
            return None;
        }
        let stash = (0..self.shape.stash).map(|index| self.shape.stash(home.segment, index));
        let mut all = stash.chain(self.chained_buckets(home.segment).take_while(|_| valid()));
        let (place, record) = all.find_map(|bucket| self.search_stash(home, bucket, key, valid))?;
        Some(found(place, record, None))
    }

    /// One stash bucket, which keys of other homes share: it has a version of its own to look at.
    fn search_stash(
        &self,
        home: &Home,
        bucket: u64,
        key: &EntryKey<'_>,
        valid: &impl Fn() -> bool,
    ) -> Option<(SlotRef, Record)> {
        while valid() {
            let version = self.version(home.segment, bucket);
            let both_valid = || {
                fence(Acquire);
                self.unchanged(bucket, version) && valid()
            };
            self.medium().reads(bucket, HEAD_BYTES);
            let (words, head) = (self.bucket(bucket), self.head(bucket));
            let mut all = matches(words, key.hash.fingerprint()) & head.slots();
            let mut found = None;
            while all != 0 && found.is_none() {
                let slot = all.trailing_zeros() as usize;
                self.reads_record(bucket, slot);
                let record = self.matched(words, slot, head.is_pointer(slot), key, &both_valid);
                found = record.map(|record| (SlotRef { bucket, slot, version }, record));
                all &= all - 1;
            }
            if both_valid() {
                return found;
            }
        }
        None
    }
}

/// Asks for the line of a bucket that begins with a word.
#[inline(always)]
pub(super) fn ask_for(words: &Words, word: usize) {
    let line = words[word..].as_ptr();
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about words that are there.
        unsafe { _mm_prefetch(line.cast(), _MM_HINT_T0) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
