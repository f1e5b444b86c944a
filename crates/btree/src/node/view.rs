//! Reading a node that others may be changing.

use std::{cmp::Ordering, ops::Range};

use assay_buffer::{PageId, Racy};

use super::{
    COUNT, DEAD, ELSEWHERE, FLAGS, HEAD_BYTES, HEAP, LAST, LEVEL, LOWER_FENCE, PREFIX, REFERENCE, SKIP, SLOT, SLOTS,
    SLOW, UPDATES, UPPER, UPPER_FENCE, head,
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

    /// Bytes that all keys share behind the prefix, and that heads leave out.
    #[inline(always)]
    pub fn skip(self) -> usize {
        self.0.u16(SKIP) as usize
    }

    /// The bytes that are skipped, as the first key has them.
    #[inline(always)]
    pub fn skipped(self) -> &'a [u8] {
        let (bytes, offset) = self.slot_key(0);
        self.0.slice(offset + self.ahead(), self.skip().min(bytes))
    }

    /// Where the lower fence begins, and with it the prefix.
    #[inline(always)]
    pub fn lower_at(self) -> usize {
        self.0.u16(LOWER_FENCE) as usize
    }

    #[inline]
    pub fn prefix(self) -> &'a [u8] {
        self.0.slice(self.lower_at(), self.prefix_bytes())
    }

    #[inline]
    pub fn lower(self) -> &'a [u8] {
        self.0.slice(self.lower_at(), self.0.u16(LOWER_FENCE + 2) as usize)
    }

    /// The upper fence; none where the node ends the tree.
    #[inline]
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

    /// The head that a slot's key has.
    #[inline]
    pub fn head_of(self, slot: usize) -> u32 {
        head(self.suffix(slot).get(self.skip()..).unwrap_or(&[]))
    }

    /// Whether all keys share what is skipped, and heads are those of the keys. Nobody changes the node meanwhile.
    pub fn has_true_heads(self) -> bool {
        let shares = |slot| self.suffix(slot).starts_with(self.skipped()) && self.skipped().len() == self.skip();
        (0..self.count()).all(|slot| shares(slot) && self.slot_head(slot) == self.head_of(slot))
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

    #[inline]
    fn value_length(self, offset: usize) -> u16 {
        self.0.slice(offset, 2).first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    /// An entry of the heap as it lies there: its head of two or eight bytes and what follows its key.
    #[inline]
    pub fn entry(self, slot: usize) -> (&'a [u8], &'a [u8]) {
        let ((key_bytes, offset), ahead) = (self.slot_key(slot), self.ahead());
        let behind = self.entry_bytes(slot) - ahead - key_bytes;
        (self.0.slice(offset, ahead), self.0.slice(offset + ahead + key_bytes, behind))
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
    #[inline]
    pub fn entry_bytes(self, slot: usize) -> usize {
        let (key_bytes, offset) = self.slot_key(slot);
        if self.level() > 0 {
            return 8 + key_bytes;
        }
        let length = self.value_length(offset);
        2 + key_bytes + if length & ELSEWHERE == 0 { length as usize } else { REFERENCE }
    }

    /// Where a slot's entry begins; at 0 where there is no such slot.
    #[inline]
    pub fn entry_start(self, slot: usize) -> usize {
        if slot < self.count() { self.slot_key(slot).1 } else { 0 }
    }

    /// Where a slot's entry lies in the page; nowhere where there is no such slot.
    #[inline]
    pub fn entry_at(self, slot: usize) -> Range<usize> {
        let start = self.entry_start(slot);
        start..start + if start > 0 { self.entry_bytes(slot) } else { 0 }
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

    /// Whether a slot has a key. One that is not there has none.
    #[inline]
    pub fn has(self, slot: usize, key: &[u8]) -> bool {
        let prefix = self.prefix();
        let Some((first, rest)) = key.split_at_checked(prefix.len()) else { return false };
        slot < self.count() && same(rest, self.suffix(slot)) && same(first, prefix)
    }

    /// The first slot whose key is not below `key`, which lies between the fences.
    #[inline(always)]
    pub fn find(self, key: &[u8]) -> Found {
        let suffix = key.get(self.prefix_bytes()..).unwrap_or(&[]);
        let (skip, count) = (self.skip(), self.count());
        if skip > 0 && count > 0 {
            match begins_as(suffix, self.skipped()) {
                Ordering::Less => return Found { slot: 0, exact: false },
                Ordering::Equal => {}
                Ordering::Greater => return Found { slot: count, exact: false },
            }
        }
        let rest = suffix.get(skip..).unwrap_or(&[]);
        let needle = head(rest);
        let from = self.first_not(0, count, |head| head < needle);
        if from == count || self.slot_head(from) != needle {
            return Found { slot: from, exact: false };
        }
        if rest.len() <= HEAD_BYTES && self.slot_key(from).0 == skip + rest.len() {
            // The head is all that there is of both: they are equal.
            return Found { slot: from, exact: true };
        }
        self.find_among_equals(rest, skip, needle, from, count)
    }

    /// The first slot from `from` on whose head does not satisfy `below`; heads ascend.
    #[inline(always)]
    fn first_not(self, from: usize, count: usize, below: impl Fn(u32) -> bool) -> usize {
        self.0.first_not(SLOTS + 4, SLOT, from..count, below)
    }

    /// As [`View::find`], from the first slot on that has the head of `rest`: the key behind what is skipped.
    #[inline]
    fn find_among_equals(self, rest: &[u8], skip: usize, needle: u32, from: usize, count: usize) -> Found {
        let (mut low, mut high) = (from, from + 1);
        // One equal head is the rule; where there are more, their end is looked for.
        if high < count && self.slot_head(high) == needle {
            high = self.first_not(from, count, |head| head <= needle);
        }
        let wanted = behind_head(rest.get(HEAD_BYTES..).unwrap_or(&[]), rest.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.compare(middle, skip, rest, wanted) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Found { slot: middle, exact: true },
                Ordering::Greater => high = middle,
            }
        }
        Found { slot: low, exact: false }
    }

    /// Compares the key of a slot with one that has the same head, both behind what is skipped; `wanted` are the eight
    /// bytes behind that head.
    #[inline(always)]
    fn compare(self, slot: usize, skip: usize, rest: &[u8], wanted: u64) -> Ordering {
        let (bytes, offset) = self.slot_key(slot);
        let (at, bytes) = (offset + self.ahead() + skip, bytes.saturating_sub(skip));
        let behind = match self.0.slice(at + HEAD_BYTES, 8) {
            // At the end of the page there may be fewer.
            [] => behind_head(self.0.slice(at + HEAD_BYTES, bytes.saturating_sub(HEAD_BYTES).min(8)), bytes),
            more => behind_head(more, bytes),
        };
        behind.cmp(&wanted).then_with(|| {
            if bytes.max(rest.len()) <= HEAD_BYTES + 8 {
                // Both are known as a whole; of two that are equal but for zeros at the end the longer one is above.
                return bytes.cmp(&rest.len());
            }
            self.0.slice(at, bytes).cmp(rest)
        })
    }

    /// Bytes that are free, those of dead entries included.
    #[inline]
    pub fn free_bytes(self) -> usize {
        self.gap_bytes() + self.0.u32(DEAD) as usize
    }

    /// Bytes between slots and heap.
    #[inline]
    pub fn gap_bytes(self) -> usize {
        (self.0.u32(HEAP) as usize).saturating_sub(SLOTS + self.count() * SLOT)
    }

    /// Bytes in use of those that entries could have.
    pub fn used_bytes(self) -> usize {
        self.0.len() - SLOTS - self.free_bytes()
    }

    /// Updates, those of them that had to wait, and the slot of the last one.
    #[inline]
    pub fn contention(self) -> (u16, u16, u16) {
        (self.0.u16(UPDATES), self.0.u16(SLOW), self.0.u16(LAST))
    }
}

/// Whether two parts of keys are equal: mostly short ones, which cost less so than by a call.
#[inline(always)]
fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    match one.len() {
        0 => true,
        4..8 => one.first_chunk::<4>() == other.first_chunk::<4>() && one.last_chunk::<4>() == other.last_chunk::<4>(),
        8..=16 => {
            one.first_chunk::<8>() == other.first_chunk::<8>() && one.last_chunk::<8>() == other.last_chunk::<8>()
        }
        1..4 => one.iter().zip(other).all(|(one, other)| one == other),
        _ => one == other,
    }
}

/// Whether a key is below, among or above those that begin with `common`.
#[inline(always)]
fn begins_as(key: &[u8], common: &[u8]) -> Ordering {
    let shorter = key.len().min(common.len());
    let (begin, same) = (&key[..shorter], &common[..shorter]);
    let mut at = 0;
    // A few bytes: cheaper one by one than by a call.
    while at < shorter {
        if begin[at] != same[at] {
            return begin[at].cmp(&same[at]);
        }
        at += 1;
    }
    if key.len() < common.len() { Ordering::Less } else { Ordering::Equal }
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
