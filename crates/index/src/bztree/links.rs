//! New nodes in the place of old ones: the one multi-word compare-and-swap that each structural change ends with.

use std::ops::Deref;

use assay_pmem::{Guard, Medium, Offset, PmemError, Pool, block_bytes};

use super::{
    descent::{Path, PathStep},
    image::{ChildEntry, inner_bytes, write_inner},
    inner::Inner,
    key::Separator,
    node::{FROZEN, Node},
    progress::Progress,
    session::BzSession,
};
use crate::pmwcas::{Block, CasOutcome, Fate, WordChange};

/// Blocks that are reserved and not linked yet; those that are left are given back.
#[derive(Debug)]
pub(super) struct Reserved<'p, M: Medium> {
    pool: &'p Pool<M>,
    blocks: Vec<(u64, usize)>,
}

impl<'p, M: Medium> Reserved<'p, M> {
    pub(super) fn new(pool: &'p Pool<M>) -> Self {
        Self { pool, blocks: Vec::with_capacity(4) }
    }

    /// Another block, which is the last one.
    ///
    /// # Errors
    /// Where the pool is full.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), PmemError> {
        let bytes = block_bytes(bytes as u64) as usize;
        let block = self.pool.reserve::<u64>(bytes)?;
        self.blocks.push((block.raw(), bytes));
        Ok(())
    }

    /// A block of so many bytes that is used from here on: a reserved one, or a new one, or a larger one that was
    /// reserved where the pool is full.
    fn pick(&mut self, bytes: usize, used: &[Block]) -> Result<(u64, usize), PmemError> {
        let wanted = block_bytes(bytes as u64) as usize;
        let free = |at: u64| used.iter().all(|block| block.at != at);
        let fits = |block: &&(u64, usize)| block.1 >= wanted && free(block.0);
        let smallest = self.blocks.iter().filter(fits).min_by_key(|block| block.1).copied();
        if let Some(exact) = smallest.filter(|block| block.1 == wanted) {
            return Ok(exact);
        }
        match (self.add(wanted), smallest) {
            (Ok(()), _) => Ok(*self.blocks.last().expect("one was added")),
            (Err(PmemError::Full { .. }), Some(larger)) => Ok(larger),
            (Err(error), _) => Err(error),
        }
    }

    /// As `pick`, noted among the blocks of an operation.
    pub(super) fn take(&mut self, bytes: usize, blocks: &mut Vec<Block>) -> Result<(u64, usize), PmemError> {
        let (at, bytes) = self.pick(bytes, blocks)?;
        blocks.push(Block { at, bytes: bytes as u32, fate: Fate::Taken });
        Ok((at, bytes))
    }

    /// The operation has dealt with its blocks.
    fn settled(&mut self, blocks: &[Block]) {
        self.blocks.retain(|&(at, _)| blocks.iter().all(|block| block.at != at));
    }
}

impl<M: Medium> Drop for Reserved<'_, M> {
    fn drop(&mut self) {
        self.blocks.iter().for_each(|&(at, bytes)| self.pool.cancel(Offset::<u64>::new(at), bytes));
    }
}

/// Nodes that take the place of neighbours.
#[derive(Debug)]
pub(super) struct Swap<'a> {
    pub(super) path: &'a Path,
    /// How many steps of the path lie above them.
    pub(super) level: usize,
    /// Which child of its parent the first one is.
    pub(super) first: usize,
    pub(super) old: Vec<u64>,
    /// The separator of the first one stays what it is.
    pub(super) new: Vec<ChildEntry>,
    /// Blocks of new and old nodes.
    pub(super) blocks: Vec<Block>,
}

/// That a node's block is freed if it is replaced.
pub(super) fn freed<M: Medium>(node: &Node<'_, M>) -> Block {
    Block { at: node.at, bytes: (node.shape.words * 8) as u32, fate: Fate::Freed }
}

impl<'t, M: Medium, P: Deref<Target = Pool<M>>> BzSession<'t, P> {
    pub(super) fn inner(&self, at: u64) -> Result<Inner<'t, M>, PmemError> {
        let node = Node::open(self.tree.medium(), at)?;
        if node.shape.inner { Ok(Inner(node)) } else { Err(node.damaged("a leaf lies above another node")) }
    }

    /// Children and separators of an inner node, of which the children are final once it is frozen.
    pub(super) fn entries(&self, inner: &Inner<'_, M>) -> Result<Vec<ChildEntry>, PmemError> {
        let entry = |index| {
            let separator = if index == 0 { Separator::LOWEST } else { inner.separator(index)? };
            Ok((separator, self.worker.read(inner.0.medium, inner.child_place(index))))
        };
        (0..inner.count()).map(entry).collect()
    }

    fn is_frozen(&self, at: u64) -> bool {
        self.worker.read(self.tree.medium(), at) & FROZEN != 0
    }

    /// Lets nobody change an inner node any more.
    pub(super) fn freeze(&self, at: u64) {
        let medium = self.tree.medium();
        while !self.is_frozen(at) {
            let status = self.worker.read(medium, at);
            // Not durable: after a crash it means nothing but that somebody has to go on.
            let _ = self.worker.mark(medium, at, status, status | FROZEN);
        }
    }

    /// Puts new nodes in the place of old ones. What fails was changed by others: the caller begins anew.
    pub(super) fn swap(
        &mut self,
        swap: Swap<'_>,
        reserved: &mut Reserved<'_, M>,
        guard: &Guard,
    ) -> Result<Progress, PmemError> {
        let Some(parent) = swap.level.checked_sub(1).map(|above| swap.path.steps[above]) else {
            return self.swap_root(swap, reserved, guard);
        };
        if let ([old], [(_, new)], false) = (&swap.old[..], &swap.new[..], self.is_frozen(parent.at)) {
            let place = self.inner(parent.at)?.child_place(swap.first);
            return self.link(&[(parent.at, place, *old, *new)], swap.blocks, reserved, guard);
        }
        self.freeze(parent.at);
        let inner = self.inner(parent.at)?;
        let mut entries = self.entries(&inner)?;
        let range = swap.first..swap.first + swap.old.len();
        let there = entries.get(range.clone()).is_some_and(|now| now.iter().map(|(_, at)| at).eq(swap.old.iter()));
        if !there {
            return Ok(Progress::Again);
        }
        let first = entries[swap.first].0.clone();
        entries.splice(range, swap.new);
        entries[swap.first].0 = first;
        let mut blocks = swap.blocks;
        blocks.push(freed(&inner.0));
        let instead = match &entries[..] {
            // A root with a single child is no use.
            [(_, alone)] if swap.level == 1 => *alone,
            _ => {
                let (at, bytes) = reserved.take(inner_bytes(&entries), &mut blocks)?;
                write_inner(self.tree.medium(), at, bytes, &entries);
                at
            }
        };
        self.link_above(swap.path, swap.level - 1, instead, blocks, reserved, guard)
    }

    /// Puts a node in the place of an inner node of a path.
    fn link_above(
        &mut self,
        path: &Path,
        level: usize,
        new: u64,
        blocks: Vec<Block>,
        reserved: &mut Reserved<'_, M>,
        guard: &Guard,
    ) -> Result<Progress, PmemError> {
        let old = path.steps[level].at;
        let Some(above) = level.checked_sub(1).map(|above| path.steps[above]) else {
            return self.link_root(old, new, blocks, reserved, guard);
        };
        if self.is_frozen(above.at) {
            return self.thaw(path, level - 1, guard);
        }
        let place = self.inner(above.at)?.child_place(above.index);
        self.link(&[(above.at, place, old, new)], blocks, reserved, guard)
    }

    /// A frozen inner node gives way to a copy, so that pointers in it can change again.
    fn thaw(&mut self, path: &Path, level: usize, guard: &Guard) -> Result<Progress, PmemError> {
        for _ in 0..4 {
            std::thread::yield_now();
        }
        let PathStep { at, .. } = path.steps[level];
        let inner = self.inner(at)?;
        let entries = self.entries(&inner)?;
        let mut reserved = Reserved::new(self.tree.pool());
        let mut blocks = vec![freed(&inner.0)];
        let (copy, bytes) = reserved.take(inner_bytes(&entries), &mut blocks)?;
        write_inner(self.tree.medium(), copy, bytes, &entries);
        let first = level.checked_sub(1).map_or(0, |above| path.steps[above].index);
        let swap = Swap { path, level, first, old: vec![at], new: vec![(Separator::LOWEST, copy)], blocks };
        self.swap(swap, &mut reserved, guard)
    }

    fn swap_root(
        &mut self,
        swap: Swap<'_>,
        reserved: &mut Reserved<'_, M>,
        guard: &Guard,
    ) -> Result<Progress, PmemError> {
        let mut blocks = swap.blocks;
        let new = match &swap.new[..] {
            [(_, alone)] => *alone,
            several => {
                let (at, bytes) = reserved.take(inner_bytes(several), &mut blocks)?;
                write_inner(self.tree.medium(), at, bytes, several);
                at
            }
        };
        self.link_root(swap.old[0], new, blocks, reserved, guard)
    }

    fn link_root(
        &mut self,
        old: u64,
        new: u64,
        blocks: Vec<Block>,
        reserved: &mut Reserved<'_, M>,
        guard: &Guard,
    ) -> Result<Progress, PmemError> {
        let root = self.tree.root_place();
        self.run(&[WordChange { at: root, old, new }], blocks, reserved, guard)
    }

    /// Changes pointers in nodes that are not frozen: status, place, old, new.
    fn link(
        &mut self,
        pointers: &[(u64, u64, u64, u64)],
        blocks: Vec<Block>,
        reserved: &mut Reserved<'_, M>,
        guard: &Guard,
    ) -> Result<Progress, PmemError> {
        let mut changes = Vec::with_capacity(2 * pointers.len());
        for &(status, at, old, new) in pointers {
            changes.push(WordChange { at: status, old: 0, new: 0 });
            changes.push(WordChange { at, old, new });
        }
        self.run(&changes, blocks, reserved, guard)
    }

    fn run(
        &mut self,
        changes: &[WordChange],
        blocks: Vec<Block>,
        reserved: &mut Reserved<'_, M>,
        guard: &Guard,
    ) -> Result<Progress, PmemError> {
        let outcome = self.worker.run(self.tree.pool(), changes, &blocks, guard)?;
        if outcome != CasOutcome::Busy {
            reserved.settled(&blocks);
        }
        Ok(match outcome {
            CasOutcome::Succeeded => Progress::Done,
            CasOutcome::Failed => Progress::Again,
            CasOutcome::Busy => Progress::Busy,
        })
    }
}
