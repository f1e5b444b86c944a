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

/// Newest acknowledged generation of each block, by file and offset.
pub type Acknowledged = HashMap<(u32, u64), u64>;

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

    /// Notes that a block of this generation is durable. A full journal takes no more: what it holds stays true.
    pub fn acknowledge(&mut self, file: u32, offset: u64, generation: u64) {
        let index = self.0.next.fetch_add(1, Ordering::Relaxed) as usize;
        if index >= self.0.entries {
            return;
        }
        // SAFETY: `index` is below the number of entries and was claimed by this call alone; entries are 8-byte aligned.
        unsafe {
            let entry = self.0.start.add(HEADER + index * ENTRY).cast::<u64>();
            entry.write_volatile(u64::from(file));
            entry.add(1).write_volatile(offset);
            entry.add(2).write_volatile(generation);
            std::sync::atomic::fence(Ordering::Release);
            entry.add(3).write_volatile(check_word(u64::from(file), offset, generation));
        }
    }
}

impl Drop for SharedJournal {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; no worker holds the journal any more.
        let _ = unsafe { munmap(self.start.cast(), HEADER + self.entries * ENTRY) };
    }
}

fn check_word(file: u64, offset: u64, generation: u64) -> u64 {
    let mixed = file.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ offset.rotate_left(21) ^ generation.rotate_left(42);
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
        let (file, offset, generation) = (word(at), word(at + 8), word(at + 16));
        if word(at + 24) == check_word(file, offset, generation) {
            let newest = acknowledged.entry((file as u32, offset)).or_default();
            *newest = generation.max(*newest);
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
    fn the_newest_generation_of_each_block_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acknowledged");
        let mut journal = Journal::create(&path, 10).unwrap();
        journal.acknowledge(0, 4096, 3);
        journal.acknowledge(0, 4096, 7);
        journal.acknowledge(1, 4096, 5);
        drop(journal);
        let seen = read(&path).unwrap();
        assert_eq!(seen, Acknowledged::from([((0, 4096), 7), ((1, 4096), 5)]));
    }

    #[test]
    fn a_half_written_entry_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acknowledged");
        let mut journal = Journal::create(&path, 4).unwrap();
        journal.acknowledge(0, 0, 1);
        journal.acknowledge(0, 512, 2);
        drop(journal);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[HEADER + ENTRY + 24] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path).unwrap(), Acknowledged::from([((0, 0), 1)]));
    }

    #[test]
    fn a_full_journal_takes_no_more_and_stays_true() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acknowledged");
        let mut journal = Journal::create(&path, 2).unwrap();
        (0..10).for_each(|block| journal.acknowledge(0, block * 512, block + 1));
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
