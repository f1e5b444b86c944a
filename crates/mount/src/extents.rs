//! Where on the drive the bytes of a file lie.

use std::sync::atomic::{AtomicU64, Ordering};

/// A piece of a file is at least so long, and at most so long where it grows, bytes.
const LEAST: u64 = 1 << 20;
const MOST: u64 = 64 << 20;

/// The drive's room, given out from its beginning to its end, and again from the beginning.
///
/// What was removed is used again only when the drive was written once around: as a file system does that looks for
/// long free pieces.
#[derive(Debug)]
pub struct Room {
    next: AtomicU64,
    bytes: u64,
}

impl Room {
    /// Of a drive of so many bytes.
    pub fn new(bytes: u64) -> Self {
        Self { next: AtomicU64::new(0), bytes: bytes.max(MOST) }
    }

    fn take(&self, bytes: u64) -> u64 {
        let at = self.next.fetch_add(bytes, Ordering::Relaxed) % self.bytes;
        // A piece does not go around the end.
        if at + bytes <= self.bytes { at } else { self.next.fetch_add(bytes, Ordering::Relaxed) % (self.bytes - bytes) }
    }
}

/// The pieces of one file, in its order, without gaps.
#[derive(Debug, Default)]
pub struct Extents {
    /// First byte in the file, first byte on the drive.
    pieces: Vec<(u64, u64)>,
    end: u64,
}

impl Extents {
    /// Where a byte of the file lies, which has `size` bytes now. A file that was there before is one piece.
    pub fn place(&mut self, room: &Room, at: u64, bytes: u64, size: u64) -> u64 {
        let needed = size.max(at.saturating_add(bytes));
        while self.end < needed {
            let grown = (needed - self.end).max(self.end.clamp(LEAST, MOST)).next_multiple_of(LEAST).min(room.bytes);
            self.add(room.take(grown), grown);
        }
        let piece = self.pieces.partition_point(|(first, _)| *first <= at).saturating_sub(1);
        let (first, place) = self.pieces[piece];
        place + (at - first)
    }

    /// Joins what follows on the drive too.
    fn add(&mut self, place: u64, bytes: u64) {
        let follows = self.pieces.last().is_some_and(|(first, last)| last + (self.end - first) == place);
        if !follows {
            self.pieces.push((self.end, place));
        }
        self.end += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stays_in_order_and_where_it_was() {
        let room = Room::new(1 << 40);
        let (mut one, mut other) = (Extents::default(), Extents::default());
        let places: Vec<u64> = (0..1000).map(|n| one.place(&room, n * 4096, 4096, 0)).collect();
        assert!(places.windows(2).filter(|pair| pair[1] != pair[0] + 4096).count() == 0, "a lone file has no gaps");
        let far = other.place(&room, 0, 4096, 0);
        assert!(far >= one.end);
        let _ = one.place(&room, 200 << 20, 4096, 0);
        assert_eq!((0..1000).map(|n| one.place(&room, n * 4096, 4096, 0)).collect::<Vec<_>>(), places);
    }

    #[test]
    fn a_file_that_was_there_is_one_piece_wherever_it_is_touched_first() {
        let room = Room::new(1 << 40);
        let mut file = Extents::default();
        let last = file.place(&room, 900 << 20, 4096, 1 << 30);
        assert_eq!(last - file.place(&room, 0, 4096, 1 << 30), 900 << 20);
    }

    #[test]
    fn a_drive_that_was_given_out_once_is_given_out_again() {
        let room = Room::new(100 << 20);
        for n in 0..50 {
            let place = Extents::default().place(&room, 0, 30 << 20, 0);
            assert!(place + (30 << 20) <= 100 << 20, "{n}: {place}");
        }
    }
}
