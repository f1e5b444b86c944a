//! Writing a node from its entries, in order.

use std::ops::Range;

use assay_buffer::{HEADER_BYTES, PageId};

use super::{
    COUNT, FLAGS, HEAP, LEVEL, LOWER_FENCE, NodeMut, PREFIX, SLOT, SLOTS, UPPER, UPPER_FENCE, Value, View, shared,
    write::{leaf_bytes, write_leaf_entry},
};

/// A node in the making, in memory of its own.
pub(crate) struct Builder {
    page: Vec<u8>,
    count: usize,
    heap: usize,
    prefix: usize,
}

impl Builder {
    /// An empty node between two fences.
    pub fn new(page_bytes: usize, level: u16, lower: &[u8], upper: Option<&[u8]>) -> Self {
        let prefix = upper.map_or(0, |upper| shared(lower, upper));
        let mut this = Self { page: vec![0; page_bytes], count: 0, heap: page_bytes, prefix };
        this.set_u16(LEVEL, level as usize);
        this.set_u16(PREFIX, prefix);
        this.set_u16(FLAGS, usize::from(upper.is_some()));
        for (at, fence) in [(LOWER_FENCE, lower), (UPPER_FENCE, upper.unwrap_or(&[]))] {
            let offset = this.take(fence.len());
            this.page[offset..offset + fence.len()].copy_from_slice(fence);
            // An empty fence of an empty heap begins behind the page, which no number of 16 bits says.
            this.set_u16(at, if fence.is_empty() { 0 } else { offset });
            this.set_u16(at + 2, fence.len());
        }
        this
    }

    fn set_u16(&mut self, at: usize, value: usize) {
        self.page[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
    }

    fn take(&mut self, bytes: usize) -> usize {
        self.heap -= bytes;
        self.heap
    }

    /// Adds a slot; its head is known when all keys are.
    fn add_slot(&mut self, suffix_bytes: usize, offset: usize) {
        let at = SLOTS + self.count * SLOT;
        self.count += 1;
        self.set_u16(at, suffix_bytes);
        self.set_u16(at + 2, offset);
    }

    /// Adds a leaf entry, which fits.
    pub fn push(&mut self, key: &[u8], value: Value<'_>) {
        let suffix = &key[self.prefix..];
        let bytes = leaf_bytes(suffix.len(), value);
        let at = self.take(bytes);
        write_leaf_entry(&mut self.page[at..at + bytes], suffix, value);
        self.add_slot(suffix.len(), at);
    }

    /// Adds a separator and the child below it, which fit.
    pub fn push_child(&mut self, key: &[u8], child: PageId) {
        let suffix = &key[self.prefix..];
        let at = self.take(8 + suffix.len());
        self.page[at..at + 8].copy_from_slice(&child.to_le_bytes());
        self.page[at + 8..at + 8 + suffix.len()].copy_from_slice(suffix);
        self.add_slot(suffix.len(), at);
    }

    /// Adds entries of another node of the same level.
    pub fn copy(&mut self, from: View<'_>, slots: Range<usize>) {
        // Of the other's prefix, what this one has not goes before each key; of this one's, what the other has not is
        // left out of it.
        let longer = from.prefix().get(self.prefix..).unwrap_or(&[]);
        let shorter = self.prefix.saturating_sub(from.prefix_bytes());
        for slot in slots {
            let (ahead, behind) = from.entry(slot);
            let suffix = &from.suffix(slot)[shorter..];
            let parts = [ahead, longer, suffix, behind];
            let offset = self.take(parts.iter().map(|part| part.len()).sum());
            let mut at = offset;
            for part in parts {
                self.page[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            }
            self.add_slot(longer.len() + suffix.len(), offset);
        }
    }

    /// Completes the node and puts it into a page, whose header stays.
    pub fn finish(mut self, upper_child: PageId, into: &mut [u8]) {
        self.set_u16(COUNT, self.count);
        let heap = self.heap as u32;
        self.page[HEAP..HEAP + 4].copy_from_slice(&heap.to_le_bytes());
        self.page[UPPER..UPPER + 8].copy_from_slice(&upper_child.to_le_bytes());
        into[HEADER_BYTES..].copy_from_slice(&self.page[HEADER_BYTES..]);
        NodeMut(into).set_heads();
    }
}
