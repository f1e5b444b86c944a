//! Runs a job of any kind.

use std::{path::Path, process::ExitCode};

use assay_instruments::Watch;
use assay_work::{Job, WorkError};
use assayer::{Failure, document, output, protocol};

/// Runs a job and prints its events. Every way to end is an event as well as an exit code; 1 where a check failed. `kind` is
/// what a job is that does not say it.
pub fn run(path: &Path, kind: Option<&str>) -> Result<ExitCode, Failure> {
    protocol::answer(|| {
        let job = Job::parse(&document::read(path, "job", document::JOB_BYTES_AT_MOST)?, kind).map_err(failure)?;
        let (left, interrupted) = protocol::perform(job.name(), job.seconds(), |emit, interrupted| {
            job.run(&mut Watch { emit, interrupted }).map_err(failure)
        })?;
        let failed = !left.passed();
        left.event().map_or(Ok(()), |event| output::line(&event))?;
        let unfinished = if interrupted { protocol::INTERRUPTED } else { 0 };
        Ok(ExitCode::from(if failed { 1 } else { unfinished }))
    })
}

fn failure(error: WorkError) -> Failure {
    Failure { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
}
