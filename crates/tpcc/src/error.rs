//! What stops a transaction, a load or a run.

use assay_workload::WorkloadError;
use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TpccError {
    /// Another transaction was in the way; the same transaction may be tried again.
    #[error("the transaction met another one; try it again")]
    Conflict,
    /// The store failed.
    #[error("{0}")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A row that must be there is not, or is no row.
    #[error("{what} is missing or damaged: the data set was not loaded, or not as large as the run takes it to be")]
    Damaged {
        /// Which row.
        what: String,
    },
    /// Something was asked for that cannot be.
    #[error("{reason}")]
    Asked {
        /// What was seen: one sentence.
        reason: String,
        /// What to do: one sentence.
        fix: &'static str,
    },
    /// The user ended it.
    #[error("it was interrupted before there was a record")]
    Interrupted,
    /// A thread of terminals could not be started, or was lost.
    #[error(transparent)]
    Workload(WorkloadError),
}

/// What everything here returns.
pub type Result<T> = std::result::Result<T, TpccError>;

impl TpccError {
    /// A store's failure.
    pub fn store(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Store(source.into())
    }

    /// A row that is missing or damaged.
    #[cold]
    pub fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { what: what.into() }
    }

    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        let fix = match self {
            Self::Conflict => "use fewer terminals, or spread them over more warehouses",
            Self::Store(_) => "read the store's words, and its log where it keeps one",
            Self::Damaged { .. } => "load the data set again, and name the number of warehouses that was loaded",
            Self::Asked { fix, .. } => fix,
            Self::Interrupted => "run it again",
            Self::Workload(error) => return error.fix(),
        };
        fix.to_owned()
    }

    /// Exit code of the process: 1 failed, 2 bad job, 3 interrupted.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Asked { .. } => 2,
            Self::Interrupted => 3,
            Self::Workload(error) => error.exit_code(),
            _ => 1,
        }
    }
}
