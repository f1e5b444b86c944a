//! Which paths there are at a place, found out by trying each of them; and where one is missing, why.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use assay_record::{Durability, DurabilityKind, Layout, PathKind, PathSpec, PollMode};
use serde::Serialize;

use crate::{Arena, OpenParameters, Opened, PathError, Request, Segment, SegmentKind, polled};

/// Bytes that are read in a trial: whole blocks of any device.
const TRIAL_BYTES: u32 = 64 << 10;
/// Bytes that are mapped of a device-DAX node: its page.
const DAX_BYTES: u64 = 2 << 20;
/// `TMPFS_MAGIC`.
const TMPFS: i128 = 0x0102_1994;

/// What a trial of one variant of a path found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Probed {
    /// The path.
    pub path: PathKind,
    /// Its options in short (`buffered`, `direct`, `iopoll`, ...).
    pub variant: String,
    /// It works here.
    pub available: bool,
    /// Why not; or, where it is available, what to know about it. One sentence, or empty.
    pub reason: String,
    /// What would make it available; empty where it is.
    pub fix: String,
}

impl Probed {
    /// A variant that works.
    pub fn works(path: PathKind, variant: &str, note: &str) -> Self {
        Self { path, variant: variant.to_owned(), available: true, reason: note.to_owned(), fix: String::new() }
    }

    /// A variant that does not, and what would help.
    pub fn fails(path: PathKind, variant: &str, reason: String, fix: String) -> Self {
        Self { path, variant: variant.to_owned(), available: false, reason, fix }
    }
}

/// The main variants of every path, by name.
pub fn variants() -> Vec<(&'static str, PathSpec)> {
    let plain = PathSpec::plain;
    let direct = |kind| PathSpec { direct: true, ..plain(kind) };
    let ring = |fixed, poll| PathSpec { fixed, poll, ..direct(PathKind::IoUring) };
    vec![
        ("buffered", plain(PathKind::Pread)),
        ("direct", direct(PathKind::Pread)),
        ("mapped", plain(PathKind::Mmap)),
        ("direct", direct(PathKind::Libaio)),
        ("buffered", plain(PathKind::IoUring)),
        ("direct", ring(false, PollMode::None)),
        ("fixed", ring(true, PollMode::None)),
        ("iopoll", ring(false, PollMode::Iopoll)),
        ("sqpoll", ring(false, PollMode::Sqpoll)),
        ("direct", direct(PathKind::NvmePassthrough)),
        ("iopoll", PathSpec { poll: PollMode::Iopoll, ..direct(PathKind::NvmePassthrough) }),
        ("load and store", plain(PathKind::Pmem)),
        ("polled", plain(PathKind::NvmePolled)),
        ("null", plain(PathKind::Null)),
    ]
}

/// Tries every variant at a place: a folder (a small temporary file is made in it and removed), a file, a block device or
/// a device-DAX node (these are only read).
///
/// # Errors
/// Where the place itself cannot be used: it is not there, or nothing may be written into it.
pub fn probe(place: &Path) -> Result<Vec<Probed>, PathError> {
    let trial = Trial::at(place)?;
    let arena = Arena::new(TRIAL_BYTES as usize).map_err(|error| trial.error("mapping memory for", error))?;
    Ok(variants().iter().map(|(variant, spec)| trial.of(variant, spec, &arena)).collect())
}

/// What is read in trials.
struct Trial {
    segment: Segment,
    /// The place lies on tmpfs.
    in_memory: bool,
    /// Removed on drop.
    file: Option<PathBuf>,
}

impl Trial {
    fn at(place: &Path) -> Result<Self, PathError> {
        let error = |action, source| PathError::Io { action, path: place.to_owned(), source };
        let status = fs::metadata(place).map_err(|source| error("looking at", source))?;
        let (path, file) = if status.is_dir() {
            let path = make_file(place).map_err(|source| error("making a small file in", source))?;
            (path.clone(), Some(path))
        } else {
            (place.to_owned(), None)
        };
        let (kind, bytes) = match status.file_type() {
            kind if kind.is_block_device() => (SegmentKind::BlockDevice, u64::from(TRIAL_BYTES)),
            kind if kind.is_char_device() => (SegmentKind::DeviceDax, DAX_BYTES),
            _ => (SegmentKind::File, file_bytes(&path)),
        };
        // Nodes of devices lie in memory (/dev), what they name does not.
        let in_memory = kind == SegmentKind::File
            && rustix::fs::statfs(&path).is_ok_and(|status| i128::from(status.f_type) == TMPFS);
        Ok(Self { segment: Segment { path, kind, base: 0, bytes }, in_memory, file })
    }

    fn error(&self, action: &'static str, source: io::Error) -> PathError {
        PathError::Io { action, path: self.segment.path.clone(), source }
    }

    fn of(&self, variant: &str, spec: &PathSpec, arena: &Arena) -> Probed {
        match self.open_and_read(spec, arena) {
            Ok(note) => Probed::works(spec.kind, variant, note),
            Err(error) => Probed::fails(spec.kind, variant, self.named(reason(&error)), self.named(error.fix())),
        }
    }

    /// Names the place where a sentence names the trial's own file.
    fn named(&self, sentence: String) -> String {
        let place = self.segment.path.parent().filter(|_| self.file.is_some()).unwrap_or(&self.segment.path);
        sentence.replace(&*self.segment.path.to_string_lossy(), &place.to_string_lossy())
    }

    /// What to know about a variant that works.
    fn open_and_read(&self, spec: &PathSpec, arena: &Arena) -> Result<&'static str, PathError> {
        let parameters = OpenParameters {
            spec,
            durability: Durability { kind: DurabilityKind::None, every: 1 },
            segments: std::slice::from_ref(&self.segment),
            writes: false,
            layout: Layout::AsFound,
            arena,
            depth: 1,
            batch: 1,
        };
        if spec.kind == PathKind::NvmePolled {
            return self.could_be_polled(&parameters);
        }
        let mut path = Opened::open(&parameters)?;
        let length = u64::from(TRIAL_BYTES).min(self.segment.bytes) as u32;
        let request = Request { write: false, segment: 0, offset: 0, length, memory: 0, slot: 0 };
        path.operate(request).map_err(|error| self.explain(&parameters, error))?;
        Ok(match path {
            Opened::Pmem(path) if path.emulated() => "emulated: memory stands in for persistent memory",
            _ if self.in_memory && spec.direct => "the place lies in memory (tmpfs), where direct I/O bypasses nothing",
            _ => "",
        })
    }

    /// The device under a file has queues that can be polled.
    fn device_polls(&self) -> bool {
        self.segment.kind == SegmentKind::File && crate::facts::has_poll_queues(&self.segment.path) == Some(true)
    }

    /// A drive is not taken from the kernel only to find out whether it could be.
    fn could_be_polled(&self, parameters: &OpenParameters<'_>) -> Result<&'static str, PathError> {
        if self.segment.kind == SegmentKind::BlockDevice {
            return polled::possible(&self.segment.path, parameters.spec.reach);
        }
        Err(parameters.unavailable(
            format!("{} is not a block device, and commands know no files", self.segment.path.display()),
            "name an NVMe namespace such as /dev/nvme0n1".to_owned(),
        ))
    }

    /// The kernel's answer to the first read, in words.
    fn explain(&self, parameters: &OpenParameters<'_>, error: io::Error) -> PathError {
        let polls = parameters.spec.poll == PollMode::Iopoll;
        match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::EINVAL) if polls && self.device_polls() => parameters.unavailable(
                format!("the device under {} can be polled, its file system cannot", self.segment.path.display()),
                "use ext4, XFS or the device itself".to_owned(),
            ),
            Some(libc::EOPNOTSUPP | libc::EINVAL) if polls => parameters.unavailable(
                format!("the device under {} has no poll queues", self.segment.path.display()),
                "with NVMe, boot with nvme.poll_queues=4 (or set it in /etc/modprobe.d); others cannot be polled"
                    .to_owned(),
            ),
            Some(libc::EINVAL) if parameters.spec.direct => parameters.unavailable(
                format!("the file system of {} does not take direct I/O", self.segment.path.display()),
                "use direct = false, or a file system on a disk (ext4, XFS, Btrfs)".to_owned(),
            ),
            Some(libc::EPERM | libc::EACCES) => parameters.unavailable(
                format!("the kernel does not permit it ({error})"),
                "run as root, or outside the container".to_owned(),
            ),
            _ => self.error("reading", error),
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = fs::remove_file(file);
        }
    }
}

fn reason(error: &PathError) -> String {
    match error {
        PathError::Unavailable { reason, .. } | PathError::Refused { reason, .. } => reason.clone(),
        _ => error.to_string(),
    }
}

/// A file of its own, written to the device so that a direct read finds it there.
fn make_file(folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(format!(".assay-probe-{}-{:?}", std::process::id(), std::thread::current().id()));
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
    let written = file.write_all(&[0xa5; TRIAL_BYTES as usize]).and_then(|()| file.sync_data());
    if let Err(error) = written {
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    Ok(path)
}

/// Whole blocks of a file, at most what a trial reads.
fn file_bytes(path: &Path) -> u64 {
    let bytes = fs::metadata(path).map_or(0, |status| status.len());
    (bytes & !4095).min(u64::from(TRIAL_BYTES))
}
