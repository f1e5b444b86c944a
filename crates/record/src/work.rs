//! What a run of an index, an engine or a database leaves.
//!
//! A [`crate::Record`] holds one result per class of I/O. What stands above the I/O has operations, transactions and
//! queries instead: a [`WorkRecord`] holds those, under the same words (figure, provenance, verdict).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    environment::Environment,
    figure::{Distribution, Figure},
    record::{CpuUse, DeviceCounters, IntervalPoint, NotMeasured, Overdue, RunInfo},
    verdict::Verdict,
};

/// Which rung of the ladder a record belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkKind {
    /// One index: lookups, inserts, scans.
    Index,
    /// The storage engine.
    Engine,
    /// A database system.
    Database,
}

/// What ran: an index, an engine, a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Its name, as flags have it (`fptree`, `assay`, `postgres`).
    pub name: String,
    /// Its version.
    pub version: String,
    /// How it was set: every parameter that bears on the figures, by name.
    pub settings: BTreeMap<String, serde_json::Value>,
}

/// What it was asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Its name, as flags have it (`ycsb-a`, `tpcc`, `tpch`).
    pub name: String,
    /// Its parameters, by name with unit (`keys`, `threads`, `scale`, `seed`).
    pub parameters: BTreeMap<String, serde_json::Value>,
}

/// Where something of it lay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkTarget {
    /// What lay there: `data`, `log`, `temp`, `index`.
    pub role: String,
    /// The target as it was named.
    pub target: String,
    /// Real code ran on stand-in hardware there, such as memory in the place of persistent memory.
    #[serde(default)]
    pub emulated: bool,
}

/// One kind of operation, transaction or query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkPart {
    /// Its name (`lookup`, `new_order`, `q03`).
    pub name: String,
    /// How many were done and succeeded.
    pub succeeded: u64,
    /// How many were done and found or changed nothing, by rule (a missing key, a rollback that the workload wants).
    pub empty: u64,
    /// How many failed.
    pub failed: u64,
    /// From start to end; none where single ones were not timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Distribution>,
    /// From intended start to end; none where arrivals are closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Distribution>,
    /// What was due in the window and ended after it; none where nothing was, or arrivals are closed. It is in the
    /// distributions, and in no rate or count of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overdue: Option<Overdue>,
    /// Figures by name with unit (`ops_per_s`, `device_read_bytes`, `cpu_s`).
    pub figures: BTreeMap<String, Figure>,
    /// What is no number, by name (`plan_hash`, `dominant_node`, `class`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

/// Something that was checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkCheck {
    /// Its name (`consistency-1`, `answer-q03`, `recovered`).
    pub name: String,
    /// It held.
    pub passed: bool,
    /// What was seen: one sentence.
    pub evidence: String,
}

/// What a run of an index, an engine or a database leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkRecord {
    /// [`crate::FORMAT_VERSION`].
    pub version: u32,
    /// Which rung.
    pub kind: WorkKind,
    /// Identity.
    pub run: RunInfo,
    /// What ran.
    pub subject: Subject,
    /// What it was asked to do.
    pub workload: Workload,
    /// Where its parts lay.
    pub targets: Vec<WorkTarget>,
    /// What makes an acknowledged change durable: `none`, `fdatasync`, `plp`, `pmem`, or a database's own word.
    pub durability: String,
    /// The machine.
    pub environment: Environment,
    /// Seconds of the measured window.
    pub measured_s: f64,
    /// Figures of the whole, by name with unit (`ops_per_s`, `transactions_per_s`, `write_amplification`).
    pub figures: BTreeMap<String, Figure>,
    /// One entry per kind of operation.
    pub parts: Vec<WorkPart>,
    /// The series; empty where none was taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<IntervalPoint>,
    /// CPU of what ran; of a server without its driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuUse>,
    /// CPU of the driver where it is a process or a thread of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_cpu: Option<CpuUse>,
    /// Block devices beneath the targets.
    pub devices: Vec<DeviceCounters>,
    /// What was checked.
    pub checks: Vec<WorkCheck>,
    /// What could not be measured.
    pub not_measured: Vec<NotMeasured>,
    /// The verdict.
    pub verdict: Verdict,
}
