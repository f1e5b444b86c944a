//! Where a page of a file lies when the file is spread over members.

/// A place on one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentOffset {
    /// Index of the segment.
    pub segment: u32,
    /// Offset in the segment, bytes.
    pub offset: u64,
}

/// The pseudo-RAID of the drop-in study: page i lies on member i mod n, with no layer between program and drives.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    members: u64,
    stripe: u64,
}

impl Spread {
    /// Pages of `stripe` bytes over `members` segments. With one member everything stays where it is.
    pub fn new(members: usize, stripe: u64) -> Self {
        Self { members: members.max(1) as u64, stripe: stripe.max(1) }
    }

    /// The place of an offset. An operation must not cross a page.
    #[inline(always)]
    pub fn place(&self, offset: u64) -> SegmentOffset {
        if self.members == 1 {
            return SegmentOffset { segment: 0, offset };
        }
        let (page, inside) = (offset / self.stripe, offset % self.stripe);
        SegmentOffset { segment: (page % self.members) as u32, offset: page / self.members * self.stripe + inside }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_i_lies_on_member_i_mod_n() {
        let spread = Spread::new(3, 4096);
        assert_eq!(spread.place(0), SegmentOffset { segment: 0, offset: 0 });
        assert_eq!(spread.place(4096), SegmentOffset { segment: 1, offset: 0 });
        assert_eq!(spread.place(3 * 4096 + 100), SegmentOffset { segment: 0, offset: 4096 + 100 });
    }

    #[test]
    fn no_two_pages_share_a_place() {
        let spread = Spread::new(4, 512);
        let places: std::collections::HashSet<(u32, u64)> =
            (0..1000).map(|page| spread.place(page * 512)).map(|place| (place.segment, place.offset)).collect();
        assert_eq!(places.len(), 1000);
        assert!(places.iter().all(|(_, offset)| *offset < 250 * 512));
    }
}
