//! Runs the storage engine.

use std::{path::Path, process::ExitCode};

use assay_record::Event;
use assay_work::engine::{Watch, job::EngineJob, run};
use assayer::{Failure, document, output, protocol};

use crate::failure::of_work;

/// Runs a job and prints its events. Every way to end is an event as well as an exit code; 1 where a check failed.
pub fn engine(path: &Path) -> Result<ExitCode, Failure> {
    protocol::answer(|| {
        let text = document::read(path, "job", document::JOB_BYTES_AT_MOST)?;
        let job = EngineJob::parse(&text).map_err(of_work)?;
        let (record, interrupted) =
            protocol::perform(&job.name, job.warmup_s + job.duration_s, |emit, interrupted| {
                run(&job, &mut Watch { emit, interrupted }).map_err(of_work)
            })?;
        let failed = record.checks.iter().any(|check| !check.passed);
        output::line(&Event::Worked { record: Box::new(record) })?;
        Ok(ExitCode::from(if interrupted { protocol::INTERRUPTED } else { u8::from(failed) }))
    })
}
