//! Byte-addressable families: persistent memory, DRAM, NVDIMM, CXL memory, and caches of them.
//!
//! `docs/twins-memory.md` has the equations, where they come from and how far they are off.

mod blocks;
pub mod cache;
pub mod chain;
pub mod convoy;
mod cxl;
mod latency;
mod modules;
pub mod operation;
mod share;
mod station;
mod together;

use crate::{
    Target, Twin, TwinError,
    device_load::{DeviceAnswer, DeviceLoad},
    document::{CachePolicy, Cxl, Dram, MemoryOperations, Nvdimm, Pmem},
};

use self::{latency::Idle, modules::Set, share::Sharing};

pub use self::{blocks::block, station::MemoryStation};

/// Interleaved modules of persistent memory.
///
/// # Errors
/// Where a curve is broken.
pub fn pmem(
    twin: &Twin,
    pmem: &Pmem,
    modules: u32,
    loads: &[DeviceLoad],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    check(twin, &pmem.operations)?;
    let set = Set {
        operations: &pmem.operations,
        modules,
        group: pmem.convoy_modules.value as u32,
        idle_share: Some(&pmem.random_idle_share),
        idle: Idle { sequential_ns: pmem.sequential_latency_ns.value, steps: &pmem.latency, random_ns: 0.0 },
        tails: [(&pmem.read_tail).into(), (&pmem.write_tail).into()],
        persist_ns: 0.0,
    };
    let sharing = |bytes: f64| Sharing::Interference {
        reads: pmem.read_interference.at(bytes),
        writes: pmem.write_interference.at(bytes),
    };
    set.answer(loads, sharing, answers);
    Ok(())
}

/// Interleaved modules of DRAM.
///
/// # Errors
/// Where a curve is broken.
pub fn dram(
    twin: &Twin,
    dram: &Dram,
    modules: u32,
    loads: &[DeviceLoad],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    check(twin, &dram.operations)?;
    bus(dram, modules, 0.0, loads, answers);
    Ok(())
}

/// Interleaved modules of NVDIMM-N.
///
/// # Errors
/// Where a curve is broken.
pub fn nvdimm(
    twin: &Twin,
    nvdimm: &Nvdimm,
    modules: u32,
    loads: &[DeviceLoad],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    check(twin, &nvdimm.memory.operations)?;
    bus(&nvdimm.memory, modules, nvdimm.persist_ns.value, loads, answers);
    Ok(())
}

fn bus(dram: &Dram, modules: u32, persist_ns: f64, loads: &[DeviceLoad], answers: &mut [DeviceAnswer]) {
    let set = Set {
        operations: &dram.operations,
        modules,
        group: 1,
        idle_share: None,
        idle: Idle { sequential_ns: dram.sequential_latency_ns.value, steps: &[], random_ns: dram.latency_ns.value },
        tails: [(&dram.tail).into(), (&dram.tail).into()],
        persist_ns,
    };
    set.answer(loads, |_| Sharing::Bus { turn: 1.0 - dram.mixed_share.value }, answers);
}

/// CXL cards.
///
/// # Errors
/// None: the family can do all that a load asks.
pub fn cxl(
    _twin: &Twin,
    cxl: &Cxl,
    modules: u32,
    loads: &[DeviceLoad],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    cxl::answer(cxl, modules, loads, answers);
    Ok(())
}

/// A cache in front of something: Memory Mode where it is direct-mapped.
///
/// # Errors
/// Where front or back cannot do what a load asks.
pub fn cache(
    front: &Target,
    back: &Target,
    bytes: u64,
    policy: CachePolicy,
    loads: &[DeviceLoad],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    cache::answer(front, back, bytes, policy, loads, answers)
}

fn check(twin: &Twin, operations: &MemoryOperations) -> Result<(), TwinError> {
    for (name, operation) in operations.each() {
        for (curve, values) in operation.curves() {
            if let Some(fix) = values.fault() {
                let field = format!("{}: operations.{name}.{curve}", twin.name);
                return Err(TwinError::field(field, values.value.len(), fix));
            }
        }
    }
    Ok(())
}
