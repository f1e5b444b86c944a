//! A copy of a segment in memory, to be sorted out before anything is written.

use std::{collections::HashSet, sync::atomic::AtomicU64, sync::atomic::Ordering::Relaxed};

use assay_pmem::Medium;

use super::{
    bucket::{BucketHead, Record, SLOTS, WORDS, Witness, key_word},
    directory::Directory,
    geometry::DashShape,
    hash::Hash,
    table::Dash,
};

/// One bucket of it.
#[derive(Clone, Debug)]
pub(super) struct Copied {
    /// Where it was copied from.
    pub(super) at: u64,
    pub(super) words: [u64; WORDS],
}

/// A slot, by the bucket's number in the image.
pub(super) type Slot = (usize, usize);

/// Buckets, then stash, then chain.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) shape: DashShape,
    pub(super) buckets: Vec<Copied>,
}

impl Copied {
    fn of(at: u64, words: &[AtomicU64; WORDS]) -> Self {
        Self { at, words: std::array::from_fn(|word| words[word].load(Relaxed)) }
    }

    #[inline(always)]
    pub(super) fn head(&self) -> BucketHead {
        BucketHead(self.words[0])
    }

    #[inline]
    fn record(&self, slot: usize) -> Record {
        let place = key_word(slot);
        Record { key: self.words[place], value: self.words[place + 1], pointer: self.head().is_pointer(slot) }
    }

    fn set_fingerprint(&mut self, index: usize, hash: Hash) {
        let (word, shift) = (1 + index / 8, index % 8 * 8);
        self.words[word] = self.words[word] & !(0xff << shift) | u64::from(hash.fingerprint()) << shift;
    }
}

impl Image {
    /// Of a segment that nobody is changing.
    pub(super) fn of<M: Medium, D: Directory>(table: &Dash<M, D>, segment: u64) -> Self {
        let all = table.own_buckets(segment).chain(table.chained_buckets(segment));
        let buckets = all.map(|at| {
            table.medium().reads(at, 256);
            Copied::of(at, table.bucket(at))
        });
        Self { shape: table.shape, buckets: buckets.collect() }
    }

    /// Buckets that are no stash.
    fn normal(&self) -> usize {
        self.shape.buckets as usize
    }

    /// Slots in use, with their records; of a part of the buckets.
    fn slots(&self, buckets: std::ops::Range<usize>) -> Vec<(Slot, Record)> {
        let of = |bucket: usize| {
            let copied = &self.buckets[bucket];
            let used = (0..SLOTS).filter(move |slot| copied.head().slots() >> slot & 1 == 1);
            used.map(move |slot| ((bucket, slot), copied.record(slot)))
        };
        buckets.flat_map(of).collect()
    }

    pub(super) fn records(&self) -> Vec<(Slot, Record)> {
        self.slots(0..self.buckets.len())
    }

    fn drop_slot(&mut self, (bucket, slot): Slot) {
        self.buckets[bucket].words[0] = self.buckets[bucket].head().without(slot).0;
    }

    /// Drops the records that are not wanted.
    pub(super) fn keep(&mut self, wanted: impl Fn(Hash) -> bool) {
        for copied in &mut self.buckets {
            // Bit by bit, in place: a split asks for every record of a segment twice.
            let mut left = copied.head().slots();
            while left != 0 {
                let slot = left.trailing_zeros() as usize;
                left &= left - 1;
                if !wanted(copied.record(slot).hash()) {
                    copied.words[0] = copied.head().without(slot).0;
                }
            }
        }
    }

    /// Drops what a crash left half: records of which only the head arrived, and the second copy of one that was being
    /// moved.
    pub(super) fn drop_halves(&mut self) {
        for copied in &mut self.buckets {
            let (head, witness) = (copied.head(), copied.head().witness());
            let lost = |slot: usize| head.slots() >> slot & 1 == 1 && !witness.confirms(copied.words[key_word(slot)]);
            let lost = witness.slot().filter(|&slot| slot < SLOTS && lost(slot));
            copied.words[0] = lost.map_or(head, |slot| head.without(slot)).without_witness().0;
        }
        let mut seen = HashSet::new();
        for (slot, record) in self.records() {
            // Entries that two records lead to are one entry, whose block stays.
            let identity = if record.pointer { record.value } else { record.key };
            if !seen.insert((record.pointer, identity)) {
                self.drop_slot(slot);
            }
        }
    }

    /// Copies records out of stash and chain to where there is room for them; their originals stay.
    pub(super) fn copy_out(&mut self) -> Vec<(Slot, Slot)> {
        let overflowed = self.slots(self.normal()..self.buckets.len());
        let copy = |(slot, record): (Slot, Record)| self.put_into_bucket(&record).map(|to| (slot, to));
        overflowed.into_iter().filter_map(copy).collect()
    }

    /// Drops the originals of what was copied, and writes down anew what overflowed.
    pub(super) fn finish(&mut self, copied: &[(Slot, Slot)]) {
        copied.iter().for_each(|&(from, _)| self.drop_slot(from));
        let normal = self.normal();
        for bucket in &mut self.buckets[..normal] {
            bucket.words[0] = bucket.head().without_any_overflow().0;
        }
        for ((bucket, _), record) in self.slots(normal..self.buckets.len()) {
            let stash = (bucket - normal) as u64;
            self.note_overflow(record.hash(), (stash < self.shape.stash).then_some(stash));
        }
    }

    fn note_overflow(&mut self, hash: Hash, stash: Option<u64>) {
        let home = &mut self.buckets[hash.bucket(self.shape.buckets) as usize];
        let (head, index) = home.head().with_overflow(stash);
        home.words[0] = head.0;
        if let Some(index) = index {
            home.set_fingerprint(SLOTS + index, hash);
        }
    }

    /// Puts a record into its home or the next bucket, where there is room.
    fn put_into_bucket(&mut self, record: &Record) -> Option<Slot> {
        let home = record.hash().bucket(self.shape.buckets);
        let (own, next) = (home as usize, self.shape.next(home) as usize);
        let guest = self.buckets[own].head().count() > self.buckets[next].head().count();
        let bucket = if guest { next } else { own };
        self.put(bucket, record, guest).map(|slot| (bucket, slot))
    }

    /// Puts a record wherever there is room, as an insertion would.
    pub(super) fn put_anywhere(&mut self, record: &Record) -> bool {
        let stash = self.normal()..self.normal() + self.shape.stash as usize;
        self.put_into_bucket(record).is_some()
            || stash.into_iter().any(|bucket| self.put(bucket, record, false).is_some())
    }

    fn put(&mut self, bucket: usize, record: &Record, guest: bool) -> Option<usize> {
        let copied = &mut self.buckets[bucket];
        let slot = copied.head().free_slot(record.hash().fingerprint())?;
        copied.words[key_word(slot)] = record.key;
        copied.words[key_word(slot) + 1] = record.value;
        copied.set_fingerprint(slot, record.hash());
        copied.words[0] = copied.head().with(slot, guest, record.pointer, Witness::NONE).0;
        Some(slot)
    }

    /// What another segment with these records, and no chain, would be; none where they do not all fit.
    pub(super) fn without_chain(mut self, wanted: impl Fn(Hash) -> bool) -> Option<Self> {
        self.keep(wanted);
        let base = self.normal() + self.shape.stash as usize;
        let chained = self.slots(base..self.buckets.len());
        self.buckets.truncate(base);
        let copied = self.copy_out();
        self.finish(&copied);
        let all_fit = chained.iter().all(|(_, record)| self.put_anywhere(record));
        self.finish(&[]);
        all_fit.then_some(self)
    }
}
