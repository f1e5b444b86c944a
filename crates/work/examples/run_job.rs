//! Runs one job of the engine without the rest of the house, for profiles: `run_job JOB.json`.
#![allow(clippy::print_stdout)]

use std::sync::atomic::AtomicBool;

use assay_work::engine::{Watch, job::EngineJob, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a job's file")?;
    let job = EngineJob::parse(&std::fs::read_to_string(path)?)?;
    let interrupted = AtomicBool::new(false);
    let record = run(&job, &mut Watch { emit: &mut |_| {}, interrupted: &interrupted })?;
    for (name, figure) in &record.figures {
        println!("{name:40} {:>16.2}", figure.value);
    }
    for check in record.checks.iter().filter(|check| !check.passed) {
        println!("FAILED {}: {}", check.name, check.evidence);
    }
    Ok(())
}
