//! Why a page, a pool or a disk cannot be used.

use std::io;

use assay_path::PathError;
use rustix::io::Errno;
use thiserror::Error;

use crate::disk::{Action, Disk, DiskRequest};

/// What went wrong. [`BufferError::fix`] says what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BufferError {
    /// A file, a device or a path that cannot be opened.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A disk that another process, or this one, has open already.
    #[error("{disk} is in use by another process, or twice by this one")]
    InUse {
        /// The disk.
        disk: String,
    },
    /// A request that failed.
    #[error("{action} {bytes} bytes at {offset} of {disk} failed: {errno}")]
    Io {
        /// What was being done.
        action: &'static str,
        /// The disk.
        disk: String,
        /// First byte.
        offset: u64,
        /// Length, bytes.
        bytes: u32,
        /// The disk's answer.
        errno: Errno,
    },
    /// A queue that failed as a whole.
    #[error("the queue to {disk} failed: {source}")]
    Queue {
        /// The disk.
        disk: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Memory that could not be had.
    #[error("{bytes} bytes of memory could not be had: {source}")]
    Memory {
        /// What was asked for.
        bytes: usize,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Bytes that are not what was written.
    #[error("{disk} is damaged: {what}")]
    Damaged {
        /// The disk.
        disk: String,
        /// What is damaged, where, and how it was seen.
        what: String,
    },
    /// No space is left.
    #[error("{disk} is full: all of its {bytes} bytes hold pages, or copies that the last checkpoint needs")]
    Full {
        /// The disk.
        disk: String,
        /// Bytes for pages.
        bytes: u64,
    },
    /// An earlier error after which nothing is written any more.
    #[error("nothing is written to {disk} any more since an earlier error: {why}")]
    Broken {
        /// The disk.
        disk: String,
        /// The earlier error.
        why: String,
        /// What is to be mended before it is opened again, where that is known.
        remedy: Option<String>,
    },
    /// What should be a pool is something else, or another version's.
    #[error("{what}")]
    Foreign {
        /// What was seen.
        what: String,
        /// What to do.
        fix: String,
    },
    /// A value that makes no sense.
    #[error("{what}")]
    Unfit {
        /// What was given, and what is possible.
        what: String,
        /// What to do.
        fix: String,
    },
}

impl BufferError {
    /// A request that failed.
    pub fn io(disk: &dyn Disk, request: DiskRequest, errno: Errno) -> Self {
        let action = match request.action {
            Action::Read => "reading",
            Action::Write | Action::Place(_) => "writing",
            Action::Trim => "trimming",
            Action::Flush => "flushing",
        };
        Self::Io { action, disk: disk.name().to_owned(), offset: request.offset, bytes: request.bytes, errno }
    }

    /// A value that makes no sense.
    pub fn unfit(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Unfit { what: what.into(), fix: fix.into() }
    }

    /// Something else than a pool that this program can read.
    pub fn foreign(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Foreign { what: what.into(), fix: fix.into() }
    }

    /// What is to be mended where it lies before it can work again; none where nothing outside can help.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Io { errno: Errno::NOSPC, disk, .. } => Some(format!("free space where {disk} lies")),
            Self::Io { disk, .. } | Self::Queue { disk, .. } => {
                Some(format!("look at dmesg and the health of what {disk} lies on"))
            }
            Self::Broken { remedy, .. } => remedy.clone(),
            _ => None,
        }
    }

    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::Path(error) => error.fix(),
            Self::InUse { disk } => format!("end the other user of {disk} (fuser -v names it), or name another one"),
            Self::Io { .. } | Self::Queue { .. } => {
                let remedy = self.remedy().unwrap_or_default();
                format!("{remedy}; what was durable before is still there")
            }
            Self::Damaged { .. } => "restore it from a copy; look at the health of what it lies on".to_owned(),
            Self::Full { .. } => "make a checkpoint, remove something, or make it anew with more space".to_owned(),
            Self::Broken { remedy, .. } => {
                let first = remedy.as_ref().map_or(String::new(), |remedy| format!("{remedy}, then "));
                format!("{first}open it again: the last checkpoint is there")
            }
            Self::Memory { .. } => "make the pool smaller, or end what else uses the memory".to_owned(),
            Self::Foreign { fix, .. } | Self::Unfit { fix, .. } => fix.clone(),
        }
    }
}
