//! The page cache in front of a data set.

/// Bytes of a page of memory.
pub(super) const PAGE_BYTES: u64 = 4096;
/// Pages that are told apart at most; larger data sets are followed in larger units.
const UNITS_AT_MOST: u64 = 1 << 28;
/// Requests that are read ahead before they are needed (Linux: its window, doubled once).
const AHEAD_REQUESTS: f64 = 2.0;

/// Requests that are asked for before they are needed: none where who asks copies them itself.
pub(crate) fn ahead_requests(inline: bool) -> f64 {
    if inline { 0.0 } else { AHEAD_REQUESTS }
}

/// Write-back requests under way: one where the thread that writes back copies it itself.
pub(crate) fn behind_requests(inline: bool) -> u32 {
    if inline { 1 } else { BEHIND_REQUESTS }
}
/// Bytes of a write-back request, and how many are under way.
pub(crate) const BEHIND_BYTES: u64 = 256 << 10;
const BEHIND_REQUESTS: u32 = 16;
/// Share of the page cache that may be dirty before write-back begins, and before writers wait (Linux:
/// `dirty_background_ratio` and `dirty_ratio`).
pub(crate) const DIRTY_BACKGROUND: f64 = 0.1;
pub(crate) const DIRTY_AT_MOST: f64 = 0.2;

/// Memory that may become dirty where nobody limits the page cache, bytes: that of a small server.
pub(crate) const ROOM_WHERE_UNKNOWN: u64 = 64 << 30;

/// Which pages of a data set are in memory.
#[derive(Clone, Debug)]
pub struct Pages {
    begin: u64,
    unit: u64,
    bytes: u64,
    lapse: u64,
    resident: Vec<u64>,
    units: u64,
    held: u64,
    room: u64,
    hand: u64,
    pub(super) dirty: u64,
    pub(super) background: u64,
    pub(super) dirty_at_most: u64,
    pub(super) behind: u32,
    /// Where write-back of what was written in order goes on, bytes from the begin.
    cursor: u64,
    pub(super) waiting: Vec<u32>,
}

impl Pages {
    /// A cache of `room` bytes (of any size where none is given) for `bytes` from `begin` on; full where it is `warm`.
    pub fn new(begin: u64, bytes: u64, room: Option<u64>, warm: bool) -> Self {
        let mut unit = PAGE_BYTES;
        while bytes / unit > UNITS_AT_MOST {
            unit *= 2;
        }
        let units = bytes.div_ceil(unit).max(1);
        let room_bytes = room.unwrap_or(u64::MAX);
        let dirty_room = room.unwrap_or(ROOM_WHERE_UNKNOWN) as f64;
        let mut pages = Self {
            begin,
            unit,
            bytes,
            lapse: 1,
            resident: vec![0; units.div_ceil(64) as usize],
            units,
            held: 0,
            room: (room_bytes / unit).clamp(1, units),
            hand: 0,
            dirty: 0,
            background: (dirty_room * DIRTY_BACKGROUND) as u64,
            dirty_at_most: (dirty_room * DIRTY_AT_MOST) as u64,
            behind: 0,
            cursor: 0,
            waiting: Vec::new(),
        };
        if warm {
            (0..pages.room).for_each(|unit| pages.hold(unit));
        }
        pages
    }

    /// The same cache while it fills `factor` times as fast: every operation stands for as many, on the bytes beside it.
    pub fn hasten(&mut self, factor: f64, warm: bool) {
        let lapse = factor.round().max(1.0) as u64;
        let room = (self.room < self.units).then_some(self.room * self.unit);
        let dirty = [self.background, self.dirty_at_most].map(|bytes| (bytes / lapse).max(1));
        *self = Self::new(self.begin, self.bytes, room, false);
        self.unit *= lapse;
        self.units = self.bytes.div_ceil(self.unit).max(1);
        self.room = room.map_or(self.units, |bytes| (bytes / self.unit).clamp(1, self.units));
        self.resident.truncate(self.units.div_ceil(64) as usize);
        self.lapse = lapse;
        [self.background, self.dirty_at_most] = dirty;
        if warm {
            (0..self.room).for_each(|unit| self.hold(unit));
        }
    }

    /// Where the next `bytes` are written back: what was written in order follows on, what was written anywhere lies
    /// where `drawn` says. Never where the write-back lies that has just ended: an array would find one member at work.
    pub(super) fn next_behind(&mut self, bytes: u64, sequential: bool, drawn: u64) -> u64 {
        let places = (self.bytes / bytes.max(1)).max(1);
        if !sequential {
            return self.begin + drawn % places * bytes;
        }
        let at = self.cursor;
        self.cursor = if at + 2 * bytes > self.bytes { 0 } else { at + bytes };
        self.begin + at
    }

    fn hold(&mut self, unit: u64) {
        let word = &mut self.resident[(unit / 64) as usize];
        if *word >> (unit % 64) & 1 == 0 {
            *word |= 1 << (unit % 64);
            self.held += 1;
        }
    }

    /// Makes a range resident; true where it was already.
    pub fn touch(&mut self, offset: u64, bytes: u64) -> bool {
        self.touch_from(self.begin, offset, bytes)
    }

    /// The same for a reader that began at `start`, from where on a cache that fills faster counts what it passed: readers
    /// that began apart stay apart.
    pub fn touch_from(&mut self, start: u64, offset: u64, bytes: u64) -> bool {
        let (first, start) = (offset.saturating_sub(self.begin), start.saturating_sub(self.begin));
        let passed = (first + self.bytes - start) % self.bytes;
        let span = (bytes * self.lapse).max(1);
        // Where it goes around, places that lie side by side at first overlap after it: of a range that overlaps what was
        // touched before, a part is missing far more often than all of it.
        let first = if self.lapse > 1 { (start + passed * self.lapse) % self.bytes / span * span } else { first };
        let bytes = span;
        let last = ((first + bytes.max(1) - 1) / self.unit).min(self.units - 1);
        let first = (first / self.unit).min(self.units - 1);
        let mut there = true;
        for unit in first..=last {
            if self.resident[(unit / 64) as usize] >> (unit % 64) & 1 == 1 {
                continue;
            }
            there = false;
            self.hold(unit);
            if self.held > self.room {
                self.evict(unit);
            }
        }
        there
    }

    /// A hand goes around and drops what it finds: first in, first out for a scan, nearly random otherwise.
    fn evict(&mut self, keep: u64) {
        loop {
            let unit = self.hand;
            self.hand = (self.hand + 1) % self.units;
            let word = &mut self.resident[(unit / 64) as usize];
            if unit != keep && *word >> (unit % 64) & 1 == 1 {
                *word &= !(1 << (unit % 64));
                self.held -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_larger_than_the_cache_is_never_served_from_it() {
        let mut pages = Pages::new(0, 100 * PAGE_BYTES, Some(50 * PAGE_BYTES), false);
        for round in 0..3 {
            for page in 0..100 {
                assert!(!pages.touch(page * PAGE_BYTES, PAGE_BYTES), "round {round}, page {page}");
            }
        }
    }

    /// Every write-back that ended began the next one where it lay itself, so that an array had one member at work.
    #[test]
    fn write_back_goes_on_where_nothing_was_written_back_yet() {
        let mut pages = Pages::new(PAGE_BYTES, 64 * PAGE_BYTES, None, false);
        let ordered: Vec<u64> = (0..65).map(|_| pages.next_behind(PAGE_BYTES, true, 0)).collect();
        assert!(ordered[..64].windows(2).all(|pair| pair[1] == pair[0] + PAGE_BYTES), "{ordered:?}");
        assert_eq!([ordered[0], ordered[64]], [PAGE_BYTES; 2]);
        let drawn: Vec<u64> = (0..128).map(|drawn| pages.next_behind(PAGE_BYTES, false, drawn)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&PAGE_BYTES), Some(&(64 * PAGE_BYTES))));
    }

    /// Random reads of a cache that fills 27 times as fast missed four times as often when nearly all of it was there.
    #[test]
    fn reads_of_a_cache_that_fills_faster_find_as_much_as_without_that() {
        let missed = |lapse: u64| {
            let bytes = 262_144 * lapse.max(27) * PAGE_BYTES + (1 << 20);
            let mut pages = Pages::new(0, bytes, None, false);
            pages.hasten(lapse as f64, false);
            let (reads, places) = (3 * bytes / (4 * PAGE_BYTES * lapse), bytes / (4 * PAGE_BYTES));
            let mut drawn = 1_u64;
            let mut missed = 0_u64;
            for index in 0..reads {
                drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let there = pages.touch((drawn >> 20) % places * 4 * PAGE_BYTES, 4 * PAGE_BYTES);
                missed += u64::from(!there && index > reads * 9 / 10);
            }
            missed as f64 / (reads as f64 / 10.0)
        };
        let [plain, faster] = [missed(1), missed(27)];
        assert!((faster / plain - 1.0).abs() < 0.1, "{plain} and {faster}");
    }

    #[test]
    fn a_scan_that_fits_is_read_once() {
        let mut pages = Pages::new(1 << 20, 100 * PAGE_BYTES, None, false);
        let scan =
            |pages: &mut Pages| (0..100).filter(|page| pages.touch((1 << 20) + page * PAGE_BYTES, PAGE_BYTES)).count();
        assert_eq!([scan(&mut pages), scan(&mut pages)], [0, 100]);
    }

    #[test]
    fn a_warm_cache_holds_what_it_has_room_for() {
        let mut pages = Pages::new(0, 100 * PAGE_BYTES, Some(25 * PAGE_BYTES), true);
        assert!(pages.touch(0, 1) && !pages.touch(99 * PAGE_BYTES, 1));
        assert_eq!(pages.held, 25);
    }
}
