//! A folder that Assay made for itself.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{Read, Write},
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{AtFlags, FlockOperation, Mode, OFlags, flock, mkdirat, openat, unlinkat},
    io::Errno,
};

use crate::{
    Result,
    base::Base,
    beneath,
    error::{OwnError, failed, quoted},
    identity::{Facts, Identity},
    lease::Lease,
    mounted,
    note::{Content, Note, NoteKind},
    people,
    register::{Entry, Register, random},
    tree::{self, Tree},
};

/// Name of the marker inside a folder that was made.
pub const MARKER: &str = ".assay-own";
/// Bytes of a marker at most: more were not written by Assay.
const MARKER_BYTES: u64 = 4096;

/// Random bytes in a name.
const NAME_BYTES: usize = 8;

/// How a folder is made.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// All that it holds goes with it; otherwise listed files alone.
    pub whole: bool,
    /// Users besides this one who may have files in it: they may enter, and write where they are given a place.
    pub others: Vec<u32>,
    /// Nobody else may measure in the folder that it is made in.
    pub lease: bool,
}

/// A folder that Assay made, in use. Dropping it removes what was made, unless [`Folder::keep`] was asked for.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    name: PathBuf,
    base: Base,
    open: OwnedFd,
    marker: Option<File>,
    // None once it is removed.
    note: Option<Note>,
    kind: NoteKind,
    others: Vec<u32>,
    names: BTreeSet<String>,
    keep: bool,
    _lease: Option<Arc<Lease>>,
}

impl Plan {
    /// For listed files of one run on a folder that nobody else measures.
    pub fn measured() -> Self {
        Self { lease: true, ..Self::default() }
    }
}

impl Folder {
    /// Makes `<folder>/<name>` for listed files, or takes over one whose owner is gone.
    ///
    /// # Errors
    /// Where others may exchange it, it is there and this user's Assay did not make it, it is in use, or cannot be made.
    pub fn open(folder: &Path, name: &str) -> Result<Self> {
        Self::at(folder, name, &Plan::measured(), true)
    }

    /// Makes a folder with a name that begins so, and that nothing else has.
    ///
    /// # Errors
    /// As for [`Folder::open`].
    pub fn fresh(folder: &Path, start: &str, plan: &Plan) -> Result<Self> {
        Self::make(folder, &format!("{start}-{}", random(NAME_BYTES)?), plan)
    }

    /// Makes `<folder>/<name>`.
    ///
    /// # Errors
    /// As for [`Folder::open`], and where it is there.
    pub fn make(folder: &Path, name: &str, plan: &Plan) -> Result<Self> {
        Self::at(folder, name, plan, false)
    }

    fn at(folder: &Path, name: &str, plan: &Plan, again: bool) -> Result<Self> {
        check_name(folder, name)?;
        let base = Base::open(folder)?;
        let lease = plan.lease.then(|| Lease::take(&base)).transpose()?;
        let register = Register::open()?;
        let path = base.path().join(name);
        let kind = if plan.whole { NoteKind::Whole } else { NoteKind::Listed };
        if again && Facts::at(&base, name).is_ok() {
            return Self::take_over(base, path, &register, lease);
        }
        let stale = register.entries(|head| head.path == path)?;
        let (mut note, head) = register.begin(kind, path.clone(), plan.others.clone())?;
        let mode = if plan.others.is_empty() { Mode::RWXU } else { Mode::from_raw_mode(0o711) };
        match mkdirat(&base, name, mode) {
            Ok(()) => {}
            Err(errno) => {
                note.remove()?;
                return Err(failed("making", &path)(errno));
            }
        }
        // What they told of is gone: this folder is another one.
        stale.into_iter().filter(|entry| !entry.alive).try_for_each(|entry| entry.note.remove())?;
        let open = enter(&base, name).map_err(failed("opening", &path))?;
        // The mask of this process may have taken rights away.
        rustix::fs::fchmod(&open, mode).map_err(failed("closing to others", &path))?;
        let (marker, bare) = mark(&open, &path, &head.token)?;
        note.made(Facts::of(&open).map_err(failed("looking at", &path))?.identity, bare)?;
        Ok(Self {
            name: name.into(),
            path,
            base,
            open,
            marker: Some(marker),
            note: Some(note),
            kind,
            others: plan.others.clone(),
            names: BTreeSet::new(),
            keep: false,
            _lease: lease,
        })
    }

    fn take_over(base: Base, path: PathBuf, register: &Register, lease: Option<Arc<Lease>>) -> Result<Self> {
        let facts = Facts::at(&base, name_of(&path)).map_err(failed("taking over", &path))?;
        if !facts.is_folder() {
            let fix = "remove it, or choose another scratch name";
            return Err(OwnError::refused(&path, "it is there and is no folder (or a symbolic link to one)", fix));
        }
        if facts.uid != people::me() {
            let reason = format!("it belongs to another user, {}", people::name_of(facts.uid));
            return Err(OwnError::refused(&path, reason, "choose another scratch name, or run as that user"));
        }
        let Some(entry) = register.entry(&path)? else { return Err(unknown(&path, register)) };
        if entry.alive {
            let fix = "wait until that run has ended, or choose another scratch name";
            return Err(OwnError::refused(&path, "another run uses it", fix));
        }
        let mut folder = Self::found(base, entry)?.ok_or_else(|| unknown(&path, register))?;
        (folder.keep, folder._lease) = (false, lease);
        if let Some(note) = &mut folder.note {
            note.own()?;
        }
        Ok(folder)
    }

    /// What a note tells of, open and locked; none where it is gone, or another folder stands there now.
    pub(crate) fn found(base: Base, entry: Entry) -> Result<Option<Self>> {
        let Entry { note, content, .. } = entry;
        let Content { head, made, names, .. } = content;
        let (path, name) = (head.path.clone(), PathBuf::from(name_of(&head.path)));
        let open = match enter(&base, &name) {
            Ok(open) => open,
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => return note.remove().map(|()| None),
            Err(errno) => return Err(failed("opening", &path)(errno)),
        };
        let facts = Facts::of(&open).map_err(failed("looking at", &path))?;
        let is_it = made.is_none_or(|(identity, _)| identity.is_still(&facts.identity));
        if !is_it || facts.uid != people::me() || facts.mode & 0o022 != 0 {
            return note.remove().map(|()| None);
        }
        let marker = match made {
            Some(made) => Some(require_marker(&open, &path, &head.token, made)?),
            // Killed while it was made: nothing but the marker can be ours.
            None => None,
        };
        Ok(Some(Self {
            path,
            name,
            base,
            open,
            marker,
            note: Some(note),
            kind: if made.is_some() { head.kind } else { NoteKind::Listed },
            others: head.others,
            names,
            keep: true,
            _lease: None,
        }))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leave folder and files when this is dropped; a later run takes them over.
    pub fn keep(&mut self, keep: bool) {
        self.keep = keep;
    }

    /// Lists a file, so that it can be removed later, and returns its path. Call it before making the file.
    ///
    /// # Errors
    /// Where a file of this name is there that was not listed, it became something else, or it cannot be listed.
    pub fn claim(&mut self, name: &str) -> Result<PathBuf> {
        check_name(&self.path, name)?;
        let path = self.path.join(name);
        let facts = Facts::at(&self.open, name).ok();
        if self.names.contains(name) {
            let other = facts.is_some_and(|facts| !facts.is_file() || facts.links != 1);
            let reason = "it was replaced by something else (a link, or no regular file)";
            return if other { Err(OwnError::refused(&path, reason, "remove it")) } else { Ok(path) };
        }
        if facts.is_some() {
            return Err(OwnError::refused(&path, "it is there and was not made by Assay", "move it elsewhere"));
        }
        if let Some(note) = &mut self.note {
            note.name(name)?;
        }
        self.names.insert(name.to_owned());
        Ok(path)
    }

    /// Whether a file of this name was listed.
    pub fn lists(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Removes a listed file, if it is there. A listed name that is no regular file any more is not what was made.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn remove(&mut self, name: &str) -> Result<bool> {
        let path = self.path.join(name);
        match Facts::at(&self.open, name) {
            Ok(facts) if facts.is_file() => {
                unlinkat(&self.open, name, AtFlags::empty()).map_err(failed("removing", &path)).map(|()| true)
            }
            Ok(_) | Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(failed("looking at", &path)(errno)),
        }
    }

    /// Removes a folder inside of this one, with all that it holds; nothing where there is none.
    ///
    /// # Errors
    /// Where something in it is another's, or cannot be removed.
    pub fn remove_inside(&mut self, name: &str) -> Result<()> {
        check_name(&self.path, name)?;
        let path = self.path.join(name);
        let inner = match enter(&self.open, name) {
            Ok(inner) => inner,
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return unlinkat(&self.open, name, AtFlags::empty()).map_err(failed("removing", &path));
            }
            Err(errno) => return Err(failed("opening", &path)(errno)),
        };
        Tree { others: &self.others, spared: None }.empty(inner.as_fd(), &path)?;
        unlinkat(&self.open, name, AtFlags::REMOVEDIR).map_err(failed("removing", &path))
    }

    /// Bytes that its files occupy.
    pub(crate) fn bytes(&self) -> u64 {
        Tree { others: &self.others, spared: None }.bytes(self.open.as_fd(), &self.path, 0)
    }

    /// Removes it now, and says what was removed of listed files and what stays, since Assay did not make it.
    ///
    /// # Errors
    /// Where something in it is another's, or cannot be removed.
    pub fn remove_all(&mut self) -> Result<(Vec<String>, Vec<String>)> {
        let mut removed = Vec::new();
        if self.kind == NoteKind::Whole {
            mounted::take_off_beneath(&self.path)?;
            Tree { others: &self.others, spared: Some(MARKER) }.empty(self.open.as_fd(), &self.path)?;
        }
        for name in self.names.clone() {
            if self.remove(&name)? {
                removed.push(name);
            }
        }
        let names = tree::names(self.open.as_fd(), &self.path)?;
        let mut left: Vec<_> = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        left.retain(|name| name != MARKER);
        left.sort_unstable();
        if left.is_empty() {
            self.remove_self()?;
        }
        Ok((removed, left))
    }

    fn remove_self(&mut self) -> Result<()> {
        match unlinkat(&self.open, MARKER, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(failed("removing", &self.path.join(MARKER))(errno)),
        }
        let now = Facts::at(&self.base, &self.name).map_err(failed("looking at", &self.path))?;
        let open = Facts::of(&self.open).map_err(failed("looking at", &self.path))?;
        if now.identity != open.identity {
            let reason = "another folder was put in its place meanwhile";
            return Err(OwnError::refused(&self.path, reason, "look at it, and at who did that"));
        }
        unlinkat(&self.base, &self.name, AtFlags::REMOVEDIR).map_err(failed("removing", &self.path))?;
        self.note.take().map_or(Ok(()), Note::remove)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep && self.note.is_some() {
            // What cannot be removed now stands in the register, and is found and offered at the next start.
            let _ = self.remove_all();
        }
        if let Some(marker) = &self.marker {
            let _ = flock(marker, FlockOperation::Unlock);
        }
    }
}

fn enter(folder: impl AsFd, name: impl AsRef<Path>) -> std::result::Result<OwnedFd, Errno> {
    beneath::open(folder, name, OFlags::RDONLY | OFlags::DIRECTORY, false)
}

fn name_of(path: &Path) -> &Path {
    path.file_name().map_or(path, Path::new)
}

/// One plain name, no path, and not the marker's.
fn check_name(folder: &Path, name: &str) -> Result<()> {
    if beneath::is_single(Path::new(name)) && name != MARKER {
        return Ok(());
    }
    let reason = format!("{name:?} is no plain name");
    Err(OwnError::refused(&folder.join(name), reason, "use letters, digits, - and _"))
}

fn unknown(path: &Path, register: &Register) -> OwnError {
    let state = register.path().display();
    let reason = format!("it is there and was not made by Assay, as far as its register knows ({state})");
    let hint = "choose another scratch name, or look at it and remove it by hand:";
    OwnError::refused(path, reason, format!("{hint} rm -r -- {}", quoted(path)))
}

/// Makes the marker, locked; `true` where its file system takes no writes (hugetlbfs) and it stays empty.
fn mark(open: &OwnedFd, folder: &Path, token: &str) -> Result<(File, bool)> {
    let path = folder.join(MARKER);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let marker = openat(open, MARKER, flags, Mode::RUSR | Mode::WUSR).map_err(failed("making", &path))?;
    let mut marker = File::from(marker);
    flock(&marker, FlockOperation::NonBlockingLockExclusive).map_err(failed("locking", &path))?;
    match marker.write_all(text(token).as_bytes()).and_then(|()| marker.sync_data()) {
        Ok(()) => Ok((marker, false)),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok((marker, true)),
        Err(error) => Err(failed("writing", &path)(error)),
    }
}

fn text(token: &str) -> String {
    format!("made by Assay, which removes it: assay clean, with the folder above\n{token}\n")
}

/// The marker of a folder, locked, if it carries what the register says.
fn require_marker(open: &OwnedFd, folder: &Path, token: &str, (was, bare): (Identity, bool)) -> Result<File> {
    let path = folder.join(MARKER);
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let marker = beneath::open(open, MARKER, flags, false).map_err(failed("opening", &path))?;
    let facts = Facts::of(&marker).map_err(failed("looking at", &path))?;
    let mut marker = File::from(marker);
    let mut seen = String::new();
    let read = (&mut marker).take(MARKER_BYTES).read_to_string(&mut seen);
    // Where it is empty only the number of its file system tells that it was not made in another one.
    let device = Facts::of(open).map_err(failed("looking at", folder))?.identity.device;
    let says_so = if bare { was.device == device } else { read.is_ok() && seen == text(token) };
    if !facts.is_file() || facts.uid != people::me() || facts.links != 1 || !says_so {
        let reason = "its marker is not the one that this user's Assay wrote";
        let fix = format!("look at it, then remove it by hand: rm -r -- {}", quoted(folder));
        return Err(OwnError::refused(folder, reason, fix));
    }
    if flock(&marker, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Err(OwnError::refused(folder, "another run uses it", "wait until that run has ended"));
    }
    Ok(marker)
}
