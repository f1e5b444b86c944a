//! Bringing a segment in order: after a crash, and after a half of it went elsewhere.
//!
//! 1. Records that are not to be here are dropped; fence, so that their slots are free before they are used.
//! 2. Records in stash and chain are copied to buckets that have room; fence.
//! 3. The buckets' heads show the copies; fence.
//! 4. The originals are dropped, and the heads say what overflows now; fence.
//!
//! A crash between any two leaves a segment that the same steps bring in order.

use std::sync::PoisonError;

use assay_pmem::{Medium, Offset, PmemError};

use super::{
    bucket::{BUCKET_BYTES, LOCK, WORDS, key_word},
    directory::Directory,
    geometry::{CHAIN, CHAINED_BYTES, IDENTITY},
    hash::Hash,
    image::{Image, Slot},
    table::{Dash, REPAIRS},
};

impl<M: Medium, D: Directory> Dash<M, D> {
    /// Repairs a segment that nobody has touched since the last crash.
    #[cold]
    #[inline(never)]
    pub(super) fn repair(&self, segment: u64) {
        let lock = &self.repairing[(segment / BUCKET_BYTES) as usize % REPAIRS];
        let _alone = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_repaired(segment) {
            return;
        }
        let before = Image::of(self, segment);
        let mut image = before.clone();
        image.drop_halves();
        self.settle(&before, image, |hash| D::belongs(self, segment, hash));
        self.stamp(segment);
    }

    /// Drops what does not belong, and lets what overflowed use the room. `image` is the segment as it is to be, of which
    /// `before` is persistent memory; nobody else reads or writes it.
    pub(super) fn settle(&self, before: &Image, mut image: Image, wanted: impl Fn(Hash) -> bool) {
        image.keep(wanted);
        if self.write_heads(before, &image) {
            self.medium().fence(); // dropped records' slots are free
        }
        let dropped = image.clone();
        let copied = image.copy_out();
        if !copied.is_empty() {
            self.write_records(&image, &copied);
            self.medium().fence(); // copies durable
            self.write_heads(&dropped, &image);
            self.medium().fence(); // copies shown
        }
        let shown = image.clone();
        image.finish(&copied);
        if self.write_heads(&shown, &image) {
            self.medium().fence(); // originals dropped
        }
    }

    /// Heads and fingerprints of buckets that differ, flushed; whether there were any.
    fn write_heads(&self, before: &Image, after: &Image) -> bool {
        let mut any = false;
        for (old, new) in before.buckets.iter().zip(&after.buckets) {
            // The head goes last, so that it never shows a slot without its fingerprint.
            for word in [1, 2, 0].into_iter().filter(|&word| old.words[word] != new.words[word]) {
                self.medium().store(new.at + word as u64 * 8, new.words[word]);
                any = true;
            }
            if old.words[..3] != new.words[..3] {
                self.medium().flush(new.at, 24); // heads
            }
        }
        any
    }

    fn write_records(&self, image: &Image, copied: &[(Slot, Slot)]) {
        for &(_, (bucket, slot)) in copied {
            let (place, target) = (key_word(slot), &image.buckets[bucket]);
            let at = target.at + place as u64 * 8;
            self.medium().store(at, target.words[place]);
            self.medium().store(at + 8, target.words[place + 1]);
            self.medium().flush(at, 16); // copies
        }
    }

    /// Writes a new segment, its buckets locked: durable after the next fence.
    pub(super) fn write_segment(&self, segment: u64, identity: u64, image: &Image) {
        let mut header = [0; WORDS];
        header[IDENTITY as usize / 8] = identity;
        write_block(self.medium(), segment, &header);
        for (copied, at) in image.buckets.iter().zip(self.own_buckets(segment)) {
            let mut words = copied.words;
            words[LOCK as usize / 8] = self.born_locked();
            write_block(self.medium(), at, &words);
        }
    }

    /// Gives a segment's chain back if nothing is left in it; the segment is locked.
    ///
    /// # Errors
    /// Where the pool's tables are damaged.
    pub(super) fn drop_empty_chain(&self, segment: u64) -> Result<(), PmemError> {
        let blocks: Vec<u64> = self.chain(segment).collect();
        let empty = self.chained_buckets(segment).all(|bucket| self.head(bucket).slots() == 0);
        if blocks.is_empty() || !empty || blocks.len() >= assay_pmem::MOST_CHANGES {
            return Ok(());
        }
        let mut transaction = self.pool().begin();
        transaction.set(Offset::new(segment + CHAIN), 0)?;
        for block in blocks {
            transaction.free(Offset::<u64>::new(block))?;
        }
        transaction.commit();
        Ok(())
    }

    /// Chains another stash to a segment. Nobody else changes chains: the caller has the lock of the structure.
    ///
    /// # Errors
    /// Where the pool is full.
    pub(super) fn lengthen_chain(&self, segment: u64) -> Result<(), PmemError> {
        let mut transaction = self.pool().begin();
        let block: Offset<u64> = transaction.alloc(CHAINED_BYTES as usize)?;
        for index in 0..CHAINED_BYTES / BUCKET_BYTES {
            let mut words = [0; WORDS];
            match index {
                0 => words[CHAIN as usize / 8] = self.chain(segment).next().unwrap_or(0),
                _ => words[LOCK as usize / 8] = self.now,
            }
            write_block(self.medium(), block.raw() + index * BUCKET_BYTES, &words);
        }
        transaction.set(Offset::new(segment + CHAIN), block.raw())?;
        transaction.commit();
        Ok(())
    }
}

/// Writes a block of the media around the caches, which need not read first what is written whole: durable after the
/// next fence.
#[track_caller]
#[inline(always)]
pub(super) fn write_block(medium: &impl Medium, at: u64, words: &[u64; WORDS]) {
    let bytes = words.map(u64::to_ne_bytes);
    medium.stream(at, bytes.as_flattened()); // block written
}
