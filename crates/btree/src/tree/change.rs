//! Changing one entry.

use std::cell::Cell;

use assay_buffer::{Attempt, Exclusive, PageId, Worker, Writing};

use super::{Finger, Tree, chain};
use crate::{
    TreeError,
    node::{Found, NodeMut, Value, View},
};

/// After so many updates of a leaf it is asked whether they were in each other's way.
const UPDATES_PER_QUESTION: u16 = 256;
/// They were, where more than one in this many had to wait.
const SLOW_ONE_IN: u16 = 8;

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It stays as it is, or away.
    Keep,
    /// It has the value in the buffer.
    Put,
    /// It goes.
    Remove,
}

/// Decides on an entry: gets the value, if there is one, and an empty buffer for the new one.
pub type Decide<'a> = dyn FnMut(Option<&[u8]>, &mut Vec<u8>) -> Change + 'a;

/// What an attempt to change an entry came to.
enum Step {
    Done {
        change: Change,
        chain: PageId,
        used: bool,
        sparse: bool,
        split: Option<usize>,
    },
    /// The value in the buffer wants pages of its own.
    NeedsChain,
    /// The leaf has no room for so many bytes.
    NeedsRoom(usize),
}

/// A value that was written to pages of its own.
struct Prepared {
    first: PageId,
    value: Vec<u8>,
}

/// Where a value is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Where the key is not there yet.
    Absent,
    /// Where the key is there.
    There,
    /// In either case.
    Always,
}

/// One change that is being made.
struct Wish<'a, 'd> {
    key: &'a [u8],
    /// The new value where that is known before the old one.
    value: Option<&'a [u8]>,
    /// Old values in pages of their own are read.
    whole: bool,
    decide: &'a mut Decide<'d>,
}

impl Tree {
    /// Puts a value, and says what became of the entry: [`Change::Put`], or [`Change::Keep`] where `when` does not hold.
    ///
    /// # Errors
    /// Where key or value do not fit, a page cannot be read, or there is no space: nothing changed.
    pub fn put(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        (key, value): (&[u8], &[u8]),
        when: When,
    ) -> Result<Change, TreeError> {
        let mut decide = |old: Option<&[u8]>, _: &mut Vec<u8>| match (when, old) {
            (When::Absent, Some(_)) | (When::There, None) => Change::Keep,
            _ => Change::Put,
        };
        self.check_value(value.len())?;
        let mut wish = Wish { key, value: Some(value), whole: false, decide: &mut decide };
        self.alter_entry(worker, writing, &mut wish, &mut Finger::default())
    }

    /// Adds an entry; `false` where the key is there already, and nothing changed.
    ///
    /// # Errors
    /// As [`Tree::put`].
    pub fn insert(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        new: &[u8],
    ) -> Result<bool, TreeError> {
        Ok(self.put(worker, writing, (key, new), When::Absent)? == Change::Put)
    }

    /// Changes the value of a key; `false` where the key is not there.
    ///
    /// # Errors
    /// As [`Tree::put`].
    pub fn update(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        new: &[u8],
    ) -> Result<bool, TreeError> {
        Ok(self.put(worker, writing, (key, new), When::There)? == Change::Put)
    }

    /// Puts a value whatever is there. `replaced` gets the old one, if there is one; it may be called several times, and the
    /// last call counts. The search begins at the finger, which points to the key's leaf afterwards.
    ///
    /// # Errors
    /// As [`Tree::put`].
    pub fn replace(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        (key, value): (&[u8], &[u8]),
        finger: &mut Finger,
        replaced: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), TreeError> {
        self.check_value(value.len())?;
        let mut decide = |old: Option<&[u8]>, _: &mut Vec<u8>| {
            replaced(old);
            Change::Put
        };
        let mut wish = Wish { key, value: Some(value), whole: true, decide: &mut decide };
        self.alter_entry(worker, writing, &mut wish, finger).map(drop)
    }

    /// Adds an entry or changes its value; `true` where it was added.
    ///
    /// # Errors
    /// As [`Tree::put`].
    pub fn upsert(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        new: &[u8],
    ) -> Result<bool, TreeError> {
        self.check_value(new.len())?;
        let added = Cell::new(false);
        let mut decide = |old: Option<&[u8]>, _: &mut Vec<u8>| {
            added.set(old.is_none());
            Change::Put
        };
        let mut wish = Wish { key, value: Some(new), whole: false, decide: &mut decide };
        self.alter_entry(worker, writing, &mut wish, &mut Finger::default())?;
        Ok(added.get())
    }

    /// Removes a key; `false` where it is not there.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub fn remove(&self, worker: &Worker<'_>, writing: &Writing<'_>, key: &[u8]) -> Result<bool, TreeError> {
        let mut decide =
            |old: Option<&[u8]>, _: &mut Vec<u8>| if old.is_some() { Change::Remove } else { Change::Keep };
        let mut wish = Wish { key, value: None, whole: false, decide: &mut decide };
        Ok(self.alter_entry(worker, writing, &mut wish, &mut Finger::default())? == Change::Remove)
    }

    /// Decides on an entry with its value in view, nobody else between: `decide` gets the value, if there is one, and an
    /// empty buffer for the new one. It may be called several times, the last call counts, so it has no other effects.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub fn alter(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        decide: &mut Decide<'_>,
    ) -> Result<Change, TreeError> {
        let mut wish = Wish { key, value: None, whole: true, decide };
        self.alter_entry(worker, writing, &mut wish, &mut Finger::default())
    }

    fn alter_entry(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        wish: &mut Wish<'_, '_>,
        finger: &mut Finger,
    ) -> Result<Change, TreeError> {
        self.check_key(wish.key)?;
        let mut prepared: Option<Prepared> = None;
        let result = self.alter_until_done(worker, writing, wish, finger, &mut prepared);
        if let Some(unused) = prepared {
            chain::free(worker, writing, unused.first)?;
        }
        result
    }

    fn alter_until_done(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        wish: &mut Wish<'_, '_>,
        finger: &mut Finger,
        prepared: &mut Option<Prepared>,
    ) -> Result<Change, TreeError> {
        let mut buffer = Vec::new();
        let mut slow = false;
        loop {
            let step = worker.retry(|| {
                buffer.clear();
                let (leaf, known) = self.leaf_at(worker, wish.key, *finger)?;
                let leaf = leaf.lock(writing).inspect_err(|_| slow = true)?;
                // It is as it was seen: the slot still has the key.
                let found = known.map_or_else(|| View(leaf.view()).find(wish.key), |slot| Found { slot, exact: true });
                *finger = Finger { page: leaf.page(), version: leaf.version(), slot: found.slot as u16 };
                self.try_alter(worker, (leaf, found), wish, prepared.as_ref(), &mut buffer, slow)
            })?;
            match step {
                Step::NeedsRoom(bytes) => self.split(worker, writing, wish.key, 0, bytes, None)?,
                Step::NeedsChain => {
                    let value = wish.value.unwrap_or(&buffer);
                    self.check_value(value.len())?;
                    if let Some(old) = prepared.take() {
                        chain::free(worker, writing, old.first)?;
                    }
                    let first = chain::write(worker, writing, value)?;
                    *prepared = Some(Prepared { first, value: value.to_vec() });
                }
                Step::Done { change, chain, used, sparse, split } => {
                    if used {
                        *prepared = None;
                    }
                    self.tidy_up(worker, writing, wish.key, chain, sparse, split)?;
                    return Ok(change);
                }
            }
        }
    }

    /// What is left to do after an entry was changed.
    fn tidy_up(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        chain: PageId,
        sparse: bool,
        split: Option<usize>,
    ) -> Result<(), TreeError> {
        chain::free(worker, writing, chain)?;
        if sparse {
            self.merge(worker, writing, key, 0)?;
        }
        if split.is_some() {
            self.split(worker, writing, key, 0, 0, split)?;
        }
        Ok(())
    }

    /// One attempt on a leaf that is held.
    fn try_alter(
        &self,
        worker: &Worker<'_>,
        (mut leaf, found): (Exclusive<'_>, Found),
        wish: &mut Wish<'_, '_>,
        prepared: Option<&Prepared>,
        buffer: &mut Vec<u8>,
        slow: bool,
    ) -> Attempt<Step> {
        let key = wish.key;
        let view = View(leaf.view());
        let old = found.exact.then(|| view.value(found.slot));
        let mut whole_value = Vec::new();
        let (change, chain) = match old {
            None => ((wish.decide)(None, buffer), 0),
            Some(Value::Here(bytes)) => ((wish.decide)(Some(bytes), buffer), 0),
            Some(Value::Elsewhere { bytes, first }) => {
                if wish.whole {
                    chain::read(worker, first, bytes, &mut whole_value)?;
                }
                ((wish.decide)(Some(&whole_value), buffer), first)
            }
        };
        let done = |change, chain, used, sparse, split| Ok(Step::Done { change, chain, used, sparse, split });
        match change {
            Change::Keep => done(change, 0, false, false, None),
            Change::Remove if old.is_none() => done(Change::Keep, 0, false, false, None),
            Change::Remove => {
                let mut node = NodeMut(leaf.bytes_mut());
                node.remove(found.slot);
                let sparse = node.view().used_bytes() < self.room() / 4;
                done(change, chain, false, sparse, None)
            }
            Change::Put => {
                let new = wish.value.unwrap_or(buffer);
                let small = self.is_small(key.len(), new.len());
                let reference = prepared.filter(|prepared| !small && prepared.value == new);
                let value = match reference {
                    Some(prepared) => Value::Elsewhere { bytes: new.len() as u32, first: prepared.first },
                    None if small => Value::Here(new),
                    None => return Ok(Step::NeedsChain),
                };
                let mut node = NodeMut(leaf.bytes_mut());
                let fits =
                    if found.exact { node.replace(found.slot, value) } else { node.insert(found.slot, key, value) };
                if !fits {
                    return Ok(Step::NeedsRoom(NodeMut::leaf_entry_bytes(key.len(), value)));
                }
                let split = note_update(&mut leaf, found.slot, slow);
                done(change, chain, reference.is_some(), false, split)
            }
        }
    }
}

/// Writes down an update of a leaf. Where many had to wait for each other though they were at different places, the leaf is
/// to be split between the places.
#[inline]
fn note_update(leaf: &mut Exclusive<'_>, slot: usize, waited: bool) -> Option<usize> {
    let mut node = NodeMut(leaf.bytes_mut());
    let (updates, slow, last) = node.view().contention();
    let (updates, slow) = (updates + 1, slow + u16::from(waited));
    if updates < UPDATES_PER_QUESTION {
        node.set_contention((updates, slow, slot as u16));
        return None;
    }
    node.set_contention((0, 0, slot as u16));
    let contended = slow > updates / SLOW_ONE_IN && last as usize != slot;
    contended.then(|| slot.max(last as usize)).filter(|&at| at > 0 && at < node.view().count())
}
