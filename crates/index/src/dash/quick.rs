//! The lookup that most are: a key of 8 bytes, a value that lies beside it, and both in one of the key's two buckets.
//!
//! It reads what [`Dash::find`] reads, in that order, and builds nothing that only changes need. So short a loop lets the
//! CPU begin the next lookup while it waits for the memory of this one. Whatever is not so simple is left to `find`.

use std::{
    ptr,
    sync::atomic::{
        Ordering::{Acquire, Relaxed},
        fence,
    },
};

use assay_pmem::Medium;

use super::{
    bucket::{BucketHead, LOCK, SLOTS, Words, home_word, key_word, matches},
    directory::Directory,
    find::{HEAD_BYTES, ask_for},
    geometry::Home,
    hash::Hash,
    lock::LOCKED,
    table::Dash,
};

/// The lock word of a bucket.
const VERSION: usize = LOCK as usize / 8;
/// Overflow fingerprints among the bits of [`matches`].
const OVERFLOWED: u32 = 3 << SLOTS;

/// What a quick look came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quick {
    /// The value.
    Found(u64),
    /// The key is not there.
    Missing,
    /// That takes a closer look: somebody writes, the segment is to be repaired, or a stash or an entry has to be asked.
    Unsure,
}

/// Where a key of 8 bytes lies in its two buckets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looked<'t> {
    /// The bucket, the slot and the bucket's words.
    pub(super) found: Option<(u64, usize, &'t Words)>,
    /// The key may lie elsewhere, or the record be an entry.
    pub(super) unsure: bool,
}

/// The two buckets of a key, and their words.
#[derive(Clone, Copy)]
struct Pair<'t> {
    home: Home,
    own: &'t Words,
    next: &'t Words,
}

impl<M: Medium, D: Directory> Dash<M, D> {
    /// Looks a key of 8 bytes up.
    #[inline(always)]
    pub(super) fn quick(&self, word: u64, hash: Hash) -> Quick {
        let spot = D::locate(self, hash);
        let pair = self.pair(self.shape.home(spot.segment, hash));
        let Pair { own, next, .. } = pair;
        let line = home_word(hash.fingerprint());
        ask_for(own, line);
        ask_for(next, line);
        let versions = (own[VERSION].load(Acquire), next[VERSION].load(Acquire));
        if !self.is_open(versions) || !D::still(self, hash, spot) {
            return Quick::Unsure;
        }
        let looked = self.look_into(pair, word, hash);
        let value = looked.found.map(|(_, slot, words)| words[key_word(slot) + 1].load(Relaxed));
        fence(Acquire);
        let unchanged = own[VERSION].load(Relaxed) == versions.0 && next[VERSION].load(Relaxed) == versions.1;
        match value {
            _ if !unchanged => Quick::Unsure,
            Some(value) => Quick::Found(value),
            None if looked.unsure => Quick::Unsure,
            None => Quick::Missing,
        }
    }

    /// Whether neither of two buckets is locked or to be repaired.
    #[inline(always)]
    fn is_open(&self, versions: (u64, u64)) -> bool {
        (versions.0 | versions.1) & LOCKED == 0 && versions.0.min(versions.1) >= self.floor
    }

    /// Looks into the two buckets, whoever changes them meanwhile.
    #[inline(always)]
    pub(super) fn look(&self, home: &Home, word: u64, hash: Hash) -> Looked<'_> {
        self.look_into(self.pair(*home), word, hash)
    }

    #[inline(always)]
    fn pair(&self, home: Home) -> Pair<'_> {
        let (own, next) = self.buckets(&home);
        Pair { home, own, next }
    }

    #[inline(always)]
    fn look_into<'t>(&self, pair: Pair<'t>, word: u64, hash: Hash) -> Looked<'t> {
        let Pair { home, own, next } = pair;
        self.medium().reads(home.own, HEAD_BYTES);
        self.medium().reads(home.next, HEAD_BYTES);
        let (own_head, next_head) = (BucketHead(own[0].load(Relaxed)), BucketHead(next[0].load(Relaxed)));
        let in_own = matches(own, hash.fingerprint()) & own_head.in_use();
        let own_matches = in_own & own_head.slots() & !own_head.guests();
        let next_matches = matches(next, hash.fingerprint()) & next_head.slots() & next_head.guests();
        let mut all = own_matches | next_matches << 16;
        while all != 0 {
            let slot = all.trailing_zeros() as usize;
            // In which of the two a record lies is a coin's throw, on which no branch should depend.
            let which = (slot as u64 >> 4 & 1).wrapping_neg();
            let bucket = home.own ^ (home.own ^ home.next) & which;
            let words = pair.words(which as usize);
            self.reads_record(bucket, slot & 15);
            // What an entry by pointer has in the place of a key is its hash, which may be any word.
            if words[key_word(slot & 15)].load(Relaxed) == word
                && !BucketHead(words[0].load(Relaxed)).is_pointer(slot & 15)
            {
                return Looked { found: Some((bucket, slot & 15, words)), unsure: false };
            }
            all &= all - 1;
        }
        let by_pointer = own_matches & own_head.pointers() | next_matches & next_head.pointers();
        Looked { found: None, unsure: by_pointer != 0 || in_own & OVERFLOWED != 0 || own_head.others() != 0 }
    }
}

impl<'t> Pair<'t> {
    /// Those of the key's own bucket, or where all bits of `which` are set those of the next one.
    #[inline(always)]
    fn words(&self, which: usize) -> &'t Words {
        let (own, next) = (ptr::from_ref(self.own), ptr::from_ref(self.next).addr());
        let chosen = own.map_addr(|own| own ^ (own ^ next) & which);
        // SAFETY: one of two references, into the same medium.
        unsafe { &*chosen }
    }
}

const _: () = assert!(SLOTS <= 16, "matches of two buckets share a word");
