//! The folder that an engine lies in.

use std::{
    fs, io,
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};

use assay_index::{IndexError, Setup};
use assay_own::{Folder, Plan};

use crate::error::RivalError;

/// Names the process that made a folder of ours.
const MARKER: &str = ".assay-rival";

/// A folder for one engine's files. Dropped, it is removed, unless the user named it; `assay clean` finds what a kill left.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    // None where the user named it.
    _made: Option<Folder>,
}

impl Place {
    /// In the target, or the folder that it names to keep.
    ///
    /// # Errors
    /// Where the target is no folder, or nothing can be made there.
    pub fn of(setup: &Setup) -> Result<Self, IndexError> {
        if let Some(path) = &setup.file {
            return Self::named(path);
        }
        if !setup.target.is_dir() {
            let fix = "name a folder; Assay makes one of its own in it and removes it again";
            return Err(IndexError::job(format!("{} is no folder", setup.target.display()), fix));
        }
        let plan = Plan { whole: true, others: Vec::new(), lease: true };
        let made = Folder::fresh(&setup.target, "assay-rival", &plan)
            .map_err(|error| IndexError::job(error.to_string(), error.fix()))?;
        Ok(Self { path: made.path().to_owned(), _made: Some(made) })
    }

    /// A folder that the user keeps: made by an earlier run of ours, or new.
    fn named(path: &Path) -> Result<Self, IndexError> {
        if !path.exists() {
            make(path)?;
        } else if !path.join(MARKER).is_file() {
            let fix = "name a folder that is not there yet, or one that such a run has made";
            return Err(IndexError::job(format!("{} was not made by Assay", path.display()), fix));
        }
        Ok(Self { path: path.to_owned(), _made: None })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A load was finished in it before.
    pub fn is_loaded(&self) -> bool {
        self._made.is_none() && self.path.join("loaded").is_file()
    }

    /// A load was finished in it.
    ///
    /// # Errors
    /// Where that cannot be written down.
    pub fn loaded(&self) -> Result<(), RivalError> {
        let path = self.path.join("loaded");
        fs::write(&path, "").map_err(|error| RivalError::io("writing", &path, error))
    }
}

fn make(path: &Path) -> Result<(), RivalError> {
    fs::create_dir(path).map_err(|error| RivalError::io("making", path, error))?;
    let marker = path.join(MARKER);
    fs::write(&marker, std::process::id().to_string()).map_err(|error| RivalError::io("writing", &marker, error))
}

/// Bytes that files in a folder take, as the file system allocated them.
pub fn allocated_bytes(folder: &Path) -> u64 {
    let one = |entry: io::Result<fs::DirEntry>| -> io::Result<u64> {
        let entry = entry?;
        let facts = entry.metadata()?;
        Ok(if facts.is_dir() { allocated_bytes(&entry.path()) } else { facts.blocks() * 512 })
    };
    // A file may go while it is looked at: log-structured engines remove theirs.
    fs::read_dir(folder).into_iter().flatten().map(|entry| one(entry).unwrap_or(0)).sum()
}

/// Gives up what the kernel caches of the files in a folder: pages that an earlier process read are charged to that one's
/// control group, and would be a cache beyond any bound of this one's.
///
/// # Errors
/// Where a file cannot be synced: the kernel keeps what is dirty.
pub fn drop_cached(folder: &Path) -> Result<(), RivalError> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            drop_cached(&path)?;
        } else if let Ok(file) = fs::File::open(&path) {
            file.sync_all().map_err(|error| RivalError::io("syncing", &path, error))?;
            // SAFETY: advice on an open file; it touches no memory of this process.
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        }
    }
    Ok(())
}
