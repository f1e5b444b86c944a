//! What a run is asked to do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{class::Class, counting::CpuCounting, dataset::Dataset, target::Target};

/// State of the page cache when the window opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// Left as it is.
    #[default]
    AsFound,
    /// Every data set is read into the page cache, and residency is verified.
    Warm,
    /// Data sets are written back and dropped from the page cache, and absence is verified.
    Cold,
    /// No class may use the page cache: every path is direct, and that is verified.
    Bypassed,
}

/// Length of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Seconds of load before the window opens.
    #[serde(default)]
    pub warmup_s: f64,
    /// Seconds of the window at most.
    pub measure_s: f64,
    /// Seconds before which an early stop on steady state is not considered; 0 means never stop early.
    #[serde(default)]
    pub steady_after_s: f64,
    /// Length of an interval of the series, ms.
    #[serde(default = "interval_default")]
    pub interval_ms: u32,
    /// Stop each class at this many bytes; 0 means by time alone.
    #[serde(default)]
    pub bytes_at_most: u64,
}

fn interval_default() -> u32 {
    100
}

/// How entries reach the acknowledgement journal, and so what the journal outlives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Journalling {
    /// By stores to a shared mapping: they outlive the process, and cost no system call.
    #[default]
    Mapping,
    /// By a `pwrite` each, which has returned before the write begins and before the next operation begins. They outlive
    /// the machine where the file lies outside of it: on a folder that a virtual machine shares with its host, or on a
    /// share of another machine that is mounted `sync`.
    Write,
}

impl Journalling {
    /// The default needs no mention in a job.
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Checks beyond measuring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checks {
    /// Verify offset, generation and checksum of every block read (needs `stamped` data sets).
    #[serde(default)]
    pub data: bool,
    /// Write an acknowledgement journal to this file, so that a killed run can be checked (needs `stamped` data sets).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledgements: Option<String>,
    /// How its entries reach that file.
    #[serde(default, skip_serializing_if = "Journalling::is_default")]
    pub journalling: Journalling,
}

/// A job: one cell of a study, complete in itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// [`crate::FORMAT_VERSION`].
    pub version: u32,
    /// Name of the cell, for people.
    pub name: String,
    /// Seed of every random choice.
    #[serde(default)]
    pub seed: u64,
    /// Where data sets lie.
    pub targets: Vec<Target>,
    /// What classes work on.
    pub datasets: Vec<Dataset>,
    /// The classes; they run at the same time, in one window.
    pub classes: Vec<Class>,
    /// Length of the measurement.
    pub window: Window,
    /// When the load begins, by `CLOCK_MONOTONIC` of this machine, ns: who is ready earlier waits for it, so that machines
    /// begin together. None: as soon as all threads are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_monotonic_ns: Option<u64>,
    /// State of the page cache.
    #[serde(default)]
    pub cache: Cache,
    /// Bytes that the page cache of the data sets may fill at most, by a control group of the run's own; none where memory
    /// alone bounds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// Seconds of rest between preparation and load, in which drives cool down and finish what they put off.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cool_down_s: f64,
    /// Every data set is given back to the drive (discarded) and written anew before, so that each cell finds the drive alike.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trim: bool,
    /// Checks beyond measuring.
    #[serde(default)]
    pub checks: Checks,
    /// When hardware counters run.
    #[serde(default, skip_serializing_if = "CpuCounting::is_default")]
    pub counting: CpuCounting,
    /// Name of Assay's own folder inside each folder target. Cells that give the same name share prepared data sets.
    #[serde(default = "scratch_default")]
    pub scratch: String,
    /// Keep the scratch folder (a later cell uses it again). Otherwise the run removes it.
    #[serde(default)]
    pub keep_scratch: bool,
    /// Refuse when free space would fall under this share of the file system, percent.
    #[serde(default = "free_default")]
    pub free_percent_at_least: f64,
    /// Anything that the caller wants to find again in the record (study, factors, repeat).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

fn scratch_default() -> String {
    "assay-scratch".to_owned()
}

fn free_default() -> f64 {
    5.0
}

/// The kind that a job's document says it is of, and the rest of the document; none where it says none.
pub fn kind_of(text: &str) -> Option<(String, String)> {
    let mut document: serde_json::Value = serde_json::from_str(text).ok()?;
    let kind = document.as_object_mut()?.remove("kind")?;
    Some((kind.as_str()?.to_owned(), document.to_string()))
}
