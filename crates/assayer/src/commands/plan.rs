//! What a job would do.

use std::{path::Path, process::ExitCode};

use assay_path::{PathError, guard, polled, prepare};
use assay_record::{Class, Job, Layout, Target, Window};
use serde::Serialize;

use super::read_job;
use assayer::{Failure, output};

#[derive(Serialize)]
struct PlannedJob {
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

impl From<&PathError> for Refusal {
    fn from(error: &PathError) -> Self {
        Self { reason: error.to_string(), fix: error.fix() }
    }
}

/// Targets that a run would not be admitted to.
fn inadmissible(job: &Job) -> Vec<Refusal> {
    let used = |target: &&Target| job.datasets.iter().any(|dataset| dataset.target == target.id);
    let admitted = |target: &Target| {
        let here = |class: &&Class| job.dataset_of(class).is_some_and(|dataset| dataset.target == target.id);
        let writes = job.classes.iter().filter(here).any(|class| assay_load::generator::writes(class.operation))
            || job.datasets.iter().any(|dataset| dataset.target == target.id && dataset.layout != Layout::AsFound);
        guard::admit(target, writes).err()
    };
    job.targets.iter().filter(used).filter_map(admitted).map(|error| Refusal::from(&error)).collect()
}

/// Prints the plan.
pub fn plan(path: &Path) -> Result<ExitCode, Failure> {
    let job = read_job(path)?;
    if job.on_twins() {
        return plan_of_twins(&job);
    }
    let planned = prepare::plan(&job);
    let mut refusals: Vec<_> =
        planned.as_ref().err().into_iter().map(Refusal::from).chain(inadmissible(&job)).collect();
    // A drive in use is refused once, whoever says so first.
    if refusals.is_empty() {
        refusals.extend(polled::refusals(&job).iter().map(Refusal::from));
    }
    let facts = planned.unwrap_or_default();
    output::document(&PlannedJob {
        bytes_to_prepare: facts.bytes_to_prepare,
        bytes_written_at_most: written_at_most(&job),
        bytes_free_needed: facts.bytes_free_needed,
        seconds: job.window.warmup_s + job.window.measure_s,
        refusals,
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Nothing is prepared or written in virtual time; what a twin cannot do is said before it runs.
fn plan_of_twins(job: &Job) -> Result<ExitCode, Failure> {
    let refused = assay_twin::admit(job).err().map(Failure::from);
    let refusals = refused.map(|failure| Refusal { reason: failure.reason, fix: failure.fix });
    output::document(&PlannedJob {
        bytes_to_prepare: 0,
        bytes_written_at_most: Some(0),
        bytes_free_needed: 0,
        seconds: 0.0,
        refusals: refusals.into_iter().collect(),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A limit of bytes holds in the window; what the warm-up writes comes on top.
fn written_at_most(job: &Job) -> Option<u64> {
    let Window { warmup_s, measure_s, bytes_at_most: limit, .. } = job.window;
    job.classes
        .iter()
        .filter(|class| assay_load::generator::writes(class.operation))
        .map(|class| {
            // A class that begins later does nothing before.
            let (before_s, in_window_s) =
                if class.start_s > 0.0 { (0.0, measure_s - class.start_s) } else { (warmup_s, measure_s) };
            let before = if before_s > 0.0 { scheduled_bytes(class, before_s)? } else { 0 };
            let scheduled = scheduled_bytes(class, in_window_s);
            let limited = (limit > 0).then_some(limit);
            let in_window = scheduled.into_iter().chain(limited).min()?;
            Some(before.saturating_add(in_window))
        })
        .sum()
}

fn scheduled_bytes(class: &Class, seconds: f64) -> Option<u64> {
    let rate = assay_load::total_rate(&class.arrivals, class.threads)?;
    Some((rate * seconds * assay_load::generator::largest_size(&class.size) as f64) as u64)
}
