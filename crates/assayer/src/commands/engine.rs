//! Runs the storage engine.

use std::{path::Path, process::ExitCode};

use assay_engine::{
    EngineError,
    run::{Watch, job::EngineJob, run},
};
use assay_record::{Event, FORMAT_VERSION};

use super::{JOB_BYTES_AT_MOST, read_document};
use crate::{error::Failure, interrupt, output};

/// Runs a job and prints its events. Every way to end is an event as well as an exit code.
pub fn engine(path: &Path) -> Result<ExitCode, Failure> {
    let outcome = try_engine(path);
    if let Err(failure) = &outcome {
        let (reason, fix) = (failure.reason.clone(), failure.fix.clone());
        // Where standard output is gone, standard error still tells.
        let _ = output::line(&Event::Refused { reason, fix, exit_code: i32::from(failure.exit_code) });
    }
    outcome
}

fn try_engine(path: &Path) -> Result<ExitCode, Failure> {
    let job = EngineJob::parse(&read_document(path, "job", JOB_BYTES_AT_MOST)?)?;
    let interrupted = interrupt::watch()?;
    let (name, seconds) = (job.name.clone(), job.warmup_s + job.duration_s);
    output::line(&Event::Started { version: FORMAT_VERSION, name, pid: std::process::id(), seconds })?;
    let mut lost_reader = None;
    let mut emit = |event: Event| {
        if let Err(failure) = output::line(&event) {
            lost_reader.get_or_insert(failure);
            interrupted.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let record = run(&job, &mut Watch { emit: &mut emit, interrupted: &interrupted })?;
    if let Some(failure) = lost_reader {
        return Err(failure);
    }
    let failed = record.checks.iter().any(|check| !check.passed);
    output::line(&Event::Worked { record: Box::new(record) })?;
    let interrupted = interrupted.load(std::sync::atomic::Ordering::Relaxed);
    Ok(ExitCode::from(if interrupted { 3 } else { u8::from(failed) }))
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
    }
}
