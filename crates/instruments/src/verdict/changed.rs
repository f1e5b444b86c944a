//! The target: was it the same in the end, and nobody else's meanwhile?

use assay_record::{Reason, ReasonCode, Severity};

use super::{
    observation::ClassObservation,
    reason::{of_class, with},
    words::{bytes, percent},
};

/// Share of a data set that was lost in mid-run from which the figure is not the data set's any more.
pub const LOST_INVALID: f64 = 0.01;
/// Bytes that a file system may take back of a file that is written to, without anything being lost.
pub const LOST_AT_LEAST: u64 = 64 << 10;

/// Files were swapped, removed, cut, punched or written to by somebody else while they were measured.
pub(super) fn target_changed(class: &ClassObservation) -> Option<Reason> {
    let seen = class.changes;
    let lost = if seen.lost_bytes >= LOST_AT_LEAST { seen.lost_bytes } else { 0 };
    let share = lost as f64 / class.dataset_bytes.max(1) as f64;
    let mut found = Vec::new();
    if seen.replaced > 0 {
        found.push(format!("{} of {} files were removed, or another file has their name", seen.replaced, seen.files));
    }
    if seen.shortened > 0 {
        found.push(format!("{} of {} files are shorter", seen.shortened, seen.files));
    }
    if lost > 0 {
        let (lost, share) = (bytes(lost as f64), percent(share));
        found.push(format!("{lost} of the data set, {share}, are not on the disk any more (cut off, or made holes)"));
    }
    if seen.written > 0 {
        found.push(format!("somebody else wrote to {} of {} files", seen.written, seen.files));
    }
    if found.is_empty() {
        return None;
    }
    let severity = if share >= LOST_INVALID { Severity::Invalid } else { Severity::Suspect };
    let evidence = format!("when the run ended, its data was not what it had been: {}", found.join("; "));
    let fix = "keep others away from the files while they are measured (lsof and fuser name them), and run it again";
    let numbers = [
        ("files", seen.files as f64),
        ("replaced_files", seen.replaced as f64),
        ("shortened_files", seen.shortened as f64),
        ("written_files", seen.written as f64),
        ("lost_bytes", seen.lost_bytes as f64),
    ];
    Some(with(of_class(&class.name, ReasonCode::TargetChanged, severity, evidence, fix), &numbers))
}
