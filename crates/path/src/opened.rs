//! Any path, open.

use assay_record::PathKind;

use crate::{Libaio, Mmap, Null, OpenParameters, Passthrough, PathError, Pmem, Pread, Uring, polled};

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
            PathKind::NvmePolled => match polled::open(parameters)? {},
            PathKind::Null => Self::Null(Null::new(parameters.depth)),
            PathKind::Pmem => Self::Pmem(Pmem::open(parameters)?),
        })
    }
}
