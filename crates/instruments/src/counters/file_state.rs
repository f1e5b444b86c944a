//! What a file is at a moment, so that one that was swapped, cut or written to by somebody else is seen.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Bytes of a block as `stat` counts them.
const BLOCK: u64 = 512;

/// One file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    identity: (u64, u64, u64),
    bytes: u64,
    allocated: u64,
    changed: (i64, i64),
}

/// Files at one moment, by name.
#[derive(Clone, Debug, Default)]
pub struct FileStates {
    files: BTreeMap<PathBuf, Option<FileState>>,
}

/// What became of files between two moments. Each is a number of files, but for the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileChanges {
    /// Files that were looked at.
    pub files: u64,
    /// Gone, or another file has the name.
    pub replaced: u64,
    /// Shorter than before.
    pub shortened: u64,
    /// Written to since.
    pub written: u64,
    /// Bytes that they had on disk before and have no more (cut, punched, moved away).
    pub lost_bytes: u64,
}

impl FileStates {
    /// Looks at files; one that is not there is remembered as such.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        Self { files: paths.into_iter().map(|path| (path.to_owned(), FileState::of(path).ok())).collect() }
    }

    /// What became of them. Files that a run writes to change by that: `ours` leaves out what its own writes do.
    pub fn until(&self, later: &Self, ours: bool) -> FileChanges {
        let mut changes = FileChanges::default();
        for (path, before) in &self.files {
            let Some(before) = before else { continue };
            changes.files += 1;
            match later.files.get(path).copied().flatten() {
                Some(after) if after.identity == before.identity => changes.add(before, &after, ours),
                _ => changes.replaced += 1,
            }
        }
        changes
    }
}

impl FileState {
    fn of(path: &Path) -> io::Result<Self> {
        let facts = fs::metadata(path)?;
        Ok(Self {
            identity: (facts.dev(), facts.ino(), facts.rdev()),
            bytes: facts.len(),
            allocated: facts.blocks() * BLOCK,
            changed: (facts.mtime(), facts.mtime_nsec()),
        })
    }
}

impl FileChanges {
    fn add(&mut self, before: &FileState, after: &FileState, ours: bool) {
        self.shortened += u64::from(after.bytes < before.bytes);
        self.written += u64::from(!ours && after.changed != before.changed);
        // A device has no blocks, and a file that is longer than its blocks has holes already.
        self.lost_bytes += before.allocated.min(before.bytes).saturating_sub(after.allocated);
    }

    /// Something became of them.
    pub fn any(&self) -> bool {
        self.replaced + self.shortened + self.written > 0 || self.lost_bytes > 0
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn change(act: impl FnOnce(&Path, &fs::File), ours: bool) -> FileChanges {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("table");
        fs::write(&path, vec![7; 1 << 20]).expect("written");
        let file = fs::OpenOptions::new().write(true).open(&path).expect("opened");
        file.sync_all().expect("on disk");
        let before = FileStates::of([path.as_path()]);
        act(&path, &file);
        before.until(&FileStates::of([path.as_path()]), ours)
    }

    #[test]
    fn a_file_that_nobody_touches_is_the_same() {
        assert_eq!(change(|_, _| {}, false), FileChanges { files: 1, ..FileChanges::default() });
    }

    #[test]
    fn a_file_that_is_gone_or_swapped_is_replaced() {
        assert_eq!(change(|path, _| fs::remove_file(path).expect("removed"), true).replaced, 1);
        let swap = |path: &Path, _: &fs::File| {
            fs::write(path.with_extension("new"), [1]).expect("written");
            fs::rename(path.with_extension("new"), path).expect("renamed");
        };
        assert_eq!(change(swap, true).replaced, 1);
    }

    #[test]
    fn a_file_that_is_cut_lost_its_bytes_even_if_it_grows_again() {
        let cut = |_: &Path, file: &fs::File| file.set_len(4096).expect("cut");
        let seen = change(cut, true);
        assert!(seen.shortened == 1 && seen.lost_bytes >= 1 << 19, "{seen:?}");
        let again = |_: &Path, file: &fs::File| {
            file.set_len(4096).expect("cut");
            file.set_len(1 << 20).expect("grown");
        };
        assert!(change(again, true).lost_bytes >= 1 << 19);
    }

    #[test]
    fn a_write_counts_unless_the_run_itself_writes() {
        let write = |_: &Path, file: &fs::File| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            file.write_all_at(b"new", 100).expect("written");
        };
        assert_eq!(change(write, false).written, 1);
        assert!(!change(write, true).any());
    }
}
