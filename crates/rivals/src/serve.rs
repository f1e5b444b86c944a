//! A job in, events out, as the measuring program does it.

use std::{
    path::Path,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use assay_index::IndexError;
use assay_record::{Event, WorkRecord};
use assay_soak::SoakJob;
use assay_work::{
    WorkError,
    index::{IndexJob, Watch},
};
use assayer::{Failure, document, interrupt, output, protocol};

use crate::{
    Task, TpccJob,
    run::{self, TpccFailure},
};

fn failure(error: impl Into<WorkError>) -> Failure {
    let error = error.into();
    Failure { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
}

impl From<TpccFailure> for WorkError {
    fn from(error: TpccFailure) -> Self {
        match error {
            TpccFailure::Rival(error) => IndexError::from(error).into(),
            TpccFailure::Tpcc(error) => error.into(),
        }
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    document::read(path, "job", document::JOB_BYTES_AT_MOST)
}

/// A job that leaves a record.
enum Asked {
    Index(Box<IndexJob>),
    Tpcc(Box<TpccJob>),
}

impl Asked {
    fn parse(command: &str, text: &str) -> Result<Self, Failure> {
        if command == "index" {
            return Ok(Self::Index(Box::new(IndexJob::parse(text).map_err(failure)?)));
        }
        let job = serde_json::from_str(text).map_err(|error| Failure {
            reason: format!("the job is none of TPC-C on a rival: {error}"),
            fix: "give a store with engine, folder, cache_bytes and durability, and an order".to_owned(),
            exit_code: 2,
        });
        job.map(|job| Self::Tpcc(Box::new(job)))
    }

    fn name(&self) -> &str {
        match self {
            Self::Index(job) => &job.name,
            Self::Tpcc(job) => &job.order.name,
        }
    }

    fn seconds(&self) -> f64 {
        match self {
            Self::Index(job) => job.warmup_s + job.window.seconds(),
            Self::Tpcc(job) => job.order.drive.as_ref().map_or(0.0, |drive| drive.ramp_s + drive.measure_s),
        }
    }

    fn run(&self, watch: &mut Watch<'_>) -> Result<WorkRecord, WorkError> {
        match self {
            Self::Index(job) => Ok(run::index(job, watch)?),
            Self::Tpcc(job) => Ok(run::tpcc(job, watch)?),
        }
    }
}

/// Runs `index JOB` or `tpcc JOB`; the exit code.
///
/// # Errors
/// Where it could not be done; the refusal was printed as an event as well.
pub fn serve(command: &str, path: &Path) -> Result<ExitCode, Failure> {
    protocol::answer(|| {
        let job = Asked::parse(command, &read(path)?)?;
        let work = |emit: &mut dyn FnMut(Event), interrupted: &AtomicBool| {
            job.run(&mut Watch { emit, interrupted }).map_err(failure)
        };
        let (record, interrupted) = protocol::perform(job.name(), job.seconds(), work)?;
        let failed = record.checks.iter().any(|check| !check.passed);
        output::line(&Event::Worked { record: Box::new(record) })?;
        let unfinished = if interrupted { protocol::INTERRUPTED } else { 0 };
        Ok(ExitCode::from(if failed { 1 } else { unfinished }))
    })
}

/// Works until it is killed; one event says that every thread is at work.
///
/// # Errors
/// Where the job cannot be, or the rival fails.
pub fn soak_work(path: &Path) -> Result<ExitCode, Failure> {
    let job = SoakJob::parse(&read(path)?).map_err(soak_failure)?;
    let interrupted = interrupt::watch()?;
    // Where nobody reads, it works all the same.
    let mut emit = |event: Event| drop(output::line(&event));
    crate::soak(&job, Task::Work(&mut Watch { emit: &mut emit, interrupted: &interrupted })).map_err(soak_failure)?;
    Ok(ExitCode::from(if interrupted.load(Relaxed) { protocol::INTERRUPTED } else { 0 }))
}

/// Looks at what is left, and prints what was found; 1 where something is missing.
///
/// # Errors
/// Where the job cannot be, or the rival cannot be opened.
pub fn soak_check(path: &Path) -> Result<ExitCode, Failure> {
    let job = SoakJob::parse(&read(path)?).map_err(soak_failure)?;
    let found = crate::soak(&job, Task::Check).map_err(soak_failure)?;
    output::line(&found)?;
    Ok(ExitCode::from(u8::from(found.is_none_or(|found| !found.whole()))))
}

fn soak_failure(error: assay_soak::SoakError) -> Failure {
    Failure { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
}
