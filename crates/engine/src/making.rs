//! A database that is being made: a mark beside its pages, and the files that were made for it.
//!
//! The mark is there from before anything is made until everything is in the database that is to be in it from the
//! beginning ([`crate::Database::complete`]). Each file is listed in it, by its number on its file system, as soon as it was
//! made. Who finds a mark and nobody who holds it finds what a killed process left: it never held anything for anybody.
//! What the mark lists is removed, and nothing else: another database's log, or a device that was put in its place, stays.
//! Where making fails, what was made is removed at once.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{ErrorKind, Read, Seek, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use assay_buffer::{BufferError, disk::lock_patiently};
use serde::{Deserialize, Serialize};

use crate::{
    error::{EngineError, Result},
    files::failed,
};

/// A line of a mark: a file that was made. A number of a file that was removed is given out again, a moment is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    file: PathBuf,
    device: u64,
    number: u64,
    born_ns: Option<u64>,
}

impl Made {
    fn of(path: &Path, facts: &Metadata) -> Self {
        let born = facts.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        Self {
            file: path.to_owned(),
            device: facts.dev(),
            number: facts.ino(),
            born_ns: born.map(|born| born.as_nanos() as u64),
        }
    }

    /// Removes the file where it is still the one that was made.
    fn remove(&self) -> Result<()> {
        let facts = match self.file.symlink_metadata() {
            Ok(facts) => facts,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("looking at", &self.file, error)),
        };
        if !facts.is_file() || Self::of(&self.file, &facts) != *self {
            return Ok(());
        }
        std::fs::remove_file(&self.file).map_err(|error| failed("removing", &self.file, error))
    }
}

/// A database that is being made. Dropped before its end it takes away what it has made.
#[derive(Debug)]
pub(crate) struct Making {
    mark: PathBuf,
    data: PathBuf,
    // Locked: another process that finds the mark knows that somebody is at it.
    held: File,
    made: Vec<Made>,
    ended: bool,
}

impl Making {
    /// What a killed process left is taken away; the mark stays, and is ours. None where nothing was left.
    pub fn found(data: &Path) -> Result<Option<Self>> {
        let mark = mark_of(data);
        loop {
            let mut file = match OpenOptions::new().read(true).append(true).open(&mark) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(failed("opening", &mark, error)),
            };
            hold(&file, &mark, data)?;
            // Whoever held it before may have completed the database since it was opened here.
            if !is_still(&file, &mark)? {
                continue;
            }
            listed(&mut file, &mark)?.iter().try_for_each(Made::remove)?;
            file.set_len(0).map_err(|error| failed("emptying", &mark, error))?;
            return Ok(Some(Self { mark, data: data.to_owned(), held: file, made: Vec::new(), ended: false }));
        }
    }

    /// Marks a database that is about to be made.
    pub fn begin(data: &Path) -> Result<Self> {
        let mark = mark_of(data);
        let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&mark);
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => in_use(data),
            _ => failed("making", &mark, error),
        })?;
        let making = Self { mark, data: data.to_owned(), held: file, made: Vec::new(), ended: false };
        hold(&making.held, &making.mark, data)?;
        sync_folder(&making.mark)?;
        Ok(making)
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
        let facts = file.metadata().map_err(|error| failed("looking at", path, error))?;
        self.made.push(Made::of(path, &facts));
        let mut line = serde_json::to_vec(&self.made[self.made.len() - 1])
            .map_err(|error| failed("listing", path, error.into()))?;
        line.push(b'\n');
        let noted = self.held.write_all(&line).and_then(|()| self.held.sync_data());
        noted.map_err(|error| failed("writing", &self.mark, error))?;
        Ok(file)
    }

    /// The database is complete: from now on it is opened.
    pub fn end(mut self) -> Result<()> {
        self.ended = true;
        std::fs::remove_file(&self.mark).map_err(|error| failed("removing", &self.mark, error))?;
        // Before anybody is told of a commit: a mark that came back after a power cut would have it removed.
        sync_folder(&self.mark)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        // What cannot be removed now is listed in the mark, which then stays.
        if !self.ended && self.made.iter().try_for_each(Made::remove).is_ok() {
            let _ = std::fs::remove_file(&self.mark);
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

/// What a mark lists. A line that a kill has torn is of a file that nothing was written to.
fn listed(file: &mut File, mark: &Path) -> Result<Vec<Made>> {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    read.map_err(|error| failed("reading", mark, error))?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
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

fn sync_folder(of: &Path) -> Result<()> {
    let folder = of.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed("flushing", folder, error))
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
