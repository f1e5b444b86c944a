//! Files that are made in folders of the user's, to stay there once they are complete.

use std::{
    fs::File,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FlockOperation, Mode, OFlags, flock, openat, unlinkat},
    io::Errno,
};

use crate::{
    Result,
    base::Base,
    beneath,
    error::{OwnError, failed, quoted},
    identity::{Facts, Identity},
    note::{Note, NoteKind},
    people,
    register::{Entry, Register},
};

/// Files that are being made: the register lists them, and an empty mark, which is locked, shows others where.
#[derive(Debug)]
pub struct Files {
    mark: PathBuf,
    base: Base,
    // Locked: another process that finds the mark knows that somebody is at it.
    held: File,
    note: Note,
    made: Vec<(PathBuf, Identity)>,
}

impl Files {
    /// Marks files that are about to be made; `mark` is to be the path of a file that is not there.
    ///
    /// # Errors
    /// Where others may exchange it, or it is there or cannot be made.
    pub fn begin(mark: &Path) -> Result<Self> {
        let (base, path) = placed(mark)?;
        let (mut note, _) = Register::open()?.begin(NoteKind::Files, path.clone(), Vec::new())?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = match openat(&base, name_of(&path), flags, Mode::RUSR | Mode::WUSR) {
            Ok(held) => held,
            Err(errno) => {
                note.remove()?;
                return Err(failed("making", &path)(errno));
            }
        };
        flock(&held, FlockOperation::NonBlockingLockExclusive).map_err(failed("locking", &path))?;
        note.made(Facts::of(&held).map_err(failed("looking at", &path))?.identity, false)?;
        sync(&base)?;
        Ok(Self { mark: path, base, held: held.into(), note, made: Vec::new() })
    }

    /// Takes over a mark that a killed process left, having removed what that had made. None where there is no mark.
    ///
    /// # Errors
    /// Where somebody is at it, this user's Assay did not make it, or what it tells of cannot be removed.
    pub fn found(mark: &Path) -> Result<Option<Self>> {
        let named = mark.parent().is_some_and(|folder| folder.as_os_str().is_empty() || folder.is_dir());
        if !named || mark.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Ok(None);
        }
        let (base, path) = placed(mark)?;
        let Some(entry) = Register::open()?.entry(&path)? else { return Err(unknown(&path)) };
        if entry.alive {
            return Err(busy(&path));
        }
        let mut files = match Self::opened(base, entry)? {
            Some(files) => files,
            None => return Err(unknown(&path)),
        };
        files.remove_made()?;
        files.note.own()?;
        Ok(Some(files))
    }

    /// What a note tells of, locked; none where the mark is gone or is another file, and the note with it.
    pub(crate) fn opened(base: Base, entry: Entry) -> Result<Option<Self>> {
        let (note, content) = (entry.note, entry.content);
        let path = content.head.path;
        let held: OwnedFd = match beneath::open(&base, name_of(&path), OFlags::RDWR | OFlags::NONBLOCK, false) {
            Ok(held) => held,
            Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return note.remove().map(|()| None),
            Err(errno) => return Err(failed("opening", &path)(errno)),
        };
        let facts = Facts::of(&held).map_err(failed("looking at", &path))?;
        let is_it = content.made.is_none_or(|(made, _)| made.is_still(&facts.identity));
        if !is_it || facts.uid != people::me() || !facts.is_file() || facts.links != 1 {
            return note.remove().map(|()| None);
        }
        if flock(&held, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(busy(&path));
        }
        Ok(Some(Self { mark: path, base, held: held.into(), note, made: content.beside }))
    }

    /// Notes a file that was just made.
    ///
    /// # Errors
    /// Where it cannot be looked at, or noted.
    pub fn made(&mut self, path: &Path, file: &File) -> Result<()> {
        let (_, path) = placed(path)?;
        let identity = Facts::of(file).map_err(failed("looking at", &path))?.identity;
        self.note.beside(&path, identity)?;
        self.made.push((path, identity));
        Ok(())
    }

    /// Removes what was made, where it is still what was made.
    ///
    /// # Errors
    /// Where something cannot be removed; it stays listed.
    pub fn remove_made(&mut self) -> Result<()> {
        while let Some((path, identity)) = self.made.last() {
            remove(path, identity)?;
            self.note.forget(path)?;
            self.made.pop();
        }
        Ok(())
    }

    /// Removes the mark: what was made stays, or nothing is left.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn end(self) -> Result<()> {
        unlinkat(&self.base, name_of(&self.mark), AtFlags::empty()).map_err(failed("removing", &self.mark))?;
        // Before anybody is told of a commit: a mark that came back after a power cut would have the files removed.
        sync(&self.base)?;
        let _ = flock(&self.held, FlockOperation::Unlock);
        self.note.remove()
    }
}

/// Removes one file where it is still the one that was made.
fn remove(path: &Path, identity: &Identity) -> Result<()> {
    let (base, path) = match placed(path) {
        Ok(placed) => placed,
        Err(OwnError::Io { source, .. }) if source.raw_os_error() == Some(libc::ENOENT) => return Ok(()),
        Err(error) => return Err(error),
    };
    match Facts::at(&base, name_of(&path)) {
        Ok(facts) if facts.is_file() && facts.uid == people::me() && identity.is_still(&facts.identity) => {
            unlinkat(&base, name_of(&path), AtFlags::empty()).map_err(failed("removing", &path))
        }
        Ok(_) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(failed("looking at", &path)(errno)),
    }
}

/// The folder of a file, and its path without links before its name.
fn placed(path: &Path) -> Result<(Base, PathBuf)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let base = Base::open(folder)?;
    let path = base.path().join(name_of(path));
    Ok((base, path))
}

fn name_of(path: &Path) -> &Path {
    path.file_name().map_or(path, Path::new)
}

fn sync(base: &Base) -> Result<()> {
    rustix::fs::fsync(base).map_err(failed("flushing", base.path()))
}

fn busy(mark: &Path) -> OwnError {
    OwnError::Busy { path: mark.to_owned() }
}

fn unknown(mark: &Path) -> OwnError {
    let reason =
        "it marks files that are being made, and this user's Assay knows of none there: what it says is not believed";
    let fix =
        format!("look at what lies there, then remove by hand what is yours, the mark too: rm -- {}", quoted(mark));
    OwnError::refused(mark, reason, fix)
}
