//! The folder that Assay makes for itself, and the only one that it writes to.
//!
//! A marker inside says whose it is and lists every file before that file is made. A lock on the marker says whether
//! its owner lives: the kernel releases it however the owner ends. What nobody listed is somebody else's and stays.

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufRead, BufReader, Seek, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Component, Path, PathBuf},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::{PathError, Segment, SegmentKind, pmem::Mapping};

/// Name of the marker inside a scratch folder.
pub const MARKER: &str = ".assay-scratch.json";
/// Attempts to take a lock; together they last 50 ms.
const ATTEMPTS: u64 = 5;
const PROGRAM: &str = "assay";

/// A line of a marker: who made the folder, or took it over. The last one counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Always `assay`.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// Process.
    pub pid: u32,
    /// Start of the process, clock ticks after boot (field 22 of `/proc/<pid>/stat`).
    pub pid_start: u64,
    /// Boot that `pid_start` counts from.
    pub boot_id: String,
    /// Seconds since 1970.
    pub created_at: u64,
}

/// Another line of a marker: a file that the owner makes.
#[derive(Serialize, Deserialize)]
struct Listed {
    file: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Owner(Owner),
    Listed(Listed),
}

/// A scratch folder in use. Dropping it removes what was made, unless [`Scratch::keep`] was asked for.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    marker: File,
    files: BTreeSet<String>,
    keep: bool,
}

/// A scratch folder that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The folder.
    pub path: PathBuf,
    /// Who used it last; none where the marker is damaged.
    pub owner: Option<Owner>,
    /// Its owner lives and uses it.
    pub alive: bool,
    /// Bytes that the listed files occupy.
    pub bytes: u64,
}

/// What became of a scratch folder that was to be cleaned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// The folder.
    pub path: PathBuf,
    /// Files removed.
    pub removed: Vec<String>,
    /// What is not ours and stays, with its folder.
    pub left: Vec<String>,
    /// Its owner lives: nothing was touched.
    pub alive: bool,
}

impl Scratch {
    /// Makes `<folder>/<name>`, or takes over one whose owner is gone.
    ///
    /// # Errors
    /// Where it is a symbolic link, has no marker (it is somebody else's), is in use by another process, or cannot be
    /// made.
    pub fn open(folder: &Path, name: &str) -> Result<Self, PathError> {
        check_name(folder, name)?;
        let path = folder.join(name);
        let failed = |source| PathError::Io { action: "making", path: path.clone(), source };
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Self::create(path.clone()).map_err(failed),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::take_over(path),
            Err(error) => Err(failed(error)),
        }
    }

    fn create(path: PathBuf) -> io::Result<Self> {
        let marker = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path.join(MARKER))?;
        flock(&marker, FlockOperation::NonBlockingLockExclusive)?;
        let mut scratch = Self { path, marker, files: BTreeSet::new(), keep: false };
        scratch.write_line(&Owner::this()?)?;
        Ok(scratch)
    }

    fn take_over(path: PathBuf) -> Result<Self, PathError> {
        let failed = |source| PathError::Io { action: "taking over", path: path.clone(), source };
        let refused =
            |reason: &str, fix: String| PathError::Refused { path: path.clone(), reason: reason.to_owned(), fix };
        let facts = path.symlink_metadata().map_err(failed)?;
        if !facts.is_dir() {
            let fix = "remove it, or choose another scratch name";
            return Err(refused("it is there and is no folder (or a symbolic link to one)", fix.to_owned()));
        }
        let Some(marker) = open_marker(&path).map_err(failed)? else {
            let fix = format!("choose another scratch name, or remove it if it is empty: rmdir {}", path.display());
            return Err(refused("it is there and was not made by Assay (it has no marker)", fix));
        };
        let own = rustix::process::geteuid().as_raw();
        if facts.uid() != own || marker.metadata().map_err(failed)?.uid() != own {
            let fix = "choose another scratch name, or run as the user who made it";
            return Err(refused("it belongs to another user", fix.to_owned()));
        }
        if !lock(&marker) {
            let fix = "wait until that run has ended, or choose another scratch name";
            return Err(refused("another run uses it", fix.to_owned()));
        }
        if !is_marker_of(&marker, &path) {
            return Err(refused("it was removed and made again meanwhile", "run it again".to_owned()));
        }
        let (_, files) = read_marker(&marker).map_err(failed)?;
        let mut scratch = Self { path: path.clone(), marker, files, keep: false };
        let owner = Owner::this().map_err(failed)?;
        scratch.write_line(&owner).map_err(failed)?;
        Ok(scratch)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leave folder and files when this is dropped; a later run takes them over.
    pub fn keep(&mut self, keep: bool) {
        self.keep = keep;
    }

    /// Lists a file in the marker, so that it can be removed later, and returns its path. Call it before making the file.
    ///
    /// # Errors
    /// Where a file of this name is there that was not listed, or the marker cannot be written.
    pub fn claim(&mut self, name: &str) -> Result<PathBuf, PathError> {
        check_name(&self.path, name)?;
        let path = self.path.join(name);
        if self.files.contains(name) {
            return self.refuse_symlink(path);
        }
        if path.symlink_metadata().is_ok() {
            let reason = "it is there and was not made by Assay".to_owned();
            return Err(PathError::Refused { path, reason, fix: "move it elsewhere".to_owned() });
        }
        self.write_line(&Listed { file: name.to_owned() }).map_err(|source| PathError::Io {
            action: "listing",
            path: path.clone(),
            source,
        })?;
        self.files.insert(name.to_owned());
        Ok(path)
    }

    fn refuse_symlink(&self, path: PathBuf) -> Result<PathBuf, PathError> {
        let other = path.symlink_metadata().is_ok_and(|facts| !facts.is_file() || facts.nlink() != 1);
        if other {
            let reason = "it was replaced by something else (a link, or no regular file)".to_owned();
            return Err(PathError::Refused { path, reason, fix: "remove it".to_owned() });
        }
        Ok(path)
    }

    /// Whether a file of this name was listed.
    pub fn lists(&self, name: &str) -> bool {
        self.files.contains(name)
    }

    /// Removes a listed file, if it is there.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn remove(&mut self, name: &str) -> Result<(), PathError> {
        let path = self.path.join(name);
        remove_listed(&self.path, name).map(|_| ()).map_err(|source| PathError::Io { action: "removing", path, source })
    }

    /// Scratch folders directly inside a folder.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn list(folder: &Path) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if !path.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
                continue;
            }
            if let Ok(Some(marker)) = open_marker(&path) {
                found.push(describe(path, &marker));
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Removes the scratch folders directly inside a folder whose owners are gone.
    ///
    /// # Errors
    /// Where the folder cannot be read, or something of ours cannot be removed.
    pub fn clean(folder: &Path) -> Result<Vec<Cleaned>, PathError> {
        let failed = |source| PathError::Io { action: "reading", path: folder.to_owned(), source };
        Self::list(folder).map_err(failed)?.into_iter().map(|found| clean_one(found.path)).collect()
    }

    fn write_line(&mut self, line: &impl Serialize) -> io::Result<()> {
        // A line that a kill has torn must not swallow the next one.
        let mut text = vec![b'\n'];
        text.extend(serde_json::to_vec(line)?);
        text.push(b'\n');
        match self.marker.write_all(&text) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => self.append_mapped(&text),
            Err(error) => Err(error),
            Ok(()) => self.marker.sync_data(),
        }
    }

    /// On hugetlbfs a file can only be written to through a mapping, and is as long as its pages.
    fn append_mapped(&mut self, text: &[u8]) -> io::Result<()> {
        let bytes = rustix::fs::fstatfs(&self.marker)?.f_bsize as u64;
        if self.marker.metadata()?.len() == 0 {
            self.marker.set_len(bytes)?;
        }
        let path = self.path.join(MARKER);
        let end = fs::read(&path)?.iter().take_while(|&&byte| byte != 0).count();
        let page = Segment { path, kind: SegmentKind::File, base: 0, bytes };
        let mapping = Mapping::shared(&page, true).map_err(io::Error::other)?;
        if end + text.len() > mapping.bytes() {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        mapping.put(end, text);
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be removed now is found and offered at the next start.
            let _ = remove_all(&self.path, &self.files);
        }
        unlock(&self.marker);
    }
}

impl Owner {
    fn this() -> io::Result<Self> {
        let pid = std::process::id();
        let created_at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(Self {
            program: PROGRAM.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid,
            pid_start: start_of(pid).unwrap_or(0),
            boot_id: fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned(),
            created_at,
        })
    }
}

/// When a process started, clock ticks after boot. Its name may hold blanks and brackets: fields count from the last.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// One plain name, no path.
fn check_name(folder: &Path, name: &str) -> Result<(), PathError> {
    let mut parts = Path::new(name).components();
    let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    if plain && name != MARKER {
        return Ok(());
    }
    Err(PathError::Refused {
        path: folder.join(name),
        reason: format!("{name:?} is no plain name"),
        fix: "use letters, digits, - and _".to_owned(),
    })
}

/// The marker, if there is one that this program wrote.
fn open_marker(folder: &Path) -> io::Result<Option<File>> {
    let opened = OpenOptions::new().read(true).append(true).custom_flags(libc::O_NOFOLLOW).open(folder.join(MARKER));
    let marker = match opened {
        Ok(marker) => marker,
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ELOOP) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let facts = marker.metadata()?;
    Ok((facts.is_file() && facts.nlink() == 1).then_some(marker))
}

/// Takes the lock. Whoever only looks holds it for a moment, so one refusal is no proof of a living owner.
fn lock(marker: &File) -> bool {
    (0..ATTEMPTS).any(|attempt| {
        thread::sleep(Duration::from_millis(attempt * 5));
        flock(marker, FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

/// Closing alone would leave the lock to a process that was forked meanwhile and has not yet begun its program.
fn unlock(marker: &File) {
    let _ = flock(marker, FlockOperation::Unlock);
}

/// A lock on a marker says nothing where folder and marker were removed and made again before it was taken.
fn is_marker_of(marker: &File, folder: &Path) -> bool {
    let now = folder.join(MARKER).symlink_metadata();
    let same =
        |now: fs::Metadata| marker.metadata().is_ok_and(|held| (held.dev(), held.ino()) == (now.dev(), now.ino()));
    now.is_ok_and(same)
}

/// Owner and listed files. A torn last line is a file that was not made yet.
fn read_marker(marker: &File) -> io::Result<(Option<Owner>, BTreeSet<String>)> {
    let mut marker = marker;
    marker.rewind()?;
    let (mut owner, mut files) = (None, BTreeSet::new());
    for line in BufReader::new(marker).split(b'\n') {
        match serde_json::from_slice(&line?) {
            Ok(Line::Owner(seen)) if seen.program == PROGRAM => owner = Some(seen),
            Ok(Line::Listed(Listed { file })) if check_name(Path::new(""), &file).is_ok() => _ = files.insert(file),
            _ => {}
        }
    }
    Ok((owner, files))
}

fn describe(path: PathBuf, marker: &File) -> Found {
    let (owner, files) = read_marker(marker).unwrap_or_default();
    let alive = flock(marker, FlockOperation::NonBlockingLockShared).is_err();
    unlock(marker);
    let size = |name: &String| path.join(name).symlink_metadata().map_or(0, |facts| facts.blocks() * 512);
    let bytes = files.iter().map(size).sum();
    Found { path, owner, alive, bytes }
}

fn clean_one(path: PathBuf) -> Result<Cleaned, PathError> {
    let failed = |source| PathError::Io { action: "cleaning", path: path.clone(), source };
    let mut cleaned = Cleaned { path: path.clone(), removed: Vec::new(), left: Vec::new(), alive: false };
    let Some(marker) = open_marker(&path).map_err(failed)? else { return Ok(cleaned) };
    if !lock(&marker) {
        cleaned.alive = true;
        return Ok(cleaned);
    }
    if !is_marker_of(&marker, &path) {
        return Ok(cleaned);
    }
    let (_, files) = read_marker(&marker).map_err(failed)?;
    (cleaned.removed, cleaned.left) = remove_all(&path, &files).map_err(failed)?;
    unlock(&marker);
    Ok(cleaned)
}

/// Removes listed files; marker and folder go as well when nothing else is left. Returns what was removed and what stays.
fn remove_all(folder: &Path, files: &BTreeSet<String>) -> io::Result<(Vec<String>, Vec<String>)> {
    let mut removed = Vec::new();
    for name in files {
        if remove_listed(folder, name)? {
            removed.push(name.clone());
        }
    }
    let mut left: Vec<_> = fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| name != MARKER)
        .collect();
    left.sort_unstable();
    if left.is_empty() {
        fs::remove_file(folder.join(MARKER))?;
        fs::remove_dir(folder)?;
    }
    Ok((removed, left))
}

/// A listed name that is no regular file any more is not what we made.
fn remove_listed(folder: &Path, name: &str) -> io::Result<bool> {
    let path = folder.join(name);
    match path.symlink_metadata() {
        Ok(facts) if facts.is_file() => fs::remove_file(&path).map(|()| true),
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
