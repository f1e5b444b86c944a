//! The twins of a run.

use std::path::PathBuf;

use assay_twin::{Driven, document::Device};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The twins that stand in the place of a run's folders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnTwins {
    /// What holds the pages; its host runs the engine.
    pub data: Driven,
    /// What holds the log; the pages' twin where none is given.
    #[serde(default)]
    pub log: Option<Driven>,
    /// What holds the log's tail: modules of persistent memory.
    #[serde(default)]
    pub tail: Option<Driven>,
    /// What is below the pool, where there is a tier: modules of memory.
    #[serde(default)]
    pub tier: Option<Driven>,
    /// CPU time of each turn, ns, in the place of what it takes here.
    #[serde(default)]
    pub turn_ns: Option<f64>,
    /// Folder in which it is kept what turns cost here, so that the same job gives the same play; learnt for this run alone
    /// where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<PathBuf>,
    /// Learn anew what turns cost, whatever is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub learn: bool,
}

impl OnTwins {
    /// Whether the pages' drive is one whose collection is followed page by page.
    pub fn is_exact(&self) -> bool {
        matches!(&self.data.target.twin().device, Device::Nand(nand) if nand.collection.unit_bytes.is_some())
    }
}
