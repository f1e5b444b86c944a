//! The first bytes of a page, by which it is known for whole, for the right one, and for no older one.
//!
//! ```text
//!  0  checksum  u32  CRC-32C of all that follows
//!  4  magic     u32
//!  8  page      u64  its number; pieces of the map have the top bit set, pages of its root the top two
//! 16  epoch     u64  the checkpoint that it belongs to
//! 24  mark      u64  the owner's: the place in a log, for example
//! 32  the owner's bytes
//! ```
//!
//! The map keeps 24 bits of the checksum beside the slot: a write that was acknowledged and never happened leaves a whole
//! page with the wrong checksum there, and is found as well.

/// Bytes of the header.
pub const HEADER_BYTES: usize = 32;

const MAGIC: u32 = 0x4153_5047;

/// Set in the number of a page that holds a piece of the map.
pub(crate) const MAP: u64 = 1 << 63;
/// Set in the number of a page that holds a piece of the map's root.
pub(crate) const ROOT: u64 = 3 << 62;

/// Where a page lies on disk, with 24 bits of its checksum; 0 is nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageSlot(pub u64);

const SLOT_BITS: u32 = 40;

impl PageSlot {
    pub const NOWHERE: Self = Self(0);

    pub fn new(slot: u64, checksum: u32) -> Self {
        Self((slot + 1) | u64::from(checksum) << SLOT_BITS)
    }

    pub fn slot(self) -> Option<u64> {
        (self.0 & ((1 << SLOT_BITS) - 1)).checked_sub(1)
    }

    /// What the checksum of the page must end in.
    fn fits(self, checksum: u32) -> bool {
        self.0 >> SLOT_BITS == u64::from(checksum) & 0xff_ffff
    }
}

/// Completes the header of a page that is about to be written; returns its checksum.
pub(crate) fn stamp(page: &mut [u8], number: u64, epoch: u64) -> u32 {
    page[4..8].copy_from_slice(&MAGIC.to_le_bytes());
    page[8..16].copy_from_slice(&number.to_le_bytes());
    page[16..24].copy_from_slice(&epoch.to_le_bytes());
    let checksum = crc32c::crc32c(&page[4..]);
    page[..4].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// What is wrong with a page that was read, if anything.
pub(crate) fn fault(page: &[u8], number: u64, place: PageSlot) -> Option<String> {
    let stored = u32::from_le_bytes([page[0], page[1], page[2], page[3]]);
    let computed = crc32c::crc32c(&page[4..]);
    if stored != computed {
        let zeros = if page.iter().all(|&byte| byte == 0) { "; it is all zeros" } else { "" };
        return Some(format!("its checksum is {computed:08x} where its header says {stored:08x}{zeros}"));
    }
    let found = field(page, 8);
    if field(page, 4) as u32 != MAGIC || found != number {
        return Some(format!("it is page {found}"));
    }
    (!place.fits(stored)).then(|| "it is an older copy: a write was lost".to_owned())
}

/// A little-endian word of a page.
pub(crate) fn field(page: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(page[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_knows_its_slot_and_its_checksum() {
        assert_eq!(PageSlot::NOWHERE.slot(), None);
        let place = PageSlot::new((1 << 39) + 5, 0xabcd_ef01);
        assert_eq!(place.slot(), Some((1 << 39) + 5));
        assert!(place.fits(0x12cd_ef01) && !place.fits(0xabcd_ef02));
    }

    #[test]
    fn every_flipped_bit_another_page_and_an_older_copy_are_named() {
        let mut page = vec![7; 4096];
        let checksum = stamp(&mut page, 9, 3);
        let place = PageSlot::new(1, checksum);
        assert_eq!(fault(&page, 9, place), None);
        assert!(fault(&page, 8, place).unwrap().contains("it is page 9"));
        for bit in (0..4096 * 8).step_by(61) {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(fault(&page, 9, place).unwrap().contains("checksum"), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
        page[100] = 1;
        stamp(&mut page, 9, 3);
        assert!(fault(&page, 9, place).unwrap().contains("older"));
    }
}
