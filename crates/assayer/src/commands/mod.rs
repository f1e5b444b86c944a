//! One file per command.

pub mod counting;
pub mod elsewhere;
pub mod facts;
pub mod null;
pub mod plan;
pub mod polled;
pub mod predict;
pub mod run;
pub mod schema;
pub mod scratch;
pub mod verify;

use std::path::Path;

use assay_record::Job;
use assayer::{
    Failure,
    document::{JOB_BYTES_AT_MOST, read},
};

/// Reads and validates a job; `-` is standard input.
pub fn read_job(path: &Path) -> Result<Job, Failure> {
    Ok(Job::parse(&read(path, "job", JOB_BYTES_AT_MOST)?)?)
}
