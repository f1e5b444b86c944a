//! What the machine is, which paths it has, whether a device is in use.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use assay_instruments::{clock::Clock, environment};
use assay_path::{guard, probe as paths};
use serde::Serialize;

use assayer::{Failure, output};

/// Prints the facts of the machine and of targets.
pub fn facts(on: &[PathBuf]) -> Result<ExitCode, Failure> {
    let places: Vec<(String, PathBuf)> =
        on.iter().enumerate().map(|(index, path)| (format!("target{index}"), path.clone())).collect();
    for path in on {
        exists(path)?;
    }
    output::document(&environment::capture(&Clock::new(), &places))?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Probed {
    on: PathBuf,
    #[serde(flatten)]
    probed: paths::Probed,
}

/// Prints which paths are available, or why not.
pub fn probe(on: &[PathBuf]) -> Result<ExitCode, Failure> {
    let here = [PathBuf::from(".")];
    let mut all = Vec::new();
    for path in if on.is_empty() { &here } else { on } {
        exists(path)?;
        all.extend(paths::probe(path)?.into_iter().map(|probed| Probed { on: path.clone(), probed }));
    }
    output::document(&all)?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Guarded {
    device: PathBuf,
    serial: String,
    in_use: Vec<guard::InUse>,
}

/// Prints whether a device is in use.
pub fn guard(device: &Path) -> Result<ExitCode, Failure> {
    exists(device)?;
    let in_use = guard::in_use(device)?;
    let code = if in_use.is_empty() { 0 } else { 4 };
    output::document(&Guarded { device: device.to_owned(), serial: guard::serial(device)?, in_use })?;
    Ok(ExitCode::from(code))
}

fn exists(path: &Path) -> Result<(), Failure> {
    match path.metadata() {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure {
            reason: format!("the target {} cannot be looked at: {error}", path.display()),
            fix: "name an existing folder, file or device that this user may read".to_owned(),
            exit_code: 2,
        }),
    }
}
