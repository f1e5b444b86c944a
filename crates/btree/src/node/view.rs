//! Reading a node that others may be changing.

use std::cmp::Ordering;

use assay_buffer::{PageId, Racy};

use super::{
    COUNT, DEAD, ELSEWHERE, FLAGS, HEAD_BYTES, HEAP, LAST, LEVEL, LOWER_FENCE, PREFIX, REFERENCE, SLOT, SLOTS, SLOW,
    UPDATES, UPPER, UPPER_FENCE, head,
};

/// A view of a node. What it gives may be torn until the page was validated, but it never leaves the page.
#[derive(Clone, Copy)]
pub(crate) struct View<'a>(pub Racy<'a>);

/// Where a key is, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub slot: usize,
    pub exact: bool,
}

/// A value, or where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Here(&'a [u8]),
    Elsewhere { bytes: u32, first: PageId },
}

impl<'a> View<'a> {
    #[inline(always)]
    pub fn level(self) -> u16 {
        self.0.u16(LEVEL)
    }

    #[inline(always)]
    pub fn count(self) -> usize {
        // A torn count does not lead out of the page.
        (self.0.u16(COUNT) as usize).min((self.0.len() - SLOTS) / SLOT)
    }

    #[inline(always)]
    pub fn prefix_bytes(self) -> usize {
        self.0.u16(PREFIX) as usize
    }

    pub fn prefix(self) -> &'a [u8] {
        self.0.slice(self.0.u16(LOWER_FENCE) as usize, self.prefix_bytes())
    }

    pub fn lower(self) -> &'a [u8] {
        self.0.slice(self.0.u16(LOWER_FENCE) as usize, self.0.u16(LOWER_FENCE + 2) as usize)
    }

    /// The upper fence; none where the node ends the tree.
    pub fn upper(self) -> Option<&'a [u8]> {
        let there = self.0.u16(FLAGS) & 1 == 1;
        there.then(|| self.0.slice(self.0.u16(UPPER_FENCE) as usize, self.0.u16(UPPER_FENCE + 2) as usize))
    }

    /// Whether it is a leaf, and the one for a key.
    #[inline]
    pub fn is_for(self, key: &[u8]) -> bool {
        self.level() == 0 && self.lower() <= key && self.upper().is_none_or(|upper| key < upper)
    }

    #[inline(always)]
    fn slot_head(self, slot: usize) -> u32 {
        self.0.u32(SLOTS + slot * SLOT + 4)
    }

    #[inline(always)]
    fn slot_key(self, slot: usize) -> (usize, usize) {
        let at = SLOTS + slot * SLOT;
        (self.0.u16(at) as usize, self.0.u16(at + 2) as usize)
    }

    #[inline(always)]
    fn ahead(self) -> usize {
        if self.level() == 0 { 2 } else { 8 }
    }

    /// The key of a slot, without the prefix.
    #[inline(always)]
    pub fn suffix(self, slot: usize) -> &'a [u8] {
        let (bytes, offset) = self.slot_key(slot);
        self.0.slice(offset + self.ahead(), bytes)
    }

    /// The key of a slot.
    pub fn key(self, slot: usize) -> Vec<u8> {
        [self.prefix(), self.suffix(slot)].concat()
    }

    fn value_length(self, offset: usize) -> u16 {
        self.0.slice(offset, 2).first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    /// The value of a leaf's slot.
    #[inline]
    pub fn value(self, slot: usize) -> Value<'a> {
        let (key_bytes, offset) = self.slot_key(slot);
        let (length, at) = (self.value_length(offset), offset + 2 + key_bytes);
        if length & ELSEWHERE == 0 {
            return Value::Here(self.0.slice(at, length as usize));
        }
        let reference = self.0.slice(at, REFERENCE);
        let bytes = reference.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let first = reference.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Value::Elsewhere { bytes, first }
    }

    /// Bytes of a slot's entry in the heap.
    pub fn entry_bytes(self, slot: usize) -> usize {
        let (key_bytes, offset) = self.slot_key(slot);
        if self.level() > 0 {
            return 8 + key_bytes;
        }
        let length = self.value_length(offset);
        2 + key_bytes + if length & ELSEWHERE == 0 { length as usize } else { REFERENCE }
    }

    /// The child of an inner slot; that of the slot behind the last one is the upper child.
    #[inline(always)]
    pub fn child(self, slot: usize) -> PageId {
        if slot >= self.count() {
            return self.0.u64(UPPER);
        }
        let (_, offset) = self.slot_key(slot);
        self.0.slice(offset, 8).first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// The slot of the child that has a key.
    #[inline(always)]
    pub fn child_slot(self, key: &[u8]) -> usize {
        let found = self.find(key);
        found.slot + usize::from(found.exact)
    }

    /// The first slot whose key is not below `key`, which lies between the fences.
    #[inline(always)]
    pub fn find(self, key: &[u8]) -> Found {
        let suffix = key.get(self.prefix_bytes()..).unwrap_or(&[]);
        let (needle, count) = (head(suffix), self.count());
        let from = self.first_not(0, count, |head| head < needle);
        if from == count || self.slot_head(from) != needle {
            return Found { slot: from, exact: false };
        }
        self.find_among_equals(suffix, needle, from, count)
    }

    /// The first slot from `from` on whose head does not satisfy `below`; heads ascend.
    #[inline(always)]
    fn first_not(self, from: usize, count: usize, below: impl Fn(u32) -> bool) -> usize {
        let (mut base, mut left) = (from, count - from);
        if left == 0 {
            return from;
        }
        while left > 1 {
            let half = left / 2;
            base = if below(self.slot_head(base + half - 1)) { base + half } else { base };
            left -= half;
        }
        base + usize::from(below(self.slot_head(base)))
    }

    #[inline]
    fn find_among_equals(self, suffix: &[u8], needle: u32, from: usize, count: usize) -> Found {
        let (mut low, mut high) = (from, from + 1);
        // One equal head is the rule; where there are more, their end is looked for.
        if high < count && self.slot_head(high) == needle {
            high = self.first_not(from, count, |head| head <= needle);
        }
        let wanted = behind_head(suffix.get(HEAD_BYTES..).unwrap_or(&[]), suffix.len());
        while low < high {
            let middle = low.midpoint(high);
            // Where these bytes are equal the keys may still differ, behind them or in length.
            let order = self.behind_head(middle).cmp(&wanted).then_with(|| self.suffix(middle).cmp(suffix));
            match order {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Found { slot: middle, exact: true },
                Ordering::Greater => high = middle,
            }
        }
        Found { slot: low, exact: false }
    }

    /// The eight bytes behind the head of a slot's key, as [`behind_head`].
    #[inline(always)]
    fn behind_head(self, slot: usize) -> u64 {
        let (bytes, offset) = self.slot_key(slot);
        let at = offset + self.ahead() + HEAD_BYTES;
        match self.0.slice(at, 8) {
            // At the end of the page there may be fewer.
            [] => behind_head(self.0.slice(at, bytes.saturating_sub(HEAD_BYTES).min(8)), bytes),
            more => behind_head(more, bytes),
        }
    }

    /// Bytes that are free, those of dead entries included.
    pub fn free_bytes(self) -> usize {
        self.gap_bytes() + self.0.u32(DEAD) as usize
    }

    /// Bytes between slots and heap.
    pub fn gap_bytes(self) -> usize {
        (self.0.u32(HEAP) as usize).saturating_sub(SLOTS + self.count() * SLOT)
    }

    /// Bytes in use of those that entries could have.
    pub fn used_bytes(self) -> usize {
        self.0.len() - SLOTS - self.free_bytes()
    }

    /// Updates, those of them that had to wait, and the slot of the last one.
    pub fn contention(self) -> (u16, u16, u16) {
        (self.0.u16(UPDATES), self.0.u16(SLOW), self.0.u16(LAST))
    }
}

/// Eight bytes behind the head of a key of `bytes`, as a number that orders as they do; zeros stand for what is missing.
/// `behind` begins there and may go on behind the key.
#[inline(always)]
fn behind_head(behind: &[u8], bytes: usize) -> u64 {
    let left = bytes.saturating_sub(HEAD_BYTES).min(8);
    let Some(word) = behind.first_chunk::<8>() else {
        let mut padded = [0; 8];
        let there = left.min(behind.len());
        padded[..there].copy_from_slice(&behind[..there]);
        return u64::from_be_bytes(padded);
    };
    let mask = if left == 0 { 0 } else { u64::MAX << (64 - 8 * left) };
    u64::from_be_bytes(*word) & mask
}
