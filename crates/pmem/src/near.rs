//! Which lines the caches of a CPU hold.

/// Places that a line can be in.
const WAYS: usize = 8;

/// A cache of lines that all cores share, 8-way, the longest unused line of a set goes first. Sets are spread by a hash, as
/// last-level caches do.
#[derive(Debug)]
pub(crate) struct Near {
    /// Number of the line plus one, and whether it has been changed in the lowest bit; the last used first.
    sets: Vec<[u64; WAYS]>,
}

/// What a look at a line found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) hit: bool,
    /// A changed line that had to go.
    pub(crate) pushed_out: Option<u64>,
}

impl Near {
    /// Room for so many lines, at least one set.
    pub(crate) fn new(lines: u64) -> Self {
        Self { sets: vec![[0; WAYS]; (lines as usize / WAYS).max(1)] }
    }

    fn set(&mut self, line: u64) -> &mut [u64; WAYS] {
        let hash = line.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = (u128::from(hash) * self.sets.len() as u128) >> 64;
        &mut self.sets[place as usize]
    }

    /// Brings a line near, changed or as it was.
    pub(crate) fn touch(&mut self, line: u64, changes: bool) -> Look {
        let set = self.set(line);
        let place = set.iter().position(|entry| entry >> 1 == line + 1);
        let held = place.map_or((line + 1) << 1, |place| set[place]);
        let gone = if place.is_none() { set[WAYS - 1] } else { 0 };
        set[..=place.unwrap_or(WAYS - 1)].rotate_right(1);
        set[0] = held | u64::from(changes);
        Look { hit: place.is_some(), pushed_out: (gone & 1 == 1).then(|| (gone >> 1) - 1) }
    }

    /// Writes a line back: whether it had been changed. It stays near.
    pub(crate) fn write_back(&mut self, line: u64) -> bool {
        let entry = self.set(line).iter_mut().find(|entry| **entry >> 1 == line + 1);
        let changed = entry.as_ref().is_some_and(|entry| **entry & 1 == 1);
        if let Some(entry) = entry {
            *entry &= !1;
        }
        changed
    }

    /// A line is stored around the caches: it is near no more.
    pub(crate) fn forget(&mut self, line: u64) {
        if let Some(entry) = self.set(line).iter_mut().find(|entry| **entry >> 1 == line + 1) {
            *entry = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unused_line_of_a_set_goes_and_is_told_where_it_was_changed() {
        let mut near = Near::new(8);
        assert!((0..8).all(|line| !near.touch(line, line == 0).hit));
        assert!((1..8).all(|line| near.touch(line, false).hit));
        assert_eq!(near.touch(8, false), Look { hit: false, pushed_out: Some(0) });
        assert_eq!(near.touch(9, false), Look { hit: false, pushed_out: None }, "line 1 was as it is on the media");
        assert!(!near.touch(1, false).hit);
    }

    #[test]
    fn a_line_is_written_back_once_and_stays_near() {
        let mut near = Near::new(64);
        near.touch(5, true);
        assert_eq!([near.write_back(5), near.write_back(5), near.write_back(6)], [true, false, false]);
        assert!(near.touch(5, false).hit);
        near.forget(5);
        assert!(!near.touch(5, false).hit);
    }
}
