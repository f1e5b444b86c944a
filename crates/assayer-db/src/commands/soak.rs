//! Looks at what is left of a store that was worked on until it was killed.

use std::{path::Path, process::ExitCode};

use assay_soak::{SoakError, SoakJob};
use assayer::{Failure, document, output};

/// Looks, and prints what was found.
pub fn check(path: &Path) -> Result<ExitCode, Failure> {
    let job = SoakJob::parse(&document::read(path, "job", document::JOB_BYTES_AT_MOST)?).map_err(failure)?;
    let finding = assay_soak::check(&job).map_err(failure)?;
    output::document(&finding)?;
    Ok(ExitCode::from(u8::from(!finding.whole())))
}

fn failure(error: SoakError) -> Failure {
    Failure { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
}
