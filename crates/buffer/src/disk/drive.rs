//! Files and block devices as a disk, one or several striped.
//!
//! A file is made by [`Drive::create`] and is sparse: its length is given once and costs nothing until it is written. A
//! block device goes through the guards of `assay_path`: it is written to only where its user named it by path and
//! serial number, and nobody else uses it. Either is held for one process at a time.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use assay_path::{
    Libaio, OpenParameters, PathError, Pread, Segment, SegmentKind, Uring,
    guard::{Admitted, admit},
};
use assay_record::{Durability, DurabilityKind, Layout, PathKind, PathSpec, Target, TargetKind};
use rustix::{fs::FlockOperation, io::Errno};

use super::{
    Calls, Disk, Memory, Queue, SECTOR_BYTES,
    calls::DriveCalls,
    label::{self, failed},
    lane::{Lane, Way},
    striping::Striping,
};
use crate::BufferError;

/// How long a lock is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// How the bytes are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// `io_uring`, `libaio`, or `pread` for blocking calls.
    pub path: PathKind,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Files and memory registered with the ring, where the kernel lets us; only with `io_uring`.
    pub registered: bool,
    /// Bytes on one member before the next one comes, a multiple of 64 KiB; without meaning for a single member.
    pub stripe_unit_bytes: u64,
}

impl Default for Access {
    fn default() -> Self {
        Self { path: PathKind::IoUring, direct: true, registered: true, stripe_unit_bytes: 256 << 10 }
    }
}

/// Files or devices that are one disk.
#[derive(Debug)]
pub struct Drive {
    name: String,
    segments: Vec<Segment>,
    access: Access,
    striping: Striping,
    bytes: u64,
    /// The members, locked; flushes of blocking calls go through them.
    files: Arc<[File]>,
    /// Exclusive holds on devices.
    _held: Option<Admitted>,
}

impl Drive {
    /// Makes files of `bytes` together, one on each of `paths`, which must not be there yet.
    ///
    /// # Errors
    /// Where one is there already or cannot be made; those that were made are removed again.
    pub fn create(paths: &[PathBuf], bytes: u64, access: Access) -> Result<Self, BufferError> {
        let mut made = Vec::with_capacity(paths.len());
        let drive = Self::create_each(paths, &mut made).and_then(|files| Self::on(files, bytes, access));
        if drive.is_err() {
            // What went wrong counts, not whether this does.
            made.iter().for_each(|path| drop(std::fs::remove_file(path)));
        }
        drive
    }

    fn create_each(paths: &[PathBuf], made: &mut Vec<PathBuf>) -> Result<Vec<(PathBuf, File)>, BufferError> {
        let create = |path: &PathBuf| {
            let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
            let file = file.map_err(|source| failed("making", path, source))?;
            made.push(path.clone());
            lock(&file, path)?;
            Ok((path.clone(), file))
        };
        paths.iter().map(create).collect()
    }

    /// A disk of `bytes` on empty files that the caller has just made, and holds locked.
    ///
    /// # Errors
    /// Where one is not empty, or cannot be made that long.
    pub fn on(files: Vec<(PathBuf, File)>, bytes: u64, access: Access) -> Result<Self, BufferError> {
        check(files.len(), access)?;
        let striping = striping(files.len(), access);
        let each = bytes.div_ceil(striping.unit_bytes * files.len() as u64) * striping.unit_bytes;
        let base = label::bytes(files.len());
        for (path, file) in &files {
            let facts = file.metadata().map_err(|source| failed("looking at", path, source))?;
            if !facts.is_file() || facts.len() > 0 {
                let what = format!("{} is no empty file: it has {} bytes", path.display(), facts.len());
                return Err(BufferError::unfit(what, "name a file that is not there yet"));
            }
            file.set_len(base + each).map_err(|source| failed("growing", path, source))?;
        }
        label::write(&files, striping.unit_bytes)?;
        Self::of(files, access)
    }

    /// Opens files that [`Drive::create`] made, in the same order and with the same stripe unit.
    ///
    /// # Errors
    /// Where one is missing, is no regular file, is in use, or belongs to another disk.
    pub fn open(paths: &[PathBuf], access: Access) -> Result<Self, BufferError> {
        check(paths.len(), access)?;
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let file = OpenOptions::new().read(true).write(true).open(path);
            let file = file.map_err(|source| failed("opening", path, source))?;
            if !file.metadata().map_err(|source| failed("looking at", path, source))?.is_file() {
                return Err(BufferError::unfit(
                    format!("{} is no regular file", path.display()),
                    "name a file; a block device is named with its serial number",
                ));
            }
            lock(&file, path)?;
            files.push((path.clone(), file));
        }
        label::check(&files, striping(files.len(), access).unit_bytes)?;
        Self::of(files, access)
    }

    fn of(named: Vec<(PathBuf, File)>, access: Access) -> Result<Self, BufferError> {
        let (base, mut files, mut segments) = (label::bytes(named.len()), Vec::new(), Vec::new());
        for (path, file) in named {
            let at = path.canonicalize().map_err(|source| failed("opening", &path, source))?;
            let bytes = file.metadata().map_err(|source| failed("looking at", &path, source))?.len();
            segments.push(Segment { path: at, kind: SegmentKind::File, base, bytes: bytes.saturating_sub(base) });
            files.push(file);
        }
        Ok(Self::assemble(segments, files, access, None))
    }

    /// Opens block devices, to read and to write: the target names each by path and serial number and carries the user's
    /// consent to destroy what is on it.
    ///
    /// # Errors
    /// What the guards have against it, with the remedy.
    pub fn devices(target: &Target, access: Access) -> Result<Self, BufferError> {
        check(target.members.len(), access)?;
        if target.kind != TargetKind::BlockDevice {
            let what = format!("the target {} is no block device", target.id);
            return Err(BufferError::unfit(what, "name a block device, or a folder for files"));
        }
        let held = admit(target, true)?;
        let mut files = Vec::with_capacity(held.members.len());
        let mut segments = Vec::with_capacity(held.members.len());
        for member in &held.members {
            let file = OpenOptions::new().read(true).write(true).open(&member.path);
            files.push(file.map_err(|source| failed("opening", &member.path, source))?);
            let (path, bytes) = (member.path.clone(), member.bytes);
            segments.push(Segment { path, kind: SegmentKind::BlockDevice, base: 0, bytes });
        }
        Ok(Self::assemble(segments, files, access, Some(held)))
    }

    fn assemble(segments: Vec<Segment>, files: Vec<File>, access: Access, held: Option<Admitted>) -> Self {
        let names: Vec<_> = segments.iter().map(|segment| segment.path.display().to_string()).collect();
        let striping = striping(segments.len(), access);
        let smallest = segments.iter().map(|segment| segment.bytes).min().unwrap_or(0);
        let (name, bytes) = (names.join(", "), striping.bytes(smallest));
        Self { name, segments, access, striping, bytes, files: files.into(), _held: held }
    }

    fn lane(&self, way: Way, depth: u32, memory: &Arc<Memory>) -> Box<dyn Queue> {
        Box::new(Lane::new(way, self.striping, self.bytes, depth, Arc::clone(memory), self.name.clone()))
    }

    fn way(&self, depth: u32, memory: &Memory, registered: bool) -> Result<Way, PathError> {
        self.way_by(self.access.path, depth, memory, registered)
    }

    fn way_by(&self, path: PathKind, depth: u32, memory: &Memory, registered: bool) -> Result<Way, PathError> {
        let blocking = path == PathKind::Pread;
        let parameters = OpenParameters {
            spec: &PathSpec { direct: self.access.direct, fixed: registered, ..PathSpec::plain(path) },
            durability: Durability { kind: DurabilityKind::Fdatasync, every: 1 },
            segments: &self.segments,
            writes: true,
            layout: Layout::Written,
            arena: memory.arena(),
            depth: if blocking { 1 } else { depth },
            batch: if blocking { 1 } else { depth },
        };
        Ok(match path {
            PathKind::IoUring => Way::Uring(Box::new(Uring::open(&parameters)?)),
            PathKind::Libaio => Way::Libaio(Libaio::open(&parameters)?),
            _ => Way::Pread(Pread::open(&parameters)?, Arc::clone(&self.files)),
        })
    }
}

impl Disk for Drive {
    fn name(&self) -> &str {
        &self.name
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn queue(&self, depth: u32, memory: &Arc<Memory>) -> Result<Box<dyn Queue>, BufferError> {
        let registered = self.access.registered && self.access.path == PathKind::IoUring;
        let way = match self.way(depth, memory, registered) {
            // Locked memory may be limited; without registration it goes a little slower.
            Err(PathError::Unavailable { .. }) if registered => self.way(depth, memory, false)?,
            way => way?,
        };
        Ok(self.lane(way, depth, memory))
    }

    fn brief_queue(&self, depth: u32, memory: &Arc<Memory>) -> Result<Box<dyn Queue>, BufferError> {
        // The kernel pins each page of a registered memory: seconds, of a large pool.
        Ok(self.lane(self.way(depth, memory, false)?, depth, memory))
    }

    fn calls(&self, memory: &Arc<Memory>) -> Result<Option<Box<dyn Calls>>, BufferError> {
        let Way::Pread(path, files) = self.way_by(PathKind::Pread, 1, memory, false)? else { return Ok(None) };
        Ok(Some(Box::new(DriveCalls::new(path, &files, (self.striping, self.bytes), memory))))
    }
}

fn striping(members: usize, access: Access) -> Striping {
    let unit_bytes = if members == 1 { u64::from(SECTOR_BYTES) } else { access.stripe_unit_bytes };
    Striping { members: members as u32, unit_bytes }
}

fn check(members: usize, access: Access) -> Result<(), BufferError> {
    const UNIT: u64 = 64 << 10;
    if members == 0 {
        return Err(BufferError::unfit("no file or device was named", "name at least one"));
    }
    if !matches!(access.path, PathKind::IoUring | PathKind::Libaio | PathKind::Pread) {
        let what = format!("the path {} cannot carry a pool", access.path.name());
        return Err(BufferError::unfit(what, "use io_uring, libaio or pread"));
    }
    if access.stripe_unit_bytes == 0 || access.stripe_unit_bytes % UNIT != 0 {
        let what = format!("a stripe unit of {} bytes is no multiple of 64 KiB", access.stripe_unit_bytes);
        return Err(BufferError::unfit(what, "use 65536, 262144 or 1048576"));
    }
    Ok(())
}

fn lock(file: &File, path: &Path) -> Result<(), BufferError> {
    lock_patiently(file).map_err(|errno| match errno {
        Errno::WOULDBLOCK => BufferError::InUse { disk: path.display().to_string() },
        errno => failed("locking", path, errno.into()).into(),
    })
}

/// Locks a file against other processes. A moment is waited for one that was killed: it holds its locks until the kernel
/// has ended the last of its requests.
///
/// # Errors
/// `WOULDBLOCK` where somebody else holds the lock still; else why the file cannot be locked.
pub fn lock_patiently(file: &File) -> Result<(), Errno> {
    let begun = Instant::now();
    loop {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if begun.elapsed() < LOCK_PATIENCE => std::thread::sleep(LOCK_PATIENCE / 50),
            done => return done,
        }
    }
}
