//! Block families: flash, Optane drives, disks, cloud volumes and instances.

use crate::{
    Twin, TwinError,
    analytic::{DeviceAnswer, DeviceLoad},
    document::{CloudInstance, CloudVolume, Disk, Nand, OptaneSsd},
};

fn no_model(twin: &Twin) -> TwinError {
    TwinError::NoModel { name: twin.name.clone(), family: twin.device.family() }
}

/// A flash drive.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn nand(twin: &Twin, _nand: &Nand, _loads: &[DeviceLoad], _answers: &mut [DeviceAnswer]) -> Result<(), TwinError> {
    Err(no_model(twin))
}

/// A drive of 3D XPoint.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn optane_ssd(
    twin: &Twin,
    _drive: &OptaneSsd,
    _loads: &[DeviceLoad],
    _answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    Err(no_model(twin))
}

/// A rotating disk.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn disk(twin: &Twin, _disk: &Disk, _loads: &[DeviceLoad], _answers: &mut [DeviceAnswer]) -> Result<(), TwinError> {
    Err(no_model(twin))
}

/// A network volume.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn cloud_volume(
    twin: &Twin,
    _volume: &CloudVolume,
    _loads: &[DeviceLoad],
    _answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    Err(no_model(twin))
}

/// Local drives of a cloud instance.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn cloud_instance(
    twin: &Twin,
    _instance: &CloudInstance,
    _loads: &[DeviceLoad],
    _answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    Err(no_model(twin))
}
