//! How the runner makes and opens trees.

use std::collections::BTreeMap;

use assay_pmem::{Medium, Pool, block_bytes};
use serde_json::Value;

use super::{BzTree, LAYOUT, Nodes};
use crate::{error::IndexError, in_pool::PoolIndex, sizes::Sizes};

/// Trees of ordinary nodes, for keys and values of any length.
#[derive(Clone, Copy, Debug, Default)]
pub struct BzTrees {
    /// How large nodes become.
    pub nodes: Nodes,
}

impl BzTrees {
    fn tree<M: Medium>(&self, pool: Pool<M>) -> Result<BzTree<Box<Pool<M>>>, IndexError> {
        Ok(BzTree::open_with(Box::new(pool), self.nodes)?)
    }
}

impl PoolIndex for BzTrees {
    type On<M: Medium> = BzTree<Box<Pool<M>>>;

    fn layout(&self, _sizes: &Sizes) -> &'static str {
        LAYOUT
    }

    fn create<M: Medium>(&self, pool: Pool<M>, _sizes: &Sizes) -> Result<Self::On<M>, IndexError> {
        self.tree(pool)
    }

    fn open<M: Medium>(&self, pool: Pool<M>, _sizes: &Sizes) -> Result<Self::On<M>, IndexError> {
        self.tree(pool)
    }

    fn pool_bytes(&self, sizes: &Sizes, entries: u64) -> u64 {
        // Leaves are half full after splits, and their blocks a little larger than they are. Each entry has a meta word,
        // a head and its bytes; what is replaced waits for its readers.
        let words = 3 + (sizes.entry_bytes() / 8.0).ceil() as u64;
        let records = (self.nodes.records as u64).min(self.nodes.record_words as u64 / words).max(1);
        let leaf = block_bytes((8 + self.nodes.tail as u64 + words * (records + self.nodes.tail as u64)) * 8);
        (32 << 20) + entries.div_ceil(records.div_ceil(2)) * leaf * 5 / 4
    }

    fn settings(&self) -> BTreeMap<String, Value> {
        let Nodes { tail, records, record_words, children } = self.nodes;
        [("tail_records", tail), ("leaf_records", records), ("leaf_words", record_words), ("inner_children", children)]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect()
    }
}
