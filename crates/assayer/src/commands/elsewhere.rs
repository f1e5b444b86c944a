//! Commands of the second program, which has the indexes, the engine and the databases. It lies beside this one.

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, ExitCode},
};

use assayer::Failure;

/// The second program's name.
const NAME: &str = "assayer-db";

/// Becomes the second program with a command of it: the same process, so that whoever watches this one watches that one.
pub fn hand_over(command: &str, rest: &[OsString]) -> Result<ExitCode, Failure> {
    let program = beside()?;
    let error = Command::new(&program).arg(OsStr::new(command)).args(rest).exec();
    Err(Failure {
        reason: format!("`assayer {command}` is part of {NAME}, and {} cannot be started: {error}", program.display()),
        fix: "build it: cargo build --release -p assayer-db; `./assay` builds it when it is first needed".to_owned(),
        exit_code: 4,
    })
}

fn beside() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|error| {
        Failure::new(format!("this program does not find its own file: {error}"), "mount /proc, and run it again")
    })?;
    Ok(own.with_file_name(NAME))
}
