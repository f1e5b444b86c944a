//! The data: was it there, was it right, could it be compressed?

use assay_record::{Content, Layout, Reason, ReasonCode, Severity};

use super::{
    observation::ClassObservation,
    reason::{graded, of_class, with},
    words::{bytes, percent},
};

/// Share of a data set without written extents that a rounding of its end can explain.
pub const UNWRITTEN_SUSPECT: f64 = 0.001;
/// Share from which the figure is not the device's.
pub const UNWRITTEN_INVALID: f64 = 0.01;
/// Share of all-zero blocks in the samples from which data that nobody prepared was probably never written, or trimmed.
pub const ZEROS_SUSPECT: f64 = 0.1;
/// Compressed size by size below which a device that compresses has something to gain. Random bytes give 1.00.
pub const COMPRESSED_RATIO: f64 = 0.9;
/// Share of copies among sampled blocks from which a device that deduplicates has something to gain.
pub const REPEATED_SHARE: f64 = 0.05;
/// Share of failed operations from which the figure describes the failure rather than the device.
pub const ERRORS_INVALID: f64 = 0.01;

/// Extents that were never written, or were trimmed, were read.
pub(super) fn unwritten_extents(class: &ClassObservation) -> Option<Reason> {
    if class.reads == 0 || class.null() || class.memory() {
        return None;
    }
    by_extents(class).or_else(|| by_zeros(class))
}

fn by_extents(class: &ClassObservation) -> Option<Reason> {
    let survey = class.extents?;
    let (empty, all) = (survey.unwritten + survey.hole, survey.unwritten + survey.hole + survey.written);
    let share = empty as f64 / all.max(1) as f64;
    let severity = graded(share, UNWRITTEN_SUSPECT, UNWRITTEN_INVALID)?;
    let evidence = format!(
        "{} of the data set's {} were never written ({} allocated only, {} holes): the file system answers reads of \
         them with zeros, without the device",
        bytes(empty as f64),
        bytes(all as f64),
        bytes(survey.unwritten as f64),
        bytes(survey.hole as f64)
    );
    let fix =
        "write the file in full before it is read (layout = \"written\" does), and do not punch or trim it afterwards";
    let numbers = [
        ("unwritten_bytes", survey.unwritten as f64),
        ("hole_bytes", survey.hole as f64),
        ("written_bytes", survey.written as f64),
        ("empty_share", share),
    ];
    Some(with(of_class(&class.name, ReasonCode::UnwrittenExtents, severity, evidence, fix), &numbers))
}

/// On a device, and behind file systems that do not tell, zeros are all that there is to see.
fn by_zeros(class: &ClassObservation) -> Option<Reason> {
    let sample = class.compressibility.filter(|_| class.layout == Layout::AsFound && class.content != Content::Zero)?;
    if sample.zero_share < ZEROS_SUSPECT {
        return None;
    }
    let evidence = format!(
        "{} of {} sampled blocks are all zeros: probably never written, or trimmed, and then answered without \
         touching the medium",
        percent(sample.zero_share),
        sample.blocks
    );
    let fix = "write the range in full before it is read";
    let reason = of_class(&class.name, ReasonCode::UnwrittenExtents, Severity::Suspect, evidence, fix);
    Some(with(reason, &[("zero_share", sample.zero_share), ("sampled_blocks", sample.blocks as f64)]))
}

/// The data could be compressed or deduplicated by the device.
pub(super) fn compressible_data(class: &ClassObservation) -> Option<Reason> {
    if let Some(reason) = shared_blocks(class) {
        return Some(reason);
    }
    let sample = class.compressibility.filter(|_| !class.memory() && !class.null())?;
    let compressible = sample.ratio < COMPRESSED_RATIO;
    if !compressible && sample.repeated_share < REPEATED_SHARE {
        return None;
    }
    let what = if compressible {
        format!("samples of the data set compress to {} of their size", percent(sample.ratio))
    } else {
        format!("{} of {} sampled blocks are copies of another", percent(sample.repeated_share), sample.blocks)
    };
    let evidence = format!("{what}: a device or file system that compresses or deduplicates does less work for them");
    let fix = "use random content (content = \"random\"), which can be neither compressed nor deduplicated";
    // Somebody's own file is what it is; that it can be compressed is worth knowing. Of copies no table consists.
    let own = class.layout == Layout::AsFound && sample.repeated_share < REPEATED_SHARE;
    let severity = if own { Severity::Note } else { Severity::Suspect };
    let numbers = [("compressed_ratio", sample.ratio), ("repeated_share", sample.repeated_share)];
    Some(with(of_class(&class.name, ReasonCode::CompressibleData, severity, evidence, fix), &numbers))
}

/// Extents of the data set lie on the same blocks of the disk (reflinks, deduplication): there is less to read than there
/// seems to be.
fn shared_blocks(class: &ClassObservation) -> Option<Reason> {
    let share = class.repeated_extents as f64 / class.dataset_bytes.max(1) as f64;
    if share < REPEATED_SHARE {
        return None;
    }
    let evidence = format!(
        "{} of the data set's {} lie on blocks of the disk that other parts of it lie on, too: less is read than it seems",
        bytes(class.repeated_extents as f64),
        bytes(class.dataset_bytes as f64)
    );
    let fix = "copy the file without sharing (cp --reflink=never), and read the copy";
    let reason = of_class(&class.name, ReasonCode::CompressibleData, Severity::Suspect, evidence, fix);
    Some(with(reason, &[("shared_bytes", class.repeated_extents as f64), ("shared_share", share)]))
}

/// Operations failed.
pub(super) fn errors(class: &ClassObservation) -> Option<Reason> {
    let failed: u64 = class.errors.values().sum();
    if failed == 0 {
        return None;
    }
    let share = failed as f64 / (failed + class.operations()) as f64;
    let severity = if share >= ERRORS_INVALID { Severity::Invalid } else { Severity::Suspect };
    let kinds: Vec<String> = class.errors.iter().map(|(name, count)| format!("{name} {count} times")).collect();
    let evidence = format!(
        "{failed} of {} operations failed ({}): {}",
        failed + class.operations(),
        percent(share),
        kinds.join(", ")
    );
    let fix = "look at dmesg and at the device's SMART log, mend what is broken, and run it again";
    let numbers = [("failed", failed as f64), ("failed_share", share)];
    Some(with(of_class(&class.name, ReasonCode::Errors, severity, evidence, fix), &numbers))
}

/// Data read back was not the data written.
pub(super) fn data_corrupt(class: &ClassObservation) -> Option<Reason> {
    let check = class.check.as_ref().filter(|check| check.wrong > 0)?;
    let example = check.examples.first().map(|first| format!(", for example {first}")).unwrap_or_default();
    let evidence = format!("{} of {} blocks read back were wrong{example}", check.wrong, check.blocks);
    let fix = "do not trust this storage with data: check cables, memory and firmware, and repeat the check on \
        another device";
    let numbers = [("wrong_blocks", check.wrong as f64), ("checked_blocks", check.blocks as f64)];
    Some(with(of_class(&class.name, ReasonCode::DataCorrupt, Severity::Invalid, evidence, fix), &numbers))
}

/// The figures describe stand-in hardware, not a device.
pub(super) fn emulated_target(class: &ClassObservation) -> Option<Reason> {
    let (evidence, fix) = match (class.played, class.emulated) {
        (true, _) => (
            "a program plays this machine and its devices: the code is real, the hardware is not",
            "measure on a real machine; no time, rate or bandwidth of this one says anything about a device",
        ),
        (false, true) => (
            "its target is memory that stands in for a device: the code is real, the hardware is not",
            "measure on the device itself; use these figures for the cost of the software only",
        ),
        (false, false) => return None,
    };
    let evidence = evidence.to_owned();
    Some(of_class(&class.name, ReasonCode::EmulatedTarget, Severity::Note, evidence, fix))
}

/// Blocks that were written after the window came back as something else.
pub(super) fn not_kept(class: &ClassObservation) -> Option<Reason> {
    let seen = class.readback.as_ref().filter(|seen| seen.wrong > 0)?;
    let evidence = format!(
        "{} of {} blocks that were written and flushed after the window came back as something else: the target completes \
         writes without doing them",
        seen.wrong, seen.blocks
    );
    let fix = "look at dmesg, at the drive's SMART log and at what lies between the file system and the drive; nothing that \
        was written there is safe";
    let numbers = [("blocks", seen.blocks as f64), ("wrong", seen.wrong as f64)];
    Some(with(of_class(&class.name, ReasonCode::DataCorrupt, Severity::Invalid, evidence, fix), &numbers))
}
