//! A folder that others cannot exchange for another one, nor what lies in it.

use std::{
    fs::DirBuilder,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::DirBuilderExt,
    },
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::Errno,
};

use crate::{
    Result, beneath,
    error::{OwnError, failed, quoted},
    identity::Facts,
    people,
};

const STICKY: u32 = 0o1000;

/// A folder in which Assay makes its own, open, with its path free of links.
#[derive(Debug)]
pub struct Base {
    path: PathBuf,
    open: OwnedFd,
}

impl Base {
    /// Opens a folder, step by step from the root.
    ///
    /// # Errors
    /// Where it is no folder, or it or a folder above it belongs to another user or may be written by others who are not
    /// kept from exchanging what is not theirs.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.canonicalize().map_err(failed("opening", folder))?;
        let steps = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut open = openat(CWD, "/", steps, Mode::empty()).map_err(failed("opening", Path::new("/")))?;
        let mut at = PathBuf::from("/");
        require_safe(open.as_fd(), &at)?;
        for part in path.components().filter(|part| matches!(part, Component::Normal(_))) {
            at.push(part);
            open = beneath::open(&open, part.as_os_str(), OFlags::PATH | OFlags::DIRECTORY, true)
                .map_err(failed("opening", &at))?;
            require_safe(open.as_fd(), &at)?;
        }
        let readable = openat(&open, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        Ok(Self { open: readable.map_err(failed("opening", &path))?, path })
    }

    /// Its path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for Base {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.open.as_fd()
    }
}

/// Refuses a folder whose entries somebody else may exchange.
fn require_safe(open: BorrowedFd<'_>, path: &Path) -> Result<()> {
    let facts = Facts::of(open).map_err(failed("looking at", path))?;
    let me = people::me();
    if facts.uid != 0 && facts.uid != me {
        let owner = people::name_of(facts.uid);
        let reason = format!("{} belongs to {owner}, who could exchange what Assay makes there", path.display());
        let fix = format!("run this as {owner}, or name a folder of {}", people::name_of(me));
        return Err(OwnError::refused(path, reason, fix));
    }
    if facts.mode & STICKY != 0 || facts.mode & 0o022 == 0 {
        return Ok(());
    }
    if facts.mode & 0o002 == 0 && people::is_private(facts.gid) && !has_list(path) {
        return Ok(());
    }
    let mode = facts.mode & 0o7777;
    let reason =
        format!("others may write to {} (mode {mode:04o}) and exchange what Assay makes there", path.display());
    let named = quoted(path);
    Err(OwnError::refused(path, reason, format!("chmod +t {named} (or chmod go-w {named}), or name another folder")))
}

/// Whether an access list gives rights to others than the mode says.
fn has_list(path: &Path) -> bool {
    let mut room = [0u8; 512];
    match rustix::fs::lgetxattr(path, "system.posix_acl_access", &mut room) {
        Ok(_) | Err(Errno::RANGE) => true,
        Err(_) => false,
    }
}

/// A folder for this user alone: made where it is missing, with those above it.
pub(crate) fn private(path: &Path) -> Result<Base> {
    let there = path.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    // Before anything is made: nothing is to lie in a folder of another user.
    Base::open(there)?;
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed("making", path))?;
    let base = Base::open(path)?;
    let facts = Facts::of(&base).map_err(failed("looking at", path))?;
    if facts.uid != people::me() {
        let reason = format!("it belongs to {}", people::name_of(facts.uid));
        return Err(OwnError::refused(path, reason, "name a folder of your own in XDG_STATE_HOME"));
    }
    if facts.mode & 0o077 != 0 {
        rustix::fs::fchmod(&base, Mode::RWXU).map_err(failed("closing to others", path))?;
    }
    Ok(base)
}
