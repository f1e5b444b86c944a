//! What went wrong, in words.

use std::path::{Path, PathBuf};

use assay_buffer::BufferError;
use assay_engine::EngineError;
use assay_index::IndexError;
use assay_workload::WorkloadError;
use thiserror::Error;

/// Why a store could not be worked on or looked at. [`SoakError::fix`] says what to do.
#[derive(Debug, Error)]
pub enum SoakError {
    /// A job that cannot be.
    #[error("{reason}")]
    Job {
        /// What was seen.
        reason: String,
        /// What to do.
        fix: &'static str,
    },
    /// A file or folder that is not as it should be.
    #[error("{action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The store holds something else than the journal says.
    #[error("what the store holds is not what its journal says: {what}")]
    Differs {
        /// The first difference.
        what: String,
    },
    /// The index failed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A worker could not be started, or was lost.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

impl From<BufferError> for SoakError {
    fn from(error: BufferError) -> Self {
        Self::Engine(error.into())
    }
}

impl SoakError {
    /// A file that cannot be had.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }

    /// What to do.
    pub fn fix(&self) -> String {
        match self {
            Self::Job { fix, .. } => (*fix).to_owned(),
            Self::File { .. } => "name a folder and a journal that can be written".to_owned(),
            Self::Differs { .. } => "keep the folder as it is: what it holds shows the defect".to_owned(),
            Self::Index(error) => error.fix(),
            Self::Engine(error) => error.fix(),
            Self::Workload(error) => error.fix(),
        }
    }

    /// Exit code of a command that ends with it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Job { .. } => 2,
            Self::File { .. } | Self::Differs { .. } => 1,
            Self::Index(error) => error.exit_code(),
            Self::Engine(error) => error.exit_code(),
            Self::Workload(error) => error.exit_code(),
        }
    }
}
