//! Runs a job.

use std::{path::Path, process::ExitCode};

use assay_instruments::Watch;
use assay_load::{prepare as prepare_job, run as run_job};
use assay_record::{Event, Job, Stop, kind_of};
use assay_twin::play;
use assayer::{Failure, document, interrupt, output, protocol};

use super::{elsewhere, read_job};

/// Kind of the jobs that this program does; one that says no kind is such a job.
const IO: &str = "io";

/// Runs a job and prints its events; of another kind, by the second program. Every way to end is an event as well as an exit code.
pub fn run(path: &Path) -> Result<ExitCode, Failure> {
    protocol::answer(|| {
        let text = document::read(path, "job", document::JOB_BYTES_AT_MOST)?;
        let job = match kind_of(&text) {
            Some((kind, _)) if kind != IO => return elsewhere::hand_over_job(&kind, &text),
            Some((_, rest)) => Job::parse(&rest)?,
            None => Job::parse(&text)?,
        };
        let seconds = job.window.warmup_s + job.window.measure_s;
        let (record, _) = protocol::perform(&job.name, seconds, |emit, interrupted| {
            let watch = &mut Watch { emit, interrupted };
            if job.on_twins() { Ok(play(&job, watch)?) } else { Ok(run_job(&job, watch)?) }
        })?;
        let code = if record.window.stop == Stop::Interrupted { protocol::INTERRUPTED } else { 0 };
        output::line(&Event::Finished { record: Box::new(record) })?;
        Ok(ExitCode::from(code))
    })
}

/// Prepares a job's data sets, and runs nothing.
pub fn prepare(path: &Path) -> Result<ExitCode, Failure> {
    let job = read_job(path)?;
    if job.on_twins() {
        return Ok(ExitCode::SUCCESS);
    }
    let interrupted = interrupt::watch()?;
    prepare_job(&job, &mut Watch { emit: &mut |_| {}, interrupted: &interrupted })?;
    Ok(ExitCode::SUCCESS)
}
