//! Drives that runs had taken from the kernel and, killed, could not give back.

use std::process::ExitCode;

use assay_path::polled;

use assayer::{Failure, output};

/// Gives them back. Exit code 1 where the kernel does not take one.
pub fn clean() -> Result<ExitCode, Failure> {
    let found = polled::clean()?;
    output::document(&found)?;
    let stuck = found.iter().any(|drive| !drive.alive && !drive.returned);
    Ok(ExitCode::from(u8::from(stuck)))
}
