//! What was prepared in a scratch folder, so that a later run uses it again.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use assay_record::Content;
use serde::{Deserialize, Serialize};

/// Name of the ledger inside a scratch folder.
pub(crate) const NAME: &str = "ledger.json";
const NEW: &str = "ledger.json.new";

/// How a file was prepared. Any difference means that it is prepared again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Prepared {
    /// Bytes.
    pub(crate) bytes: u64,
    /// What the bytes look like.
    pub(crate) content: Content,
    /// Bytes of a stamped block; 0 for other content.
    pub(crate) stamp_bytes: u64,
    /// Bytes of a stripe, and number of members; they decide what a stamped file holds.
    pub(crate) stripe_bytes: u64,
    /// Number of members.
    pub(crate) members: u64,
}

/// An entry: the preparation, and which file it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FileEntry {
    prepared: Prepared,
    inode: u64,
    /// A run that writes to a stamped file has it open. If the run ends early, blocks may be torn.
    #[serde(default)]
    writing: bool,
    /// The run writes no stamps: they are gone however it ends.
    #[serde(default)]
    spoiled: bool,
}

/// The ledger of one scratch folder.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ledger {
    files: BTreeMap<String, FileEntry>,
}

impl Ledger {
    /// The ledger of a folder; an empty one where it is missing or damaged: then everything is prepared again.
    pub(crate) fn load(folder: &Path) -> Self {
        fs::read(folder.join(NAME)).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Names of the files that it occupies in a scratch folder.
    pub(crate) fn own_files() -> [&'static str; 2] {
        [NAME, NEW]
    }

    /// Whether a file was prepared in just this way, is the same file still, and no run ended while it wrote stamps.
    pub(crate) fn has(&self, name: &str, prepared: &Prepared, inode: u64) -> bool {
        self.files.get(name).is_some_and(|entry| {
            entry.prepared == *prepared && entry.inode == inode && !entry.writing && !entry.spoiled
        })
    }

    /// Notes a file.
    pub(crate) fn note(&mut self, name: &str, prepared: Prepared, inode: u64) {
        self.files.insert(name.to_owned(), FileEntry { prepared, inode, writing: false, spoiled: false });
    }

    /// Forgets a file.
    pub(crate) fn forget(&mut self, name: &str) {
        self.files.remove(name);
    }

    /// Notes that a run begins to write to a stamped file, with stamps or without.
    pub(crate) fn writing(&mut self, name: &str, stamps: bool) {
        if let Some(entry) = self.files.get_mut(name) {
            entry.writing = true;
            entry.spoiled |= !stamps;
        }
    }

    /// The run has ended, and with it all its writes.
    pub(crate) fn nothing_is_written(&mut self) {
        self.files.values_mut().for_each(|entry| entry.writing = false);
    }

    /// No file is noted.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Writes it, so that a kill leaves the old one or the new one.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(crate) fn save(&self, folder: &Path) -> io::Result<()> {
        let new = folder.join(NEW);
        let mut file = File::create(&new)?;
        match file.write_all(&serde_json::to_vec(self)?) {
            // hugetlbfs takes no writes: what is prepared there is prepared again the next time.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return fs::remove_file(&new),
            other => other?,
        }
        file.sync_all()?;
        fs::rename(&new, folder.join(NAME))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(bytes: u64) -> Prepared {
        Prepared { bytes, content: Content::Random, stamp_bytes: 0, stripe_bytes: 4096, members: 1 }
    }

    #[test]
    fn a_file_is_known_after_reading_the_ledger_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::load(folder.path());
        assert!(ledger.is_empty());
        ledger.note("a", prepared(1), 7);
        ledger.save(folder.path()).unwrap();
        let again = Ledger::load(folder.path());
        assert!(again.has("a", &prepared(1), 7));
        assert!(!again.has("a", &prepared(2), 7), "another size");
        assert!(!again.has("a", &prepared(1), 8), "another file of the same name");
        assert!(!again.has("b", &prepared(1), 7));
    }

    #[test]
    fn a_file_that_a_run_was_writing_stamps_to_is_trusted_after_an_orderly_end_only() {
        let mut ledger = Ledger::default();
        ledger.note("a", prepared(1), 7);
        ledger.writing("a", true);
        assert!(!ledger.has("a", &prepared(1), 7));
        ledger.nothing_is_written();
        assert!(ledger.has("a", &prepared(1), 7));
    }

    #[test]
    fn a_stamped_file_that_was_written_to_without_stamps_is_not_trusted_any_more() {
        let mut ledger = Ledger::default();
        ledger.note("a", prepared(1), 7);
        ledger.writing("a", false);
        ledger.nothing_is_written();
        assert!(!ledger.has("a", &prepared(1), 7));
        ledger.note("a", prepared(1), 7);
        assert!(ledger.has("a", &prepared(1), 7), "prepared again");
    }

    #[test]
    fn a_damaged_ledger_is_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), b"{\"files\": {").unwrap();
        assert!(Ledger::load(folder.path()).is_empty());
    }
}
