//! Memory as a block device.

use assay_record::Persist;

use crate::{
    PathKey, Target, TwinError, analytic,
    device_load::{DeviceAnswer, DeviceLoad},
};

/// What a block device reads and writes at least.
const SECTOR_BYTES: f64 = 512.0;

/// Serves the loads. The kernel copies as it does on a DAX file system, past the caches where it writes; a request has
/// whole sectors, and ends before the next begins.
///
/// # Errors
/// Where the memory cannot do what a load asks.
pub fn block(memory: &Target, loads: &[DeviceLoad], answers: &mut [DeviceAnswer]) -> Result<(), TwinError> {
    let copied = |load: &DeviceLoad| DeviceLoad {
        path: PathKey::DaxPread,
        persist: Persist::Nt,
        size_bytes: load.size_bytes.max(SECTOR_BYTES),
        bunch: 1.0,
        ..*load
    };
    let copied: Vec<DeviceLoad> = loads.iter().map(copied).collect();
    analytic::answer(memory, &copied, answers)?;
    answers.iter_mut().for_each(|answer| answer.overlap = 1.0);
    Ok(())
}
