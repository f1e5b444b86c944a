//! Changes of one record.

use std::ops::Deref;

use assay_pmem::{Guard, Medium, PmemError, Pool, pin};

use super::{
    key::Key,
    leaf::{Leaf, LeafStatus, Slot, TailSearch},
    meta::{Meta, word_value},
    node::HEADER,
    progress::Progress,
    put::{Mode, Put},
    session::BzSession,
};
use crate::{error::IndexError, patience::has_room_now, pmwcas::DIRTY};

/// How far an attempt in one leaf came.
enum Attempt {
    /// The operation is done: whether a record was added; none where nothing changed.
    Done(Option<bool>),
    /// The leaf has no room, or is being replaced: it has to be before the operation can go on.
    Stuck,
}

impl<M: Medium, P: Deref<Target = Pool<M>>> BzSession<'_, P> {
    /// Whether a record was added (`true`) or changed (`false`); none where nothing changed.
    pub(super) fn put(&mut self, put: &Put<'_>) -> Result<Option<bool>, IndexError> {
        match self.try_put(put) {
            // Full of nodes that were replaced, while another thread sleeps that is pinned: it was pinned itself until now.
            Err(refused) if has_room_now(&refused) => self.try_put(put),
            answer => answer,
        }
    }

    fn try_put(&mut self, put: &Put<'_>) -> Result<Option<bool>, IndexError> {
        loop {
            let guard = pin();
            let leaf = self.tree.leaf_of(&self.worker, &put.key)?;
            let at = leaf.0.at;
            match put_into(&leaf, put)? {
                Attempt::Done(answer) => return Ok(answer),
                Attempt::Stuck => self.make_room(&put.key, at, put.words(), guard)?,
            }
        }
    }

    /// Removes a key; whether it was there.
    pub(super) fn take(&mut self, key: &Key<'_>) -> Result<bool, IndexError> {
        loop {
            let guard = pin();
            let leaf = self.tree.leaf_of(&self.worker, key)?;
            let at = leaf.0.at;
            match take_from(&leaf, key)? {
                Attempt::Done(answer) => {
                    if answer.is_some() && holds_little(&leaf) {
                        // The record is gone; a leaf that cannot be made smaller now will be another time.
                        match self.restructure(key, at, 0, &guard) {
                            Ok(_) | Err(IndexError::Pmem(PmemError::Full { .. })) => {}
                            Err(error) => return Err(error),
                        }
                    }
                    return Ok(answer.is_some());
                }
                Attempt::Stuck => self.make_room(key, at, 0, guard)?,
            }
        }
    }

    /// Replaces a leaf in which an operation is stuck.
    #[cold]
    fn make_room(&mut self, key: &Key<'_>, leaf: u64, words: usize, guard: Guard) -> Result<(), IndexError> {
        let progress = self.restructure(key, leaf, words, &guard)?;
        drop(guard);
        if progress == Progress::Busy {
            // Descriptors are given back when those who were pinned are not any more, this thread among them.
            pin().flush();
            std::thread::yield_now();
        }
        Ok(())
    }
}

/// Most of a leaf is gone.
fn holds_little<M: Medium>(leaf: &Leaf<'_, M>) -> bool {
    let (status, shape) = (leaf.status(), leaf.0.shape);
    let used = (status.block_words() + status.records()).saturating_sub(HEADER + shape.tail);
    2 * status.deleted_words() > used
}

fn put_into<M: Medium>(leaf: &Leaf<'_, M>, put: &Put<'_>) -> Result<Attempt, IndexError> {
    let mut found = leaf.find_sorted(&put.key)?;
    let mut end = HEADER;
    if found.is_none() {
        match leaf.find_in_tail(&put.key, HEADER)? {
            TailSearch::Found(slot) => found = Some(slot),
            TailSearch::Ends(word) => end = word,
        }
    }
    match (found, put.mode) {
        (Some(_), Mode::Insert) | (None, Mode::Update) => Ok(Attempt::Done(None)),
        (Some(slot), _) => change(leaf, put, slot),
        (None, _) => append(leaf, put, end),
    }
}

/// A new record at the end of the tail, which is at `end` or beyond it.
fn append<M: Medium>(leaf: &Leaf<'_, M>, put: &Put<'_>, mut end: usize) -> Result<Attempt, IndexError> {
    let medium = leaf.0.medium;
    if end == leaf.tail_end() || leaf.meta(end).is_sealed() {
        return Ok(Attempt::Stuck);
    }
    let Some(meta) = store(leaf, put, 1) else { return Ok(Attempt::Stuck) };
    leaf.flush_tail(HEADER, end);
    medium.fence(); // new record durable, and those before it
    loop {
        let place = leaf.0.place(end);
        if medium.compare_exchange(place, 0, meta.0 | DIRTY).is_ok() {
            publish(leaf, Slot { word: end, meta });
            return Ok(Attempt::Done(Some(true)));
        }
        // Others were faster. Their records come first, and one of them may have the key.
        let before = end;
        match leaf.find_in_tail(&put.key, end)? {
            TailSearch::Found(slot) if put.mode == Mode::Upsert => return change(leaf, put, slot),
            TailSearch::Found(_) => return Ok(Attempt::Done(None)),
            TailSearch::Ends(word) => end = word,
        }
        if end == leaf.tail_end() || leaf.meta(end).is_sealed() {
            return Ok(Attempt::Stuck);
        }
        if leaf.flush_tail(before, end) {
            medium.fence(); // records of others durable
        }
    }
}

/// Another value for a record: in its word where both values are words, else elsewhere in the leaf.
fn change<M: Medium>(leaf: &Leaf<'_, M>, put: &Put<'_>, slot: Slot) -> Result<Attempt, IndexError> {
    let mut slot = slot;
    let mut elsewhere = None;
    loop {
        if slot.meta.is_sealed() {
            return Ok(Attempt::Stuck);
        }
        if let (true, Some(value)) = (slot.meta.value_in_word(), word_value(put.value)) {
            return Ok(change_word(leaf, slot.meta.offset(), value));
        }
        let meta = match elsewhere {
            Some(meta) => meta,
            None => {
                let Some(meta) = store(leaf, put, 0) else { return Ok(Attempt::Stuck) };
                leaf.0.medium.fence(); // new value durable
                *elsewhere.insert(meta)
            }
        };
        // It was settled when it was found, so the word is as it was seen but for the dirty bit.
        let seen = Meta(slot.meta.0 & !DIRTY);
        if leaf.0.medium.compare_exchange(leaf.0.place(slot.word), seen.0, meta.0 | DIRTY).is_ok() {
            publish(leaf, Slot { word: slot.word, meta });
            count_deleted(leaf, 1 + slot.meta.data_words());
            return Ok(Attempt::Done(Some(false)));
        }
        match leaf.find(&put.key)? {
            Some(now) => slot = now,
            // It was removed in the meantime: the change came just before that. Its bytes are in nobody's way.
            None => return Ok(Attempt::Done(Some(false))),
        }
    }
}

/// Another value in a record's word.
fn change_word<M: Medium>(leaf: &Leaf<'_, M>, word: usize, value: u64) -> Attempt {
    let (medium, place) = (leaf.0.medium, leaf.0.place(word));
    loop {
        let seen = leaf.meta(word);
        if seen.is_sealed() {
            return Attempt::Stuck;
        }
        if medium.compare_exchange(place, seen.0, value | DIRTY).is_ok() {
            medium.flush(place, 8); // value changed in its word
            medium.fence(); // value durable in its word
            let _ = medium.compare_exchange(place, value | DIRTY, value);
            return Attempt::Done(Some(false));
        }
    }
}

fn take_from<M: Medium>(leaf: &Leaf<'_, M>, key: &Key<'_>) -> Result<Attempt, IndexError> {
    loop {
        let Some(slot) = leaf.find(key)? else { return Ok(Attempt::Done(None)) };
        if slot.meta.is_sealed() {
            return Ok(Attempt::Stuck);
        }
        let (live, dead) = (Meta(slot.meta.0 & !DIRTY), slot.meta.plain().dead());
        if leaf.0.medium.compare_exchange(leaf.0.place(slot.word), live.0, dead.0 | DIRTY).is_ok() {
            publish(leaf, Slot { word: slot.word, meta: dead });
            count_deleted(leaf, leaf.record_words(slot));
            return Ok(Attempt::Done(Some(true)));
        }
    }
}

/// Reserves space and copies head, value and rest there, flushed: durable after the next fence, and so is the
/// reservation. None where there is no space.
fn store<M: Medium>(leaf: &Leaf<'_, M>, put: &Put<'_>, records: usize) -> Option<Meta> {
    let medium = leaf.0.medium;
    let words = put.words();
    let begin = reserve(leaf, words, records)?;
    medium.store(leaf.0.place(begin), put.key.head);
    match word_value(put.value) {
        Some(value) => medium.store(leaf.0.place(begin + 1), value),
        None => medium.write(leaf.0.place(begin + 1), put.value),
    }
    if !put.key.rest().is_empty() {
        medium.write(leaf.0.place(begin + 1 + put.meta.value_words()), put.key.rest());
    }
    medium.flush(leaf.0.place(begin), words * 8); // bytes of a record
    medium.flush(leaf.0.place(0), 8); // reservation
    Some(put.meta.at(begin + 1))
}

/// Space at the end of the data; none where there is not enough, or the leaf is frozen.
fn reserve<M: Medium>(leaf: &Leaf<'_, M>, words: usize, records: usize) -> Option<usize> {
    loop {
        let status = leaf.status();
        let begin = status.block_words();
        if status.is_frozen() || begin + words > leaf.0.shape.words {
            return None;
        }
        let next = status.reserved(words, records);
        if leaf.0.medium.compare_exchange(leaf.0.at, status.0, next.0).is_ok() {
            return Some(begin);
        }
    }
}

/// Makes a word durable that was stored dirty, and clean.
fn publish<M: Medium>(leaf: &Leaf<'_, M>, slot: Slot) {
    let (medium, place) = (leaf.0.medium, leaf.0.place(slot.word));
    medium.flush(place, 8); // record published
    medium.fence(); // record durably published
    // Whoever met it dirty may have been faster.
    let _ = medium.compare_exchange(place, slot.meta.0 | DIRTY, slot.meta.0);
}

/// Counts words as gone. Not durable: it only says when a leaf is worth replacing.
fn count_deleted<M: Medium>(leaf: &Leaf<'_, M>, words: usize) {
    loop {
        let status = leaf.status();
        let next = LeafStatus::deleted(status, words);
        if status.is_frozen() || leaf.0.medium.compare_exchange(leaf.0.at, status.0, next.0).is_ok() {
            return;
        }
    }
}
