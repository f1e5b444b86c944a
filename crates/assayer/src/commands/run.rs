//! Runs a job.

use std::{path::Path, process::ExitCode};

use assay_load::{Watch, run as run_job};
use assay_record::{Event, FORMAT_VERSION, Stop};
use assay_twin::play;

use super::{on_twins, read_job};
use crate::{error::Failure, interrupt, output};

/// Runs a job and prints its events. Every way to end is an event as well as an exit code.
pub fn run(path: &Path) -> Result<ExitCode, Failure> {
    let outcome = try_run(path);
    if let Err(failure) = &outcome {
        let refused = Event::Refused {
            reason: failure.reason.clone(),
            fix: failure.fix.clone(),
            exit_code: i32::from(failure.exit_code),
        };
        // Where standard output is gone, standard error still tells.
        let _ = output::line(&refused);
    }
    outcome
}

fn try_run(path: &Path) -> Result<ExitCode, Failure> {
    let job = read_job(path)?;
    let interrupted = interrupt::watch()?;
    output::line(&Event::Started {
        version: FORMAT_VERSION,
        name: job.name.clone(),
        pid: std::process::id(),
        seconds: job.window.warmup_s + job.window.measure_s,
    })?;
    let mut lost_reader = None;
    let mut emit = |event: Event| {
        if let Err(failure) = output::line(&event) {
            lost_reader.get_or_insert(failure);
            interrupted.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let record = if on_twins(&job) {
        play(&job, &mut assay_twin::Watch { emit: &mut emit, interrupted: &interrupted })?
    } else {
        run_job(&job, &mut Watch { emit: &mut emit, interrupted: &interrupted })?
    };
    if let Some(failure) = lost_reader {
        return Err(failure);
    }
    let code = if record.window.stop == Stop::Interrupted { 3 } else { 0 };
    output::line(&Event::Finished { record: Box::new(record) })?;
    Ok(ExitCode::from(code))
}
