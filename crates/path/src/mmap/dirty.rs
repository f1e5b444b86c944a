//! Which pages of the mappings were written since the last flush.

/// A range of pages of one segment, in bytes of the segment's mapping, both ends on page boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirtyRange {
    /// Index of the segment.
    pub segment: u32,
    /// First byte.
    pub start: u64,
    /// Byte after the last.
    pub end: u64,
}

/// A list of dirty ranges of fixed capacity: nothing is allocated after it is made.
#[derive(Debug)]
pub struct DirtyPages {
    ranges: Vec<DirtyRange>,
    page_bytes: u64,
    /// Sorted, and no two ranges touch.
    tidy: bool,
}

impl DirtyPages {
    /// Room for `capacity` ranges of pages of `page_bytes`, a power of two.
    pub fn new(capacity: usize, page_bytes: u64) -> Self {
        assert!(
            page_bytes.is_power_of_two() && capacity > 0,
            "pages have a power of two of bytes, and a list has room"
        );
        Self { ranges: Vec::with_capacity(capacity), page_bytes, tidy: true }
    }

    /// Adds the pages that `length` bytes at `offset` touch. False where the list is full even after coalescing: the
    /// caller then flushes what there is and adds again.
    #[inline]
    #[must_use]
    pub fn add(&mut self, segment: u32, offset: u64, length: u64) -> bool {
        let start = offset & !(self.page_bytes - 1);
        let end = (offset + length + self.page_bytes - 1) & !(self.page_bytes - 1);
        if let Some(last) = self.ranges.last_mut() {
            if last.segment == segment && last.start <= start && start <= last.end {
                last.end = last.end.max(end);
                return true;
            }
        }
        if self.ranges.len() == self.ranges.capacity() {
            self.coalesce();
            if self.ranges.len() == self.ranges.capacity() {
                return false;
            }
        }
        self.tidy = self.ranges.is_empty();
        self.ranges.push(DirtyRange { segment, start, end });
        true
    }

    /// Sorts the ranges and joins those that overlap or touch: no page is named twice, and none that is clean.
    pub fn coalesce(&mut self) -> &[DirtyRange] {
        if !self.tidy {
            self.ranges.sort_unstable();
            self.ranges.dedup_by(|next, kept| {
                let joins = next.segment == kept.segment && next.start <= kept.end;
                if joins {
                    kept.end = kept.end.max(next.end);
                }
                joins
            });
            self.tidy = true;
        }
        &self.ranges
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.tidy = true;
    }

    /// Nothing is dirty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn pages_of(ranges: &[DirtyRange]) -> Vec<(u32, u64)> {
        ranges.iter().flat_map(|r| (r.start / 4096..r.end / 4096).map(|page| (r.segment, page))).collect()
    }

    #[test]
    fn one_write_dirties_its_page_alone() {
        let mut dirty = DirtyPages::new(4, 4096);
        assert!(dirty.add(2, 4096 * 5 + 17, 64));
        assert_eq!(dirty.coalesce(), [DirtyRange { segment: 2, start: 4096 * 5, end: 4096 * 6 }]);
    }

    #[test]
    fn a_write_across_a_boundary_dirties_both_pages() {
        let mut dirty = DirtyPages::new(4, 4096);
        assert!(dirty.add(0, 4090, 10));
        assert_eq!(dirty.coalesce(), [DirtyRange { segment: 0, start: 0, end: 8192 }]);
    }

    #[test]
    fn neighbours_join_and_strangers_do_not() {
        let mut dirty = DirtyPages::new(4, 4096);
        for page in [9, 3, 8, 1] {
            assert!(dirty.add(0, page * 4096, 4096));
        }
        let pages: Vec<_> = dirty.coalesce().iter().map(|r| (r.start / 4096, r.end / 4096)).collect();
        assert_eq!(pages, [(1, 2), (3, 4), (8, 10)]);
    }

    #[test]
    fn a_full_list_says_so_and_keeps_what_it_has() {
        let mut dirty = DirtyPages::new(2, 4096);
        let room = dirty.ranges.capacity() as u64;
        for page in 0..room {
            assert!(dirty.add(0, page * 3 * 4096, 4096));
        }
        assert!(!dirty.add(0, 1 << 30, 4096));
        assert_eq!(dirty.coalesce().len() as u64, room);
        dirty.clear();
        assert!(dirty.add(0, 1 << 30, 4096));
    }

    proptest! {
        #[test]
        fn exactly_the_pages_written_are_named_once(
            writes in prop::collection::vec((0_u32..3, 0_u64..200_000, 1_u64..20_000), 1..100)
        ) {
            let mut dirty = DirtyPages::new(128, 4096);
            let mut wanted = BTreeSet::new();
            for (segment, offset, length) in writes {
                prop_assert!(dirty.add(segment, offset, length));
                wanted.extend((offset / 4096..(offset + length).div_ceil(4096)).map(|page| (segment, page)));
            }
            let seen = pages_of(dirty.coalesce());
            prop_assert_eq!(seen, wanted.into_iter().collect::<Vec<_>>());
        }
    }
}
