//! What was begun and what was acknowledged as durable, kept where a killed process, or a machine that lost its power,
//! leaves it.
//!
//! Each block that is written has two entries: one before its write begins, one when the write is durable. What lies on the
//! target afterwards is judged by both: see [`History`].

mod history;

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use assay_record::Journalling;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

pub use self::history::{History, read};
use crate::error::LoadError;

const MAGIC: u64 = 0x4143_4b4a_4f55_5231;
/// The magic number, the number of entries that there is room for, and zeros.
const HEADER: usize = 64;
const ROOM_AT: usize = 8;
const ENTRY: usize = 32;
/// Tells the check word of a write that began from that of one that was acknowledged.
const BEGUN: u64 = 0x5bd1_e995_0ddb_a11e;

/// The journal of a run, shared by its workers. An entry counts once its last word, the check word, is there.
#[derive(Debug)]
pub struct SharedJournal {
    sheet: Sheet,
    entries: usize,
    next: AtomicU64,
    /// An entry could not be written: the journal takes no more.
    closed: AtomicBool,
}

/// What entries are put on.
#[derive(Debug)]
enum Sheet {
    Mapping { start: *mut u8, bytes: usize },
    File(File),
}

// SAFETY: entries are claimed with an atomic counter, so that no two threads write the same one.
unsafe impl Send for Sheet {}
// SAFETY: as above.
unsafe impl Sync for Sheet {}

/// One worker's hand on the journal.
#[derive(Clone, Debug)]
pub struct Journal(Arc<SharedJournal>);

impl Journal {
    /// Makes a journal with room for `entries`, two for each block that is written; the file must not exist.
    ///
    /// # Errors
    /// [`LoadError::Journal`] where the file cannot be made, or not be written in the way asked for.
    pub fn create(path: &Path, entries: usize, by: Journalling) -> Result<Self, LoadError> {
        let made = match by {
            Journalling::Mapping => Sheet::map(path, entries),
            Journalling::Write => Sheet::file(path, entries),
        };
        let sheet = made.map_err(|source| journal_error(path, source, by))?;
        let (next, closed) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self(Arc::new(SharedJournal { sheet, entries, next, closed })))
    }

    /// Notes that a block of this generation is about to be written. The write may be begun once this returns.
    #[inline]
    pub fn begin(&mut self, file: u32, offset: u64, generation: u64) {
        let head = u64::from(file);
        self.put([head, offset, generation, check_word(head, offset, generation) ^ BEGUN]);
    }

    /// Notes that a block of this generation is durable; `begun` is the newest generation that any write has begun by now.
    /// A full journal takes no more: what it holds stays true.
    #[inline]
    pub fn acknowledge(&mut self, file: u32, offset: u64, generation: u64, begun: u64) {
        let later = u32::try_from(begun.saturating_sub(generation)).unwrap_or(u32::MAX);
        let head = u64::from(file) | u64::from(later) << 32;
        self.put([head, offset, generation, check_word(head, offset, generation)]);
    }

    #[inline]
    fn put(&self, words: [u64; 4]) {
        let index = self.0.next.fetch_add(1, Ordering::Relaxed) as usize;
        if index >= self.0.entries {
            return;
        }
        let at = HEADER + index * ENTRY;
        match &self.0.sheet {
            Sheet::Mapping { start, .. } => {
                // SAFETY: `index` is below the number of entries and was claimed by this call alone; entries are 8-byte
                // aligned.
                unsafe { store(start.add(at).cast::<u64>(), words) }
            }
            Sheet::File(file) => self.write(file, at as u64, words),
        }
    }

    /// After a failure nothing is noted any more: an acknowledgement that is missing hides nothing that the others say, and
    /// a write that began unnoticed can only raise an alarm.
    #[cold]
    fn write(&self, file: &File, at: u64, words: [u64; 4]) {
        let mut bytes = [0; ENTRY];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        if !self.0.closed.load(Ordering::Relaxed) && file.write_all_at(&bytes, at).is_err() {
            self.0.closed.store(true, Ordering::Relaxed);
        }
    }
}

/// # Safety
/// `entry` points to four words that nothing else uses.
#[inline]
unsafe fn store(entry: *mut u64, words: [u64; 4]) {
    // SAFETY: as the caller promises.
    unsafe {
        entry.write_volatile(words[0]);
        entry.add(1).write_volatile(words[1]);
        entry.add(2).write_volatile(words[2]);
        std::sync::atomic::fence(Ordering::Release);
        entry.add(3).write_volatile(words[3]);
    }
}

impl Sheet {
    fn map(path: &Path, entries: usize) -> io::Result<Self> {
        let file = new_file(path)?;
        let bytes = HEADER + entries * ENTRY;
        file.set_len(bytes as u64)?;
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a fresh shared mapping of a file that this process just made.
        let start = unsafe { mmap(ptr::null_mut(), bytes, prot, flags, &file, 0)? }.cast::<u8>();
        // SAFETY: the mapping is larger than the header, and nobody else knows of it yet.
        unsafe { std::slice::from_raw_parts_mut(start, HEADER) }.copy_from_slice(&header(entries));
        Ok(Self::Mapping { start, bytes })
    }

    fn file(path: &Path, entries: usize) -> io::Result<Self> {
        let file = new_file(path)?;
        file.write_all_at(&header(entries), 0)?;
        Ok(Self::File(file))
    }
}

fn header(entries: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC.to_le_bytes());
    header[ROOM_AT..ROOM_AT + 8].copy_from_slice(&(entries as u64).to_le_bytes());
    header
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

impl Drop for Sheet {
    fn drop(&mut self) {
        if let Self::Mapping { start, bytes } = *self {
            // SAFETY: exactly what was mapped; no worker holds the journal any more.
            let _ = unsafe { munmap(start.cast(), bytes) };
        }
    }
}

fn check_word(head: u64, offset: u64, generation: u64) -> u64 {
    let mixed = head.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ offset.rotate_left(21) ^ generation.rotate_left(42);
    mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) | 1
}

fn journal_error(path: &Path, source: io::Error, by: Journalling) -> LoadError {
    let unmappable = by == Journalling::Mapping && matches!(source.raw_os_error(), Some(libc::ENODEV | libc::EINVAL));
    let hint = if unmappable { ": its file system has no shared mappings; use journalling \"write\"" } else { "" };
    LoadError::Journal { path: PathBuf::from(path).display().to_string(), reason: format!("{source}{hint}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Journalling; 2] = [Journalling::Mapping, Journalling::Write];

    fn journal(entries: usize, by: Journalling) -> (tempfile::TempDir, PathBuf, Journal) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acknowledged");
        let journal = Journal::create(&path, entries, by).unwrap();
        (folder, path, journal)
    }

    #[test]
    fn the_newest_generation_of_each_block_counts() {
        for by in BOTH {
            let (_folder, path, mut journal) = journal(10, by);
            journal.acknowledge(0, 4096, 3, 4);
            journal.acknowledge(0, 4096, 7, 7);
            journal.acknowledge(1, 4096, 5, 9);
            drop(journal);
            let seen = read(&path).unwrap().blocks;
            assert_eq!(seen.len(), 2);
            assert_eq!((seen[&(0, 4096)].newest(), seen[&(1, 4096)].newest()), (7, 5));
            assert_eq!(seen[&(0, 4096)], History::of(&[(3, 4), (7, 7)], &[]));
        }
    }

    #[test]
    fn a_write_that_began_is_not_one_that_was_acknowledged() {
        for by in BOTH {
            let (_folder, path, mut journal) = journal(10, by);
            journal.begin(2, 512, 8);
            journal.begin(2, 512, 9);
            journal.acknowledge(2, 512, 8, 9);
            let seen = read(&path).unwrap().blocks;
            assert_eq!(seen[&(2, 512)], History::of(&[(8, 9)], &[8, 9]), "it is there at once, before the run ends");
            assert_eq!(seen[&(2, 512)].in_flight().collect::<Vec<_>>(), [9]);
        }
    }

    #[test]
    fn a_half_written_entry_does_not_count() {
        for by in BOTH {
            let (_folder, path, mut journal) = journal(4, by);
            journal.acknowledge(0, 0, 1, 1);
            journal.acknowledge(0, 512, 2, 2);
            drop(journal);
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[HEADER + ENTRY + 24] ^= 0x10;
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(read(&path).unwrap().blocks, [((0, 0), History::of(&[(1, 1)], &[]))].into());
        }
    }

    #[test]
    fn a_full_journal_takes_no_more_and_stays_true() {
        let (_folder, path, mut journal) = journal(2, Journalling::Mapping);
        journal.acknowledge(0, 512, 1, 1);
        assert!(!read(&path).unwrap().full);
        (1..10).for_each(|block| journal.acknowledge(0, block * 512, block + 1, block + 1));
        let seen = read(&path).unwrap();
        assert!(seen.full);
        assert_eq!(seen.blocks.len(), 1, "two generations of one block");
    }

    #[test]
    fn another_file_is_not_a_journal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other");
        std::fs::write(&path, b"not a journal at all").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("not a journal"));
    }

    #[test]
    fn a_journal_that_is_there_already_is_not_written_over() {
        for by in BOTH {
            let (_folder, path, _journal) = journal(2, by);
            assert!(Journal::create(&path, 2, by).is_err());
        }
    }
}
