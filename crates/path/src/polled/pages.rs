//! Where the data of a transfer lie, in the two ways in which NVMe says so.
//!
//! Physical region pages: the first entry may begin inside a page; the second is the next page, or a list of all further
//! pages where there are more than two. A scatter-gather descriptor says address and length at once: where the memory is
//! one piece for the device, it saves writing the list, and the device from fetching it.

use super::{bus::Translation, command::Data, memory::DmaMemory, physical::PAGE};

/// Bytes of the list of one command. Lists of 2 KiB never lie across two pages.
pub(super) const LIST_BYTES: usize = 2048;
/// Pages that a list can name.
const LISTED: usize = LIST_BYTES / 8;
/// Bytes of a transfer at most: the first page and those of a list, wherever in its page it begins.
pub(super) const TRANSFER_BYTES_AT_MOST: u64 = (LISTED * PAGE) as u64;

/// Lists for every command of a queue, inside its memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists {
    offset: usize,
    pieces: bool,
}

impl Lists {
    /// Lists at `offset` (a multiple of a page) of a queue's memory. With `pieces`, the controller takes scatter-gather
    /// descriptors.
    pub fn new(offset: usize, pieces: bool) -> Self {
        Self { offset, pieces }
    }

    /// Says where `bytes` at `at` of translated memory lie, for the command `id`; writes its list where one is needed.
    #[inline(always)]
    pub fn describe(&self, queue: &DmaMemory, id: u16, translation: &Translation, at: usize, bytes: u32) -> Data {
        let first = translation.at(at);
        let in_first = PAGE - at % PAGE;
        if bytes as usize <= in_first {
            return Data::Pages(first, 0);
        }
        let second = at + in_first;
        if bytes as usize - in_first <= PAGE {
            return Data::Pages(first, translation.at(second));
        }
        if self.pieces && translation.is_linear() {
            return Data::Piece(first, bytes);
        }
        let list = self.offset + usize::from(id) * LIST_BYTES;
        let further = (bytes as usize - in_first).div_ceil(PAGE);
        debug_assert!(further <= LISTED);
        // SAFETY: the list of this command lies inside the queue's memory, and the device does not read it before the
        // command that names it.
        let entries = unsafe { queue.start().add(list) }.cast::<u64>();
        for index in 0..further {
            // SAFETY: `further` is at most the entries of a list, since transfers are split beforehand.
            unsafe { entries.add(index).write_volatile(translation.at(second + index * PAGE)) };
        }
        Data::Pages(first, queue.bus_address(list))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::{super::bus::Bus, *};

    fn memory() -> DmaMemory {
        DmaMemory::new(&Arc::new(Bus::Same { pieces: true }), 4 * LIST_BYTES, 4096).unwrap()
    }

    /// Pages whose addresses follow no order.
    fn shuffled(pages: usize) -> Translation {
        let addresses = (0..pages).map(|page| ((page * 7919) % 10_007 + 1) as u64 * PAGE as u64).collect();
        Translation::Pages { addresses, pins: Vec::new() }
    }

    /// What the device would read, byte ranges of the bus in order.
    fn walked(data: Data, bytes: u32) -> Vec<(u64, u64)> {
        let mut left = u64::from(bytes);
        let Data::Pages(first, second) = data else { panic!("pages were expected") };
        let mut ranges = vec![(first, (4096 - first % 4096).min(left))];
        left -= ranges[0].1;
        let listed = left > 4096;
        let mut index = 0;
        while left > 0 {
            // SAFETY: the list lies in memory of the test, whose addresses are its own.
            let page = if listed { unsafe { (second as *const u64).add(index).read() } } else { second };
            ranges.push((page, left.min(4096)));
            left -= left.min(4096);
            index += 1;
        }
        ranges
    }

    proptest! {
        #[test]
        fn every_byte_is_named_once_and_in_order(
            at in 0_usize..100, offset in 0_usize..64, bytes in 1_u32..=TRANSFER_BYTES_AT_MOST as u32
        ) {
            let (memory, translation) = (memory(), shuffled(400));
            let at = at * 4096 + offset * 64;
            let data = Lists::new(0, false).describe(&memory, 2, &translation, at, bytes);
            let mut expected = at;
            for (address, length) in walked(data, bytes) {
                prop_assert_eq!(address, translation.at(expected));
                expected += length as usize;
            }
            prop_assert_eq!(expected, at + bytes as usize);
        }
    }

    #[test]
    fn a_piece_is_named_as_one_where_it_pays() {
        let (memory, linear) = (memory(), Translation::Linear { start: 1 << 32, bytes: 1 << 20 });
        let with = Lists::new(0, true);
        assert_eq!(with.describe(&memory, 0, &linear, 0, 8192), Data::Pages(1 << 32, (1 << 32) + 4096));
        assert_eq!(with.describe(&memory, 0, &linear, 0, 16_384), Data::Piece(1 << 32, 16_384));
        assert!(matches!(with.describe(&memory, 0, &shuffled(8), 0, 16_384), Data::Pages(..)));
        assert!(matches!(Lists::new(0, false).describe(&memory, 0, &linear, 0, 16_384), Data::Pages(..)));
    }
}
