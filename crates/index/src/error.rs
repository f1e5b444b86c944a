//! What an index cannot do, in words.

use thiserror::Error;

/// What went wrong; [`IndexError::fix`] says what to do.
#[derive(Debug, Error)]
pub enum IndexError {
    /// A key of no bytes, or of too many.
    #[error("a key of {bytes} bytes was given; keys have 1 to {most}")]
    KeyLength {
        /// Its bytes.
        bytes: usize,
        /// The most that this index takes.
        most: usize,
    },
    /// A key or value of another length in an index that keeps words.
    #[error("a {what} of {bytes} bytes was given; this index was made for 8 bytes exactly")]
    NotAWord {
        /// `key` or `value`.
        what: &'static str,
        /// Its bytes.
        bytes: usize,
    },
    /// A value that does not fit.
    #[error("a value of {bytes} bytes was given; this index takes at most {most}")]
    ValueLength {
        /// Its bytes.
        bytes: usize,
        /// The most that this index takes.
        most: usize,
    },
    /// The index cannot do this by design.
    #[error("{index} has no {operation}")]
    Unsupported {
        /// The index.
        index: &'static str,
        /// The operation.
        operation: &'static str,
    },
    /// More keys agree in all bits that tell segments apart than a segment holds.
    #[error("too many keys have the same {bits} bits of their hash; store them under other keys")]
    Crowded {
        /// How many bits.
        bits: u32,
    },
    /// What lies there contradicts itself.
    #[error("the index is damaged: {what}")]
    Damaged {
        /// What was seen, and where.
        what: String,
    },
    /// A job that cannot be: nothing was run.
    #[error("{reason}")]
    Job {
        /// What was seen.
        reason: String,
        /// What to do.
        fix: String,
    },
    /// Not possible on this machine, or with this program.
    #[error("{reason}")]
    NotPossible {
        /// What was seen.
        reason: String,
        /// What to do.
        fix: String,
    },
    /// Ended from outside.
    #[error("it was interrupted while {at}")]
    Interrupted {
        /// What it was at.
        at: &'static str,
    },
    /// A file could not be made, read or removed.
    #[error("{action} {path} failed: {source}")]
    Io {
        /// What was being done.
        action: &'static str,
        /// On what.
        path: String,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// Another project's engine.
    #[error("{engine} failed: {said}")]
    Rival {
        /// Which.
        engine: &'static str,
        /// Its own words.
        said: String,
        /// It has no space left.
        full: bool,
    },
    /// A drive, or the index on it.
    #[error(transparent)]
    Drive(assay_btree::TreeError),
    /// Persistent memory, or the pool in it.
    #[error(transparent)]
    Pmem(#[from] assay_pmem::PmemError),
}

impl IndexError {
    /// A job that cannot be.
    pub fn job(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Job { reason: reason.into(), fix: fix.into() }
    }

    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::KeyLength { most, .. } => format!("use keys of at most {most} bytes"),
            Self::ValueLength { most, .. } => format!("use values of at most {most} bytes"),
            Self::NotAWord { .. } => "make the index for keys and values of those lengths".to_owned(),
            Self::Unsupported { .. } => "use another index, or leave that operation out".to_owned(),
            Self::Crowded { .. } => "store these keys under others, or in an index that is a tree".to_owned(),
            Self::Damaged { .. } => "restore the file from a copy, or load the data again".to_owned(),
            Self::Job { fix, .. } | Self::NotPossible { fix, .. } => fix.clone(),
            Self::Interrupted { .. } => "run it again".to_owned(),
            Self::Rival { full: true, .. } => "make room where it lies, or load fewer keys".to_owned(),
            Self::Rival { engine, .. } => format!("read what {engine}'s documentation says of it"),
            Self::Io { .. } => "see that the folder exists, is writable and has space".to_owned(),
            Self::Drive(error) => error.fix(),
            Self::Pmem(error) => error.fix(),
        }
    }

    /// Exit code of a process that ends with it: 1 failed, 2 bad job, 3 interrupted, 4 not possible here.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::KeyLength { .. } | Self::ValueLength { .. } | Self::NotAWord { .. } => 2,
            Self::Unsupported { .. } | Self::Job { .. } => 2,
            Self::NotPossible { .. } | Self::Pmem(assay_pmem::PmemError::NoFlush) => 4,
            Self::Interrupted { .. } => 3,
            Self::Pmem(assay_pmem::PmemError::Path(error)) => error.exit_code() as u8,
            _ => 1,
        }
    }

    /// No space is left: what is there stays.
    pub fn is_full(&self) -> bool {
        use assay_btree::TreeError::Buffer;
        let drive = matches!(self, Self::Drive(Buffer(assay_buffer::BufferError::Full { .. })));
        drive
            || matches!(self, Self::Rival { full: true, .. })
            || matches!(self, Self::Pmem(assay_pmem::PmemError::Full { .. }))
    }
}
