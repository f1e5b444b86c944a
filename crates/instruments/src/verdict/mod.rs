//! Whether a record can be believed: one small rule per reason, all of them pure.
//!
//! Every threshold is a public constant with its reason beside it; `docs/verdicts/` has a page per rule. A rule that
//! lacks an input says nothing: what could not be seen is listed as not measured, not as a fault.

mod beneath;
mod beside;
mod cache;
mod changed;
mod counting;
mod data;
mod device;
mod drive_cache;
mod flush;
mod layers;
mod limits;
mod load;
mod machine;
mod observation;
mod reason;
mod stopped;
mod taken;
mod window;
mod words;

use assay_record::{Reason, Verdict};

pub use beside::OTHERS_CPUS;
pub use cache::{
    CACHE_BYTES_AT_LEAST, CACHE_SERVED_INVALID, CACHE_SERVED_SUSPECT, LLC_FACTOR, NOT_WARM_INVALID, NOT_WARM_SUSPECT,
};
pub use changed::{LOST_AT_LEAST, LOST_INVALID};
pub use counting::COUNTED_AT_LEAST_S;
pub use data::{COMPRESSED_RATIO, ERRORS_INVALID, REPEATED_SHARE, UNWRITTEN_INVALID, UNWRITTEN_SUSPECT, ZEROS_SUSPECT};
pub use device::{
    DIFFERENCE, DIFFERENCE_AT_LEAST, FOREIGN_BYTES_PER_S, FOREIGN_REQUESTS_PER_S, FOREIGN_SHARE,
    JOURNAL_BYTES_PER_FLUSH, METADATA_BYTES, READ_AHEAD, WRITTEN_BACK,
};
pub use drive_cache::DRIVE_CACHE_BYTES;
pub use flush::{FLUSHES_AT_LEAST, FLUSHES_OF_ONE, FLUSHES_SEEN, FOREIGN_FLUSHES_PER_S};
pub use limits::{HEAT_RISE_C, HELD_UP, LIMIT_MET};
pub(crate) use load::missing;
pub use load::{
    BUSY_SHARE, DEPTH_REACHED, DEVICE_DEPTH, GENERATOR_SHARE, LATE_AT_LEAST_NS, LATE_SHARE, RATE_DEVIATIONS,
    RATE_EXCESS, RATE_SHORTFALL, SUBMIT_SHARE, depth_reached,
};
pub use machine::{DRIFT_INVALID, DRIFT_SUSPECT, FREQUENCY_CHANGE, PROBE_SPREAD, STOLEN_SHARE, THROTTLED_SHARE};
pub use observation::{
    Beneath, ClassObservation, CountingSeen, DeviceObservation, ExtentSurvey, FlushObservation, Lateness, Observation,
    OwnCpu, OwnTraffic, RunObservation, kernel_accounts,
};
pub use stopped::{EXCURSION_AT_LEAST_S, STOPPED_AT_LEAST_S, SUSPENDED_AT_LEAST_S};
pub use taken::{COUNTED_ERROR, TAKEN_AT_LEAST_S, TAKEN_OF_WINDOW, TAKEN_SHARE, cpu_taken_untold};
pub use window::{
    BEYOND_PERCENTILE, LATENCIES_AT_LEAST, LATENCY_RANGE_AT_LEAST_NS, SKEW_SHARE, SLEEPS_FROM_GAP_NS, WINDOW_AT_LEAST_S,
};

/// Judges a run. (`noisy-machine` compares repeats of a cell and is judged where the repeats are.)
pub fn judge(observation: &Observation) -> Verdict {
    let run = &observation.run;
    let mut reasons: Vec<Reason> =
        [machine::clock_unreliable(run), window::windows_differ(run), window::interrupted(run)]
            .into_iter()
            .flatten()
            .collect();
    reasons.extend(machine::frequency_changed(run));
    reasons.extend(taken::cpu_taken(run));
    reasons.extend(device::foreign_load(run));
    reasons.extend(limits::limit_met(run));
    reasons.extend(limits::device_hot(run));
    reasons.extend(flush::foreign_flushes(run));
    reasons.extend(flush::flush_not_seen(run));
    reasons.extend(
        [stopped::process_stopped(run), stopped::clock_wandered(run), stopped::machine_slept(run)]
            .into_iter()
            .flatten(),
    );
    reasons.extend(observation.classes.iter().flat_map(|class| judge_class(run, class)));
    Verdict::from_reasons(reasons)
}

fn judge_class(run: &RunObservation, class: &ClassObservation) -> Vec<Reason> {
    let found = [
        cache::page_cache_served(run, class),
        beneath::memory_beneath(class),
        cache::cache_not_warm(run, class),
        cache::file_smaller_than_caches(run, class),
        data::unwritten_extents(class),
        data::compressible_data(class),
        data::errors(class),
        data::data_corrupt(class),
        data::not_kept(class),
        data::emulated_target(class),
        load::depth_not_reached(run, class),
        load::rate_not_reached(class),
        load::operations_missing(class),
        load::generator_late(class),
        load::generator_bound(class),
        counting::counting_bends(class),
        counting::counters_disagree(run, class),
        window::window_too_short(run, class),
        window::steadiness(class),
        changed::target_changed(class),
        flush::flush_not_seen_of(run, class),
        beside::memory_shared(run, class),
        drive_cache::fits_into_the_drive(class),
    ];
    let mut reasons: Vec<Reason> = found.into_iter().flatten().collect();
    reasons.extend(device::device_bytes_differ(run, class));
    reasons
}
