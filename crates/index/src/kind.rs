//! Which index.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The indexes, by the names that flags and records have for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// FPTree: leaves in persistent memory, inner nodes in DRAM.
    Fptree,
    /// BzTree: all in persistent memory, lock-free.
    Bztree,
    /// Dash, extendible hashing in persistent memory.
    DashEh,
    /// Dash, linear hashing in persistent memory.
    DashLh,
    /// A B+-tree over a buffer pool on a drive.
    SsdBtree,
    /// A hash table over a buffer pool on a drive.
    SsdHash,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Fptree, Self::Bztree, Self::DashEh, Self::DashLh, Self::SsdBtree, Self::SsdHash];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fptree => "fptree",
            Self::Bztree => "bztree",
            Self::DashEh => "dash-eh",
            Self::DashLh => "dash-lh",
            Self::SsdBtree => "ssd-btree",
            Self::SsdHash => "ssd-hash",
        }
    }

    /// What it is, in a few words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Fptree => "unsorted leaves with fingerprints in persistent memory, inner nodes in DRAM",
            Self::Bztree => "lock-free B+-tree, all of it in persistent memory",
            Self::DashEh => "extendible hashing in persistent memory",
            Self::DashLh => "linear hashing in persistent memory",
            Self::SsdBtree => "B+-tree over a buffer pool on a drive",
            Self::SsdHash => "hash table over a buffer pool on a drive",
        }
    }

    /// Whether its entries have an order: it can scan.
    pub fn ordered(self) -> bool {
        matches!(self, Self::Fptree | Self::Bztree | Self::SsdBtree)
    }

    /// Whether it lies in persistent memory, not on a drive.
    pub fn in_pmem(self) -> bool {
        !matches!(self, Self::SsdBtree | Self::SsdHash)
    }
}
