//! Ways from the root to a leaf.

use std::ops::Deref;

use assay_pmem::{Medium, PmemError, Pool};

use super::{
    BzTree,
    inner::Inner,
    key::{Key, Separator},
    leaf::Leaf,
    node::{Node, prefetch},
};
use crate::pmwcas::{CONTROL, Worker};

/// A tree with more levels is damaged: its pointers lead in a circle.
const MOST_LEVELS: usize = 32;
/// Lines of a node that are asked for at once: header, tail and heads of an ordinary leaf, and half of its sorted records, of
/// which the one that is looked for would be waited for anew.
const LINES_AHEAD: usize = 20;
/// Lines of an ordinary leaf: of most of its sorted records too.
const LINES_OF_LEAF: usize = 24;

/// An inner node on the way, and which child the way went on to.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathStep {
    pub(super) at: u64,
    pub(super) index: usize,
}

/// A leaf, and the inner nodes above it from the root on.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) steps: Vec<PathStep>,
    pub(super) leaf: u64,
}

impl<M: Medium, P: Deref<Target = Pool<M>>> BzTree<P> {
    /// The leaf that a key belongs to.
    ///
    /// # Errors
    /// Where the tree is damaged.
    #[inline(always)]
    pub(super) fn leaf_of(&self, worker: &Worker<'_>, key: &Key<'_>) -> Result<Leaf<'_, M>, PmemError> {
        self.walk(worker, key, |_, _| Ok(()))
    }

    /// The same with the way to it.
    pub(super) fn path_of(&self, worker: &Worker<'_>, key: &Key<'_>) -> Result<Path, PmemError> {
        let mut steps = Vec::with_capacity(8);
        let step = |inner: &Inner<'_, M>, index| {
            steps.push(PathStep { at: inner.0.at, index });
            Ok(())
        };
        let leaf = self.walk(worker, key, step)?.0.at;
        Ok(Path { steps, leaf })
    }

    /// The same with the separator at which the next leaf begins, for who wants so many entries. Where the leaf has fewer,
    /// the next one is brought near.
    pub(super) fn leaf_and_end(
        &self,
        worker: &Worker<'_>,
        key: &Key<'_>,
        wanted: usize,
    ) -> Result<(Leaf<'_, M>, Option<Separator>), PmemError> {
        let (mut end, mut next) = (None, 0);
        let leaf = self.walk(worker, key, |inner, index| {
            if index + 1 < inner.count() {
                end = Some(inner.separator(index + 1)?);
                next = self.medium().load(inner.child_place(index + 1));
            }
            Ok(())
        })?;
        // It is a hint: a pointer that is just being changed leads nowhere, and nobody follows it.
        if next & CONTROL == 0 && wanted > leaf.0.shape.count {
            prefetch(self.medium(), next, LINES_OF_LEAF);
        }
        Ok((leaf, end))
    }

    #[inline(always)]
    fn walk<'t>(
        &'t self,
        worker: &Worker<'_>,
        key: &Key<'_>,
        mut step: impl FnMut(&Inner<'t, M>, usize) -> Result<(), PmemError>,
    ) -> Result<Leaf<'t, M>, PmemError> {
        let medium = self.medium();
        let mut at = worker.read(medium, self.root_place());
        for _ in 0..MOST_LEVELS {
            prefetch(medium, at, LINES_AHEAD);
            let node = Node::open(medium, at)?;
            if !node.shape.inner {
                return Ok(Leaf(node));
            }
            let inner = Inner(node);
            if inner.count() == 0 {
                return Err(node.damaged("there is no child"));
            }
            let index = inner.child_of(key)?;
            step(&inner, index)?;
            at = worker.read(medium, inner.child_place(index));
        }
        Err(PmemError::Damaged { what: format!("from the root, {MOST_LEVELS} levels lead to no leaf") })
    }
}
