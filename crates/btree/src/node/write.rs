//! Changing a node that is latched.

use assay_buffer::{PageId, Racy};

use super::{
    Builder, COUNT, DEAD, ELSEWHERE, HEAP, LAST, REFERENCE, SKIP, SLOT, SLOTS, UPDATES, UPPER, Value, View, head,
    shared,
};

/// A node to change.
pub(crate) struct NodeMut<'a>(pub &'a mut [u8]);

impl NodeMut<'_> {
    #[inline]
    pub fn view(&self) -> View<'_> {
        View(Racy::of(self.0))
    }

    #[inline]
    fn set_u16(&mut self, at: usize, value: usize) {
        self.0[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
    }

    #[inline]
    fn set_u32(&mut self, at: usize, value: usize) {
        self.0[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
    }

    fn heap(&self) -> usize {
        self.view().0.u32(HEAP) as usize
    }

    fn add_dead(&mut self, bytes: usize) {
        let dead = self.view().0.u32(DEAD) as usize;
        self.set_u32(DEAD, dead + bytes);
    }

    /// Bytes that an entry takes, its slot included.
    pub fn leaf_entry_bytes(key: usize, value: Value<'_>) -> usize {
        SLOT + 2 + key + value_bytes(value)
    }

    /// Adds a leaf entry before `slot`; `false` where there is no room, and nothing changed. The key has the prefix.
    pub fn insert(&mut self, slot: usize, key: &[u8], value: Value<'_>) -> bool {
        let suffix = &key[self.view().prefix_bytes()..];
        let bytes = 2 + suffix.len() + value_bytes(value);
        if !self.make_gap(bytes + SLOT) {
            return false;
        }
        self.admit(slot, suffix);
        self.open_slot(slot, suffix, bytes);
        let at = self.heap();
        write_leaf_entry(&mut self.0[at..at + bytes], suffix, value);
        true
    }

    /// Adds a separator and the child below it before `slot`; as [`Self::insert`].
    pub fn insert_child(&mut self, slot: usize, key: &[u8], child: PageId) -> bool {
        let suffix = &key[self.view().prefix_bytes()..];
        let bytes = 8 + suffix.len();
        if !self.make_gap(bytes + SLOT) {
            return false;
        }
        self.admit(slot, suffix);
        self.open_slot(slot, suffix, bytes);
        let at = self.heap();
        self.0[at..at + 8].copy_from_slice(&child.to_le_bytes());
        self.0[at + 8..at + bytes].copy_from_slice(suffix);
        true
    }

    /// Sees to it that a key may come before `slot`: it shares what is skipped.
    fn admit(&mut self, slot: usize, suffix: &[u8]) {
        let view = self.view();
        let (count, skip) = (view.count(), view.skip());
        if count == 0 {
            return self.set_u16(SKIP, suffix.len());
        }
        // Between two keys there is none but shares what they share.
        if skip == 0 || (slot != 0 && slot != count) {
            return;
        }
        let shares = shared(view.skipped(), suffix);
        if shares < skip {
            self.set_u16(SKIP, shares);
            (0..count).for_each(|slot| self.set_head(slot));
        }
    }

    /// Skips what the first and the last key share, and so do all between them.
    pub fn set_heads(&mut self) {
        let view = self.view();
        let count = view.count();
        if count > 0 {
            let skip = shared(view.suffix(0), view.suffix(count - 1));
            self.set_u16(SKIP, skip);
            (0..count).for_each(|slot| self.set_head(slot));
        }
    }

    fn set_head(&mut self, slot: usize) {
        let head = self.view().head_of(slot);
        let at = SLOTS + slot * SLOT + 4;
        self.0[at..at + 4].copy_from_slice(&head.to_le_bytes());
    }

    /// Makes room for a slot and takes `bytes` of the heap.
    fn open_slot(&mut self, slot: usize, suffix: &[u8], bytes: usize) {
        let count = self.view().count();
        let (at, end) = (SLOTS + slot * SLOT, SLOTS + count * SLOT);
        self.0.copy_within(at..end, at + SLOT);
        self.set_u16(COUNT, count + 1);
        let heap = self.heap() - bytes;
        self.set_u32(HEAP, heap);
        self.set_slot(slot, suffix, heap);
    }

    fn set_slot(&mut self, slot: usize, suffix: &[u8], offset: usize) {
        let at = SLOTS + slot * SLOT;
        self.set_u16(at, suffix.len());
        self.set_u16(at + 2, offset);
        let head = head(suffix.get(self.view().skip()..).unwrap_or(&[]));
        self.0[at + 4..at + 8].copy_from_slice(&head.to_le_bytes());
    }

    /// Sees to it that `bytes` lie between slots and heap.
    fn make_gap(&mut self, bytes: usize) -> bool {
        if self.view().gap_bytes() >= bytes {
            return true;
        }
        if self.view().free_bytes() < bytes {
            return false;
        }
        self.compact();
        self.view().gap_bytes() >= bytes
    }

    /// Writes the node anew, without dead bytes.
    fn compact(&mut self) {
        let view = self.view();
        let mut builder = Builder::new(view.0.len(), view.level(), view.lower(), view.upper());
        builder.copy(view, 0..view.count());
        let upper = view.0.u64(UPPER);
        let contention = view.contention();
        builder.finish(upper, self.0);
        self.set_contention(contention);
    }

    /// Changes the value of a leaf's slot; `false` where there is no room, and nothing changed.
    #[inline]
    pub fn replace(&mut self, slot: usize, value: Value<'_>) -> bool {
        let old = self.view().value(slot);
        let (suffix_bytes, new_bytes) = (self.view().suffix(slot).len(), value_bytes(value));
        if value_bytes(old) == new_bytes {
            let at = self.view().0.u16(SLOTS + slot * SLOT + 2) as usize;
            write_value(&mut self.0[at..at + 2 + suffix_bytes + new_bytes], suffix_bytes, value);
            return true;
        }
        let bytes = 2 + suffix_bytes + new_bytes;
        let old_bytes = self.view().entry_bytes(slot);
        if self.view().free_bytes() + old_bytes < bytes {
            return false;
        }
        let suffix = self.view().suffix(slot).to_vec();
        self.remove(slot);
        let gap = self.make_gap(bytes + SLOT);
        debug_assert!(gap, "the old entry and its slot made room");
        // The node may have been written anew without it, and skip more since.
        self.admit(slot, &suffix);
        self.open_slot(slot, &suffix, bytes);
        let at = self.heap();
        write_leaf_entry(&mut self.0[at..at + bytes], &suffix, value);
        true
    }

    /// Removes a slot.
    pub fn remove(&mut self, slot: usize) {
        self.add_dead(self.view().entry_bytes(slot));
        let count = self.view().count();
        let (at, end) = (SLOTS + slot * SLOT, SLOTS + count * SLOT);
        self.0.copy_within(at + SLOT..end, at);
        self.set_u16(COUNT, count - 1);
    }

    /// Sets the child of a slot, or the upper child.
    pub fn set_child(&mut self, slot: usize, child: PageId) {
        let count = self.view().count();
        let at = if slot >= count { UPPER } else { self.view().0.u16(SLOTS + slot * SLOT + 2) as usize };
        self.0[at..at + 8].copy_from_slice(&child.to_le_bytes());
    }

    /// Writes down an update, for splits under contention.
    pub fn set_contention(&mut self, (updates, slow, last): (u16, u16, u16)) {
        let word = u64::from(updates) | u64::from(slow) << 16 | u64::from(last) << 32;
        // Updates, slow ones and the last one lie side by side.
        self.0[UPDATES..LAST + 2].copy_from_slice(&word.to_le_bytes()[..6]);
    }
}

#[inline]
fn value_bytes(value: Value<'_>) -> usize {
    match value {
        Value::Here(bytes) => bytes.len(),
        Value::Elsewhere { .. } => REFERENCE,
    }
}

/// Writes an entry of a leaf.
#[inline]
pub(super) fn write_leaf_entry(entry: &mut [u8], suffix: &[u8], value: Value<'_>) {
    entry[2..2 + suffix.len()].copy_from_slice(suffix);
    write_value(entry, suffix.len(), value);
}

#[inline]
fn write_value(entry: &mut [u8], suffix_bytes: usize, value: Value<'_>) {
    let at = 2 + suffix_bytes;
    let length = match value {
        Value::Here(bytes) => {
            entry[at..at + bytes.len()].copy_from_slice(bytes);
            bytes.len() as u16
        }
        Value::Elsewhere { bytes, first } => {
            entry[at..at + 4].copy_from_slice(&bytes.to_le_bytes());
            entry[at + 4..at + REFERENCE].copy_from_slice(&first.to_le_bytes());
            REFERENCE as u16 | ELSEWHERE
        }
    };
    entry[..2].copy_from_slice(&length.to_le_bytes());
}

/// Bytes of a leaf entry in the heap.
pub(super) fn leaf_bytes(suffix: usize, value: Value<'_>) -> usize {
    2 + suffix + value_bytes(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(8))]
    struct Page([u8; 4096]);

    /// A value that grew could have its node written anew while its own key was out of it. The others shared more, and that
    /// was skipped in its key too, so that it was not found any more.
    #[test]
    fn a_key_whose_value_grows_is_found_though_the_others_share_more() {
        let mut page = Page([0; 4096]);
        Builder::new(4096, 0, b"", None).finish(0, &mut page.0);
        let mut node = NodeMut(&mut page.0);
        let keys = [b"aaaaaaaa", b"bbbbbbb1", b"bbbbbbb2"];
        for (slot, key) in keys.iter().enumerate() {
            assert!(node.insert(slot, *key, Value::Here(&[1; 1100])));
        }
        assert!(node.replace(0, Value::Here(&[2; 1500])));
        assert!(node.view().has_true_heads());
        for (slot, key) in keys.iter().enumerate() {
            let found = node.view().find(*key);
            assert!(found.exact && found.slot == slot, "{slot}");
        }
    }
}
