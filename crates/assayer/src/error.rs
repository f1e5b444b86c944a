//! How a command ends when it cannot do what it should.

use assay_load::LoadError;
use assay_own::OwnError;
use assay_path::PathError;
use assay_record::JobError;
use assay_twin::TwinError;

/// A sentence that says what was seen, one that says what to do, and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// What was seen.
    pub reason: String,
    /// What to do.
    pub fix: String,
    /// 1 failed, 2 bad job, 3 interrupted, 4 not possible here.
    pub exit_code: u8,
}

impl Failure {
    /// A failure with exit code 1.
    pub fn new(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { reason: reason.into(), fix: fix.into(), exit_code: 1 }
    }

    /// Tells the person at the terminal. A program reads the exit code, and for `run` the event.
    pub fn report(&self) {
        eprintln!("error: {}\n\nhint: {}", self.reason, self.fix);
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        let fix = "compare the job with `assayer schema job`".to_owned();
        Self { reason: error.to_string(), fix, exit_code: 2 }
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() as u8 }
    }
}

impl From<OwnError> for Failure {
    fn from(error: OwnError) -> Self {
        Self::from(PathError::from(error))
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() as u8 }
    }
}

impl From<TwinError> for Failure {
    fn from(error: TwinError) -> Self {
        Self { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
    }
}
