//! Which bytes lie on which member.

/// A range on one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StripePart {
    /// The member.
    pub member: u32,
    /// First byte there.
    pub offset: u64,
    /// First byte in memory.
    pub memory: usize,
    /// Length, bytes.
    pub bytes: u32,
}

/// Units of `unit_bytes` dealt out to members in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Striping {
    /// Members.
    pub members: u32,
    /// Bytes on one member before the next one comes.
    pub unit_bytes: u64,
}

impl Striping {
    /// Bytes of a stripe whose smallest member has `smallest`.
    pub fn bytes(&self, smallest: u64) -> u64 {
        let unit = if self.members == 1 { u64::from(super::SECTOR_BYTES) } else { self.unit_bytes };
        smallest / unit * unit * u64::from(self.members)
    }

    /// Calls `each` with the parts of a range, in its order.
    #[inline]
    pub fn parts(&self, mut offset: u64, mut memory: usize, mut bytes: u32, mut each: impl FnMut(StripePart)) {
        if self.members == 1 {
            return each(StripePart { member: 0, offset, memory, bytes });
        }
        while bytes > 0 {
            let (unit, inside) = (offset / self.unit_bytes, offset % self.unit_bytes);
            let length = u64::from(bytes).min(self.unit_bytes - inside) as u32;
            let member = (unit % u64::from(self.members)) as u32;
            let at = unit / u64::from(self.members) * self.unit_bytes + inside;
            each(StripePart { member, offset: at, memory, bytes: length });
            (offset, memory, bytes) = (offset + u64::from(length), memory + length as usize, bytes - length);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_byte_has_one_place_of_its_own() {
        for members in 1..5 {
            let striping = Striping { members, unit_bytes: 8192 };
            let bytes = striping.bytes(4 * 8192 + 4096);
            let mut seen = HashSet::new();
            for offset in (0..bytes).step_by(4096) {
                striping.parts(offset, 0, 4096, |part| {
                    assert!(part.offset + u64::from(part.bytes) <= 4 * 8192 + 4096, "{part:?}");
                    assert!(seen.insert((part.member, part.offset)), "{part:?} twice");
                });
            }
            assert_eq!(seen.len() as u64, bytes / 4096);
        }
    }

    #[test]
    fn a_long_range_is_cut_at_units() {
        let mut parts = Vec::new();
        Striping { members: 2, unit_bytes: 8192 }.parts(4096, 0, 16384, |part| parts.push(part));
        let expected = [(0, 4096, 0, 4096), (1, 0, 4096, 8192), (0, 8192, 12288, 4096)];
        let got: Vec<_> = parts.iter().map(|part| (part.member, part.offset, part.memory, part.bytes)).collect();
        assert_eq!(got, expected);
    }
}
