//! What a rival answers when it cannot, in words.

use assay_index::IndexError;
use assay_tpcc::TpccError;
use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
pub enum RivalError {
    /// Another transaction was in the way; the same one may be tried again.
    #[error("the transaction met another one; try it again")]
    Conflict,
    /// A key that the engine does not take.
    #[error("a key of {bytes} bytes was given; keys have 1 to {most}")]
    KeyLength {
        /// Its bytes.
        bytes: usize,
        /// The most that it takes.
        most: usize,
    },
    /// The engine's own answer.
    #[error("{engine} failed: {said}")]
    Engine {
        /// Which.
        engine: &'static str,
        /// Its own words.
        said: String,
        /// It has no space left.
        full: bool,
    },
    /// Something was asked for that cannot be.
    #[error("{reason}")]
    Asked {
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
}

/// What everything here returns.
pub type Result<T> = std::result::Result<T, RivalError>;

impl RivalError {
    /// An engine's own answer.
    pub fn engine(engine: &'static str, said: impl Into<String>) -> Self {
        Self::Engine { engine, said: said.into(), full: false }
    }

    /// A file that could not be made, read or removed.
    pub fn io(action: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.display().to_string(), source }
    }

    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::Asked { fix, .. } | Self::NotPossible { fix, .. } => fix.clone(),
            Self::Conflict => "use fewer threads".to_owned(),
            other => IndexError::from(other.again()).fix(),
        }
    }

    /// Exit code of a process that ends with it: 1 failed, 2 bad job, 4 not possible here.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Asked { .. } | Self::KeyLength { .. } => 2,
            Self::NotPossible { .. } => 4,
            _ => 1,
        }
    }

    /// The same once more; the kernel's answer by its number.
    fn again(&self) -> Self {
        match self {
            Self::Conflict => Self::Conflict,
            Self::KeyLength { bytes, most } => Self::KeyLength { bytes: *bytes, most: *most },
            Self::Engine { engine, said, full } => Self::Engine { engine, said: said.clone(), full: *full },
            Self::Asked { reason, fix } => Self::Asked { reason: reason.clone(), fix: fix.clone() },
            Self::NotPossible { reason, fix } => Self::NotPossible { reason: reason.clone(), fix: fix.clone() },
            Self::Io { action, path, source } => {
                Self::Io { action, path: path.clone(), source: std::io::Error::from(source.kind()) }
            }
        }
    }
}

impl From<RivalError> for IndexError {
    fn from(error: RivalError) -> Self {
        match error {
            RivalError::Conflict => {
                Self::Rival { engine: "the engine", said: "transactions met again and again".to_owned(), full: false }
            }
            RivalError::KeyLength { bytes, most } => Self::KeyLength { bytes, most },
            RivalError::Engine { engine, said, full } => Self::Rival { engine, said, full },
            RivalError::Asked { reason, fix } => Self::Job { reason, fix },
            RivalError::NotPossible { reason, fix } => Self::NotPossible { reason, fix },
            RivalError::Io { action, path, source } => Self::Io { action, path, source },
        }
    }
}

impl From<RivalError> for TpccError {
    fn from(error: RivalError) -> Self {
        match error {
            RivalError::Conflict => Self::Conflict,
            other => Self::store(other),
        }
    }
}
