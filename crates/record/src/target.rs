//! What is measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// A folder; Assay makes a folder of its own inside it.
    Folder,
    /// An existing file; it is only read.
    File,
    /// A block device, named by path and serial number; its content is destroyed by writes.
    BlockDevice,
    /// A device-DAX node; its content is destroyed by writes.
    DeviceDax,
    /// Anonymous memory of this machine, for memory bandwidth and latency on the `pmem` path.
    Memory,
    /// Nothing: for the `null` path.
    Null,
    /// A calibrated model, in virtual time.
    Twin,
}

/// A target: one place, or several that are used as members of a pseudo-RAID.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name by which data sets refer to it; unique in a job.
    pub id: String,
    /// Kind of every member.
    pub kind: TargetKind,
    /// Absolute paths of the members. Page i of an interleaved data set lies on member i mod n. Empty for `null`, `memory` and `twin`.
    #[serde(default)]
    pub members: Vec<String>,
    /// Serial numbers of device members, in the order of `members`; checked before anything is written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serials: Vec<String>,
    /// The user typed `--yes-destroy`: the devices' content may be destroyed.
    #[serde(default)]
    pub yes_destroy: bool,
    /// The twin and the host that drives it, complete with every parameter (`assayer schema twin` has their types).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<serde_json::Value>,
}
