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
    /// LMDB: a copy-on-write B+-tree in a mapped file. A rival, in a program of its own.
    Lmdb,
    /// RocksDB: a log-structured merge tree. A rival, in a program of its own.
    Rocksdb,
    /// WiredTiger: a B-tree over a cache of its own. A rival, in a program of its own.
    Wiredtiger,
    /// redb: a copy-on-write B-tree in Rust. A rival, in a program of its own.
    Redb,
}

impl Kind {
    /// Assay's own.
    pub const ALL: [Self; 6] = [Self::Fptree, Self::Bztree, Self::DashEh, Self::DashLh, Self::SsdBtree, Self::SsdHash];
    /// Other people's, for runs side by side: `crates/rivals` has them, this crate their names alone.
    pub const RIVALS: [Self; 4] = [Self::Lmdb, Self::Rocksdb, Self::Wiredtiger, Self::Redb];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fptree => "fptree",
            Self::Bztree => "bztree",
            Self::DashEh => "dash-eh",
            Self::DashLh => "dash-lh",
            Self::SsdBtree => "ssd-btree",
            Self::SsdHash => "ssd-hash",
            Self::Lmdb => "lmdb",
            Self::Rocksdb => "rocksdb",
            Self::Wiredtiger => "wiredtiger",
            Self::Redb => "redb",
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
            Self::Lmdb => "rival: copy-on-write B+-tree in a mapped file",
            Self::Rocksdb => "rival: log-structured merge tree",
            Self::Wiredtiger => "rival: B-tree over a cache of its own",
            Self::Redb => "rival: copy-on-write B-tree in Rust",
        }
    }

    /// Whether its entries have an order: it can scan.
    pub fn ordered(self) -> bool {
        !matches!(self, Self::DashEh | Self::DashLh | Self::SsdHash)
    }

    /// Whether it is another project's engine.
    pub fn is_rival(self) -> bool {
        Self::RIVALS.contains(&self)
    }

    /// Whether each thread can have one of its own: Assay's indexes on a drive.
    pub fn can_be_split(self) -> bool {
        matches!(self, Self::SsdBtree | Self::SsdHash)
    }

    /// Whether it lies in persistent memory, not on a drive.
    pub fn in_pmem(self) -> bool {
        matches!(self, Self::Fptree | Self::Bztree | Self::DashEh | Self::DashLh)
    }
}
