//! The files and devices beneath a path: one descriptor per segment, opened for one thread.

use std::{
    io,
    num::NonZeroU64,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
    path::{Path, PathBuf},
};

use assay_record::{Advice, DurabilityKind, Layout};
use rustix::fs::{Advice as FileAdvice, FileType, Mode, OFlags};

use crate::{OpenParameters, PathError, Segment, SegmentKind};

/// One segment, open.
#[derive(Debug)]
pub(crate) struct OpenSegment {
    fd: OwnedFd,
    /// First byte of the range in the file.
    pub base: u64,
    /// Length of the range, bytes.
    pub bytes: u64,
    /// For messages.
    pub path: PathBuf,
    /// Written since the last flush.
    pub written: bool,
}

impl OpenSegment {
    /// The descriptor's number.
    #[inline(always)]
    pub fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// The descriptor.
    #[inline(always)]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Where an operation goes, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located<'a> {
    /// Descriptor.
    pub fd: BorrowedFd<'a>,
    /// Byte in the file.
    pub position: u64,
    /// First byte of the buffer.
    pub memory: *mut u8,
}

/// All segments of a path, and the arena that its operations use.
#[derive(Debug)]
pub(crate) struct Files {
    places: Vec<OpenSegment>,
    arena: *mut u8,
    arena_bytes: usize,
    durability: DurabilityKind,
}

impl Files {
    /// Opens every segment: read-only for a class that only reads, without the page cache where that is asked for.
    pub fn open(parameters: &OpenParameters<'_>) -> Result<Self, PathError> {
        let places = parameters.segments.iter().map(|segment| open_place(parameters, segment));
        let files = Self {
            places: places.collect::<Result<_, _>>()?,
            arena: parameters.arena.start(),
            arena_bytes: parameters.arena.len(),
            durability: parameters.durability.kind,
        };
        files.advise(parameters.spec.advice)?;
        Ok(files)
    }

    /// Finds the place of an operation; none where it would leave its segment or its buffer. On a device that check is
    /// what keeps a wrong offset from somebody else's data.
    #[inline(always)]
    pub fn locate(&self, segment: u32, offset: u64, length: u32, memory: usize) -> Option<Located<'_>> {
        let place = self.places.get(segment as usize)?;
        let in_segment = u64::from(length) <= place.bytes && offset <= place.bytes - u64::from(length);
        if !in_segment || !self.in_arena(length, memory) {
            return None;
        }
        // SAFETY: `memory + length` lies inside the arena, as was just checked.
        let memory = unsafe { self.arena.add(memory) };
        Some(Located { fd: place.fd(), position: place.base + offset, memory })
    }

    #[inline(always)]
    fn in_arena(&self, length: u32, memory: usize) -> bool {
        length as usize <= self.arena_bytes && memory <= self.arena_bytes - length as usize
    }

    /// The places, in the order of segments.
    pub fn places(&self) -> &[OpenSegment] {
        &self.places
    }

    /// The arena's first byte and length.
    pub fn arena(&self) -> (*mut u8, usize) {
        (self.arena, self.arena_bytes)
    }

    /// Remembers that the next flush has something to do.
    #[inline(always)]
    pub fn mark_written(&mut self, segment: u32) {
        self.places[segment as usize].written = true;
    }

    /// Flushes what was written since the last call; adds the system calls made to `calls`.
    pub fn flush_written(&mut self, calls: &mut u64) -> io::Result<()> {
        for index in 0..self.places.len() {
            if self.places[index].written {
                self.flush(index as u32, calls)?;
            }
        }
        Ok(())
    }

    /// Flushes one segment and waits for it.
    pub fn flush(&mut self, segment: u32, calls: &mut u64) -> io::Result<()> {
        let place = &mut self.places[segment as usize];
        match self.durability {
            DurabilityKind::Fdatasync => rustix::fs::fdatasync(&place.fd)?,
            DurabilityKind::Fsync => rustix::fs::fsync(&place.fd)?,
            _ => return Ok(()),
        }
        *calls += 1;
        place.written = false;
        Ok(())
    }

    /// Empties a growing file.
    pub fn restart(&mut self, segment: u32, calls: &mut u64) -> io::Result<()> {
        let place = self.places.get_mut(segment as usize).ok_or(io::ErrorKind::InvalidInput)?;
        *calls += 1;
        rustix::fs::ftruncate(&place.fd, place.base)?;
        place.written = true;
        Ok(())
    }

    fn advise(&self, advice: Advice) -> Result<(), PathError> {
        let advice = match advice {
            Advice::Normal | Advice::HugePage => return Ok(()),
            Advice::Random => FileAdvice::Random,
            Advice::Sequential => FileAdvice::Sequential,
            Advice::WillNeed => FileAdvice::WillNeed,
        };
        for place in &self.places {
            rustix::fs::fadvise(&place.fd, place.base, NonZeroU64::new(place.bytes), advice)
                .map_err(|error| io_error("advising the kernel on", &place.path, error.into()))?;
        }
        Ok(())
    }
}

fn open_place(parameters: &OpenParameters<'_>, segment: &Segment) -> Result<OpenSegment, PathError> {
    refuse_kind(parameters, segment)?;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
    let fd = rustix::fs::open(&segment.path, open_flags(parameters), mode)
        .map_err(|error| open_error(parameters, segment, error.into()))?;
    expect_kind(&fd, segment)?;
    if parameters.writes && parameters.layout == Layout::Grow {
        rustix::fs::ftruncate(&fd, segment.base).map_err(|error| io_error("emptying", &segment.path, error.into()))?;
    }
    Ok(OpenSegment { fd, base: segment.base, bytes: segment.bytes, path: segment.path.clone(), written: false })
}

fn open_flags(parameters: &OpenParameters<'_>) -> OFlags {
    let mut flags = OFlags::CLOEXEC | if parameters.writes { OFlags::RDWR } else { OFlags::RDONLY };
    flags.set(OFlags::DIRECT, parameters.spec.direct);
    if parameters.writes {
        flags.set(OFlags::DSYNC, parameters.durability.kind == DurabilityKind::ODsync);
        flags.set(OFlags::CREATE, parameters.layout == Layout::Grow);
    }
    flags
}

fn refuse_kind(parameters: &OpenParameters<'_>, segment: &Segment) -> Result<(), PathError> {
    let at = segment.path.display();
    let grows = parameters.layout == Layout::Grow && parameters.writes;
    match segment.kind {
        SegmentKind::File => Ok(()),
        SegmentKind::BlockDevice if !grows => Ok(()),
        SegmentKind::BlockDevice => Err(parameters.unavailable(
            format!("{at} is a block device, which cannot grow"),
            "use another layout than \"grow\" on a device".to_owned(),
        )),
        SegmentKind::DeviceDax => Err(parameters.unavailable(
            format!("{at} is a device-DAX node, which knows no system calls that read or write"),
            "use the path pmem on it".to_owned(),
        )),
        SegmentKind::Memory | SegmentKind::Null => Err(parameters.unavailable(
            "the target is neither a file nor a device".to_owned(),
            "name a folder, a file or a device with --on".to_owned(),
        )),
    }
}

/// A name may have changed hands since it was looked at: what is written must be what was checked.
fn expect_kind(fd: &OwnedFd, segment: &Segment) -> Result<(), PathError> {
    let status = rustix::fs::fstat(fd).map_err(|error| io_error("examining", &segment.path, error.into()))?;
    let kind = FileType::from_raw_mode(status.st_mode);
    let (fits, wanted) = match segment.kind {
        SegmentKind::BlockDevice => (kind == FileType::BlockDevice, "a block device"),
        _ => (kind == FileType::RegularFile, "a regular file"),
    };
    if fits {
        return Ok(());
    }
    Err(PathError::Refused {
        path: segment.path.clone(),
        reason: format!("it is not {wanted} (any more)"),
        fix: "look at what it is now, and name the target again".to_owned(),
    })
}

fn open_error(parameters: &OpenParameters<'_>, segment: &Segment, source: io::Error) -> PathError {
    if parameters.spec.direct && source.raw_os_error() == Some(libc::EINVAL) {
        return parameters.unavailable(
            format!("the file system of {} does not know direct I/O (O_DIRECT)", segment.path.display()),
            "use direct = false, or a file system on a disk (ext4, XFS, Btrfs)".to_owned(),
        );
    }
    io_error("opening", &segment.path, source)
}

/// An error that names a file.
pub(crate) fn io_error(action: &'static str, path: &Path, source: io::Error) -> PathError {
    PathError::Io { action, path: path.to_owned(), source }
}
