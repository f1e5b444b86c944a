//! Going through entries in order, or against it, with the pages to come being read.

use assay_buffer::{Attempt, PageId, Worker};

use super::{Tree, chain, under};
use crate::{
    TreeError,
    node::{Value, View},
};

/// Bytes to have in flight ahead.
const AHEAD_BYTES: usize = 1 << 20;

/// Which way a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// Entries of one leaf, copied out of it.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Ends of each key and its value in `bytes`.
    ends: Vec<(usize, usize)>,
    /// Where the scan goes on: a fence; none at the end.
    next: Option<Vec<u8>>,
    ahead: Vec<PageId>,
}

impl Tree {
    /// Visits entries in order of their keys, from the first that is not below `from`, until `visit` says `false` or `limit`
    /// were visited; returns how many were.
    ///
    /// # Errors
    /// Where a page cannot be read.
    pub fn scan(
        &self,
        worker: &Worker<'_>,
        from: &[u8],
        limit: u64,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64, TreeError> {
        self.go(worker, Way::Up, Some(from.to_vec()), limit, visit)
    }

    /// Visits entries against the order of their keys, from the last that is not above `from` (or the last one of all), as
    /// [`Tree::scan`].
    ///
    /// # Errors
    /// Where a page cannot be read.
    pub fn scan_back(
        &self,
        worker: &Worker<'_>,
        from: Option<&[u8]>,
        limit: u64,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64, TreeError> {
        // The bound is exclusive: the next key after `from` is `from` with a zero behind it.
        let bound = from.map(|from| [from, &[0]].concat());
        self.go(worker, Way::Down, bound, limit, visit)
    }

    fn go(
        &self,
        worker: &Worker<'_>,
        way: Way,
        mut bound: Option<Vec<u8>>,
        limit: u64,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64, TreeError> {
        let mut batch = Batch::default();
        let (mut visited, mut pages) = (0, 0_usize);
        // What is read ahead must not push out what was read ahead.
        let most = (AHEAD_BYTES / self.page_bytes).min(worker.pool().frames() as usize / 16);
        while visited < limit {
            // The more was read, the more will be: a short scan reads nothing in vain.
            let ahead = if visited == 0 && limit < 1000 { 0 } else { (1 << pages.min(16)).min(most) };
            worker.retry(|| self.try_batch(worker, way, bound.as_deref(), limit - visited, ahead, &mut batch))?;
            pages += 1;
            let mut from = 0;
            for &(key_end, end) in &batch.ends {
                visited += 1;
                if !visit(&batch.bytes[from..key_end], &batch.bytes[key_end..end]) {
                    return self.end(worker, visited);
                }
                from = end;
            }
            bound = batch.next.take();
            if bound.is_none() {
                break;
            }
        }
        self.end(worker, visited)
    }

    /// Others may want what was read ahead, and only this thread can say that it is there.
    fn end(&self, worker: &Worker<'_>, visited: u64) -> Result<u64, TreeError> {
        if !worker.is_in_task() {
            worker.settle()?;
        }
        Ok(visited)
    }

    fn try_batch(
        &self,
        worker: &Worker<'_>,
        way: Way,
        bound: Option<&[u8]>,
        limit: u64,
        ahead: usize,
        batch: &mut Batch,
    ) -> Attempt<()> {
        let mut node = worker.look(self.root)?;
        batch.ahead.clear();
        loop {
            let next = node.step(|page| {
                let view = View(page);
                if view.level() == 0 {
                    return Err(());
                }
                let slot = child_towards(view, way, bound);
                list_ahead(view, way, slot, ahead, &mut batch.ahead);
                Ok(view.child(slot))
            });
            if ahead > 0 {
                // What the closer levels named comes first.
                batch.ahead.iter().rev().take(ahead).for_each(|&page| _ = worker.prefetch(page));
            }
            match next? {
                Ok(child) => node = child,
                Err(()) => break,
            }
        }
        let elsewhere = node.read(|page| fill(View(page), way, bound, limit, batch))?;
        if elsewhere {
            return under(&node, self.fill_whole(worker, &node, way, bound, limit, batch));
        }
        Ok(())
    }

    /// As [`fill`], with values in pages of their own.
    fn fill_whole(
        &self,
        worker: &Worker<'_>,
        leaf: &assay_buffer::Optimistic<'_>,
        way: Way,
        bound: Option<&[u8]>,
        limit: u64,
        batch: &mut Batch,
    ) -> Attempt<()> {
        let entries = leaf.read(|page| {
            let view = View(page);
            let copy = |slot: usize| {
                let value = match view.value(slot) {
                    Value::Here(bytes) => Ok(bytes.to_vec()),
                    Value::Elsewhere { bytes, first } => Err((bytes, first)),
                };
                (view.key(slot), value)
            };
            slots(view, way, bound, limit).map(copy).collect::<Vec<_>>()
        })?;
        batch.bytes.clear();
        batch.ends.clear();
        for (key, value) in entries {
            batch.bytes.extend_from_slice(&key);
            let key_end = batch.bytes.len();
            match value {
                Ok(bytes) => batch.bytes.extend_from_slice(&bytes),
                Err((bytes, first)) => chain::read(worker, first, bytes, &mut batch.bytes)?,
            }
            batch.ends.push((key_end, batch.bytes.len()));
        }
        Ok(())
    }
}

/// The child in which a scan goes on.
fn child_towards(view: View<'_>, way: Way, bound: Option<&[u8]>) -> usize {
    match (way, bound) {
        (Way::Up, Some(key)) => view.child_slot(key),
        (Way::Up, None) => 0,
        // Keys below the bound are in the child below the first separator that is not below it.
        (Way::Down, Some(key)) => view.find(key).slot,
        (Way::Down, None) => view.count(),
    }
}

/// Lists the children that come after one, the nearest last; above the leaves' parents just the next.
fn list_ahead(view: View<'_>, way: Way, slot: usize, ahead: usize, into: &mut Vec<PageId>) {
    let most = if view.level() == 1 { ahead } else { ahead.min(1) };
    match way {
        Way::Up => {
            let last = (slot + most).min(view.count());
            into.extend((slot + 1..last + 1).rev().map(|slot| view.child(slot)));
        }
        Way::Down => into.extend((slot.saturating_sub(most)..slot).map(|slot| view.child(slot))),
    }
}

/// The slots of a leaf that a scan visits, in its order.
fn slots(view: View<'_>, way: Way, bound: Option<&[u8]>, limit: u64) -> Box<dyn Iterator<Item = usize>> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    match way {
        Way::Up => Box::new((bound.map_or(0, |key| view.find(key).slot)..view.count()).take(limit)),
        Way::Down => Box::new((0..bound.map_or(view.count(), |key| view.find(key).slot)).rev().take(limit)),
    }
}

/// Copies the entries of a leaf, and where to go on; `true` where a value lies elsewhere.
fn fill(view: View<'_>, way: Way, bound: Option<&[u8]>, limit: u64, batch: &mut Batch) -> bool {
    batch.bytes.clear();
    batch.ends.clear();
    batch.next = match way {
        Way::Up => view.upper().map(<[u8]>::to_vec),
        Way::Down => Some(view.lower().to_vec()).filter(|lower| !lower.is_empty()),
    };
    let prefix = view.prefix();
    let mut elsewhere = false;
    for slot in slots(view, way, bound, limit) {
        batch.bytes.extend_from_slice(prefix);
        batch.bytes.extend_from_slice(view.suffix(slot));
        let key_end = batch.bytes.len();
        match view.value(slot) {
            Value::Here(bytes) => batch.bytes.extend_from_slice(bytes),
            Value::Elsewhere { .. } => elsewhere = true,
        }
        batch.ends.push((key_end, batch.bytes.len()));
    }
    elsewhere
}
