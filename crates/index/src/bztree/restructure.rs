//! Leaves and inner nodes that are split, merged, or written anew.

use std::ops::Deref;

use assay_pmem::{Guard, Medium, PmemError, Pool};

use super::{
    descent::Path,
    image::{ChildEntry, Load, Record, cut, inner_bytes, write_inner, write_leaf},
    key::{Key, Separator},
    leaf::Leaf,
    links::{Reserved, Swap, freed},
    meta::SEALED,
    node::{FROZEN, HEADER, Node},
    progress::Progress,
    session::BzSession,
};
use crate::{error::IndexError, index::KEY_BYTES_AT_MOST};

/// How often a thread looks whether somebody else replaces a frozen leaf before it does so itself.
const PATIENCE: usize = 8;

/// What a leaf is replaced by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeafPlan {
    One,
    Two,
    /// One, which takes the records of the next or the previous leaf too.
    Merged {
        neighbour: usize,
    },
}

impl<'t, M: Medium, P: Deref<Target = Pool<M>>> BzSession<'t, P> {
    /// Replaces a leaf, so that `need` more words have room, unless somebody else did already.
    pub(super) fn restructure(
        &mut self,
        key: &Key<'_>,
        leaf: u64,
        need: usize,
        guard: &Guard,
    ) -> Result<Progress, IndexError> {
        let path = self.tree.path_of(&self.worker, key)?;
        if path.leaf != leaf || self.is_done_by_others(key, leaf)? {
            return Ok(Progress::Again);
        }
        let leaf = Leaf(Node::open(self.tree.medium(), leaf)?);
        let load = load_of(&leaf);
        let plan = self.plan(&path, load, need)?;
        if plan == LeafPlan::Two && path.steps.last().is_some_and(|step| self.is_full(step.at)) {
            return Ok(self.split_inner(&path, path.steps.len() - 1, guard)?);
        }
        let progress = self.replace_leaf(&path, &leaf, load, plan, need, guard)?;
        if progress == Progress::Done && plan != LeafPlan::One && plan != LeafPlan::Two {
            self.shrink_inner(key, guard)?;
        }
        Ok(progress)
    }

    /// A frozen leaf is somebody else's, who is given a moment; whether it was replaced.
    fn is_done_by_others(&self, key: &Key<'_>, leaf: u64) -> Result<bool, PmemError> {
        let frozen = Leaf(Node::open(self.tree.medium(), leaf)?).status().is_frozen();
        for _ in 0..if frozen { PATIENCE } else { 0 } {
            std::thread::yield_now();
            if self.tree.leaf_of(&self.worker, key)?.0.at != leaf {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_full(&self, inner: u64) -> bool {
        self.inner(inner).is_ok_and(|inner| inner.count() >= self.tree.nodes.children)
    }

    fn plan(&self, path: &Path, load: Load, need: usize) -> Result<LeafPlan, PmemError> {
        let nodes = self.tree.nodes;
        if load.records >= 2 && (load.records > nodes.records || load.words() > nodes.record_words) {
            return Ok(LeafPlan::Two);
        }
        if need != 0 || 4 * load.records > nodes.records {
            return Ok(LeafPlan::One);
        }
        let Some(neighbour) = self.neighbour(path, path.steps.len())? else { return Ok(LeafPlan::One) };
        let node = Node::open(self.tree.medium(), self.child(path, path.steps.len(), neighbour)?)?;
        let both = load.and(if node.shape.inner { Load::default() } else { load_of(&Leaf(node)) });
        let fits = !node.shape.inner && 4 * both.records <= 3 * nodes.records && both.words() <= nodes.record_words;
        Ok(if fits { LeafPlan::Merged { neighbour } } else { LeafPlan::One })
    }

    /// The child of the same parent beside a node of a path, the next one rather than the previous one.
    fn neighbour(&self, path: &Path, level: usize) -> Result<Option<usize>, PmemError> {
        let Some(parent) = level.checked_sub(1).map(|above| path.steps[above]) else { return Ok(None) };
        let count = self.inner(parent.at)?.count();
        Ok(if parent.index + 1 < count { Some(parent.index + 1) } else { parent.index.checked_sub(1) })
    }

    /// A child of the parent of a node of a path.
    fn child(&self, path: &Path, level: usize, index: usize) -> Result<u64, PmemError> {
        let parent = self.inner(path.steps[level - 1].at)?;
        Ok(self.worker.read(self.tree.medium(), parent.child_place(index)))
    }

    /// All space is reserved before anything is frozen, so that a leaf in a full pool goes on as it is.
    fn replace_leaf(
        &mut self,
        path: &Path,
        leaf: &Leaf<'t, M>,
        load: Load,
        plan: LeafPlan,
        need: usize,
        guard: &Guard,
    ) -> Result<Progress, PmemError> {
        let (nodes, level) = (self.tree.nodes, path.steps.len());
        let mut reserved = Reserved::new(self.tree.pool());
        let mut leaves = vec![*leaf];
        let mut load = load;
        let mut first = path.steps.last().map_or(0, |step| step.index);
        if let LeafPlan::Merged { neighbour } = plan {
            let other = Leaf(Node::open(self.tree.medium(), self.child(path, level, neighbour)?)?);
            if other.0.shape.inner || other.0.at == leaf.0.at {
                return Ok(Progress::Again);
            }
            leaves.insert(usize::from(neighbour > first), other);
            load = load.and(load_of(&other));
            first = first.min(neighbour);
        }
        let parts = if plan == LeafPlan::Two { vec![load.half(); 2] } else { vec![load] };
        for part in &parts {
            reserved.add(part.leaf_bytes(nodes, need))?;
        }
        if plan != LeafPlan::One {
            self.reserve_parent(path, level, load, &mut reserved)?;
        }
        leaves.iter().for_each(seal);
        let mut records = Vec::with_capacity(load.records + nodes.tail);
        for leaf in &leaves {
            collect(leaf, &mut records)?;
        }
        records.sort_by(Record::order);
        let (new, mut blocks) = self.write_leaves(&records, plan, need, &mut reserved)?;
        blocks.extend(leaves.iter().map(|leaf| freed(&leaf.0)));
        let old = leaves.iter().map(|leaf| leaf.0.at).collect();
        self.swap(Swap { path, level, first, old, new, blocks }, &mut reserved, guard)
    }

    fn write_leaves(
        &self,
        records: &[Record<'_>],
        plan: LeafPlan,
        need: usize,
        reserved: &mut Reserved<'_, M>,
    ) -> Result<(Vec<ChildEntry>, Vec<crate::pmwcas::Block>), PmemError> {
        let (medium, nodes) = (self.tree.medium(), self.tree.nodes);
        let at = if plan == LeafPlan::Two && records.len() >= 2 { cut(records) } else { records.len() };
        let (mut new, mut blocks) = (Vec::with_capacity(2), Vec::with_capacity(6));
        let parts = if at < records.len() { vec![&records[..at], &records[at..]] } else { vec![records] };
        for part in parts {
            let (place, bytes) = reserved.take(Load::of(part).leaf_bytes(nodes, need), &mut blocks)?;
            write_leaf(medium, place, bytes, nodes, part);
            new.push((Separator::LOWEST, place));
        }
        if let [_, right] = &mut new[..] {
            let (mut below, mut above) = (Vec::new(), Vec::new());
            records[at - 1].key(&mut below);
            records[at].key(&mut above);
            right.0 = Separator::between(&below, &above);
        }
        Ok((new, blocks))
    }

    /// Space for the parent's replacement, or a new root.
    fn reserve_parent(
        &self,
        path: &Path,
        level: usize,
        load: Load,
        reserved: &mut Reserved<'_, M>,
    ) -> Result<(), PmemError> {
        // Another separator may be longer than a head, and make the node a ragged one.
        let rest = if load.data_words == 0 { 0 } else { KEY_BYTES_AT_MOST };
        let Some(above) = level.checked_sub(1) else { return reserved.add((HEADER + 4) * 8 + rest) };
        let shape = self.inner(path.steps[above].at)?.0.shape;
        let rests = if shape.ragged { shape.words - shape.fixed_words() } else { 0 };
        let lengths = if rest == 0 { 0 } else { shape.count };
        reserved.add((shape.fixed_words() + rests + lengths + 2) * 8 + rest)
    }

    /// An inner node that is full gives way to two, its parent first where that is full too.
    fn split_inner(&mut self, path: &Path, level: usize, guard: &Guard) -> Result<Progress, PmemError> {
        if level > 0 && self.is_full(path.steps[level - 1].at) {
            return self.split_inner(path, level - 1, guard);
        }
        let inner = self.inner(path.steps[level].at)?;
        let mut reserved = Reserved::new(self.tree.pool());
        let half = (inner.0.shape.words * 8).max(64);
        reserved.add(half)?;
        reserved.add(half)?;
        self.reserve_parent(
            path,
            level,
            Load { data_words: usize::from(inner.0.shape.ragged), ..Load::default() },
            &mut reserved,
        )?;
        self.freeze(inner.0.at);
        let entries = self.entries(&inner)?;
        let (left, right) = entries.split_at(entries.len() / 2);
        let mut blocks = vec![freed(&inner.0)];
        let mut new = Vec::with_capacity(2);
        for part in [left, right] {
            let (at, bytes) = reserved.take(inner_bytes(part), &mut blocks)?;
            write_inner(self.tree.medium(), at, bytes, part);
            new.push((part[0].0.clone(), at));
        }
        let first = level.checked_sub(1).map_or(0, |above| path.steps[above].index);
        let swap = Swap { path, level, first, old: vec![inner.0.at], new, blocks };
        self.swap(swap, &mut reserved, guard)
    }

    /// Merges inner nodes with few children on the way to a key, one at a time, from below.
    fn shrink_inner(&mut self, key: &Key<'_>, guard: &Guard) -> Result<(), IndexError> {
        loop {
            let path = self.tree.path_of(&self.worker, key)?;
            let level = (1..path.steps.len()).rev().find(|&level| {
                self.inner(path.steps[level].at).is_ok_and(|inner| 4 * inner.count() < self.tree.nodes.children)
            });
            let Some(level) = level else { return Ok(()) };
            let Some(neighbour) = self.neighbour(&path, level)? else { return Ok(()) };
            match self.merge_inner(&path, level, neighbour, guard) {
                Ok(Some(Progress::Done)) => {}
                // It will be tried again when a leaf below is merged next.
                Ok(_) | Err(PmemError::Full { .. }) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Merges an inner node with a neighbour, if both fit into one.
    fn merge_inner(
        &mut self,
        path: &Path,
        level: usize,
        neighbour: usize,
        guard: &Guard,
    ) -> Result<Option<Progress>, PmemError> {
        let (mine, parent) = (path.steps[level].at, path.steps[level - 1]);
        let other = self.child(path, level, neighbour)?;
        let first = parent.index.min(neighbour);
        let (left, right) = if first == neighbour { (other, mine) } else { (mine, other) };
        if left == right {
            return Ok(None);
        }
        let (left, right) = (self.inner(left)?, self.inner(right)?);
        if 4 * (left.count() + right.count()) > 3 * self.tree.nodes.children {
            return Ok(None);
        }
        let mut reserved = Reserved::new(self.tree.pool());
        reserved.add((left.0.shape.words + right.0.shape.words) * 8 + KEY_BYTES_AT_MOST)?;
        self.reserve_parent(path, level, Load::default(), &mut reserved)?;
        self.freeze(left.0.at);
        self.freeze(right.0.at);
        let mut entries = self.entries(&left)?;
        let begin = entries.len();
        entries.extend(self.entries(&right)?);
        entries[begin].0 = self.inner(parent.at)?.separator(first + 1)?;
        let mut blocks = vec![freed(&left.0), freed(&right.0)];
        let (at, bytes) = reserved.take(inner_bytes(&entries), &mut blocks)?;
        write_inner(self.tree.medium(), at, bytes, &entries);
        let old = vec![left.0.at, right.0.at];
        let swap = Swap { path, level, first, old, new: vec![(Separator::LOWEST, at)], blocks };
        self.swap(swap, &mut reserved, guard).map(Some)
    }
}

/// What a leaf holds now.
fn load_of<M: Medium>(leaf: &Leaf<'_, M>) -> Load {
    let mut load = Load::default();
    leaf.slots().filter(|slot| slot.meta.is_live()).for_each(|slot| load.add(slot.meta));
    load
}

/// Lets nobody change a leaf any more. Not durable: seals that survive a crash only say that somebody has to go on.
fn seal<M: Medium>(leaf: &Leaf<'_, M>) {
    let (medium, node) = (leaf.0.medium, leaf.0);
    medium.set_bits(node.at, FROZEN);
    let seal_record = |word: usize| {
        let meta = super::meta::Meta(medium.set_bits(node.place(word), SEALED));
        if meta.is_live() && meta.value_in_word() && meta.offset() < node.words.len() {
            medium.set_bits(node.place(meta.offset()), SEALED);
        }
    };
    for index in 0..node.shape.count {
        let word = leaf.sorted(index);
        // What is gone stays gone.
        if leaf.meta(word).is_live() {
            seal_record(word);
        }
    }
    for word in HEADER..leaf.tail_end() {
        if leaf.meta(word).is_end() && medium.compare_exchange(node.place(word), 0, SEALED).is_ok() {
            return;
        }
        let meta = leaf.meta(word);
        if meta.is_end() {
            return;
        }
        if meta.is_live() {
            seal_record(word);
        }
    }
}

/// Live records of a leaf, in the order in which they lie.
pub(super) fn collect<'m, M: Medium>(leaf: &Leaf<'m, M>, into: &mut Vec<Record<'m>>) -> Result<(), PmemError> {
    let sorted = leaf.0.shape.count;
    for (index, slot) in leaf.slots().enumerate().filter(|(_, slot)| slot.meta.is_live()) {
        let head = if index < sorted { leaf.sorted_head(index) } else { leaf.tail_head(slot.meta) };
        into.push(Record::read(leaf, slot, head)?);
    }
    Ok(())
}
