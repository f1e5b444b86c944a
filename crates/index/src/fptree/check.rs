//! Whether a tree agrees with itself, and with what the pool has allocated.

use std::collections::BTreeSet;

use assay_pmem::{Medium, block_bytes};

use super::{
    FpTree,
    key::{BLOCK_HEAD, Probe, block, block_length},
    leaf::{FULL, LEAF_BYTES, Leaf, RECORDS},
};

/// What was found on the way through the leaves.
#[derive(Default)]
struct Walked {
    leaves: u64,
    entries: u64,
    /// Blocks that the tree reaches: offset, bytes.
    blocks: BTreeSet<(u64, u64)>,
    last: Option<Vec<u8>>,
}

impl<M: Medium> FpTree<M> {
    /// Leaves in order, each key in its leaf's range, once, under its fingerprint; inner nodes lead to every leaf; every
    /// allocated block is reached and every block that is reached is allocated. Nobody works on the tree.
    pub(super) fn check(&self) -> Result<String, String> {
        let mut walked = Walked::default();
        let leaves = self.inner.leaves();
        let mut at = self.first();
        for (position, &(separator, leaf)) in leaves.iter().enumerate() {
            if leaf != at {
                return Err(format!("leaf {position} of the inner nodes is {leaf:#x}, in the list it is {at:#x}"));
            }
            let low = self.low_key(at, position)?;
            // SAFETY: nobody works on the tree, so its separators stay.
            let tail = separator.and_then(|it| unsafe { it.tail.as_ref() }.map(|tail| tail.to_vec()));
            let known = separator.map(|it| tail.unwrap_or_else(|| it.head.to_be_bytes().to_vec()));
            if known != low {
                return Err(format!("leaf {at:#x} has low key {low:x?}, the inner nodes say {known:x?}"));
            }
            self.check_leaf(at, low, &mut walked)?;
            at = self.leaf(at).next();
        }
        if at != 0 {
            return Err(format!("the list goes on with leaf {at:#x}, which no inner node leads to"));
        }
        self.check_space(&walked)?;
        Ok(format!(
            "{} entries in {} leaves, {} blocks, all in order, none leaked",
            walked.entries,
            walked.leaves,
            walked.blocks.len()
        ))
    }

    fn low_key(&self, at: u64, position: usize) -> Result<Option<Vec<u8>>, String> {
        let low = self.leaf(at).low();
        match (position, self.words) {
            (0, _) => Ok(None),
            (_, true) => Ok(Some(low.to_be_bytes().to_vec())),
            (_, false) => Ok(Some(block(&self.pool, low).map_err(|error| error.to_string())?.0.to_vec())),
        }
    }

    fn check_leaf(&self, at: u64, low: Option<Vec<u8>>, walked: &mut Walked) -> Result<(), String> {
        let leaf = self.leaf(at);
        if leaf.bitmap() & !FULL != 0 {
            return Err(format!("leaf {at:#x} has bits beyond its records"));
        }
        let mut keys = self.keys(&leaf, walked).map_err(|what| format!("leaf {at:#x}: {what}"))?;
        keys.sort();
        if let Some(twice) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("leaf {at:#x} has the key {:x?} twice", twice[0]));
        }
        let before = [walked.last.clone(), low.clone()].into_iter().flatten().max();
        if let (Some(first), Some(before)) = (keys.first(), before) {
            if *first < before || walked.last.as_ref() == Some(first) || low.as_ref().is_some_and(|low| first < low) {
                return Err(format!("leaf {at:#x} has the key {first:x?}, which is below {before:x?}"));
            }
        }
        if let (Some(low), Some(last)) = (&low, &walked.last) {
            if last >= low {
                return Err(format!("leaf {at:#x} begins at {low:x?}, and {last:x?} lies before it"));
            }
        }
        walked.last = keys.last().cloned().or_else(|| walked.last.take());
        walked.leaves += 1;
        walked.entries += keys.len() as u64;
        walked.blocks.insert((at, LEAF_BYTES as u64));
        if let (Some(low), false) = (&low, self.words) {
            walked.blocks.insert((leaf.low(), block_bytes((BLOCK_HEAD + low.len()) as u64)));
        }
        Ok(())
    }

    fn keys(&self, leaf: &Leaf<'_, M>, walked: &mut Walked) -> Result<Vec<Vec<u8>>, String> {
        let mut keys = Vec::with_capacity(RECORDS);
        for slot in leaf.slots() {
            let head = leaf.head(slot).to_be_bytes();
            let key = if self.words {
                head.to_vec()
            } else {
                let at = leaf.payload(slot);
                let (key, value) = block(&self.pool, at).map_err(|error| error.to_string())?;
                if !walked.blocks.insert((at, block_bytes(block_length(key, value) as u64))) {
                    return Err(format!("the block at {at:#x} is reached twice"));
                }
                key.to_vec()
            };
            let probe =
                if self.words { Probe::word(&key) } else { Probe::any(&key) }.map_err(|error| error.to_string())?;
            if probe.print != leaf.print(slot) || probe.head != leaf.head(slot) {
                return Err(format!("record {slot} has not the fingerprint or head of its key {key:x?}"));
            }
            keys.push(key);
        }
        Ok(keys)
    }

    fn check_space(&self, walked: &Walked) -> Result<(), String> {
        let allocated = self.pool.allocated().map_err(|error| error.to_string())?;
        let allocated: BTreeSet<(u64, u64)> = allocated.iter().map(|block| (block.at, block.bytes)).collect();
        let leaked: Vec<_> = allocated.difference(&walked.blocks).take(3).collect();
        let missing: Vec<_> = walked.blocks.difference(&allocated).take(3).collect();
        if leaked.is_empty() && missing.is_empty() {
            return Ok(());
        }
        Err(format!("allocated and not reached: {leaked:x?}; reached and not allocated: {missing:x?}"))
    }

    /// Figures of the structure.
    pub(super) fn figures(&self) -> Vec<(&'static str, f64)> {
        let leaves = self.inner.leaves();
        let entries: u64 = leaves.iter().map(|&(_, at)| u64::from(self.leaf(at).bitmap().count_ones())).sum();
        let (nodes, levels) = self.inner.extent();
        let node_bytes = size_of::<super::node::Node>() * nodes;
        vec![
            ("entries", entries as f64),
            ("leaves", leaves.len() as f64),
            ("leaf_fill_ratio", entries as f64 / (leaves.len() * RECORDS) as f64),
            ("inner_nodes", nodes as f64),
            ("inner_levels", levels as f64),
            ("inner_dram_bytes", node_bytes as f64),
        ]
    }
}
