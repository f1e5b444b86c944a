//! A look at a range that begins in a leaf and mostly ends there: its entries are copied once, and only those.

use assay_buffer::{Attempt, Optimistic, Worker};

use super::{
    Finger, Tree,
    way::{Way, child_towards},
};
use crate::{
    TreeError,
    node::{Value, View},
};

/// Entries that were copied out of a tree. Whoever keeps it copies without allocating.
#[derive(Debug, Default)]
pub struct Entries {
    bytes: Vec<u8>,
    /// Where each begins, and bytes of its key.
    places: Vec<(u32, u16)>,
}

impl Entries {
    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// One more; its key is given in two parts.
    #[inline]
    pub fn push(&mut self, key: (&[u8], &[u8]), value: &[u8]) {
        self.places.push((self.bytes.len() as u32, (key.0.len() + key.1.len()) as u16));
        self.bytes.extend_from_slice(key.0);
        self.bytes.extend_from_slice(key.1);
        self.bytes.extend_from_slice(value);
    }

    /// A key.
    #[inline]
    pub fn key(&self, index: usize) -> &[u8] {
        let (at, key) = self.places[index];
        &self.bytes[at as usize..at as usize + usize::from(key)]
    }

    /// Its value.
    #[inline]
    pub fn value(&self, index: usize) -> &[u8] {
        let (at, key) = self.places[index];
        let end = self.places.get(index + 1).map_or(self.bytes.len(), |next| next.0 as usize);
        &self.bytes[at as usize + usize::from(key)..end]
    }
}

/// What becomes of a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glance {
    /// All entries of the range were copied.
    Ended,
    /// There may be more: behind the last entry, or the bound that was put where the caller said.
    More,
    /// A value lies in pages of its own: nothing was copied, and only a scan can read it.
    Elsewhere,
}

/// A range, and how much of it is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// The first key.
    pub from: &'a [u8],
    /// The key behind the last one.
    pub below: &'a [u8],
    /// Entries come against the order of their keys.
    pub down: bool,
    /// Entries at most.
    pub limit: usize,
}

impl Tree {
    /// Copies the entries of a range that lie in the leaf where it begins, up to its limit, and puts into `bound` where the
    /// range goes on: a `from` of the next glance, or a `below` of one down. The way down to the leaf of `from` is saved
    /// where the finger points to it.
    ///
    /// # Errors
    /// Where a page cannot be read.
    pub fn glance(
        &self,
        worker: &Worker<'_>,
        range: Range<'_>,
        finger: Finger,
        into: &mut Entries,
        bound: &mut Vec<u8>,
    ) -> Result<Glance, TreeError> {
        let seen = worker.retry(|| {
            let leaf = if range.down {
                self.leaf_below(worker, range.below)?
            } else {
                self.leaf_at(worker, range.from, finger)?.0
            };
            leaf.read(|page| copy(View(page), range, into, bound))
        })?;
        Ok(seen)
    }

    /// The leaf of the last key below a bound.
    fn leaf_below<'w>(&self, worker: &'w Worker<'w>, below: &[u8]) -> Attempt<Optimistic<'w>> {
        let mut node = worker.look(self.root)?;
        loop {
            let next = node.step(|page| {
                let view = View(page);
                if view.level() == 0 { Err(()) } else { Ok(view.child(child_towards(view, Way::Down, Some(below)))) }
            })?;
            match next {
                Ok(child) => node = child,
                Err(()) => return Ok(node),
            }
        }
    }
}

/// Copies entries of a leaf. The leaf may be changing meanwhile: what is copied counts when it was seen to be unchanged.
fn copy(view: View<'_>, range: Range<'_>, into: &mut Entries, bound: &mut Vec<u8>) -> Glance {
    into.clear();
    bound.clear();
    // Only a bound that lies in the leaf can be looked for there.
    let begins_here = !range.down || view.lower() <= range.from;
    let ends_here = range.down || view.upper().is_none_or(|upper| range.below < upper);
    let first = if begins_here { view.find(range.from).slot } else { 0 };
    let end = if ends_here { view.find(range.below).slot } else { view.count() };
    let there = end.saturating_sub(first);
    let count = there.min(range.limit);
    let (prefix, slot) = (view.prefix(), |at: usize| if range.down { end - 1 - at } else { first + at });
    for at in 0..count {
        let Value::Here(value) = view.value(slot(at)) else {
            into.clear();
            return Glance::Elsewhere;
        };
        into.push((prefix, view.suffix(slot(at))), value);
    }
    if count < there {
        let last = count.checked_sub(1).map_or(&[][..], |last| into.key(last));
        bound.extend_from_slice(last);
        if !range.down {
            bound.push(0);
        }
        return Glance::More;
    }
    if begins_here && ends_here {
        return Glance::Ended;
    }
    bound.extend_from_slice(if range.down { view.lower() } else { view.upper().unwrap_or_default() });
    Glance::More
}
