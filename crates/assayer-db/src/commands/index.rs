//! Runs an index.

use std::{path::Path, process::ExitCode};

use assay_index::Kind;
use assay_instruments::Watch;
use assay_record::Event;
use assay_work::index::{IndexJob, Window, run};
use assayer::{Failure, document, output, protocol};
use serde::Serialize;

use crate::failure::of_index;

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
    protocol::answer(|| {
        let text = document::read(path, "job", document::JOB_BYTES_AT_MOST)?;
        let job = IndexJob::parse(&text).map_err(of_index)?;
        let window_s = if let Window::Seconds(seconds) = job.window { seconds } else { 0.0 };
        let (record, interrupted) = protocol::perform(&job.name, job.warmup_s + window_s, |emit, interrupted| {
            run(&job, &mut Watch { emit, interrupted }).map_err(of_index)
        })?;
        output::line(&Event::Worked { record: Box::new(record) })?;
        Ok(ExitCode::from(if interrupted { protocol::INTERRUPTED } else { 0 }))
    })
}
