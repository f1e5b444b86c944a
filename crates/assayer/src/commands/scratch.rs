//! Folders that runs made and, killed, could not remove.

use std::{path::PathBuf, process::ExitCode};

use assay_path::Scratch;

use crate::{ScratchAction, error::Failure, output};

/// Lists or removes leftovers.
pub fn scratch(action: ScratchAction, folders: &[PathBuf]) -> Result<ExitCode, Failure> {
    match action {
        ScratchAction::List => {
            let mut found = Vec::new();
            for folder in folders {
                found.extend(Scratch::list(folder).map_err(|error| unreadable(folder, &error))?);
            }
            output::document(&found)?;
        }
        ScratchAction::Clean => {
            let mut cleaned = Vec::new();
            for folder in folders {
                cleaned.extend(Scratch::clean(folder)?);
            }
            output::document(&cleaned)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn unreadable(folder: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure {
        reason: format!("the folder {} cannot be listed: {error}", folder.display()),
        fix: "name an existing folder that this user may read".to_owned(),
        exit_code: 2,
    }
}
