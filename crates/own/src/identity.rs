//! Which file or folder it is: its number, when it was born, and whose it is.

use std::{os::fd::AsFd, path::Path};

use rustix::{
    fs::{AtFlags, StatxFlags, statx},
    io::Errno,
};
use serde::{Deserialize, Serialize};

/// A number of a file that was removed is given out again; the moment of its birth is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub device: u64,
    pub inode: u64,
    /// None where the file system does not say.
    pub born_ns: Option<u64>,
}

/// What the kernel says of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub identity: Identity,
    pub uid: u32,
    pub gid: u32,
    pub mode: u32,
    pub links: u32,
    pub allocated_bytes: u64,
}

impl Facts {
    /// Of a name in a folder; nothing is followed.
    pub fn at(folder: impl AsFd, name: impl AsRef<Path>) -> Result<Self, Errno> {
        Self::ask(folder, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Of what is open.
    pub fn of(open: impl AsFd) -> Result<Self, Errno> {
        Self::ask(open, Path::new(""), AtFlags::EMPTY_PATH)
    }

    fn ask(at: impl AsFd, name: &Path, flags: AtFlags) -> Result<Self, Errno> {
        let seen = statx(at, name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
        let born = StatxFlags::from_bits_retain(seen.stx_mask).contains(StatxFlags::BTIME);
        let born_ns = born.then(|| seen.stx_btime.tv_sec as u64 * 1_000_000_000 + u64::from(seen.stx_btime.tv_nsec));
        Ok(Self {
            identity: Identity {
                device: libc::makedev(seen.stx_dev_major, seen.stx_dev_minor),
                inode: seen.stx_ino,
                born_ns,
            },
            uid: seen.stx_uid,
            gid: seen.stx_gid,
            mode: u32::from(seen.stx_mode),
            links: seen.stx_nlink,
            allocated_bytes: seen.stx_blocks * 512,
        })
    }

    pub fn is_folder(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFDIR
    }

    pub fn is_file(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFREG
    }
}

impl Identity {
    /// The same file, also where its file system was mounted again and has another number.
    pub fn is_still(&self, now: &Self) -> bool {
        self.inode == now.inode && self.born_ns == now.born_ns
    }
}
