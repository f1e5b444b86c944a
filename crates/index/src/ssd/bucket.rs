//! A page of a bucket.
//!
//! ```text
//!  32  count   u16
//!  34  heap    u16  bytes of entries, from the end of the page down
//!  40  next    u64  the bucket's next page, 0 for the last
//!  48  per entry: a byte of its hash, and from 48 + 248 on its end, u16, counted from the end of the page
//! heap: bytes of the key u16, bytes of the value u16, key, value
//! ```
//!
//! Entries lie one after the other, the newest lowest. Removing one closes the gap.

use assay_buffer::{PageId, Racy};

const COUNT: usize = 32;
const HEAP: usize = 34;
const NEXT: usize = 40;
const PRINTS: usize = 48;
/// Entries of a page at most.
pub(super) const ENTRIES: usize = 248;
const ENDS: usize = PRINTS + ENTRIES;
/// Where entries may begin.
pub(super) const FLOOR: usize = ENDS + 2 * ENTRIES;

/// A page that others may be changing.
#[derive(Clone, Copy)]
pub(super) struct Bucket<'a>(pub Racy<'a>);

impl<'a> Bucket<'a> {
    pub fn count(self) -> usize {
        (self.0.u16(COUNT) as usize).min(ENTRIES)
    }

    fn heap(self) -> usize {
        self.0.u16(HEAP) as usize
    }

    pub fn next(self) -> PageId {
        self.0.u64(NEXT)
    }

    fn end(self, slot: usize) -> usize {
        self.0.u16(ENDS + 2 * slot) as usize
    }

    /// Key and value of an entry.
    pub fn entry(self, slot: usize) -> (&'a [u8], &'a [u8]) {
        let at = self.0.len().saturating_sub(self.end(slot));
        let lengths = self.0.slice(at, 4);
        let length =
            |from: usize| lengths.get(from..from + 2).map_or(0, |two| u16::from_le_bytes([two[0], two[1]]) as usize);
        let (key, value) = (length(0), length(2));
        (self.0.slice(at + 4, key), self.0.slice(at + 4 + key, value))
    }

    /// The slot of a key.
    pub fn find(self, print: u8, key: &[u8]) -> Option<usize> {
        let prints = self.0.slice(PRINTS, self.count());
        let mut from = 0;
        while let Some(at) = prints[from..].iter().position(|&seen| seen == print) {
            if self.entry(from + at).0 == key {
                return Some(from + at);
            }
            from += at + 1;
        }
        None
    }

    /// Whether an entry of so many bytes fits.
    pub fn fits(self, key: usize, value: usize) -> bool {
        self.count() < ENTRIES && FLOOR + self.heap() + 4 + key + value <= self.0.len()
    }
}

/// A page to change.
pub(super) struct BucketMut<'a>(pub &'a mut [u8]);

impl BucketMut<'_> {
    pub fn view(&self) -> Bucket<'_> {
        Bucket(Racy::of(self.0))
    }

    fn set_u16(&mut self, at: usize, value: usize) {
        self.0[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
    }

    /// Takes all entries out.
    pub fn clear(&mut self) {
        self.set_u16(COUNT, 0);
        self.set_u16(HEAP, 0);
    }

    pub fn set_next(&mut self, next: PageId) {
        self.0[NEXT..NEXT + 8].copy_from_slice(&next.to_le_bytes());
    }

    /// Adds an entry that fits.
    pub fn push(&mut self, print: u8, key: &[u8], value: &[u8]) {
        let (count, end) = (self.view().count(), self.view().heap() + 4 + key.len() + value.len());
        let at = self.0.len() - end;
        self.set_u16(at, key.len());
        self.set_u16(at + 2, value.len());
        self.0[at + 4..at + 4 + key.len()].copy_from_slice(key);
        self.0[at + 4 + key.len()..at + 4 + key.len() + value.len()].copy_from_slice(value);
        self.0[PRINTS + count] = print;
        self.set_u16(ENDS + 2 * count, end);
        self.set_u16(HEAP, end);
        self.set_u16(COUNT, count + 1);
    }

    /// Removes an entry; those behind it move up.
    pub fn remove(&mut self, slot: usize) {
        let (count, heap, bytes) = (self.view().count(), self.view().heap(), self.0.len());
        let end = self.view().end(slot);
        let (key, value) = self.view().entry(slot);
        let gap = 4 + key.len() + value.len();
        self.0.copy_within(bytes - heap..bytes - end, bytes - heap + gap);
        self.0.copy_within(PRINTS + slot + 1..PRINTS + count, PRINTS + slot);
        for later in slot + 1..count {
            let end = self.view().end(later) - gap;
            self.set_u16(ENDS + 2 * (later - 1), end);
        }
        self.set_u16(HEAP, heap - gap);
        self.set_u16(COUNT, count - 1);
    }

    /// Changes a value to another of the same length; `false` where the lengths differ.
    pub fn overwrite(&mut self, slot: usize, value: &[u8]) -> bool {
        let (key, old) = self.view().entry(slot);
        let at = self.0.len() - self.view().end(slot) + 4 + key.len();
        if old.len() != value.len() {
            return false;
        }
        self.0[at..at + value.len()].copy_from_slice(value);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_and_go() {
        let mut page = vec![0_u64; 512];
        // SAFETY: the same bytes as words; any bytes are words.
        let bytes = unsafe { std::slice::from_raw_parts_mut(page.as_mut_ptr().cast::<u8>(), 4096) };
        let mut bucket = BucketMut(bytes);
        let key = |number: u8| vec![number; 1 + number as usize % 7];
        let mut there: Vec<u8> = Vec::new();
        for number in 0..200 {
            assert!(bucket.view().fits(7, 3));
            bucket.push(number % 5, &key(number), &[number; 3]);
            there.push(number);
            if number % 3 == 2 {
                let gone = there.remove(number as usize / 5 % there.len());
                let slot = bucket.view().find(gone % 5, &key(gone)).unwrap();
                bucket.remove(slot);
            }
            assert_eq!(bucket.view().count(), there.len());
            for &number in &there {
                let slot = bucket.view().find(number % 5, &key(number)).unwrap();
                assert_eq!(bucket.view().entry(slot), (key(number).as_slice(), [number; 3].as_slice()));
            }
        }
        assert!(bucket.overwrite(0, &[9; 3]) && !bucket.overwrite(0, &[9; 4]));
        assert_eq!(bucket.view().entry(0).1, [9; 3]);
    }
}
