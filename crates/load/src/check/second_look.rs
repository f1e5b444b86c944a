//! Blocks that seem wrong while somebody writes to them.
//!
//! No path promises that a read which overlaps a write of the same block sees the old or the new block: through the page
//! cache and through a mapping it may see both. Such a block is torn in the reader's memory and whole a moment later. A
//! block that is damaged where it lies stays damaged. So it is read again, through a path of its own: it is excused when it
//! is then whole, or still being written to, and wrong when it stays the same and stays wrong.

use std::time::Duration;

use assay_path::{Arena, OpenParameters, Opened, Request, Segment, stamp};
use assay_record::{Durability, DurabilityKind, Layout, PathSpec, PollMode};

use crate::generator::Spread;

/// A block is read again this often at most: a writer may have lost its CPU in the middle of a block, and Linux holds one
/// back for up to 200 ms there, again and again, where too many pages are dirty.
const LOOKS: u32 = 14;
/// The same, once this many blocks were found wrong: the run is lost, and need not be slow.
const LOOKS_LATER: u32 = 2;
const PATIENCE: u32 = 5;
/// Pause between the first two looks; each further one is twice as long, up to the longest: about 3 s in all.
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

/// Reads blocks again. The path is opened when it is first needed.
#[derive(Debug)]
pub struct SecondLook {
    // Dropped first: a path must not outlive its arena.
    opened: Option<Opened>,
    arena: Option<Arena>,
    spec: PathSpec,
    segments: Vec<Segment>,
    spread: Spread,
    layout: Layout,
    wrong: u32,
}

impl SecondLook {
    /// A second look at the segments that a worker reads by `spec`.
    pub fn new(spec: &PathSpec, segments: &[Segment], spread: Spread, layout: Layout) -> Self {
        let spec = PathSpec { fixed: false, poll: PollMode::None, ..spec.clone() };
        Self { opened: None, arena: None, spec, segments: segments.to_vec(), spread, layout, wrong: 0 }
    }

    /// Whether a block that seemed wrong is whole by now, or changes still. `seen` is what was read.
    #[cold]
    pub fn excuses(&mut self, seen: &[u8], file: u32, offset: u64) -> bool {
        let mut before = seen.to_vec();
        let mut changed = false;
        let mut pause = PAUSE;
        for look in 0..if self.wrong < PATIENCE { LOOKS } else { LOOKS_LATER } {
            if look > 0 {
                std::thread::sleep(pause);
                pause = LONGEST_PAUSE.min(pause * 2);
            }
            let Some(now) = self.read(offset, seen.len()) else { break };
            if stamp::verify_in(now, file, offset).is_ok() {
                return true;
            }
            // What was read first came in by another call; only what changes from look to look is being written.
            changed |= look > 0 && now != before.as_slice();
            before.copy_from_slice(now);
        }
        self.wrong += u32::from(!changed);
        changed
    }

    fn read(&mut self, offset: u64, bytes: usize) -> Option<&[u8]> {
        if self.opened.is_none() {
            self.open(bytes)?;
        }
        let place = self.spread.place(offset);
        let length = u32::try_from(bytes).ok()?;
        let request =
            Request { write: false, segment: place.segment, offset: place.offset, length, memory: 0, slot: 0 };
        self.opened.as_mut()?.operate(request).ok()?;
        self.arena.as_ref()?.as_slice().get(..bytes)
    }

    fn open(&mut self, bytes: usize) -> Option<()> {
        let arena = Arena::new(bytes).ok()?;
        let parameters = OpenParameters {
            spec: &self.spec,
            durability: Durability { kind: DurabilityKind::None, every: 1 },
            segments: &self.segments,
            writes: false,
            layout: self.layout,
            arena: &arena,
            depth: 1,
            batch: 1,
        };
        self.opened = Some(Opened::open(&parameters).ok()?);
        self.arena = Some(arena);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::FileExt, thread};

    use assay_path::SegmentKind;
    use assay_record::PathKind;
    use tempfile::NamedTempFile;

    use super::*;

    const BYTES: usize = 4096;

    /// A file whose one block is torn in the middle, and the block as it was meant to be.
    fn torn() -> (NamedTempFile, Vec<u8>) {
        let (mut old, mut new) = (vec![0; BYTES], vec![0; BYTES]);
        stamp::write(&mut old, 0, 1);
        stamp::write(&mut new, 0, 2);
        let file = NamedTempFile::new().unwrap();
        file.as_file().write_all_at(&old, 0).unwrap();
        file.as_file().write_all_at(&new[..BYTES / 2], 0).unwrap();
        (file, new)
    }

    fn second_look(file: &NamedTempFile) -> SecondLook {
        let segment = Segment { path: file.path().to_owned(), kind: SegmentKind::File, base: 0, bytes: BYTES as u64 };
        SecondLook::new(&PathSpec::plain(PathKind::Pread), &[segment], Spread::new(1, 1), Layout::Written)
    }

    #[test]
    fn a_writer_that_is_held_back_in_mid_block_is_waited_for() {
        let (file, whole) = torn();
        let seen = std::fs::read(file.path()).unwrap();
        let excused = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(400));
                file.as_file().write_all_at(&whole[BYTES / 2..], (BYTES / 2) as u64).unwrap();
            });
            second_look(&file).excuses(&seen, 0, 0)
        });
        assert!(excused);
    }

    #[test]
    fn a_block_that_stays_torn_is_wrong() {
        let (file, _) = torn();
        let seen = std::fs::read(file.path()).unwrap();
        assert!(!second_look(&file).excuses(&seen, 0, 0));
    }
}
