//! Rest between preparation and load: drives cool down, and finish what they put off.

use std::{
    sync::atomic::Ordering::Relaxed,
    thread,
    time::{Duration, Instant},
};

use assay_instruments::Watch;
use assay_path::PathError;
use assay_record::{Event, Job};

use crate::error::LoadError;

/// Between two looks at whether somebody interrupted.
const LOOK: Duration = Duration::from_millis(50);
/// Between two words on how far it is.
const TELL: Duration = Duration::from_secs(1);

/// Rests for as long as a job asks.
///
/// # Errors
/// Where somebody interrupts.
pub(super) fn rest(job: &Job, watch: &mut Watch<'_>) -> Result<(), LoadError> {
    let (began, length) = (Instant::now(), Duration::from_secs_f64(job.cool_down_s));
    let mut told = None;
    while let Some(left) = length.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
        if watch.interrupted.load(Relaxed) {
            return Err(PathError::Interrupted { action: "resting before the load" }.into());
        }
        if told.is_none_or(|told: Instant| told.elapsed() >= TELL) {
            let done = 1.0 - left.as_secs_f64() / length.as_secs_f64();
            let detail = format!("{:.0} s left of {:.0} s", left.as_secs_f64().ceil(), length.as_secs_f64());
            (watch.emit)(Event::Progress { stage: "cooling down".to_owned(), done, detail });
            told = Some(Instant::now());
        }
        thread::sleep(LOOK.min(left));
    }
    Ok(())
}
