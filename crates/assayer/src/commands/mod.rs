//! One file per command.

pub mod engine;
pub mod facts;
pub mod index;
pub mod null;
pub mod plan;
pub mod polled;
pub mod predict;
pub mod run;
pub mod schema;
pub mod scratch;
pub mod soak;
pub mod tpcc;
pub mod verify;

use std::{fs, io::Read, path::Path};

use assay_record::{Job, TargetKind};

use crate::error::Failure;

/// Largest job that is read, bytes.
const JOB_BYTES_AT_MOST: u64 = 16 << 20;

/// Reads and validates a job; `-` is standard input.
pub fn read_job(path: &Path) -> Result<Job, Failure> {
    Ok(Job::parse(&read_document(path, "job", JOB_BYTES_AT_MOST)?)?)
}

/// A job that is played in virtual time. One twin makes it such a job: what is real beside it is refused there.
pub fn on_twins(job: &Job) -> bool {
    job.targets.iter().any(|target| target.kind == TargetKind::Twin)
}

/// Reads a document; `-` is standard input.
fn read_document(path: &Path, what: &str, bytes_at_most: u64) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(bytes_at_most).read_to_string(&mut text)
    } else {
        fs::File::open(path).and_then(|file| file.take(bytes_at_most).read_to_string(&mut text))
    };
    read.map_err(|error| Failure {
        reason: format!("the {what} {} cannot be read: {error}", path.display()),
        fix: "name a readable JSON document, or - for standard input".to_owned(),
        exit_code: 2,
    })?;
    Ok(text)
}
