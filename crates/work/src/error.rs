//! Why a job left no record, in words.

use std::path::Path;

use assay_buffer::BufferError;
use assay_engine::EngineError;
use assay_index::IndexError;
use assay_own::OwnError;
use assay_path::PathError;
use assay_pmem::PmemError;
use assay_record::JobError;
use assay_tpcc::TpccError;
use assay_twin::TwinError;
use assay_workload::WorkloadError;
use thiserror::Error;

/// The result of what is done here.
pub type Result<T> = std::result::Result<T, WorkError>;

/// What went wrong. [`WorkError::fix`] says what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkError {
    /// A job that cannot be: nothing was run.
    #[error("{reason}")]
    Job {
        /// What was seen.
        reason: String,
        /// What to do.
        fix: String,
    },
    /// What a job was done on.
    #[error("{reason}")]
    Failed {
        /// What was seen.
        reason: String,
        /// What to do.
        fix: &'static str,
    },
    /// Classes of I/O.
    #[cfg(feature = "jobs")]
    #[error(transparent)]
    Io(#[from] assay_load::LoadError),
    /// A store that is worked on until it is killed.
    #[cfg(feature = "jobs")]
    #[error(transparent)]
    Soak(#[from] assay_soak::SoakError),
    /// An index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The storage engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The storage engine, in a run whose database is gone with it.
    #[error("{0}")]
    Gone(EngineError),
    /// TPC-C, or the database that it was run on.
    #[error(transparent)]
    Tpcc(TpccError),
    /// A worker could not be started, or was lost.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

impl WorkError {
    /// A job that cannot be.
    pub(crate) fn job(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Job { reason: reason.into(), fix: fix.into() }
    }

    /// The same of a run that leaves no database: what there was to be opened again is gone.
    #[must_use]
    pub(crate) fn with_nothing_left(self) -> Self {
        match self {
            Self::Engine(
                error @ (EngineError::Stopped { .. }
                | EngineError::Buffer(BufferError::Io { .. } | BufferError::Broken { .. })),
            ) => Self::Gone(error),
            other => other,
        }
    }

    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::Job { fix, .. } => fix.clone(),
            Self::Failed { fix, .. } => (*fix).to_owned(),
            #[cfg(feature = "jobs")]
            Self::Io(error) => error.fix(),
            #[cfg(feature = "jobs")]
            Self::Soak(error) => error.fix(),
            Self::Index(error) => error.fix(),
            Self::Engine(error) => error.fix(),
            Self::Gone(error) => {
                let first = error.remedy().map_or(String::new(), |remedy| format!("{remedy}, then "));
                format!("{first}run it again: nothing of this database was kept")
            }
            Self::Tpcc(error) => error.fix(),
            Self::Workload(error) => error.fix(),
        }
    }

    /// Exit code of the process: 1 failed, 2 bad job, 3 interrupted, 4 not possible here.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Job { .. } => 2,
            Self::Failed { .. } => 1,
            #[cfg(feature = "jobs")]
            Self::Io(error) => error.exit_code() as u8,
            #[cfg(feature = "jobs")]
            Self::Soak(error) => error.exit_code(),
            Self::Index(error) => error.exit_code(),
            Self::Engine(error) | Self::Gone(error) => error.exit_code(),
            Self::Tpcc(error) => error.exit_code(),
            Self::Workload(error) => error.exit_code(),
        }
    }
}

/// The engine's own error where it is one.
impl From<TpccError> for WorkError {
    fn from(error: TpccError) -> Self {
        match error {
            TpccError::Store(source) => match source.downcast::<EngineError>() {
                Ok(error) => Self::Engine(*error),
                Err(other) => Self::Tpcc(TpccError::Store(other)),
            },
            other => Self::Tpcc(other),
        }
    }
}

impl From<BufferError> for WorkError {
    fn from(error: BufferError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<PmemError> for WorkError {
    fn from(error: PmemError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<PathError> for WorkError {
    fn from(error: PathError) -> Self {
        BufferError::from(error).into()
    }
}

impl From<OwnError> for WorkError {
    fn from(error: OwnError) -> Self {
        PathError::from(error).into()
    }
}

impl From<JobError> for WorkError {
    fn from(error: JobError) -> Self {
        Self::job(error.to_string(), "compare it with `assayer schema job`")
    }
}

impl From<TwinError> for WorkError {
    fn from(error: TwinError) -> Self {
        Self::job(error.to_string(), error.fix())
    }
}

/// What the operating system refused about a file.
pub(crate) fn failed(action: &'static str, path: &Path, source: std::io::Error) -> WorkError {
    PathError::Io { action, path: path.to_owned(), source }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_whose_database_is_gone_does_not_say_to_open_it_again() {
        let full = || BufferError::Io {
            action: "writing",
            disk: "/mnt/a/engine-data".to_owned(),
            offset: 0,
            bytes: 4096,
            errno: rustix::io::Errno::NOSPC,
        };
        let (kept, gone) = (EngineError::from(full()), WorkError::from(full()).with_nothing_left());
        assert!(kept.remedy().is_some());
        let fix = gone.fix();
        assert!(fix.starts_with("free space where /mnt/a/engine-data lies, then run it again"), "{fix}");
        assert_eq!(gone.exit_code(), 1);
    }

    #[test]
    fn tpcc_that_was_interrupted_is_no_bad_job() {
        let of = |error: TpccError| {
            let error = WorkError::from(error);
            (error.exit_code(), error.fix())
        };
        assert_eq!(of(TpccError::Interrupted), (3, "run it again".to_owned()));
        assert_eq!(of(TpccError::damaged("a row")).0, 1);
        assert_eq!(of(TpccError::Asked { reason: "no".to_owned(), fix: "mend it" }), (2, "mend it".to_owned()));
    }

    #[test]
    fn an_engine_below_tpcc_is_known_again() {
        let conflict = TpccError::store(EngineError::Conflict { table: 3 });
        assert!(matches!(WorkError::from(conflict), WorkError::Engine(EngineError::Conflict { table: 3 })));
    }
}
