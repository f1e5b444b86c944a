//! Lookups and scans: nothing is locked.

use assay_pmem::Medium;

use super::{
    FpTree,
    key::{Probe, block, head_of, order},
    leaf::{Leaf, RECORDS, bits},
};
use crate::{error::IndexError, index::Visit};

/// A record of a leaf, and where it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScannedEntry {
    head: u64,
    payload: u64,
    slot: u8,
}

impl<M: Medium> FpTree<M> {
    /// The slot of a key in a leaf that is locked, or whose latch is asked afterwards.
    #[inline(always)]
    pub(super) fn slot_of(&self, leaf: &Leaf<'_, M>, probe: &Probe<'_>) -> Result<Option<usize>, IndexError> {
        leaf.expect(probe.print);
        for slot in bits(leaf.matches(probe.print)) {
            if leaf.head(slot) != probe.head {
                continue;
            }
            if self.words || block(&self.pool, leaf.payload(slot))?.0 == probe.key {
                leaf.expected_in_vain(probe.print, Some(slot));
                return Ok(Some(slot));
            }
        }
        leaf.expected_in_vain(probe.print, None);
        Ok(None)
    }

    /// The value of a key of one word. It is read before the latch is asked, so it was the key's at that moment.
    #[inline(always)]
    pub(super) fn word_of(&self, probe: &Probe<'_>) -> Option<u64> {
        loop {
            let spot = self.inner.find(probe);
            let latch = self.latch(spot.leaf);
            let version = latch.version();
            let leaf = self.leaf(spot.leaf);
            leaf.expect(probe.print);
            if !spot.holds() {
                continue;
            }
            let slot = bits(leaf.matches(probe.print)).find(|&slot| leaf.head(slot) == probe.head);
            let value = slot.map(|slot| leaf.payload(slot));
            leaf.expected_in_vain(probe.print, slot);
            if latch.is(version) {
                return value;
            }
        }
    }

    /// The value of a key of any length. The caller is pinned: a block that was linked at the moment when the latch was
    /// asked stays as it is until the caller is done.
    pub(super) fn value_of(&self, probe: &Probe<'_>) -> Result<Option<&[u8]>, IndexError> {
        'again: loop {
            let spot = self.inner.find(probe);
            let latch = self.latch(spot.leaf);
            let version = latch.version();
            let leaf = self.leaf(spot.leaf);
            leaf.expect(probe.print);
            if !spot.holds() {
                continue;
            }
            for slot in bits(leaf.matches(probe.print)) {
                let (head, payload) = (leaf.head(slot), leaf.payload(slot));
                if head != probe.head {
                    continue;
                }
                if !latch.is(version) {
                    continue 'again;
                }
                let (key, value) = block(&self.pool, payload)?;
                if key == probe.key {
                    leaf.expected_in_vain(probe.print, Some(slot));
                    return Ok(Some(value));
                }
            }
            if latch.is(version) {
                leaf.expected_in_vain(probe.print, None);
                return Ok(None);
            }
        }
    }

    /// Visits entries in order, a leaf at a time: each leaf as it was at one moment.
    pub(super) fn scan_from(
        &self,
        from: &[u8],
        limit: usize,
        entries: &mut Vec<ScannedEntry>,
        visit: &mut Visit<'_>,
    ) -> Result<usize, IndexError> {
        let mut bound = Bound { key: from.to_vec(), exclusive: false };
        let mut visited = 0;
        'again: loop {
            let (mut at, mut version) = self.enter(&bound)?;
            loop {
                let Some((next, next_version)) = self.gather(at, version, limit - visited, entries)? else {
                    continue 'again;
                };
                let passed = self.passed(&bound, entries)?;
                for entry in &entries[passed..] {
                    if visited == limit {
                        return Ok(visited);
                    }
                    visited += 1;
                    if !self.show(entry, visit)? {
                        return Ok(visited);
                    }
                }
                if next == 0 || visited == limit {
                    return Ok(visited);
                }
                if let Some(last) = entries[passed..].last() {
                    self.with_key(last, |key| bound.pass(key))?;
                }
                (at, version) = (next, next_version);
            }
        }
    }

    /// The entries of a leaf in order, with the next leaf and its version; none where the leaf is not what it was.
    #[inline(always)]
    fn gather(
        &self,
        at: u64,
        version: u64,
        wanted: usize,
        entries: &mut Vec<ScannedEntry>,
    ) -> Result<Option<(u64, u64)>, IndexError> {
        let (leaf, hint) = (self.leaf(at), self.hints.of(at));
        let (next, count) = (leaf.next(), leaf.bitmap().count_ones() as usize);
        let inside = next != 0 && next % super::leaf::LEAF_BYTES as u64 == 0 && next < self.medium().bytes() as u64;
        if inside && count < wanted {
            self.leaf(next).prefetch();
        }
        let entry = |slot: usize| ScannedEntry { head: leaf.head(slot), payload: leaf.payload(slot), slot: slot as u8 };
        entries.clear();
        let hinted = hint.get(version);
        match &hinted {
            Some(order) => entries.extend(order[..count.min(RECORDS)].iter().map(|&slot| entry(slot as usize))),
            None => entries.extend(leaf.slots().map(entry)),
        }
        // As long as this leaf has not changed, the next one is in the list.
        let next_version = if inside { self.latch(next).version() } else { 0 };
        if !self.latch(at).is(version) {
            return Ok(None);
        }
        if hinted.is_none() {
            self.sort(entries)?;
            let mut order = [0; RECORDS];
            order.iter_mut().zip(entries.iter()).for_each(|(place, entry)| *place = entry.slot);
            hint.put(version, &order);
        }
        Ok(Some((next, next_version)))
    }

    /// How many entries of a leaf a scan has passed already.
    #[inline(always)]
    fn passed(&self, bound: &Bound, entries: &[ScannedEntry]) -> Result<usize, IndexError> {
        let mut passed = 0;
        while passed < entries.len() && self.with_key(&entries[passed], |key| bound.excludes(key))? {
            passed += 1;
        }
        Ok(passed)
    }

    #[inline(always)]
    fn with_key<T>(&self, entry: &ScannedEntry, then: impl FnOnce(&[u8]) -> T) -> Result<T, IndexError> {
        Ok(if self.words { then(&entry.head.to_be_bytes()) } else { then(block(&self.pool, entry.payload)?.0) })
    }

    #[inline(always)]
    fn show(&self, entry: &ScannedEntry, visit: &mut Visit<'_>) -> Result<bool, IndexError> {
        if self.words {
            return Ok(visit(&entry.head.to_be_bytes(), &entry.payload.to_ne_bytes()));
        }
        let (key, value) = block(&self.pool, entry.payload)?;
        Ok(visit(key, value))
    }

    /// The leaf that a scan goes on with, and a version under which it was in the tree.
    fn enter(&self, bound: &Bound) -> Result<(u64, u64), IndexError> {
        let probe = if self.words { Probe::word(&bound.key)? } else { Probe::any(&bound.key)? };
        loop {
            let spot = self.inner.find(&probe);
            let version = self.latch(spot.leaf).version();
            if spot.holds() {
                return Ok((spot.leaf, version));
            }
        }
    }

    fn sort(&self, entries: &mut [ScannedEntry]) -> Result<(), IndexError> {
        if self.words {
            entries.sort_unstable_by_key(|entry| entry.head);
            return Ok(());
        }
        let mut wrong = None;
        entries.sort_unstable_by(|one, other| {
            one.head.cmp(&other.head).then_with(|| {
                let mut key = |payload| match block(&self.pool, payload) {
                    Ok((key, _)) => key,
                    Err(error) => {
                        wrong = Some(error);
                        &[]
                    }
                };
                key(one.payload).cmp(key(other.payload))
            })
        });
        wrong.map_or(Ok(()), Err)
    }
}

/// Where a scan goes on.
struct Bound {
    key: Vec<u8>,
    exclusive: bool,
}

impl Bound {
    #[inline(always)]
    fn excludes(&self, key: &[u8]) -> bool {
        let probe = Probe { head: head_of(&self.key), key: &self.key, print: 0 };
        match order(&probe, head_of(key), || key) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => self.exclusive,
            std::cmp::Ordering::Less => false,
        }
    }

    #[inline(always)]
    fn pass(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.exclusive = true;
    }
}
