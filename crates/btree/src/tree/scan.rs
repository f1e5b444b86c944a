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

/// Memory of scans: entries of one leaf, copied out of it. Whoever keeps it scans without allocating.
#[derive(Debug, Default)]
pub struct Scratch {
    bytes: Vec<u8>,
    /// Ends of each key and its value in `bytes`.
    ends: Vec<(usize, usize)>,
    /// Where the scan is: a key, or a fence.
    bound: Vec<u8>,
    /// Where it goes on; empty at the end.
    next: Vec<u8>,
    ahead: Vec<PageId>,
}

/// What is asked of a scan.
#[derive(Clone, Copy)]
struct Course {
    way: Way,
    /// It begins at the very end; there is no bound yet.
    from_end: bool,
    limit: u64,
    ahead: usize,
}

impl Course {
    fn bound(self, scratch: &Scratch) -> Option<&[u8]> {
        (!self.from_end).then_some(&scratch.bound)
    }
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
        self.scan_with(worker, &mut Scratch::default(), from, limit, visit)
    }

    /// As [`Tree::scan`], in memory of the caller's.
    ///
    /// # Errors
    /// Where a page cannot be read.
    pub fn scan_with(
        &self,
        worker: &Worker<'_>,
        scratch: &mut Scratch,
        from: &[u8],
        limit: u64,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64, TreeError> {
        scratch.bound.clear();
        scratch.bound.extend_from_slice(from);
        self.go(worker, Course { way: Way::Up, from_end: false, limit, ahead: 0 }, scratch, visit)
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
        self.scan_back_with(worker, &mut Scratch::default(), from, limit, visit)
    }

    /// As [`Tree::scan_back`], in memory of the caller's.
    ///
    /// # Errors
    /// Where a page cannot be read.
    pub fn scan_back_with(
        &self,
        worker: &Worker<'_>,
        scratch: &mut Scratch,
        from: Option<&[u8]>,
        limit: u64,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64, TreeError> {
        scratch.bound.clear();
        if let Some(from) = from {
            // The bound is exclusive: the next key after `from` is `from` with a zero behind it.
            scratch.bound.extend_from_slice(from);
            scratch.bound.push(0);
        }
        self.go(worker, Course { way: Way::Down, from_end: from.is_none(), limit, ahead: 0 }, scratch, visit)
    }

    fn go(
        &self,
        worker: &Worker<'_>,
        mut course: Course,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64, TreeError> {
        let (limit, mut visited, mut pages) = (course.limit, 0, 0_usize);
        // What is read ahead must not push out what was read ahead.
        let frames = worker.pool().frames() as usize / 16;
        let most = (AHEAD_BYTES / self.page_bytes).min(frames / worker.task_count()).max(1);
        while visited < limit {
            // The more was read, the more will be: a short scan reads nothing in vain.
            course.ahead = if visited == 0 && limit < 1000 { 0 } else { (1 << pages.min(16)).min(most) };
            course.limit = limit - visited;
            worker.retry(|| self.try_batch(worker, course, scratch))?;
            pages += 1;
            let mut from = 0;
            for &(key_end, end) in &scratch.ends {
                visited += 1;
                if !visit(&scratch.bytes[from..key_end], &scratch.bytes[key_end..end]) {
                    return self.end(worker, visited);
                }
                from = end;
            }
            if scratch.next.is_empty() {
                break;
            }
            std::mem::swap(&mut scratch.bound, &mut scratch.next);
            course.from_end = false;
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

    fn try_batch(&self, worker: &Worker<'_>, course: Course, scratch: &mut Scratch) -> Attempt<()> {
        let mut node = worker.look(self.root)?;
        scratch.ahead.clear();
        loop {
            let next = node.step(|page| {
                let view = View(page);
                if view.level() == 0 {
                    return Err(());
                }
                let slot = child_towards(view, course.way, course.bound(scratch));
                list_ahead(view, course, slot, &mut scratch.ahead);
                Ok(view.child(slot))
            });
            if course.ahead > 0 {
                // What the closer levels named comes first.
                scratch.ahead.iter().rev().take(course.ahead).for_each(|&page| _ = worker.prefetch(page));
            }
            match next? {
                Ok(child) => node = child,
                Err(()) => break,
            }
        }
        let elsewhere = node.read(|page| fill(View(page), course, scratch))?;
        if elsewhere {
            return under(&node, self.fill_whole(worker, &node, course, scratch));
        }
        Ok(())
    }

    /// As [`fill`], with values in pages of their own.
    fn fill_whole(
        &self,
        worker: &Worker<'_>,
        leaf: &assay_buffer::Optimistic<'_>,
        course: Course,
        scratch: &mut Scratch,
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
            slots(view, course, course.bound(scratch)).map(copy).collect::<Vec<_>>()
        })?;
        scratch.bytes.clear();
        scratch.ends.clear();
        for (key, value) in entries {
            scratch.bytes.extend_from_slice(&key);
            let key_end = scratch.bytes.len();
            match value {
                Ok(bytes) => scratch.bytes.extend_from_slice(&bytes),
                Err((bytes, first)) => chain::read(worker, first, bytes, &mut scratch.bytes)?,
            }
            scratch.ends.push((key_end, scratch.bytes.len()));
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
fn list_ahead(view: View<'_>, course: Course, slot: usize, into: &mut Vec<PageId>) {
    let most = if view.level() == 1 { course.ahead } else { course.ahead.min(1) };
    match course.way {
        Way::Up => {
            let last = (slot + most).min(view.count());
            into.extend((slot + 1..last + 1).rev().map(|slot| view.child(slot)));
        }
        Way::Down => into.extend((slot.saturating_sub(most)..slot).map(|slot| view.child(slot))),
    }
}

/// The slots of a leaf that a scan visits, in its order.
fn slots(view: View<'_>, course: Course, bound: Option<&[u8]>) -> impl Iterator<Item = usize> + use<> {
    let found = bound.map(|key| view.find(key).slot);
    let (first, end, down) = match course.way {
        Way::Up => (found.unwrap_or(0), view.count(), false),
        Way::Down => (0, found.unwrap_or(view.count()), true),
    };
    let count = end.saturating_sub(first).min(usize::try_from(course.limit).unwrap_or(usize::MAX));
    (0..count).map(move |at| if down { end - 1 - at } else { first + at })
}

/// Copies the entries of a leaf, and where to go on; `true` where a value lies elsewhere.
fn fill(view: View<'_>, course: Course, scratch: &mut Scratch) -> bool {
    let chosen = slots(view, course, course.bound(scratch));
    scratch.bytes.clear();
    scratch.ends.clear();
    scratch.next.clear();
    // The lowest fence of all is empty, and so is that of a leaf without one above it: the end.
    scratch.next.extend_from_slice(match course.way {
        Way::Up => view.upper().unwrap_or_default(),
        Way::Down => view.lower(),
    });
    let prefix = view.prefix();
    let mut elsewhere = false;
    for slot in chosen {
        scratch.bytes.extend_from_slice(prefix);
        scratch.bytes.extend_from_slice(view.suffix(slot));
        let key_end = scratch.bytes.len();
        match view.value(slot) {
            Value::Here(bytes) => scratch.bytes.extend_from_slice(bytes),
            Value::Elsewhere { .. } => elsewhere = true,
        }
        scratch.ends.push((key_end, scratch.bytes.len()));
    }
    elsewhere
}
