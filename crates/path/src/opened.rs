//! Any path, open.

use std::io;

use assay_record::PathKind;

use crate::{
    Blocking, Completion, Libaio, Mmap, Null, OpenParameters, Passthrough, PathError, Pmem, Polled, Pread, Queued,
    Request, Uring, Wait,
};

/// An open path. The executor looks once which it is and compiles its loop for each.
#[derive(Debug)]
// Opened once per thread and taken apart at once: its size costs nothing.
#[allow(clippy::large_enum_variant)]
#[non_exhaustive]
pub enum Opened {
    /// `pread`, blocking.
    Pread(Pread),
    /// `mmap`, blocking.
    Mmap(Mmap),
    /// `libaio`, queued.
    Libaio(Libaio),
    /// `io_uring`, queued.
    Uring(Uring),
    /// `nvme_passthrough`, queued.
    Passthrough(Passthrough),
    /// `nvme_polled`, queued.
    Polled(Polled),
    /// `pmem`, blocking.
    Pmem(Pmem),
    /// `null`, either.
    Null(Null),
}

impl Opened {
    /// Opens the path of a specification, in the thread that will use it.
    ///
    /// # Errors
    /// [`PathError::Unavailable`] where this machine or this target cannot do it, with the reason and the remedy;
    /// [`PathError::Io`] and [`PathError::Refused`] where a segment cannot be opened.
    pub fn open(parameters: &OpenParameters<'_>) -> Result<Self, PathError> {
        Ok(match parameters.spec.kind {
            PathKind::Pread => Self::Pread(Pread::open(parameters)?),
            PathKind::Mmap => Self::Mmap(Mmap::open(parameters)?),
            PathKind::Libaio => Self::Libaio(Libaio::open(parameters)?),
            PathKind::IoUring => Self::Uring(Uring::open(parameters)?),
            PathKind::NvmePassthrough => Self::Passthrough(Passthrough::open(parameters)?),
            PathKind::NvmePolled => Self::Polled(Polled::open(parameters)?),
            PathKind::Null => Self::Null(Null::new(parameters.depth)),
            PathKind::Pmem => Self::Pmem(Pmem::open(parameters)?),
        })
    }

    /// One operation from beginning to end: for a probe or a check, not for a measured loop.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn operate(&mut self, request: Request) -> io::Result<()> {
        match self {
            Self::Pread(path) => operate_blocking(path, request),
            Self::Mmap(path) => operate_blocking(path, request),
            Self::Libaio(path) => operate_queued(path, |path| path.push(request)),
            Self::Uring(path) => operate_queued(path, |path| path.push(request)),
            Self::Passthrough(path) => operate_queued(path, |path| path.push(request)),
            Self::Polled(path) => operate_queued(path, |path| path.push(request)),
            Self::Pmem(path) => operate_blocking(path, request),
            Self::Null(path) => operate_blocking(path, request),
        }
    }

    /// One flush of a segment from beginning to end, as [`Self::operate`].
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn flush(&mut self, segment: u32) -> io::Result<()> {
        match self {
            Self::Pread(path) => path.flush(),
            Self::Mmap(path) => path.flush(),
            Self::Libaio(path) => operate_queued(path, |path| path.push_flush(segment, 0)),
            Self::Uring(path) => operate_queued(path, |path| path.push_flush(segment, 0)),
            Self::Passthrough(path) => operate_queued(path, |path| path.push_flush(segment, 0)),
            Self::Polled(path) => operate_queued(path, |path| path.push_flush(segment, 0)),
            Self::Pmem(path) => path.flush(),
            Self::Null(path) => Blocking::flush(path),
        }
    }

    /// Begins a growing file anew.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn restart(&mut self, segment: u32) -> io::Result<()> {
        match self {
            Self::Pread(path) => path.restart(segment),
            Self::Mmap(path) => path.restart(segment),
            Self::Libaio(path) => path.restart(segment),
            Self::Uring(path) => path.restart(segment),
            Self::Passthrough(path) => path.restart(segment),
            Self::Polled(path) => path.restart(segment),
            Self::Pmem(path) => path.restart(segment),
            Self::Null(path) => Blocking::restart(path, segment),
        }
    }

    /// System calls made so far by this path.
    pub fn system_calls(&self) -> u64 {
        match self {
            Self::Pread(path) => path.system_calls(),
            Self::Mmap(path) => path.system_calls(),
            Self::Libaio(path) => path.system_calls(),
            Self::Uring(path) => path.system_calls(),
            Self::Passthrough(path) => path.system_calls(),
            Self::Polled(path) => path.system_calls(),
            Self::Pmem(path) => path.system_calls(),
            Self::Null(path) => Blocking::system_calls(path),
        }
    }
}

fn operate_blocking(path: &mut impl Blocking, request: Request) -> io::Result<()> {
    let Request { write, segment, offset, length, memory, .. } = request;
    if write { path.write(segment, offset, length, memory) } else { path.read(segment, offset, length, memory) }
}

fn operate_queued<P: Queued>(path: &mut P, push: impl FnOnce(&mut P)) -> io::Result<()> {
    let mut into: Vec<Completion> = Vec::with_capacity(1);
    push(path);
    while into.is_empty() {
        path.submit_and_reap(Wait { at_least: 1, timeout_ns: u64::MAX }, &mut into)?;
    }
    match into[0].result {
        result if result < 0 => Err(io::Error::from_raw_os_error(-result)),
        _ => Ok(()),
    }
}
