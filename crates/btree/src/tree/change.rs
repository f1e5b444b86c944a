//! Changing one entry.

use std::cell::Cell;

use assay_buffer::{Attempt, Exclusive, PageId, Worker, Writing};

use super::{Tree, chain};
use crate::{
    TreeError,
    node::{NodeMut, Value, View},
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

impl Tree {
    /// Adds an entry; `false` where the key is there already, and nothing changed.
    ///
    /// # Errors
    /// Where key or value do not fit, a page cannot be read, or there is no space: nothing changed.
    pub fn insert(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool, TreeError> {
        let done = self.put_if(worker, writing, key, value, |there| !there)?;
        Ok(done == Change::Put)
    }

    /// Changes the value of a key; `false` where the key is not there.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub fn update(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool, TreeError> {
        let done = self.put_if(worker, writing, key, value, |there| there)?;
        Ok(done == Change::Put)
    }

    /// Adds an entry or changes its value; `true` where it was added.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub fn upsert(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool, TreeError> {
        let added = Cell::new(false);
        self.put_if(worker, writing, key, value, |there| {
            added.set(!there);
            true
        })?;
        Ok(added.get())
    }

    /// Removes a key; `false` where it is not there.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub fn remove(&self, worker: &Worker<'_>, writing: &Writing<'_>, key: &[u8]) -> Result<bool, TreeError> {
        let mut decide =
            |old: Option<&[u8]>, _: &mut Vec<u8>| if old.is_some() { Change::Remove } else { Change::Keep };
        Ok(self.alter_entry(worker, writing, key, false, &mut decide)? == Change::Remove)
    }

    fn put_if(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        value: &[u8],
        wanted: impl Fn(bool) -> bool,
    ) -> Result<Change, TreeError> {
        self.check_value(value.len())?;
        self.alter_entry(worker, writing, key, false, &mut |old, buffer| {
            if !wanted(old.is_some()) {
                return Change::Keep;
            }
            buffer.extend_from_slice(value);
            Change::Put
        })
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
        self.alter_entry(worker, writing, key, true, decide)
    }

    /// As [`Tree::alter`]; values in pages of their own are read only where `whole` asks for it.
    fn alter_entry(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        whole: bool,
        decide: &mut Decide<'_>,
    ) -> Result<Change, TreeError> {
        self.check_key(key)?;
        let mut prepared: Option<Prepared> = None;
        let result = self.alter_until_done(worker, writing, key, whole, decide, &mut prepared);
        if let Some(unused) = prepared {
            chain::free(worker, writing, unused.first)?;
        }
        result
    }

    fn alter_until_done(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        whole: bool,
        decide: &mut Decide<'_>,
        prepared: &mut Option<Prepared>,
    ) -> Result<Change, TreeError> {
        let mut buffer = Vec::new();
        let mut tries = 0_u32;
        loop {
            let step = worker.retry(|| {
                tries += 1;
                buffer.clear();
                self.try_alter(worker, writing, key, whole, decide, prepared.as_ref(), &mut buffer, tries > 1)
            })?;
            match step {
                Step::NeedsRoom(bytes) => self.split(worker, writing, key, 0, bytes, None)?,
                Step::NeedsChain => {
                    self.check_value(buffer.len())?;
                    if let Some(old) = prepared.take() {
                        chain::free(worker, writing, old.first)?;
                    }
                    let first = chain::write(worker, writing, &buffer)?;
                    *prepared = Some(Prepared { first, value: buffer.clone() });
                }
                Step::Done { change, chain, used, sparse, split } => {
                    if used {
                        *prepared = None;
                    }
                    self.tidy_up(worker, writing, key, chain, sparse, split)?;
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

    #[allow(clippy::too_many_arguments)] // one attempt of what `alter_until_done` was asked
    fn try_alter(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        whole: bool,
        decide: &mut Decide<'_>,
        prepared: Option<&Prepared>,
        buffer: &mut Vec<u8>,
        slow: bool,
    ) -> Attempt<Step> {
        let mut leaf = self.leaf(worker, key)?.lock(writing)?;
        let view = View(leaf.view());
        let found = view.find(key);
        let old = found.exact.then(|| view.value(found.slot));
        let mut whole_value = Vec::new();
        let (change, chain) = match old {
            None => (decide(None, buffer), 0),
            Some(Value::Here(bytes)) => (decide(Some(bytes), buffer), 0),
            Some(Value::Elsewhere { bytes, first }) => {
                if whole {
                    chain::read(worker, first, bytes, &mut whole_value)?;
                }
                (decide(Some(&whole_value), buffer), first)
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
                let small = self.is_small(key.len(), buffer.len());
                let reference = prepared.filter(|prepared| !small && prepared.value == *buffer);
                let value = match reference {
                    Some(prepared) => Value::Elsewhere { bytes: buffer.len() as u32, first: prepared.first },
                    None if small => Value::Here(buffer),
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
