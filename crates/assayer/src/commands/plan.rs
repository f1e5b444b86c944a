//! What a job would do.

use std::{path::Path, process::ExitCode};

use assay_path::prepare;
use assay_record::{Arrivals, Class, Job};
use serde::Serialize;

use super::read_job;
use crate::{error::Failure, output};

#[derive(Serialize)]
struct Plan {
    /// Bytes that preparation writes.
    bytes_to_prepare: u64,
    /// Bytes that the classes write at most, where their rates or a limit say so; none where only the device limits them.
    bytes_written_at_most: Option<u64>,
    /// Bytes of free space that are needed.
    bytes_free_needed: u64,
    /// Seconds of warm-up and window.
    seconds: f64,
    /// Why it would be refused.
    refusals: Vec<Refusal>,
}

#[derive(Serialize)]
struct Refusal {
    reason: String,
    fix: String,
}

/// Prints the plan.
pub fn plan(path: &Path) -> Result<ExitCode, Failure> {
    let job = read_job(path)?;
    let (facts, mut refused) = match prepare::plan(&job) {
        Ok(facts) => (facts, Vec::new()),
        Err(error) => (prepare::PlanFacts::default(), vec![error]),
    };
    if refused.is_empty() {
        refused = prepare::refusals(&job);
    }
    let refusals = refused.iter().map(|error| Refusal { reason: error.to_string(), fix: error.fix() }).collect();
    output::document(&Plan {
        bytes_to_prepare: facts.bytes_to_prepare,
        bytes_written_at_most: written_at_most(&job),
        bytes_free_needed: facts.bytes_free_needed,
        seconds: job.window.warmup_s + job.window.measure_s,
        refusals,
    })?;
    Ok(ExitCode::SUCCESS)
}

fn written_at_most(job: &Job) -> Option<u64> {
    let seconds = job.window.warmup_s + job.window.measure_s;
    let limit = job.window.bytes_at_most;
    job.classes
        .iter()
        .filter(|class| assay_load::generator::writes(class.operation))
        .map(|class| match (scheduled_bytes(class, seconds), limit) {
            (Some(bytes), 0) => Some(bytes),
            (Some(bytes), limit) => Some(bytes.min(limit)),
            (None, 0) => None,
            (None, limit) => Some(limit),
        })
        .sum()
}

fn scheduled_bytes(class: &Class, seconds: f64) -> Option<u64> {
    debug_assert!(class.arrivals == Arrivals::Closed || seconds > 0.0);
    let rate = assay_load::total_rate(&class.arrivals, class.threads)?;
    Some((rate * seconds * assay_load::generator::largest_size(&class.size) as f64) as u64)
}
