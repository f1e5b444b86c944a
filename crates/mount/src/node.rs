//! Files and folders that the kernel knows, each held open in the folder below.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::File,
    os::fd::{AsRawFd, OwnedFd},
    path::PathBuf,
    sync::{Arc, Mutex, RwLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use fuser::{FileAttr, FileType, INodeNo};
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, Stat, openat},
    io::Errno,
};

use crate::extents::{Extents, Room};

/// What calls here return.
pub type Result<T> = std::result::Result<T, Errno>;

/// An error as the kernel is told.
pub fn errno(error: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(error.raw_os_error())
}

/// The folder that is mounted.
pub const ROOT: u64 = 1;
/// Stands for a file below whose number is the folder's here.
const SECOND: u64 = u64::MAX - 1;

/// A file or folder.
#[derive(Debug)]
pub struct Node {
    /// As a place: it can be gone through, asked and opened anew.
    pub place: OwnedFd,
    /// Its number here.
    pub number: u64,
    /// Where its bytes lie on the drive.
    pub extents: Arc<Mutex<Extents>>,
}

/// All that the kernel knows, and where all bytes lie.
#[derive(Debug)]
pub struct Nodes {
    room: Room,
    device: u64,
    known: RwLock<HashMap<u64, (Arc<Node>, u64)>>,
    /// They stay as long as the file: a file is where it was when the kernel asks for it again.
    extents: Mutex<HashMap<u64, Arc<Mutex<Extents>>>>,
}

impl Nodes {
    /// The folder below, open; the drive's bytes.
    ///
    /// # Errors
    /// Where the kernel does not say what it is.
    pub fn new(root: OwnedFd, capacity_bytes: u64) -> Result<Self> {
        let device = rustix::fs::fstat(&root)?.st_dev;
        let node = Node { place: root, number: ROOT, extents: Arc::default() };
        let known = RwLock::new(HashMap::from([(ROOT, (Arc::new(node), 1))]));
        Ok(Self { room: Room::new(capacity_bytes), device, known, extents: Mutex::default() })
    }

    /// One that the kernel knows.
    ///
    /// # Errors
    /// ESTALE where it knows another.
    pub fn node(&self, number: INodeNo) -> Result<Arc<Node>> {
        let known = self.known.read().expect("no thread panics");
        known.get(&number.0).map(|(node, _)| Arc::clone(node)).ok_or(Errno::STALE)
    }

    /// A name in a folder, which the kernel knows from now on.
    ///
    /// # Errors
    /// The kernel's answer; EXDEV where another file system is mounted there.
    pub fn find(&self, folder: &Node, name: &OsStr) -> Result<(Arc<Node>, Stat)> {
        let place = openat(&folder.place, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let facts = rustix::fs::fstat(&place)?;
        if facts.st_dev != self.device {
            return Err(Errno::XDEV);
        }
        let number = if facts.st_ino == ROOT { SECOND } else { facts.st_ino };
        let mut known = self.known.write().expect("no thread panics");
        let (node, count) = known.entry(number).or_insert_with(|| {
            let mut extents = self.extents.lock().expect("no thread panics");
            let extents = Arc::clone(extents.entry(number).or_default());
            (Arc::new(Node { place, number, extents }), 0)
        });
        *count += 1;
        Ok((Arc::clone(node), facts))
    }

    /// The kernel forgets one that it was told of so often.
    pub fn forget(&self, number: INodeNo, times: u64) {
        let mut known = self.known.write().expect("no thread panics");
        let Some((node, count)) = known.get_mut(&number.0) else { return };
        *count = count.saturating_sub(times);
        if *count > 0 || number.0 == ROOT {
            return;
        }
        let gone = rustix::fs::fstat(&node.place).is_ok_and(|facts| facts.st_nlink == 0);
        known.remove(&number.0);
        if gone {
            self.extents.lock().expect("no thread panics").remove(&number.0);
        }
    }

    /// All that the kernel knows.
    pub fn numbers(&self) -> Vec<u64> {
        self.known.read().expect("no thread panics").keys().copied().collect()
    }

    /// Where bytes of a file of this size lie on the drive.
    pub fn place(&self, node: &Node, at: u64, bytes: u64, size: u64) -> u64 {
        node.extents.lock().expect("no thread panics").place(&self.room, at, bytes, size)
    }
}

impl Node {
    /// What the folder below says of it.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn facts(&self) -> Result<FileAttr> {
        Ok(facts(self.number, &rustix::fs::fstat(&self.place)?))
    }

    /// A path that leads to it, whatever its names are.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.place.as_raw_fd()))
    }

    /// Opens it.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn open(&self, flags: OFlags) -> Result<File> {
        Ok(File::from(openat(CWD, self.path(), flags | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// Gives it to a user and a group.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn give(&self, uid: Option<u32>, gid: Option<u32>) -> Result<()> {
        let (uid, gid) = (uid.map(rustix::fs::Uid::from_raw), gid.map(rustix::fs::Gid::from_raw));
        rustix::fs::chownat(&self.place, "", uid, gid, AtFlags::EMPTY_PATH)
    }
}

/// As the kernel wants it.
pub fn facts(number: u64, seen: &Stat) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: seen.st_size as u64,
        blocks: seen.st_blocks as u64,
        atime: moment(seen.st_atime, seen.st_atime_nsec),
        mtime: moment(seen.st_mtime, seen.st_mtime_nsec),
        ctime: moment(seen.st_ctime, seen.st_ctime_nsec),
        crtime: UNIX_EPOCH,
        kind: kind(seen.st_mode),
        perm: (seen.st_mode & 0o7777) as u16,
        nlink: seen.st_nlink as u32,
        uid: seen.st_uid,
        gid: seen.st_gid,
        rdev: seen.st_rdev as u32,
        blksize: 4096,
        flags: 0,
    }
}

fn kind(mode: u32) -> FileType {
    match mode & libc::S_IFMT {
        libc::S_IFDIR => FileType::Directory,
        libc::S_IFLNK => FileType::Symlink,
        libc::S_IFIFO => FileType::NamedPipe,
        libc::S_IFSOCK => FileType::Socket,
        libc::S_IFCHR => FileType::CharDevice,
        libc::S_IFBLK => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}

fn moment(seconds: i64, ns: u64) -> SystemTime {
    let ns = Duration::from_nanos(ns);
    let whole = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { UNIX_EPOCH - whole + ns } else { UNIX_EPOCH + whole + ns }
}
