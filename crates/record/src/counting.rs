//! How the CPU of a run was counted, and what counting costs where it ran.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// When hardware counters run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CpuCounting {
    /// In the judged window where they cost too little to bend it, otherwise in a window of their own after it.
    #[default]
    Auto,
    /// In the judged window, whatever they cost; a run that they bend is suspect.
    InWindow,
    /// In a window of their own after the judged one.
    OwnWindow,
    /// Never: CPU comes from the kernel's accounts of the threads.
    Accounts,
}

impl CpuCounting {
    /// The default needs no mention in a job.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What counted the cycles of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountedBy {
    /// Hardware counters that ran in the judged window.
    InWindow,
    /// Hardware counters that ran in a window of their own after the judged one; the judged window ran without.
    OwnWindow,
    /// The kernel's accounts of the threads over the judged window; no hardware counter ran in it.
    Accounts,
}

/// How cycles were counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// By what.
    pub by: CountedBy,
    /// Why so: one sentence.
    pub why: String,
    /// Length of the window that counted, s; none for accounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_s: Option<f64>,
    /// Operations that ended in it; none for accounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
}

/// What hardware counters cost on a machine: adjacent pairs of slices without and with them, before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountingCost {
    /// One context switch without counters, ns: median of the pairs.
    pub switch_plain: Figure,
    /// What counters add to a context switch, ns: median of the differences of the pairs, at least 0.
    pub switch_added: Figure,
    /// One operation on the null path without counters, ns: median of the pairs.
    pub null_plain: Figure,
    /// What counters add to an operation on the null path, ns: median of the differences of the pairs, at least 0.
    pub null_added: Figure,
    /// Pairs of each.
    pub pairs: u32,
}
