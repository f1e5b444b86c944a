//! Giving pages back: two sparse neighbours become one, and their parent loses a separator.

use assay_buffer::{Attempt, Exclusive, HEADER_BYTES, Worker, Writing};

use super::{Place, Tree};
use crate::{
    TreeError,
    node::{Builder, NodeMut, View, shared},
};

/// What an attempt to merge came to.
enum Outcome {
    Done,
    /// The parent is sparse now.
    ParentSparse,
}

impl Tree {
    /// Merges the node for a key at a level with a neighbour, where both fit into one page well.
    pub(super) fn merge(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        key: &[u8],
        level: u16,
    ) -> Result<(), TreeError> {
        let mut level = level;
        while let Outcome::ParentSparse = worker.retry(|| self.try_merge(worker, writing, key, level))? {
            level += 1;
        }
        Ok(())
    }

    fn try_merge(&self, worker: &Worker<'_>, writing: &Writing<'_>, key: &[u8], level: u16) -> Attempt<Outcome> {
        let Some(Place { parent, node }) = self.at_level(worker, key, level)? else { return Ok(Outcome::Done) };
        let Some(parent) = parent else {
            return self.shrink(worker, writing, node.lock(writing)?);
        };
        let mut parent = parent.lock(writing)?;
        let view = View(parent.view());
        if view.count() == 0 {
            return Ok(Outcome::ParentSparse);
        }
        let slot = view.child_slot(key).min(view.count() - 1);
        let mut left = worker.look(view.child(slot))?.lock(writing)?;
        let right = worker.look(view.child(slot + 1))?.lock(writing)?;
        let between = view.key(slot);
        let Some(merged) = self.merged(View(left.view()), View(right.view()), &between) else {
            return Ok(Outcome::Done);
        };
        let upper = View(right.view()).child(View(right.view()).count());
        merged.finish(upper, left.bytes_mut());
        let mut node = NodeMut(parent.bytes_mut());
        node.set_child(slot + 1, left.page());
        node.remove(slot);
        let sparse = node.view().used_bytes() < self.room() / 4;
        right.free();
        Ok(if sparse { Outcome::ParentSparse } else { Outcome::Done })
    }

    /// Two neighbours as one node; none where it would be more than three quarters full.
    fn merged(&self, left: View<'_>, right: View<'_>, between: &[u8]) -> Option<Builder> {
        let prefix = right.upper().map_or(0, |upper| shared(left.lower(), upper));
        let entries = |view: View<'_>| -> usize {
            let longer = view.prefix_bytes() - prefix;
            (0..view.count()).map(|slot| view.entry_bytes(slot) + 8 + longer).sum()
        };
        let fences = left.lower().len() + right.upper().map_or(0, <[u8]>::len);
        let bytes = entries(left) + entries(right) + fences + if left.level() > 0 { 16 + between.len() } else { 0 };
        if bytes > self.room() / 4 * 3 {
            return None;
        }
        let mut builder = Builder::new(self.page_bytes, left.level(), left.lower(), right.upper());
        builder.copy(left, 0..left.count());
        if left.level() > 0 {
            builder.push_child(between, left.child(left.count()));
        }
        builder.copy(right, 0..right.count());
        Some(builder)
    }

    /// A root with one child takes its content.
    fn shrink(&self, worker: &Worker<'_>, writing: &Writing<'_>, mut root: Exclusive<'_>) -> Attempt<Outcome> {
        let view = View(root.view());
        if view.level() == 0 || view.count() > 0 {
            return Ok(Outcome::Done);
        }
        let child = worker.look(view.child(0))?.lock(writing)?;
        root.bytes_mut()[HEADER_BYTES..].copy_from_slice(&child.bytes()[HEADER_BYTES..]);
        child.free();
        // The new root may have one child as well.
        Ok(Outcome::Done)
    }
}
