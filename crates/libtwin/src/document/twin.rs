//! One device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CloudInstance, CloudVolume, Cxl, Disk, Dram, Nand, Nvdimm, OptaneSsd, Parameter, Pmem};

/// A calibrated model of a device (of one module, for memory).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Twin {
    /// [`crate::VERSION`].
    pub version: u32,
    /// Name as in `twin:NAME`.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Bytes that a user can store.
    pub capacity_bytes: Parameter,
    /// What it is, with its parameters.
    pub device: Device,
    /// The box inside which it was calibrated.
    pub bounds: Bounds,
    /// How far it is off inside the box.
    pub band: Band,
    /// What a reader should know, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Families of devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "family")]
pub enum Device {
    /// Persistent memory module (Optane DC).
    Pmem(Box<Pmem>),
    /// DRAM module.
    Dram(Box<Dram>),
    /// DRAM module with a flash backup.
    Nvdimm(Box<Nvdimm>),
    /// Memory behind CXL.
    Cxl(Box<Cxl>),
    /// Flash drive.
    Nand(Box<Nand>),
    /// Drive of 3D XPoint.
    OptaneSsd(Box<OptaneSsd>),
    /// Rotating disk.
    Disk(Box<Disk>),
    /// Network volume with token buckets.
    CloudVolume(Box<CloudVolume>),
    /// Local drives of a cloud instance, with the instance's limits.
    CloudInstance(Box<CloudInstance>),
}

impl Device {
    /// Name of the family as in the documents.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Pmem(_) => "pmem",
            Self::Dram(_) => "dram",
            Self::Nvdimm(_) => "nvdimm",
            Self::Cxl(_) => "cxl",
            Self::Nand(_) => "nand",
            Self::OptaneSsd(_) => "optane-ssd",
            Self::Disk(_) => "disk",
            Self::CloudVolume(_) => "cloud-volume",
            Self::CloudInstance(_) => "cloud-instance",
        }
    }

    /// The device is reached by loads and stores; modules of it interleave.
    pub fn is_memory(&self) -> bool {
        matches!(self, Self::Pmem(_) | Self::Dram(_) | Self::Nvdimm(_) | Self::Cxl(_))
    }
}

/// The calibrated box: what lies outside is extrapolated. Each is `[smallest, largest]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Bytes of an operation.
    pub size_bytes: [f64; 2],
    /// Operations in flight (per module where the device is memory).
    pub in_flight: [f64; 2],
    /// Share of writes, percent.
    pub write_percent: [f64; 2],
    /// Seconds of load.
    pub duration_s: [f64; 2],
}

/// Relative half-widths inside the box, from points that the fit did not see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Of bandwidth and operations per second.
    pub bandwidth: Parameter,
    /// Of mean and median latency.
    pub latency: Parameter,
    /// Of the 99th percentile and beyond, as a factor less 1: 1.0 means half to double.
    pub tail: Parameter,
    /// How far it is off at least, by kind of question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<Joined>,
}

/// Least half-widths of bandwidth and latency by kind of question, from published figures that nothing was fitted to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Joined {
    /// Several loads at once.
    pub several: Parameter,
    /// A load that goes through the page cache.
    pub page_cache: Parameter,
    /// A load that reads and writes.
    pub mix: Parameter,
    /// One load of whole granules by loads and stores, on memory of another machine than the twin was fitted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granules: Option<Parameter>,
    /// One load of less than a granule, or through calls on a file, on memory likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_or_lines: Option<Parameter>,
}
