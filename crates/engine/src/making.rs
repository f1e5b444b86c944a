//! A database that is being made: a mark beside its pages, and the files that were made for it.
//!
//! The mark is there from before anything is made until everything is in the database that is to be in it from the
//! beginning ([`crate::Database::complete`]). Each file is listed, by its number on its file system, as soon as it was made: in
//! the register of this user's own, never in the mark, which others might have put there. Who finds a mark and nobody who
//! holds it finds what a killed process left: it never held anything for anybody. What the register lists is removed, and
//! nothing else: another database's log, or a device that was put in its place, stays. Where making fails, what was made is
//! removed at once.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::ErrorKind,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use assay_buffer::{BufferError, disk::lock_patiently};
use assay_own::{Files, OwnError};

use crate::error::{EngineError, Result, failed, own_error};

/// A database that is being made. Dropped before its end it takes away what it has made.
#[derive(Debug)]
pub(crate) struct Making {
    data: PathBuf,
    // None once it has ended.
    files: Option<Files>,
}

impl Making {
    /// What a killed process left is taken away; the mark stays, and is ours. None where nothing was left.
    pub fn found(data: &Path) -> Result<Option<Self>> {
        let files = Files::found(&mark_of(data)).map_err(|error| match error {
            OwnError::Busy { .. } => in_use(data),
            error => own_error(error),
        })?;
        Ok(files.map(|files| Self { data: data.to_owned(), files: Some(files) }))
    }

    /// Marks a database that is about to be made.
    pub fn begin(data: &Path) -> Result<Self> {
        let files = Files::begin(&mark_of(data)).map_err(|error| match error {
            OwnError::Io { ref source, .. } if source.kind() == ErrorKind::AlreadyExists => in_use(data),
            error => own_error(error),
        })?;
        Ok(Self { data: data.to_owned(), files: Some(files) })
    }

    /// Refuses where a file is there already: nothing is written over.
    pub fn vacant(&self, path: &Path) -> Result<()> {
        match path.symlink_metadata() {
            Ok(facts) if !is_left(&facts) => Err(occupied(path, &self.data)),
            _ => Ok(()),
        }
    }

    /// Makes an empty file, and holds it.
    pub fn make(&mut self, path: &Path) -> Result<File> {
        let file = new_file(path, &self.data)?;
        if let Some(files) = &mut self.files {
            files.made(path, &file).map_err(own_error)?;
        }
        Ok(file)
    }

    /// The database is complete: from now on it is opened.
    pub fn end(mut self) -> Result<()> {
        self.files.take().map_or(Ok(()), Files::end).map_err(own_error)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        // What cannot be removed now stands in the register, and the mark then stays.
        let Some(mut files) = self.files.take() else { return };
        if files.remove_made().is_ok() {
            let _ = files.end();
        }
    }
}

/// A new file, locked. One that is empty, and that nobody holds, is what a process left that was killed before it could
/// list it.
pub(crate) fn new_file(path: &Path, data: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    let file = match options.clone().create_new(true).mode(0o600).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if !path.symlink_metadata().is_ok_and(|facts| is_left(&facts)) {
                return Err(occupied(path, data));
            }
            options.open(path).map_err(|error| failed("opening", path, error))?
        }
        Err(error) => return Err(failed("making", path, error)),
    };
    hold(&file, path, path)?;
    let facts = file.metadata().map_err(|error| failed("looking at", path, error))?;
    if is_left(&facts) && is_still(&file, path)? { Ok(file) } else { Err(occupied(path, data)) }
}

fn is_left(facts: &Metadata) -> bool {
    facts.is_file() && facts.len() == 0 && facts.nlink() == 1
}

fn mark_of(data: &Path) -> PathBuf {
    let mut name = data.as_os_str().to_owned();
    name.push(".making");
    name.into()
}

/// Locks a file of the database that has its pages in `data`.
pub(crate) fn hold(file: &File, path: &Path, data: &Path) -> Result<()> {
    lock_patiently(file).map_err(|errno| match errno {
        rustix::io::Errno::WOULDBLOCK => in_use(data),
        errno => failed("locking", path, errno.into()),
    })
}

fn is_still(file: &File, path: &Path) -> Result<bool> {
    let ours = file.metadata().map_err(|error| failed("looking at", path, error))?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed("looking at", path, error)),
    }
}

fn in_use(data: &Path) -> EngineError {
    EngineError::Buffer(BufferError::InUse { disk: data.display().to_string() })
}

fn occupied(path: &Path, data: &Path) -> EngineError {
    let (path, data) = (path.display(), data.display());
    let what = format!(
        "{path} is there, and the database {data} that was to be made with it is not: it belongs to another database, or \
         the pages of this one are missing"
    );
    let fix = format!("name another folder than that of {path}, or bring the pages back; nothing was written");
    EngineError::Foreign { what, fix }
}
