//! What was acknowledged as durable, kept where a killed process leaves it: in a shared mapping of a file.

use std::{
    collections::HashMap,
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
    ptr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::LoadError;

const MAGIC: u64 = 0x4143_4b4a_4f55_5231;
const HEADER: usize = 64;
const ENTRY: usize = 32;

/// The journal of a run, shared by its workers. An entry counts once its last word, the check word, is there.
#[derive(Debug)]
pub struct SharedJournal {
    start: *mut u8,
    entries: usize,
    next: AtomicU64,
}

// SAFETY: entries are claimed with an atomic counter, so that no two threads write the same one.
unsafe impl Send for SharedJournal {}
// SAFETY: as above.
unsafe impl Sync for SharedJournal {}

/// One worker's hand on the journal.
#[derive(Clone, Debug)]
pub struct Journal(Arc<SharedJournal>);

/// What was acknowledged of one block: generations, each with the newest generation that had begun by then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History(Vec<(u64, u64)>);

/// What was acknowledged of each block, by file and offset.
pub type Acknowledged = HashMap<(u32, u64), History>;

impl History {
    /// The newest generation that was acknowledged.
    pub fn newest(&self) -> u64 {
        self.0.iter().map(|(generation, _)| *generation).max().unwrap_or(0)
    }

    /// Whether a block of this generation shows that nothing acknowledged was lost: it is the newest or a later one, or it
    /// was still being written when the newest began. Two writes of a block that overlap may end in either order.
    pub fn allows(&self, found: u64) -> bool {
        let newest = self.newest();
        found >= newest
            || (found > 0
                && self.0.iter().find(|(generation, _)| *generation == found).is_none_or(|(_, begun)| *begun >= newest))
    }
}

impl Journal {
    /// Makes a journal with room for `entries` acknowledgements; the file must not exist.
    ///
    /// # Errors
    /// [`LoadError::Journal`] where the file cannot be made.
    pub fn create(path: &Path, entries: usize) -> Result<Self, LoadError> {
        Self::map(path, entries).map_err(|source| journal_error(path, source))
    }

    fn map(path: &Path, entries: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        let bytes = HEADER + entries * ENTRY;
        file.set_len(bytes as u64)?;
        // SAFETY: a fresh shared mapping of a file that this process just made.
        let start =
            unsafe { mmap(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0)? };
        let start = start.cast::<u8>();
        // SAFETY: the mapping is larger than the header.
        unsafe { start.cast::<u64>().write(MAGIC) };
        Ok(Self(Arc::new(SharedJournal { start, entries, next: AtomicU64::new(0) })))
    }

    /// Notes that a block of this generation is durable; `begun` is the newest generation that any write has begun by now.
    /// A full journal takes no more: what it holds stays true.
    pub fn acknowledge(&mut self, file: u32, offset: u64, generation: u64, begun: u64) {
        let index = self.0.next.fetch_add(1, Ordering::Relaxed) as usize;
        if index >= self.0.entries {
            return;
        }
        let later = u32::try_from(begun.saturating_sub(generation)).unwrap_or(u32::MAX);
        let head = u64::from(file) | u64::from(later) << 32;
        // SAFETY: `index` is below the number of entries and was claimed by this call alone; entries are 8-byte aligned.
        unsafe {
            let entry = self.0.start.add(HEADER + index * ENTRY).cast::<u64>();
            entry.write_volatile(head);
            entry.add(1).write_volatile(offset);
            entry.add(2).write_volatile(generation);
            std::sync::atomic::fence(Ordering::Release);
            entry.add(3).write_volatile(check_word(head, offset, generation));
        }
    }
}

impl Drop for SharedJournal {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; no worker holds the journal any more.
        let _ = unsafe { munmap(self.start.cast(), HEADER + self.entries * ENTRY) };
    }
}

fn check_word(head: u64, offset: u64, generation: u64) -> u64 {
    let mixed = head.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ offset.rotate_left(21) ^ generation.rotate_left(42);
    mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) | 1
}

/// Reads a journal that a run left, killed or not.
///
/// # Errors
/// [`LoadError::Journal`] where the file is missing or is not a journal.
pub fn read(path: &Path) -> Result<Acknowledged, LoadError> {
    let bytes = std::fs::read(path).map_err(|source| journal_error(path, source))?;
    let word = |at: usize| bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes);
    if word(0) != MAGIC {
        return Err(LoadError::Journal { path: path.display().to_string(), reason: "it is not a journal".to_owned() });
    }
    let mut acknowledged = Acknowledged::new();
    for at in (HEADER..bytes.len().saturating_sub(ENTRY - 1)).step_by(ENTRY) {
        let (head, offset, generation) = (word(at), word(at + 8), word(at + 16));
        if word(at + 24) == check_word(head, offset, generation) {
            let history = acknowledged.entry((head as u32, offset)).or_default();
            history.0.push((generation, generation.saturating_add(head >> 32)));
        }
    }
    Ok(acknowledged)
}

fn journal_error(path: &Path, source: io::Error) -> LoadError {
    LoadError::Journal { path: PathBuf::from(path).display().to_string(), reason: source.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_generation_of_each_block_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acknowledged");
        let mut journal = Journal::create(&path, 10).unwrap();
        journal.acknowledge(0, 4096, 3, 4);
        journal.acknowledge(0, 4096, 7, 7);
        journal.acknowledge(1, 4096, 5, 9);
        drop(journal);
        let seen = read(&path).unwrap();
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[&(0, 4096)].newest(), seen[&(1, 4096)].newest()), (7, 5));
        assert_eq!(seen[&(0, 4096)], History(vec![(3, 4), (7, 7)]));
    }

    #[test]
    fn an_older_generation_is_a_loss_unless_its_write_overlapped_the_newest() {
        let after = History(vec![(3, 4), (7, 9)]);
        assert!(after.allows(7) && after.allows(8), "the newest, or a later one that nobody acknowledged");
        assert!(!after.allows(3), "3 was over when 7 began");
        assert!(!after.allows(0), "what was prepared is older than any write");
        assert!(after.allows(5), "5 was in flight when the process ended: it may have landed last");
        let overlapping = History(vec![(3, 8), (7, 9)]);
        assert!(overlapping.allows(3), "7 had begun when 3 was acknowledged");
    }

    #[test]
    fn a_half_written_entry_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acknowledged");
        let mut journal = Journal::create(&path, 4).unwrap();
        journal.acknowledge(0, 0, 1, 1);
        journal.acknowledge(0, 512, 2, 2);
        drop(journal);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[HEADER + ENTRY + 24] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path).unwrap(), Acknowledged::from([((0, 0), History(vec![(1, 1)]))]));
    }

    #[test]
    fn a_full_journal_takes_no_more_and_stays_true() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acknowledged");
        let mut journal = Journal::create(&path, 2).unwrap();
        (0..10).for_each(|block| journal.acknowledge(0, block * 512, block + 1, block + 1));
        assert_eq!(read(&path).unwrap().len(), 2);
    }

    #[test]
    fn another_file_is_not_a_journal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other");
        std::fs::write(&path, b"not a journal at all").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("not a journal"));
    }
}
