//! Folders that runs made and, killed, could not remove; and the room for programs that have folders made.

use std::{
    io::{stdin, stdout},
    path::PathBuf,
    process::ExitCode,
};

use assayer::{Failure, output};

use crate::ScratchAction;

/// Lists or removes leftovers whose names begin so.
pub fn scratch(action: ScratchAction, named: &str, folders: &[PathBuf]) -> Result<ExitCode, Failure> {
    match action {
        ScratchAction::List => output::document(&all(folders, |folder| assay_own::list(folder, named))?)?,
        ScratchAction::Clean => output::document(&all(folders, |folder| assay_own::clean(folder, named))?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes and removes folders for the program that started this one.
pub fn own() -> Result<ExitCode, Failure> {
    assay_own::serve(stdin().lock(), stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

fn all<T>(
    folders: &[PathBuf],
    of: impl Fn(&std::path::Path) -> assay_own::Result<Vec<T>>,
) -> Result<Vec<T>, assay_own::OwnError> {
    let mut found = Vec::new();
    for folder in folders {
        found.extend(of(folder)?);
    }
    Ok(found)
}
