//! Names and facts in the folder below.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    time::{SystemTime, UNIX_EPOCH},
};

use fuser::{FileType, TimeOrNow};
use rustix::{
    fs::{AtFlags, CWD, Dir, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT},
    io::Errno,
};

use crate::node::{Node, Result};

/// What is to change of a file or folder.
#[derive(Debug)]
pub struct FileChange {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub atime: Option<TimeOrNow>,
    pub mtime: Option<TimeOrNow>,
}

/// Changes all but the size.
pub fn change(node: &Node, change: &FileChange) -> Result<()> {
    if change.uid.is_some() || change.gid.is_some() {
        node.give(change.uid, change.gid)?;
    }
    if let Some(mode) = change.mode {
        rustix::fs::chmodat(CWD, node.path(), Mode::from_raw_mode(mode & 0o7777), AtFlags::empty())?;
    }
    if change.atime.is_some() || change.mtime.is_some() {
        let times = Timestamps { last_access: time(change.atime), last_modification: time(change.mtime) };
        rustix::fs::utimensat(CWD, node.path(), &times, AtFlags::empty())?;
    }
    Ok(())
}

fn time(wanted: Option<TimeOrNow>) -> Timespec {
    match wanted {
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        Some(TimeOrNow::Now) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Some(TimeOrNow::SpecificTime(moment)) => specific(moment),
    }
}

fn specific(moment: SystemTime) -> Timespec {
    match moment.duration_since(UNIX_EPOCH) {
        Ok(since) => Timespec { tv_sec: since.as_secs() as i64, tv_nsec: i64::from(since.subsec_nanos()) },
        Err(before) => Timespec { tv_sec: -(before.duration().as_secs() as i64), tv_nsec: 0 },
    }
}

/// A new file.
pub fn file(folder: &Node, name: &OsStr, mode: u32, exclusive: bool) -> Result<()> {
    let mut flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if exclusive {
        flags |= OFlags::EXCL;
    }
    rustix::fs::openat(&folder.place, name, flags, Mode::from_raw_mode(mode & 0o7777)).map(drop)
}

/// A new file, pipe or socket; no devices.
pub fn node(folder: &Node, name: &OsStr, mode: u32) -> Result<()> {
    let kind = rustix::fs::FileType::from_raw_mode(mode & libc::S_IFMT);
    match kind {
        rustix::fs::FileType::RegularFile | rustix::fs::FileType::Fifo | rustix::fs::FileType::Socket => {
            rustix::fs::mknodat(&folder.place, name, kind, Mode::from_raw_mode(mode & 0o7777), 0)
        }
        _ => Err(Errno::PERM),
    }
}

/// A new folder.
pub fn folder(folder: &Node, name: &OsStr, mode: u32) -> Result<()> {
    rustix::fs::mkdirat(&folder.place, name, Mode::from_raw_mode(mode & 0o7777))
}

/// A second name.
pub fn link(node: &Node, folder: &Node, name: &OsStr) -> Result<()> {
    rustix::fs::linkat(CWD, node.path(), &folder.place, name, AtFlags::SYMLINK_FOLLOW)
}

/// The names of a folder, each with its number and what it is.
pub fn names(folder: &Node) -> Result<Vec<(OsString, u64, FileType)>> {
    let open =
        rustix::fs::openat(&folder.place, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut found = Vec::new();
    for entry in Dir::new(open)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        found.push((name, entry.ino().max(2), kind(entry.file_type())));
    }
    Ok(found)
}

fn kind(seen: rustix::fs::FileType) -> FileType {
    match seen {
        rustix::fs::FileType::Directory => FileType::Directory,
        rustix::fs::FileType::Symlink => FileType::Symlink,
        rustix::fs::FileType::Fifo => FileType::NamedPipe,
        rustix::fs::FileType::Socket => FileType::Socket,
        _ => FileType::RegularFile,
    }
}

/// A name goes, as the program on the mount asked.
pub fn unlink(folder: &Node, name: &OsStr, is_folder: bool) -> Result<()> {
    let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    rustix::fs::unlinkat(&folder.place, name, flags)
}
