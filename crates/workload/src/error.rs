//! Why workers could not work.

use thiserror::Error;

/// What went wrong. [`WorkloadError::fix`] says what to do.
#[derive(Debug, Error)]
pub enum WorkloadError {
    /// A worker ended with a panic.
    #[error("{worker} ended unexpectedly ({said}); this is a defect of assay")]
    Panicked {
        /// Name of its thread.
        worker: String,
        /// What the panic said.
        said: String,
    },
    /// The kernel refused something that workers need.
    #[error("{action} failed: {source}")]
    System {
        /// What was being done.
        action: String,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// Workers cannot run where they were to.
    #[error("{what} is not possible here: {reason}")]
    Nowhere {
        /// What was asked for.
        what: String,
        /// What was seen.
        reason: &'static str,
        /// What to do.
        fix: String,
    },
}

impl WorkloadError {
    /// What a panic of a worker said.
    pub(crate) fn of_panic(worker: String, panic: &(dyn std::any::Any + Send)) -> Self {
        Self::Panicked { worker, said: said(panic).to_owned() }
    }

    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::Panicked { .. } => "report it with the job and the lines on standard error".to_owned(),
            Self::System { .. } => "raise this user's limits (ulimit -a) and look at dmesg".to_owned(),
            Self::Nowhere { fix, .. } => fix.clone(),
        }
    }

    /// Exit code of the process: 1 failed, 4 not possible here.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Self::Nowhere { .. }) { 4 } else { 1 }
    }
}

/// The words of a panic.
pub fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it said nothing")
}
