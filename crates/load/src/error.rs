//! Why a run ended without a record.

use assay_path::PathError;
use assay_workload::WorkloadError;
use thiserror::Error;

/// What stopped a run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The target or the path could not be used.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The kernel refused something that the run itself needs.
    #[error("{action} failed: {source}")]
    System {
        /// What was being done.
        action: &'static str,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// Every operation of a class failed.
    #[error("class {class}: every operation failed, first with: {first}")]
    NothingWorked {
        /// The class.
        class: String,
        /// The first error.
        first: String,
    },
    /// A class completed nothing although nothing failed.
    #[error("class {class} completed no operation in a window of {seconds} s")]
    NothingDone {
        /// The class.
        class: String,
        /// Length of the window.
        seconds: f64,
    },
    /// A worker could not be started or kept to its CPUs, or was lost.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The acknowledgement journal cannot be read.
    #[error("the acknowledgement journal {path} cannot be used: {reason}")]
    Journal {
        /// The file.
        path: String,
        /// What was seen.
        reason: String,
    },
}

impl LoadError {
    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::Path(error) => error.fix(),
            Self::System { .. } => "raise this user's limits (ulimit -a) and look at dmesg".to_owned(),
            Self::NothingWorked { .. } => "read the error, then try another path (assay list paths)".to_owned(),
            Self::NothingDone { .. } => {
                "measure for longer (window.measure_s), or ask for a higher rate or an earlier start".to_owned()
            }
            Self::Workload(error) => error.fix(),
            Self::Journal { .. } => "run the durability check from the start (assay verify)".to_owned(),
        }
    }

    /// Exit code of the process: 1 failed, 3 interrupted, 4 not possible here.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Path(error) => error.exit_code(),
            Self::Workload(error) => i32::from(error.exit_code()),
            _ => 1,
        }
    }
}
