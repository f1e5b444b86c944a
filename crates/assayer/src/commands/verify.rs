//! The durability check of a killed run.

use std::{path::Path, process::ExitCode};

use super::read_job;
use assayer::{Failure, output};

/// Prints what of the acknowledged is there. Exit code 1 where anything is lost or corrupt.
pub fn verify(path: &Path) -> Result<ExitCode, Failure> {
    let job = read_job(path)?;
    let outcome = assay_load::verify(&job)?;
    let code = u8::from(outcome.lost + outcome.corrupt > 0);
    output::document(&outcome)?;
    Ok(ExitCode::from(code))
}
