//! Reading ahead of a scan: the leaves that it will come to are asked for before it is there.

use assay_buffer::{Attempt, PageId, Stop, Worker};

use super::{
    Tree,
    scan::{Way, child_towards},
};
use crate::node::View;

/// Bytes to have in flight ahead.
const AHEAD_BYTES: usize = 4 << 20;
/// One page in so many of those ahead is gone through before more are asked for: they go to the disk in one call, and
/// neighbours there as one request.
const SOME: usize = 8;
/// Where few are ahead, so many at a time: half of them at most.
const SOME_AT_LEAST: usize = 16;

/// How far ahead of a scan its leaves were asked for.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Leaves that were asked for and not gone through yet.
    covered: usize,
    /// Where the first leaf that was not asked for begins, in the scan's way. Empty where nothing was asked for yet.
    front: Vec<u8>,
    /// All leaves to the end were asked for.
    ended: bool,
    way: Way,
    list: Vec<PageId>,
}

impl Ahead {
    /// Nothing was asked for.
    pub fn begin(&mut self) {
        (self.covered, self.ended) = (0, false);
        self.front.clear();
    }

    /// The scan goes on behind a leaf.
    pub fn passed(&mut self) {
        self.covered = self.covered.saturating_sub(1);
    }
}

impl Tree {
    /// Leaves to have asked for at most: what is read ahead must not push out what was read ahead.
    pub(super) fn most_ahead(&self, worker: &Worker<'_>) -> usize {
        let frames = worker.pool().frames() as usize / 16;
        (AHEAD_BYTES / self.page_bytes).min(frames / worker.task_count()).max(1)
    }

    /// Asks for leaves until `wish` are ahead, from `bound` on where nothing was asked for yet (none is the very end);
    /// `true` where pages were asked for. Not each time: some are asked for together.
    pub(super) fn ask_ahead(
        &self,
        worker: &Worker<'_>,
        ahead: &mut Ahead,
        way: Way,
        bound: Option<&[u8]>,
        wish: usize,
    ) -> bool {
        if ahead.way != way {
            ahead.begin();
            ahead.way = way;
        }
        if ahead.ended || ahead.covered + some(wish) > wish {
            return false;
        }
        while ahead.covered < wish && !ahead.ended {
            let from = if ahead.front.is_empty() { bound } else { Some(&*ahead.front) };
            let mut list = std::mem::take(&mut ahead.list);
            let listed = self.list_leaves(worker, way, from, wish - ahead.covered, &mut list);
            let asked = match listed {
                Ok(front) => {
                    worker.prefetch_all(&list);
                    ahead.covered += list.len();
                    ahead.ended = front.is_empty();
                    ahead.front = front;
                    true
                }
                // The scan goes on; the next time it may be there.
                Err(Stop::Missing(page)) => {
                    worker.prefetch(page);
                    false
                }
                Err(_) => false,
            };
            ahead.list = list;
            if !asked {
                break;
            }
        }
        true
    }

    /// Lists the leaves of one parent from `from` on, in a scan's way; returns where the next one begins, empty at the end.
    fn list_leaves(
        &self,
        worker: &Worker<'_>,
        way: Way,
        from: Option<&[u8]>,
        most: usize,
        list: &mut Vec<PageId>,
    ) -> Attempt<Vec<u8>> {
        let mut node = worker.look(self.root)?;
        loop {
            let next = node.step(|page| {
                let view = View(page);
                if view.level() > 1 { Ok(view.child(child_towards(view, way, from))) } else { Err(()) }
            });
            match next? {
                Ok(child) => node = child,
                Err(()) => break,
            }
        }
        node.read(|page| {
            list.clear();
            let view = View(page);
            if view.level() == 0 {
                return Vec::new();
            }
            let first = child_towards(view, way, from);
            match way {
                Way::Up => {
                    let end = (first + most).min(view.count() + 1);
                    list.extend((first..end).map(|slot| view.child(slot)));
                    let fence = || view.upper().unwrap_or_default().to_vec();
                    if end > view.count() { fence() } else { view.key(end - 1) }
                }
                Way::Down => {
                    let end = (first + 1).saturating_sub(most);
                    list.extend((end..=first).rev().map(|slot| view.child(slot)));
                    if end == 0 { view.lower().to_vec() } else { view.key(end - 1) }
                }
            }
        })
    }
}

/// How many to ask for at a time.
fn some(wish: usize) -> usize {
    (wish / SOME).max(SOME_AT_LEAST.min(wish / 2)).max(1)
}
