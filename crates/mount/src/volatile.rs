//! What a drive holds in a buffer that a loss of power empties, and what is there afterwards.

use std::{
    collections::{BTreeMap, VecDeque},
    os::unix::fs::FileExt,
    sync::Arc,
};

use rand_xoshiro::{
    Xoshiro256StarStar,
    rand_core::{RngCore, SeedableRng},
};
use serde::{Deserialize, Serialize};

use crate::open::Open;

/// Written whole or not at all, bytes.
const SECTOR: usize = 512;

/// What became of writes that no flush had covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// They are there.
    pub kept: u64,
    /// They are not.
    pub lost: u64,
    /// Some of their sectors are.
    pub torn: u64,
}

/// One write.
struct Write {
    number: u64,
    open: Arc<Open>,
    at: u64,
    data: Vec<u8>,
    before: Vec<u8>,
    size_before: u64,
}

/// Writes that are not on the medium for sure, the oldest first.
///
/// Data is in the folder below at once; what was there before is kept here, so that it can be there again.
pub struct Volatile {
    holds_bytes: u64,
    bytes: u64,
    writes: VecDeque<Write>,
    next: u64,
    /// When flushes are answered, ns, and the first write that they do not cover.
    flushes: VecDeque<(u64, u64)>,
}

impl Volatile {
    /// Of a buffer of so many bytes.
    pub fn new(holds_bytes: u64) -> Self {
        Self { holds_bytes, bytes: 0, writes: VecDeque::new(), next: 0, flushes: VecDeque::new() }
    }

    /// Does a write, and remembers what it replaced.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn write(&mut self, open: &Arc<Open>, at: u64, data: &[u8], now_ns: u64) -> std::io::Result<()> {
        self.settle(now_ns);
        let size_before = open.file.metadata()?.len();
        let mut before = vec![0; size_before.saturating_sub(at).min(data.len() as u64) as usize];
        open.file.read_exact_at(&mut before, at)?;
        open.file.write_all_at(data, at)?;
        let (number, data) = (self.next, data.to_vec());
        self.next += 1;
        self.bytes += data.len() as u64;
        self.writes.push_back(Write { number, open: Arc::clone(open), at, data, before, size_before });
        // What does not fit any more has gone to the medium.
        while self.bytes > self.holds_bytes {
            self.settle_one();
        }
        Ok(())
    }

    /// A flush covers all that was written so far, once it is answered at `due_ns`.
    pub fn flush(&mut self, due_ns: u64) {
        self.flushes.push_back((due_ns, self.next));
    }

    /// All of a file is on the medium: its size was changed, or its room.
    pub fn settle_file(&mut self, number: u64) {
        self.writes.retain(|write| write.open.node.number != number);
        self.bytes = self.writes.iter().map(|write| write.data.len() as u64).sum();
    }

    fn settle_one(&mut self) {
        if let Some(write) = self.writes.pop_front() {
            self.bytes -= write.data.len() as u64;
        }
    }

    /// Forgets what answered flushes cover.
    fn settle(&mut self, now_ns: u64) {
        let covered = self.flushes.iter().filter(|(due_ns, _)| *due_ns <= now_ns).map(|(_, next)| *next).max();
        self.flushes.retain(|(due_ns, _)| *due_ns > now_ns);
        while covered.is_some_and(|next| self.writes.front().is_some_and(|write| write.number < next)) {
            self.settle_one();
        }
    }

    /// The power is gone: each write that no answered flush covers is lost, torn or kept, by seed.
    ///
    /// # Errors
    /// Where the folder below cannot be written.
    pub fn cut(&mut self, now_ns: u64, seed: u64) -> std::io::Result<Left> {
        self.settle(now_ns);
        let writes: Vec<Write> = self.writes.drain(..).collect();
        let mut sizes = BTreeMap::new();
        for write in writes.iter().rev() {
            write.open.file.write_all_at(&write.before, write.at)?;
            sizes.insert(write.open.node.number, (Arc::clone(&write.open), write.size_before));
        }
        // The size before the first write to a file is what all of its writes started from.
        for (open, size) in sizes.into_values() {
            open.file.set_len(size)?;
        }
        let mut chance = Xoshiro256StarStar::seed_from_u64(seed);
        let mut left = Left::default();
        for write in writes {
            write.leave(&mut chance, &mut left)?;
        }
        Ok(left)
    }
}

impl Write {
    fn leave(&self, chance: &mut Xoshiro256StarStar, left: &mut Left) -> std::io::Result<()> {
        match chance.next_u32() % 3 {
            0 => left.lost += 1,
            1 => {
                left.kept += 1;
                self.open.file.write_all_at(&self.data, self.at)?;
            }
            _ => {
                left.torn += 1;
                for (n, sector) in self.data.chunks(SECTOR).enumerate() {
                    if chance.next_u32() % 2 == 0 {
                        self.open.file.write_all_at(sector, self.at + (n * SECTOR) as u64)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::fd::OwnedFd};

    use super::*;
    use crate::node::Node;

    fn opened(number: u64) -> (Arc<Open>, File) {
        let file = tempfile::tempfile().expect("a file");
        let place: OwnedFd = file.try_clone().expect("a descriptor").into();
        let node = Arc::new(Node { place, number, extents: Arc::default() });
        let open = Open { file: file.try_clone().expect("a descriptor"), node, direct: false, durable: false };
        (Arc::new(open), file)
    }

    fn content(file: &File) -> Vec<u8> {
        let mut all = vec![0; file.metadata().expect("facts").len() as usize];
        file.read_exact_at(&mut all, 0).expect("bytes");
        all
    }

    #[test]
    fn what_an_answered_flush_covers_stays_and_the_rest_is_old_or_new_by_sector() {
        let mut seen = Left::default();
        for seed in 0..60 {
            let (open, file) = opened(7);
            let mut drive = Volatile::new(1 << 20);
            drive.write(&open, 0, &[1; 8192], 10).expect("written");
            drive.flush(100);
            drive.write(&open, 0, &[2; 4096], 200).expect("written");
            drive.write(&open, 8192, &[3; 4096], 201).expect("written");
            drive.flush(1000);
            let left = drive.cut(300, seed).expect("cut");
            assert_eq!(left.kept + left.lost + left.torn, 2, "seed {seed}");
            let all = content(&file);
            assert_eq!(all[4096..8192], [1; 4096], "seed {seed}");
            for sector in all.chunks(SECTOR) {
                assert!(sector.iter().all(|byte| *byte == sector[0]), "seed {seed}");
            }
            seen = Left { kept: seen.kept + left.kept, lost: seen.lost + left.lost, torn: seen.torn + left.torn };
        }
        assert!(seen.kept > 20 && seen.lost > 20 && seen.torn > 20, "{seen:?}");
    }

    #[test]
    fn a_kept_write_is_not_undone_with_the_one_before_it() {
        for seed in 0..60 {
            let (open, file) = opened(7);
            let mut drive = Volatile::new(1 << 20);
            drive.write(&open, 0, &[1; 512], 1).expect("written");
            drive.write(&open, 0, &[2; 512], 2).expect("written");
            let left = drive.cut(3, seed).expect("cut");
            if left.kept == 2 {
                assert_eq!(content(&file), [2; 512], "seed {seed}");
            }
            if left.lost == 2 {
                assert_eq!(content(&file), [0; 0], "seed {seed}");
            }
        }
    }

    #[test]
    fn a_buffer_that_survives_loses_nothing_and_a_small_one_only_what_it_holds() {
        for (holds, at_risk) in [(0, 0), (4096, 1)] {
            let (open, file) = opened(7);
            let mut drive = Volatile::new(holds);
            for n in 0..4 {
                drive.write(&open, n * 4096, &[9; 4096], n).expect("written");
            }
            let left = drive.cut(10, 1).expect("cut");
            assert_eq!(left.kept + left.lost + left.torn, at_risk);
            assert_eq!(content(&file)[..12288], [9; 12288]);
        }
    }
}
