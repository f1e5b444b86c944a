//! Whether a tree is in order, and what it is made of.

use std::{collections::BTreeSet, ops::Deref};

use assay_pmem::{Medium, PmemError, Pool, block_bytes};

use super::{
    AREA, BzTree, DESCRIPTORS,
    image::Record,
    key::Separator,
    leaf::Leaf,
    node::{HEADER, Node},
    restructure::collect,
};
use crate::pmwcas::{CONTROL, area_bytes};

/// What a tree is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Leaves.
    pub leaves: u64,
    /// Inner nodes.
    pub inner_nodes: u64,
    /// Inner nodes from the root to each leaf.
    pub levels: u64,
    /// Entries.
    pub records: u64,
    /// Bytes of all nodes and descriptors.
    pub bytes: u64,
}

/// Bounds of a node's keys.
#[derive(Clone, Debug)]
struct Range {
    low: Vec<u8>,
    high: Option<Vec<u8>>,
}

impl<M: Medium, P: Deref<Target = Pool<M>>> BzTree<P> {
    /// Walks through the whole tree: keys are in order and inside of their leaf's bounds, no key is there twice, tails
    /// have no holes, no pointer is left half changed, and what is allocated is what the tree can reach. Nobody may be
    /// working on it.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn census(&self) -> Result<Census, PmemError> {
        let mut census = Census::default();
        let mut blocks = BTreeSet::new();
        let medium = self.medium();
        let area = medium.load(self.pool().root::<u64>(AREA).raw());
        let descriptors = medium.load(self.pool().root::<u64>(DESCRIPTORS).raw()) as u16;
        blocks.insert((area, block_bytes(area_bytes(descriptors) as u64)));
        let root = medium.load(self.root_place());
        self.count(root, &Range { low: Vec::new(), high: None }, 0, &mut census, &mut blocks)?;
        let allocated: BTreeSet<_> = self.pool().allocated()?.iter().map(|block| (block.at, block.bytes)).collect();
        if allocated != blocks {
            let (lost, missing): (Vec<_>, Vec<_>) =
                (allocated.difference(&blocks).collect(), blocks.difference(&allocated).collect());
            return Err(damaged(format!("allocated and not reached: {lost:x?}; reached, not allocated: {missing:x?}")));
        }
        census.bytes = blocks.iter().map(|(_, bytes)| bytes).sum();
        Ok(census)
    }

    fn count(
        &self,
        at: u64,
        range: &Range,
        level: u64,
        census: &mut Census,
        blocks: &mut BTreeSet<(u64, u64)>,
    ) -> Result<(), PmemError> {
        if at & CONTROL != 0 {
            return Err(damaged(format!("a pointer is {at:#x}")));
        }
        let node = Node::open(self.medium(), at)?;
        if !blocks.insert((at, node.shape.words as u64 * 8)) || level > 32 {
            return Err(node.damaged("two pointers lead to it"));
        }
        if !node.shape.inner {
            census.leaves += 1;
            if census.leaves > 1 && census.levels != level {
                return Err(node.damaged("it is not as deep as the others"));
            }
            census.levels = level;
            census.records += check_leaf(&Leaf(node), range)?;
            return Ok(());
        }
        census.inner_nodes += 1;
        let inner = super::inner::Inner(node);
        let mut low = range.low.clone();
        for index in 0..inner.count() {
            let high = if index + 1 < inner.count() {
                Some(bytes_of(&inner.separator(index + 1)?))
            } else {
                range.high.clone()
            };
            if high.as_ref().is_some_and(|high| *high <= low) {
                return Err(node.damaged("its separators are not in order"));
            }
            let child = self.medium().load(inner.child_place(index));
            self.count(child, &Range { low, high: high.clone() }, level + 1, census, blocks)?;
            low = high.unwrap_or_default();
        }
        Ok(())
    }
}

fn bytes_of(separator: &Separator) -> Vec<u8> {
    let mut bytes = Vec::new();
    separator.bytes(&mut bytes);
    bytes
}

fn damaged(what: String) -> PmemError {
    PmemError::Damaged { what }
}

/// The entries of a leaf.
fn check_leaf<M: Medium>(leaf: &Leaf<'_, M>, range: &Range) -> Result<u64, PmemError> {
    let end = (HEADER..leaf.tail_end()).find(|&word| leaf.meta(word).is_end());
    let hole = end.is_some_and(|end| (end + 1..leaf.tail_end()).any(|word| leaf.meta(word).0 != 0));
    if hole {
        return Err(leaf.0.damaged("its tail goes on after its end"));
    }
    for slot in leaf.slots() {
        let head = usize::from(slot.word < leaf.tail_end());
        let begin = slot.meta.offset().saturating_sub(head);
        let used = leaf.status().block_words();
        let inline = slot.meta.offset() == slot.word + 1;
        if begin < HEADER || (!inline && slot.meta.offset() + slot.meta.data_words() > used) {
            return Err(leaf.0.damaged("a record lies where space is free"));
        }
    }
    let mut records: Vec<Record<'_>> = Vec::new();
    collect(leaf, &mut records)?;
    records.sort_by(Record::order);
    let mut key = Vec::new();
    for record in &records {
        let before = std::mem::take(&mut key);
        record.key(&mut key);
        if *before == *key {
            return Err(leaf.0.damaged("a key is there twice"));
        }
        if key < range.low || range.high.as_ref().is_some_and(|high| key >= *high) {
            return Err(leaf.0.damaged("a key belongs to another leaf"));
        }
    }
    Ok(records.len() as u64)
}
