//! What the analytic engine asks of a family, and how it reaches the family's model.
//!
//! The question is that of a closed network. A load has `in_flight` customers; each spends `think_ns` away from the
//! device (in the host) and comes back. The family answers how many operations per second result and how long the device
//! takes for one. All loads are asked at once, because they share the device.

use crate::{Device, Target, Twin, TwinError, array, block, memory};

pub use crate::device_load::{DeviceAnswer, DeviceLoad};

/// Answers for all loads on a target; `answers` is as long as `loads`.
///
/// # Errors
/// [`TwinError`] where the family cannot do what a load asks.
pub fn answer(target: &Target, loads: &[DeviceLoad], answers: &mut [DeviceAnswer]) -> Result<(), TwinError> {
    match target {
        Target::Device { twin, modules } => device(twin, *modules, loads, answers),
        Target::Stripe { member, count: 1, .. } => answer(member, loads, answers),
        Target::Stripe { member, count, chunk_bytes, layout, missing } => {
            let array = array::Array { count: *count, chunk_bytes: *chunk_bytes, layout: *layout, missing: *missing };
            array::answer(member, array, loads, answers)
        }
        Target::Cache { front, back, bytes, policy } => memory::cache(front, back, *bytes, *policy, loads, answers),
        Target::Block { memory } => memory::block(memory, loads, answers),
    }
}

fn device(twin: &Twin, modules: u32, loads: &[DeviceLoad], answers: &mut [DeviceAnswer]) -> Result<(), TwinError> {
    match &twin.device {
        Device::Pmem(pmem) => memory::pmem(twin, pmem, modules, loads, answers),
        Device::Dram(dram) => memory::dram(twin, dram, modules, loads, answers),
        Device::Nvdimm(nvdimm) => memory::nvdimm(twin, nvdimm, modules, loads, answers),
        Device::Cxl(cxl) => memory::cxl(twin, cxl, modules, loads, answers),
        Device::Nand(nand) => block::nand(twin, nand, loads, answers),
        Device::OptaneSsd(drive) => block::optane_ssd(twin, drive, loads, answers),
        Device::Disk(disk) => block::disk(twin, disk, loads, answers),
        Device::CloudVolume(volume) => block::cloud_volume(twin, volume, loads, answers),
        Device::CloudInstance(instance) => block::cloud_instance(twin, instance, loads, answers),
    }
}
