//! An inner node, in DRAM.

use std::sync::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use super::{key::Probe, latch::Latch};

/// Separators of a node; it has one child more.
pub(super) const SEPARATORS: usize = 63;
const SLOTS: usize = SEPARATORS + 1;
/// Separators of a cache line, and of the first one, which latch and shape share.
const A_LINE: usize = 8;
const FIRST_LINE: usize = 6;

/// The whole key of a separator, where its head alone does not say it.
pub(super) type Tail = AtomicPtr<Box<[u8]>>;

/// Child i holds keys from separator i-1 (included) to separator i (not included). Everything but the latch is read
/// under it optimistically and stored to while it is locked.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Node {
    pub(super) latch: Latch,
    /// Separators in the lower half, level in the upper one; children of level 0 are leaves.
    shape: AtomicU64,
    heads: [AtomicU64; SLOTS],
    children: [AtomicU64; SLOTS],
    tails: [Tail; SLOTS],
}

/// A separator: its head, and its whole key, owned by the tree, or null.
#[derive(Clone, Copy, Debug)]
pub(super) struct Separator {
    pub(super) head: u64,
    pub(super) tail: *mut Box<[u8]>,
}

impl Node {
    pub(super) fn new() -> Self {
        Self {
            latch: Latch::default(),
            shape: AtomicU64::new(0),
            heads: std::array::from_fn(|_| AtomicU64::new(0)),
            children: std::array::from_fn(|_| AtomicU64::new(0)),
            tails: std::array::from_fn(|_| Tail::default()),
        }
    }

    /// Separators. Slots below are at least as new as the number.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        (self.shape.load(Acquire) & 0xFFFF_FFFF) as usize % SLOTS
    }

    #[inline(always)]
    pub(super) fn level(&self) -> u64 {
        self.shape.load(Relaxed) >> 32
    }

    pub(super) fn set_shape(&self, count: usize, level: u64) {
        debug_assert!(count <= SEPARATORS);
        self.shape.store(count as u64 | level << 32, Release);
    }

    #[inline(always)]
    pub(super) fn child(&self, index: usize) -> u64 {
        self.children[index % SLOTS].load(Relaxed)
    }

    pub(super) fn set_child(&self, index: usize, child: u64) {
        self.children[index].store(child, Relaxed);
    }

    pub(super) fn separator(&self, index: usize) -> Separator {
        Separator { head: self.heads[index].load(Relaxed), tail: self.tails[index].load(Relaxed) }
    }

    pub(super) fn set_separator(&self, index: usize, separator: Separator) {
        self.heads[index].store(separator.head, Relaxed);
        self.tails[index].store(separator.tail, Relaxed);
    }

    /// The child that a key of one word belongs to: how many separators are not above it. No branch depends on keys.
    #[inline(always)]
    pub(super) fn position(&self, head: u64) -> usize {
        self.below(|separator| separator <= head)
    }

    /// How many separators a rule holds for; it holds for all before the last one that it holds for.
    ///
    /// First one separator of each cache line is asked, so that all lines are waited for together and not one after the
    /// other, as a halving search would; then those of the line in question. No branch depends on keys.
    #[inline(always)]
    fn below(&self, rule: impl Fn(u64) -> bool) -> usize {
        let count = self.count();
        let holds = |index: usize| usize::from(rule(self.heads[index % SLOTS].load(Relaxed)) & (index < count));
        let lines: usize = (0..SLOTS / A_LINE).map(|line| holds(FIRST_LINE + line * A_LINE)).sum();
        let first = (lines * A_LINE).saturating_sub(A_LINE - FIRST_LINE);
        first + (first..first + A_LINE).map(holds).sum::<usize>()
    }

    /// The same for keys of any length; none where the node changed meanwhile. The caller is pinned, so that no tail
    /// that it sees under an unchanged version is gone.
    #[inline]
    pub(super) fn position_of(&self, probe: &Probe<'_>, version: u64) -> Option<usize> {
        let mut position = self.below(|separator| separator < probe.head);
        let end = self.below(|separator| separator <= probe.head);
        while position < end {
            let tail = self.tails[position % SLOTS].load(Acquire);
            if !self.latch.is(version) || tail.is_null() {
                return None;
            }
            // SAFETY: it was a separator's under this version, which was taken after the caller was pinned.
            if unsafe { &**tail } > probe.key {
                break;
            }
            position += 1;
        }
        Some(position)
    }

    /// Puts a separator and the child to its right in. The node is locked and not full.
    pub(super) fn insert(&self, position: usize, separator: Separator, child: u64) {
        let count = self.count();
        for index in (position..count).rev() {
            self.set_separator(index + 1, self.separator(index));
            self.set_child(index + 2, self.child(index + 1));
        }
        self.set_separator(position, separator);
        self.set_child(position + 1, child);
        self.set_shape(count + 1, self.level());
    }

    /// Takes a separator and the child to its right out. The node is locked.
    pub(super) fn remove(&self, position: usize) -> Separator {
        let (count, gone) = (self.count(), self.separator(position));
        for index in position..count - 1 {
            self.set_separator(index, self.separator(index + 1));
            self.set_child(index + 1, self.child(index + 2));
        }
        self.set_shape(count - 1, self.level());
        gone
    }

    /// Moves the upper half to an empty node of the same level: the separator between both. Both are locked, or unseen.
    pub(super) fn split_into(&self, right: &Self) -> Separator {
        let count = self.count();
        let middle = count / 2;
        right.set_child(0, self.child(middle + 1));
        for index in middle + 1..count {
            right.set_separator(index - middle - 1, self.separator(index));
            right.set_child(index - middle, self.child(index + 1));
        }
        right.set_shape(count - middle - 1, self.level());
        self.set_shape(middle, self.level());
        self.separator(middle)
    }

    /// Takes over all of the right neighbour. Both are locked, and it fits.
    pub(super) fn absorb(&self, between: Separator, right: &Self) {
        let count = self.count();
        self.set_separator(count, between);
        self.set_child(count + 1, right.child(0));
        for index in 0..right.count() {
            self.set_separator(count + 1 + index, right.separator(index));
            self.set_child(count + 2 + index, right.child(index + 1));
        }
        self.set_shape(count + 1 + right.count(), self.level());
        right.set_shape(0, right.level());
    }

    /// Whether it should look for a neighbour to join.
    pub(super) fn is_small(&self) -> bool {
        self.count() < SEPARATORS / 4
    }

    /// Becomes a copy of another node.
    pub(super) fn copy_from(&self, other: &Self) {
        for index in 0..other.count() {
            self.set_separator(index, other.separator(index));
        }
        for index in 0..=other.count() {
            self.set_child(index, other.child(index));
        }
        self.set_shape(other.count(), other.level());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_where_the_search_takes_them_to_be() {
        assert_eq!(std::mem::offset_of!(Node, heads) + FIRST_LINE * 8, 64);
    }

    proptest! {
        #[test]
        fn a_position_is_the_number_of_separators_not_above(
            heads in prop::collection::btree_set(0u64..200, 0..=SEPARATORS), stale in any::<u64>(), key in 0u64..201,
        ) {
            let node = Node::new();
            for slot in 0..SLOTS {
                node.set_separator(slot, Separator { head: stale, tail: std::ptr::null_mut() });
            }
            for (slot, &head) in heads.iter().enumerate() {
                node.set_separator(slot, Separator { head, tail: std::ptr::null_mut() });
            }
            node.set_shape(heads.len(), 0);
            prop_assert_eq!(node.position(key), heads.iter().filter(|&&head| head <= key).count());
        }
    }
}
