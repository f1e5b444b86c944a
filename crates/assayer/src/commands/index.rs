//! Runs an index.

use std::{path::Path, process::ExitCode};

use assay_index::{IndexError, IndexJob, Kind, Window};
use assay_load::Watch;
use assay_record::{Event, FORMAT_VERSION};
use serde::Serialize;

use super::{JOB_BYTES_AT_MOST, read_document};
use crate::{error::Failure, interrupt, output};

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    what: &'static str,
    in_persistent_memory: bool,
    ordered: bool,
    /// This program has it.
    there: bool,
}

/// Prints the indexes.
pub fn list() -> Result<ExitCode, Failure> {
    let one = |kind: Kind| Listed {
        name: kind.name(),
        what: kind.describe(),
        in_persistent_memory: kind.in_pmem(),
        ordered: kind.ordered(),
        there: assay_index::is_there(kind),
    };
    let all: Vec<Listed> = Kind::ALL.into_iter().chain(Kind::RIVALS).map(one).collect();
    output::document(&all)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a job and prints its events. Every way to end is an event as well as an exit code.
pub fn index(path: &Path) -> Result<ExitCode, Failure> {
    let outcome = try_index(path);
    if let Err(failure) = &outcome {
        let (reason, fix) = (failure.reason.clone(), failure.fix.clone());
        // Where standard output is gone, standard error still tells.
        let _ = output::line(&Event::Refused { reason, fix, exit_code: i32::from(failure.exit_code) });
    }
    outcome
}

fn try_index(path: &Path) -> Result<ExitCode, Failure> {
    let job = IndexJob::parse(&read_document(path, "job", JOB_BYTES_AT_MOST)?)?;
    let interrupted = interrupt::watch()?;
    let window_s = if let Window::Seconds(seconds) = job.window { seconds } else { 0.0 };
    let (name, seconds) = (job.name.clone(), job.warmup_s + window_s);
    output::line(&Event::Started { version: FORMAT_VERSION, name, pid: std::process::id(), seconds })?;
    let mut lost_reader = None;
    let mut emit = |event: Event| {
        if let Err(failure) = output::line(&event) {
            lost_reader.get_or_insert(failure);
            interrupted.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let record = assay_index::run(&job, &mut Watch { emit: &mut emit, interrupted: &interrupted })?;
    if let Some(failure) = lost_reader {
        return Err(failure);
    }
    output::line(&Event::Worked { record: Box::new(record) })?;
    let code = if interrupted.load(std::sync::atomic::Ordering::Relaxed) { 3 } else { 0 };
    Ok(ExitCode::from(code))
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Self {
        Self { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
    }
}
