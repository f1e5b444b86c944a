//! Removing all that a folder holds, by descriptor: nothing is followed, no mount is entered, nothing of another user's goes.

use std::{
    ffi::CString,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Dir, OFlags, unlinkat},
    io::Errno,
};

use crate::{
    Result, beneath,
    error::{OwnError, failed, quoted},
    identity::Facts,
    people,
};

/// No database makes folders deeper than this.
const DEPTH_AT_MOST: usize = 64;

/// Whose files may be removed.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    /// Users besides this one.
    pub others: &'a [u32],
    /// A name in the uppermost folder that stays.
    pub spared: Option<&'a str>,
}

impl Tree<'_> {
    /// Empties a folder. Looks at all of it first: where something is another's, nothing is removed.
    pub fn empty(&self, folder: BorrowedFd<'_>, path: &Path) -> Result<()> {
        self.walk(folder, path, 0, false)?;
        self.walk(folder, path, 0, true)
    }

    /// Bytes that its files occupy.
    pub fn bytes(&self, folder: BorrowedFd<'_>, path: &Path, depth: usize) -> u64 {
        let Ok(names) = names(folder, path) else { return 0 };
        let one = |name: CString| -> u64 {
            let Ok(facts) = Facts::at(folder, to_path(&name)) else { return 0 };
            if !facts.is_folder() || depth >= DEPTH_AT_MOST {
                return facts.allocated_bytes;
            }
            enter(folder, &to_path(&name)).map_or(0, |inner| self.bytes(inner.as_fd(), path, depth + 1))
        };
        names.into_iter().map(one).sum()
    }

    fn walk(&self, folder: BorrowedFd<'_>, path: &Path, depth: usize, remove: bool) -> Result<()> {
        if depth > DEPTH_AT_MOST {
            let reason = format!("it has folders {DEPTH_AT_MOST} deep, and nothing that Assay makes has");
            return Err(OwnError::refused(path, reason, by_hand(path)));
        }
        self.require_ours(&Facts::of(folder).map_err(failed("looking at", path))?, path)?;
        for name in names(folder, path)? {
            let name = to_path(&name);
            if depth == 0 && self.spared.is_some_and(|spared| Path::new(spared) == name) {
                continue;
            }
            match self.one(folder, &name, &path.join(&name), depth, remove) {
                // It went meanwhile: a server that ends removes its own.
                Err(OwnError::Io { source, .. }) if source.raw_os_error() == Some(libc::ENOENT) => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn one(&self, folder: BorrowedFd<'_>, name: &Path, path: &Path, depth: usize, remove: bool) -> Result<()> {
        let facts = Facts::at(folder, name).map_err(failed("looking at", path))?;
        if !facts.is_folder() {
            self.require_ours(&facts, path)?;
            return if remove {
                unlinkat(folder, name, AtFlags::empty()).map_err(failed("removing", path))
            } else {
                Ok(())
            };
        }
        let inner = enter(folder, name).map_err(|errno| match errno {
            Errno::XDEV => {
                OwnError::refused(path, "another file system is mounted there", format!("umount {}", quoted(path)))
            }
            errno => failed("opening", path)(errno),
        })?;
        self.walk(inner.as_fd(), path, depth + 1, remove)?;
        if remove {
            unlinkat(folder, name, AtFlags::REMOVEDIR).map_err(failed("removing", path))?;
        }
        Ok(())
    }

    fn require_ours(&self, facts: &Facts, path: &Path) -> Result<()> {
        if facts.uid == people::me() || self.others.contains(&facts.uid) {
            return Ok(());
        }
        let reason = format!("it belongs to {}, and lies in a folder that Assay made", people::name_of(facts.uid));
        Err(OwnError::refused(path, reason, "move it elsewhere, then run `assay clean` again"))
    }
}

fn by_hand(path: &Path) -> String {
    format!("look at it, then remove it by hand: rm -r -- {}", quoted(path))
}

fn enter(folder: BorrowedFd<'_>, name: &Path) -> std::result::Result<OwnedFd, Errno> {
    beneath::open(folder, name, OFlags::RDONLY | OFlags::DIRECTORY, false)
}

/// What a folder holds. All names are read before anything is removed.
pub(crate) fn names(folder: BorrowedFd<'_>, path: &Path) -> Result<Vec<CString>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder).map_err(failed("reading", path))? {
        let entry = entry.map_err(failed("reading", path))?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            found.push(name.to_owned());
        }
    }
    Ok(found)
}

pub(crate) fn to_path(name: &CString) -> PathBuf {
    std::ffi::OsStr::from_bytes(name.as_bytes()).into()
}
