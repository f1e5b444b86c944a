//! Reading ahead of a scan: the leaves that it will come to are asked for before it is there.

use assay_buffer::{Attempt, PageId, Stop, Worker};

use super::{
    Tree,
    way::{Way, child_towards},
};
use crate::node::View;

/// Bytes to have in flight ahead.
const AHEAD_BYTES: usize = 4 << 20;
/// One page in so many of those ahead is gone through before more are asked for: they go to the disk in one call, and
/// neighbours there as one request.
const SOME: usize = 8;
/// Where few are ahead, so many at a time: half of them at most.
const SOME_AT_LEAST: usize = 16;

/// How far ahead of a scan the nodes of a level were asked for.
#[derive(Debug, Default)]
struct Front {
    /// Nodes that were asked for and not gone through yet.
    covered: usize,
    /// Where the first that was not asked for begins, in the scan's way. Empty where nothing was asked for yet.
    key: Vec<u8>,
    /// All nodes to the end were asked for.
    ended: bool,
    /// Those that were listed last, to be asked for.
    list: Vec<PageId>,
}

impl Front {
    fn begin(&mut self) {
        (self.covered, self.ended) = (0, false);
        self.key.clear();
    }

    /// Those that were listed were asked for, up to `key`.
    fn moved(&mut self, key: Vec<u8>) {
        self.covered += self.list.len();
        self.ended = key.is_empty();
        self.key = key;
    }
}

/// How far ahead of a scan its pages were asked for.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    leaves: Front,
    /// Parents of leaves, of which one is gone through when all its leaves were asked for. One that was missed would be read
    /// behind all leaves that are in flight, and the disk would have nothing to do when it comes.
    parents: Front,
    way: Way,
}

impl Ahead {
    /// Nothing was asked for.
    pub fn begin(&mut self) {
        self.leaves.begin();
        self.parents.begin();
    }

    /// The scan goes on behind a leaf.
    pub fn passed(&mut self) {
        self.leaves.covered = self.leaves.covered.saturating_sub(1);
    }
}

/// Children of a node that were listed.
struct Listed {
    /// Where the next child of that level begins, empty at the end.
    next: Vec<u8>,
    /// Children of this node that come after those.
    left: usize,
    /// All children of this node.
    children: usize,
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
        let goal = self.goal(worker, ahead.leaves.covered, wish);
        if ahead.leaves.ended || ahead.leaves.covered + some(wish) > goal {
            return false;
        }
        while ahead.leaves.covered < goal && !ahead.leaves.ended {
            let Ahead { leaves, parents, .. } = ahead;
            let from = if leaves.key.is_empty() { bound } else { Some(&*leaves.key) };
            match self.list_children(worker, (1, way, from), goal - leaves.covered, &mut leaves.list) {
                Ok(listed) => {
                    // Before the leaves: they are to be there when these leaves have come.
                    let more = (2 * wish).saturating_sub(listed.left).div_ceil(listed.children.max(1));
                    self.ask_parents(worker, parents, (way, from), 1 + more);
                    worker.prefetch_all(&leaves.list);
                    if listed.left == 0 {
                        parents.covered = parents.covered.saturating_sub(1);
                    }
                    leaves.moved(listed.next);
                }
                // The scan goes on; the next time it may be there.
                Err(Stop::Missing(page)) => {
                    worker.prefetch(page);
                    break;
                }
                Err(_) => break,
            }
        }
        true
    }

    /// How many leaves are to be ahead: so many that `wish` are in flight. Those that have come and wait for one that has not
    /// are others, up to as many again.
    fn goal(&self, worker: &Worker<'_>, covered: usize, wish: usize) -> usize {
        let flying = worker.reads_in_flight() / worker.task_count();
        (covered + wish.saturating_sub(flying)).min(2 * wish)
    }

    /// Asks for parents of leaves until so many are ahead, from `bound` on where nothing was asked for yet.
    fn ask_parents(&self, worker: &Worker<'_>, parents: &mut Front, (way, bound): (Way, Option<&[u8]>), wish: usize) {
        while parents.covered < wish && !parents.ended {
            let from = if parents.key.is_empty() { bound } else { Some(&*parents.key) };
            match self.list_children(worker, (2, way, from), wish - parents.covered, &mut parents.list) {
                Ok(listed) => {
                    worker.prefetch_all(&parents.list);
                    parents.moved(listed.next);
                }
                Err(Stop::Missing(page)) => {
                    worker.prefetch(page);
                    return;
                }
                Err(_) => return,
            }
        }
    }

    /// Lists children of the node of a level that has `from`, from there on in a scan's way. None where the tree is not
    /// that high.
    fn list_children(
        &self,
        worker: &Worker<'_>,
        (level, way, from): (u16, Way, Option<&[u8]>),
        most: usize,
        list: &mut Vec<PageId>,
    ) -> Attempt<Listed> {
        let mut node = worker.look(self.root)?;
        loop {
            let next = node.step(|page| {
                let view = View(page);
                if view.level() > level { Ok(view.child(child_towards(view, way, from))) } else { Err(()) }
            });
            match next? {
                Ok(child) => node = child,
                Err(()) => break,
            }
        }
        node.read(|page| {
            list.clear();
            let view = View(page);
            if view.level() < level {
                return Listed { next: Vec::new(), left: 0, children: 0 };
            }
            let (first, children) = (child_towards(view, way, from), view.count() + 1);
            match way {
                Way::Up => {
                    let end = (first + most).min(children);
                    list.extend((first..end).map(|slot| view.child(slot)));
                    let fence = || view.upper().unwrap_or_default().to_vec();
                    let next = if end == children { fence() } else { view.key(end - 1) };
                    Listed { next, left: children - end, children }
                }
                Way::Down => {
                    let end = (first + 1).saturating_sub(most);
                    list.extend((end..=first).rev().map(|slot| view.child(slot)));
                    let next = if end == 0 { view.lower().to_vec() } else { view.key(end - 1) };
                    Listed { next, left: end, children }
                }
            }
        })
    }
}

/// How many to ask for at a time.
fn some(wish: usize) -> usize {
    (wish / SOME).max(SOME_AT_LEAST.min(wish / 2)).max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assay_buffer::{
        Config, Pool,
        disk::{Disk, sim::World},
    };

    use super::*;

    const WISH: usize = 8;

    /// A tree with many parents of leaves, none of it in memory.
    fn cold(pool: &Pool) -> Tree {
        let worker = pool.worker().unwrap();
        let tree = Tree::create(&worker, &worker.write()).unwrap();
        let entries = (0..24_000_u32).map(|key| ([&key.to_be_bytes()[..], &[7; 120]].concat(), [1; 200]));
        tree.load(&worker, &worker.write(), entries).unwrap();
        worker.checkpoint(|| tree.root().to_le_bytes().to_vec(), || Ok(())).unwrap();
        tree
    }

    fn read_ahead(way: Way) -> (usize, usize) {
        let disk: Arc<dyn Disk> = World::new(1).add("tree", 64 << 20);
        let config = Config { pool_bytes: 512 * 4096, ..Config::default() };
        let root = cold(&Pool::create(Arc::clone(&disk), config).unwrap()).root();
        let pool = Pool::open(disk, config).unwrap();
        let (tree, worker) = (Tree::open(&pool, root), pool.worker().unwrap());
        let (mut ahead, mut missed, mut leaves) = (Ahead::default(), 0, 0);
        while !ahead.leaves.ended {
            let before = ahead.leaves.covered;
            tree.ask_ahead(&worker, &mut ahead, way, (way == Way::Up).then_some(&[][..]), WISH);
            worker.settle().unwrap();
            let listed = ahead.leaves.covered - before;
            missed += usize::from(ahead.leaves.covered < WISH && !ahead.leaves.ended);
            leaves += listed;
            (0..listed).for_each(|_| ahead.passed());
        }
        (leaves, missed)
    }

    #[test]
    fn parents_are_there_when_their_leaves_are_to_be_asked_for() {
        for way in [Way::Up, Way::Down] {
            let (leaves, missed) = read_ahead(way);
            assert!(leaves > 1000, "{leaves} leaves");
            assert!(missed <= 10, "{missed} times fewer leaves could be asked for than were wanted");
        }
    }
}
