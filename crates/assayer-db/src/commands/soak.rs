//! Works on a store until it is killed, and looks at what is left.

use std::{path::Path, process::ExitCode, time::Instant};

use assay_record::Event;
use assay_soak::SoakJob;

use assayer::{Failure, document, interrupt, output};

use crate::failure::of_soak;

/// Works. One event says that every thread is at work.
pub fn work(path: &Path) -> Result<ExitCode, Failure> {
    let job = read(path)?;
    let (stopped, start) = (interrupt::watch()?, Instant::now());
    // Whoever kills it reads this line; where nobody reads, it works all the same.
    let at_work = || drop(output::line(&Event::Interval { at_s: start.elapsed().as_secs_f64(), classes: Vec::new() }));
    assay_soak::work(&job, &stopped, &at_work).map_err(of_soak)?;
    Ok(ExitCode::SUCCESS)
}

/// Looks, and prints what was found.
pub fn check(path: &Path) -> Result<ExitCode, Failure> {
    let finding = assay_soak::check(&read(path)?).map_err(of_soak)?;
    output::document(&finding)?;
    Ok(ExitCode::from(u8::from(!finding.whole())))
}

fn read(path: &Path) -> Result<SoakJob, Failure> {
    SoakJob::parse(&document::read(path, "job", document::JOB_BYTES_AT_MOST)?).map_err(of_soak)
}
