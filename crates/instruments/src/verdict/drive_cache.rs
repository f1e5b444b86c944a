//! What a drive's own memory can hold.

use assay_record::{Reason, ReasonCode, Severity};

use super::{
    observation::ClassObservation,
    reason::{of_class, with},
    words::bytes,
};

/// Memory that the drives of the last fifteen years have at least; most have more, and the hosts of virtual disks much more.
pub const DRIVE_CACHE_BYTES: u64 = 16 << 20;

/// Direct reads of a data set that the cache inside of any drive, controller or host can hold.
pub(super) fn fits_into_the_drive(class: &ClassObservation) -> Option<Reason> {
    let small = class.dataset_bytes > 0 && class.dataset_bytes < DRIVE_CACHE_BYTES;
    // What each read needs must come more than once, or there is nothing that a cache could have kept.
    let again = class.read_bytes > class.dataset_bytes;
    if !class.direct() || class.emulated || class.null() || !small || !again {
        return None;
    }
    let evidence = format!(
        "the data set of {} was read {:.0} times over, and the memory inside of the drive or of its host can hold all of it",
        bytes(class.dataset_bytes as f64),
        class.read_bytes as f64 / class.dataset_bytes as f64
    );
    let fix = "use a data set of at least a gigabyte, larger than the cache of the drive or of the host";
    let numbers = [("dataset_bytes", class.dataset_bytes as f64), ("read_bytes", class.read_bytes as f64)];
    Some(with(of_class(&class.name, ReasonCode::FileSmallerThanCaches, Severity::Suspect, evidence, fix), &numbers))
}
