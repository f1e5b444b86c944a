//! Why a pool cannot be used.

use std::{io, path::PathBuf};

use assay_path::PathError;
use thiserror::Error;

/// What went wrong; [`PmemError::fix`] says what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PmemError {
    /// The file cannot serve as persistent memory.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A system call failed.
    #[error("{action} {path} failed: {source}", path = path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Somebody has the pool open.
    #[error("{path} is in use by another process, or twice by this one", path = path.display())]
    InUse {
        /// The pool's file.
        path: PathBuf,
    },
    /// A pool is not made where something is.
    #[error("{path} is there already, with {bytes} bytes", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// No pool begins here.
    #[error("no pool is here: it begins with {seen:#018x} where a pool has {wanted:#018x}")]
    NotAPool {
        /// The first word.
        seen: u64,
        /// The word that it should be.
        wanted: u64,
    },
    /// Fewer bytes than any pool has.
    #[error("no pool is here: {seen} bytes are fewer than a pool begins with, which are {least}")]
    Short {
        /// Length of the file.
        seen: u64,
        /// Bytes of a pool's first header.
        least: u64,
    },
    /// The pool was being made when the machine or the process stopped.
    #[error("this pool was never finished: its header was not written")]
    Unfinished,
    /// Another version of Assay made it.
    #[error("the pool has version {seen}, and this program reads version {known}")]
    Version {
        /// Version in the header.
        seen: u32,
        /// The one that can be read.
        known: u32,
    },
    /// It holds another structure.
    #[error("the pool holds {seen:?}, not {wanted:?}")]
    Layout {
        /// What its header names.
        seen: String,
        /// What was asked for.
        wanted: String,
    },
    /// The file was cut short.
    #[error("the pool has {seen} bytes where its header says {wanted}")]
    Truncated {
        /// Length of the file.
        seen: u64,
        /// Length that it had.
        wanted: u64,
    },
    /// Its own tables contradict themselves.
    #[error("the pool is damaged: {what}")]
    Damaged {
        /// What was seen, and where.
        what: String,
    },
    /// Too small for a pool, or too large.
    #[error("a pool of {asked} bytes is not possible: {why}")]
    Size {
        /// Bytes asked for.
        asked: u64,
        /// Which bound it hit.
        why: String,
    },
    /// No space is left.
    #[error("the pool is full: {asked} bytes were asked for, {free} of {bytes} are free, no {asked} of them together")]
    Full {
        /// Bytes asked for.
        asked: u64,
        /// Bytes in whole free chunks.
        free: u64,
        /// Bytes of the pool.
        bytes: u64,
    },
    /// A transaction changes too many words.
    #[error("a transaction changes at most {most} words")]
    LogFull {
        /// How many it can change.
        most: usize,
    },
    /// What is to be freed is not allocated.
    #[error("{at:#x} cannot be freed: {why}")]
    BadFree {
        /// The offset.
        at: u64,
        /// What was seen there.
        why: &'static str,
    },
    /// The CPU cannot write back a cache line.
    #[error("this CPU has no instruction that writes back a cache line")]
    NoFlush,
}

impl PmemError {
    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::Path(error) => error.fix(),
            Self::Io { path, .. } => {
                format!("see that {} exists, is writable and that its file system has space", path.display())
            }
            Self::InUse { path } => {
                format!("end the process that has {} open, or open it once and share it", path.display())
            }
            Self::Exists { path, .. } => {
                format!("open {} as it is, or name another file; Assay overwrites none", path.display())
            }
            Self::NotAPool { .. } | Self::Short { .. } | Self::Layout { .. } => {
                "name the file of the pool that was meant".to_owned()
            }
            Self::Unfinished => "remove the file and make the pool again; no header of a pool is in it".to_owned(),
            Self::Version { .. } => "open it with the version of Assay that made it, or load the data again".to_owned(),
            Self::Truncated { .. } | Self::Damaged { .. } => {
                "restore the file from a copy, or load the data again; nothing was written to it".to_owned()
            }
            Self::Size { .. } => "ask for another size".to_owned(),
            Self::Full { .. } => "make a larger pool and load the data into it".to_owned(),
            Self::LogFull { .. } => "split the change into several transactions".to_owned(),
            Self::BadFree { .. } => "free what the pool gave, and once; this is a defect of the caller".to_owned(),
            Self::NoFlush => "run on x86-64 or on 64-bit Arm".to_owned(),
        }
    }
}
