//! What an engine cannot do, in words.

use std::path::Path;

use assay_buffer::BufferError;
use assay_own::OwnError;
use assay_path::PathError;
use assay_pmem::PmemError;
use thiserror::Error;

/// The result of what an engine does.
pub type Result<T> = std::result::Result<T, EngineError>;

/// What went wrong. [`EngineError::fix`] says what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Another transaction changed the row first.
    #[error("another transaction changed the same row of table {table}")]
    Conflict {
        /// The table.
        table: u16,
    },
    /// Old versions that the transaction needs were given up, because too many were kept for it.
    #[error("the transaction is too old: versions of table {table} that it would see were given up for space")]
    SnapshotTooOld {
        /// The table.
        table: u16,
    },
    /// A transaction that the log cannot take.
    #[error("a transaction of {bytes} bytes was to be committed; the log takes at most {most}")]
    TooLarge {
        /// Its bytes in the log.
        bytes: usize,
        /// The most that the log takes.
        most: usize,
    },
    /// An earlier failure left it open what is durable.
    #[error("the engine has stopped: {reason}")]
    Stopped {
        /// What failed.
        reason: String,
        /// What is to be mended before the database is opened again, where that is known.
        remedy: Option<String>,
    },
    /// No room for another session.
    #[error("{most} sessions are open already")]
    Sessions {
        /// How many there can be.
        most: usize,
    },
    /// The log lacks something that had been durable.
    #[error(
        "the log {log} lost its middle: what is at position {lost} cannot be read, and position {seen}, which was \
         written when all before it was durable, can"
    )]
    LostMiddle {
        /// The log.
        log: String,
        /// First position that cannot be read.
        lost: u64,
        /// A later one that can.
        seen: u64,
    },
    /// One of several logs lacks commits that had been durable.
    #[error("the logs of {log} lost commit {lost}: commit {seen} is known to have been durable, with all before it")]
    LostCommit {
        /// The log that proves it.
        log: String,
        /// First commit that none of them has.
        lost: u64,
        /// A commit up to which all had been durable.
        seen: u64,
    },
    /// What should be a database or its log is something else.
    #[error("{what}")]
    Foreign {
        /// What was seen.
        what: String,
        /// What to do.
        fix: String,
    },
    /// Stored bytes that are not what was written.
    #[error("{place} is damaged: {what}")]
    Damaged {
        /// Where.
        place: String,
        /// What was seen.
        what: String,
    },
    /// A value that makes no sense.
    #[error("{what}")]
    Unfit {
        /// What was given, and what is possible.
        what: String,
        /// What to do.
        fix: String,
    },
    /// The buffer manager, or a disk beneath it.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// Persistent memory.
    #[error(transparent)]
    Pmem(#[from] PmemError),
}

impl EngineError {
    /// A value that makes no sense.
    pub fn unfit(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Unfit { what: what.into(), fix: fix.into() }
    }

    /// The transaction may be tried again and may succeed then.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::SnapshotTooOld { .. })
    }

    /// Exit code of the process: 1 failed, 2 bad job, 4 not possible here.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unfit { .. } | Self::Buffer(BufferError::Unfit { .. }) => 2,
            Self::Foreign { .. } | Self::Buffer(BufferError::InUse { .. } | BufferError::Foreign { .. }) => 4,
            Self::Pmem(PmemError::InUse { .. } | PmemError::Exists { .. } | PmemError::Version { .. }) => 4,
            Self::Buffer(BufferError::Path(error)) | Self::Pmem(PmemError::Path(error)) => error.exit_code() as u8,
            _ => 1,
        }
    }

    /// What is to be mended outside before the database can work again; none where nothing is known.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Buffer(error) => error.remedy(),
            Self::Stopped { remedy, .. } => remedy.clone(),
            _ => None,
        }
    }

    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::Conflict { .. } | Self::SnapshotTooOld { .. } => "run the transaction again".to_owned(),
            Self::TooLarge { .. } => "commit more often, or make the log's buffer larger".to_owned(),
            Self::Stopped { remedy, .. } => {
                let first = remedy.as_ref().map_or(String::new(), |remedy| format!("{remedy}, then "));
                format!("{first}open the database again: everything that was acknowledged is there")
            }
            Self::Sessions { .. } => "use fewer threads and tasks".to_owned(),
            Self::LostMiddle { .. } | Self::LostCommit { .. } | Self::Damaged { .. } => {
                "restore a backup; the device, or what is between, broke a promise: look at dmesg and its health"
                    .to_owned()
            }
            Self::Foreign { fix, .. } | Self::Unfit { fix, .. } => fix.clone(),
            Self::Buffer(error) => error.fix(),
            Self::Pmem(error) => error.fix(),
        }
    }
}

/// Why an engine works no longer.
#[derive(Clone, Debug)]
pub struct Failure {
    reason: String,
    remedy: Option<String>,
}

impl Failure {
    /// Something that nothing outside can mend.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), remedy: None }
    }

    /// An error of something that was being done.
    pub fn of(what: &str, error: &EngineError) -> Self {
        Self { reason: format!("{what}: {error}"), remedy: error.remedy() }
    }

    /// What those get who ask the engine for something.
    pub fn error(&self) -> EngineError {
        EngineError::Stopped { reason: self.reason.clone(), remedy: self.remedy.clone() }
    }
}

/// What the operating system refused about a file.
pub(crate) fn failed(action: &'static str, path: &Path, source: std::io::Error) -> EngineError {
    path_error(PathError::Io { action, path: path.to_owned(), source })
}

/// As an error of the engine.
pub(crate) fn own_error(error: OwnError) -> EngineError {
    path_error(error.into())
}

/// As an error of the engine.
pub(crate) fn path_error(error: PathError) -> EngineError {
    EngineError::Buffer(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_stopped_for_want_of_space_says_where_to_free_some() {
        let full = BufferError::Io {
            action: "writing",
            disk: "/mnt/a/engine-data".to_owned(),
            offset: 0,
            bytes: 4096,
            errno: rustix::io::Errno::NOSPC,
        };
        let stopped = Failure::of("a checkpoint failed", &full.into()).error();
        assert!(stopped.to_string().contains("No space left"), "{stopped}");
        assert!(stopped.fix().starts_with("free space where /mnt/a/engine-data lies, then open"), "{}", stopped.fix());
    }

    #[test]
    fn persistent_memory_that_cannot_be_had_is_not_possible_here() {
        let tail = || "/mnt/pmem/engine-tail".into();
        let refused = [
            PmemError::InUse { path: tail() },
            PmemError::Exists { path: tail(), bytes: 7 },
            PmemError::Version { seen: 9, known: 1 },
        ];
        assert!(refused.into_iter().all(|error| EngineError::from(error).exit_code() == 4));
    }
}
