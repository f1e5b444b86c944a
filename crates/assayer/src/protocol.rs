//! A job of any kind in progress: `started`, its events, and the last one with the record, or with why there is none.

use std::{
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use assay_record::{Event, FORMAT_VERSION};

use crate::{Failure, interrupt, output};

/// The exit code of a job that was interrupted and kept what was finished.
pub const INTERRUPTED: u8 = 3;

/// Does a job. Where it fails, the last event says why, as the exit code does.
///
/// # Errors
/// Those of `work`.
pub fn answer(work: impl FnOnce() -> Result<ExitCode, Failure>) -> Result<ExitCode, Failure> {
    let outcome = work();
    if let Err(failure) = &outcome {
        let (reason, fix) = (failure.reason.clone(), failure.fix.clone());
        // Where standard output is gone, standard error still tells.
        let _ = output::line(&Event::Refused { reason, fix, exit_code: i32::from(failure.exit_code) });
    }
    outcome
}

/// Says that a job has begun, which will take about `seconds`, does it, and passes on what it emits. Returns what `work`
/// made, and whether it was interrupted.
///
/// # Errors
/// [`Failure`] where signals cannot be handled, where `work` fails, or where nobody reads the events any more, which
/// interrupts the work.
pub fn perform<T>(
    name: &str,
    seconds: f64,
    work: impl FnOnce(&mut dyn FnMut(Event), &AtomicBool) -> Result<T, Failure>,
) -> Result<(T, bool), Failure> {
    let interrupted = interrupt::watch()?;
    let (name, pid) = (name.to_owned(), std::process::id());
    output::line(&Event::Started { version: FORMAT_VERSION, name, pid, seconds })?;
    let mut lost_reader = None;
    let mut emit = |event: Event| {
        if let Err(failure) = output::line(&event) {
            lost_reader.get_or_insert(failure);
            interrupted.store(true, Relaxed);
        }
    };
    let made = work(&mut emit, &interrupted)?;
    match lost_reader {
        Some(failure) => Err(failure),
        None => Ok((made, interrupted.load(Relaxed))),
    }
}
