//! Commands of the second program, which has the indexes, the engine and the databases. It lies beside this one.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{Seek, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use assayer::Failure;
use rustix::fs::{MemfdFlags, memfd_create};

/// The second program's name.
const NAME: &str = "assayer-db";

/// Becomes the second program with a command of it: the same process, so that whoever watches this one watches that one.
pub fn hand_over(command: &str, rest: &[OsString]) -> Result<ExitCode, Failure> {
    become_it(command, Command::new(beside()?).arg(OsStr::new(command)).args(rest))
}

/// Becomes the second program with a job that was read already, of a kind that it does.
pub fn hand_over_job(kind: &str, text: &str) -> Result<ExitCode, Failure> {
    become_it(&format!("run` of kind `{kind}"), Command::new(beside()?).args(["run", "-"]).stdin(held(text)?))
}

fn become_it(command: &str, program: &mut Command) -> Result<ExitCode, Failure> {
    let error = program.exec();
    let path = Path::new(program.get_program()).display();
    Err(Failure {
        reason: format!("`assayer {command}` is part of {NAME}, and {path} cannot be started: {error}"),
        fix: "build it: cargo build --release -p assayer-db; `./assay` builds it when it is first needed".to_owned(),
        exit_code: 4,
    })
}

/// A text that another program is to read from its standard input, after this one is gone: no pipe holds so much.
fn held(text: &str) -> Result<File, Failure> {
    let written = memfd_create("job", MemfdFlags::CLOEXEC).map_err(Into::into).map(File::from).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok(file)
    });
    written.map_err(|error: std::io::Error| {
        Failure::new(format!("the job cannot be kept for {NAME}: {error}"), "free memory, and run it again")
    })
}

fn beside() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|error| {
        Failure::new(format!("this program does not find its own file: {error}"), "mount /proc, and run it again")
    })?;
    Ok(own.with_file_name(NAME))
}
