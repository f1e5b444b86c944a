//! Byte-addressable families: persistent memory, DRAM, NVDIMM, CXL memory, and caches of them.

use crate::{
    Target, Twin, TwinError,
    analytic::{DeviceAnswer, DeviceLoad},
    document::{CachePolicy, Cxl, Dram, Nvdimm, Pmem},
};

fn no_model(twin: &Twin) -> TwinError {
    TwinError::NoModel { name: twin.name.clone(), family: twin.device.family() }
}

/// Interleaved modules of persistent memory.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn pmem(
    twin: &Twin,
    _pmem: &Pmem,
    _modules: u32,
    _loads: &[DeviceLoad],
    _answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    Err(no_model(twin))
}

/// Interleaved modules of DRAM.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn dram(
    twin: &Twin,
    _dram: &Dram,
    _modules: u32,
    _loads: &[DeviceLoad],
    _answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    Err(no_model(twin))
}

/// Interleaved modules of NVDIMM-N.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn nvdimm(
    twin: &Twin,
    _nvdimm: &Nvdimm,
    _modules: u32,
    _loads: &[DeviceLoad],
    _answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    Err(no_model(twin))
}

/// CXL cards.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn cxl(
    twin: &Twin,
    _cxl: &Cxl,
    _modules: u32,
    _loads: &[DeviceLoad],
    _answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    Err(no_model(twin))
}

/// A cache in front of something: Memory Mode where it is direct-mapped.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn cache(
    _front: &Target,
    back: &Target,
    _bytes: u64,
    _policy: CachePolicy,
    _loads: &[DeviceLoad],
    _answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    Err(no_model(back.twin()))
}
