//! A tree: where its root is, and what it takes.

mod ahead;
mod approach;
mod chain;
mod change;
mod check;
mod glance;
mod load;
mod lookup;
mod merge;
mod scan;
mod split;
mod way;

use assay_buffer::{Attempt, HEADER_BYTES, Optimistic, PageId, Pool, Stop, Worker, Writing};

use crate::{
    TreeError,
    node::{Builder, View},
};

pub use approach::{Approach, LANES};
pub use change::{Change, Decide, When};
pub use check::Facts;
pub use glance::{Entries, Glance, Range};
pub use scan::Scratch;

/// Bytes of the longest value, where the pool is large enough for it.
const VALUE_BYTES_AT_MOST: usize = 1 << 20;
/// Of a quarter page, what an entry needs besides its key and value, and the fences.
const ENTRY_SLACK: usize = 64;

/// A leaf as an operation left it. The next operation on a key of that leaf begins there, if nobody has changed the leaf
/// since; so it saves the way down, and is never wrong. A finger belongs to the tree that it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finger {
    page: PageId,
    version: u64,
    /// Where the key was, or would have been: looked at before it is believed.
    slot: u16,
}

impl Finger {
    /// Whether both point to the same leaf, as it was at any time.
    pub fn is_near(&self, other: &Self) -> bool {
        self.page == other.page
    }

    /// The same leaf as it is known here, at the slot that the other knows of its own key.
    #[must_use]
    pub fn at_slot_of(self, other: &Self) -> Self {
        Self { slot: other.slot, ..self }
    }

    /// Whether it points nowhere.
    pub fn is_none(&self) -> bool {
        self.page == 0
    }
}

/// A B+-tree in a pool. Its root stays where it is, so that the number of the root page finds it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    root: PageId,
    page_bytes: usize,
    key_most: usize,
    value_most: usize,
}

impl Tree {
    /// Makes an empty tree.
    ///
    /// # Errors
    /// Where there is no page for its root.
    pub fn create(worker: &Worker<'_>, writing: &Writing<'_>) -> Result<Self, TreeError> {
        let root = worker.retry(|| {
            let mut root = worker.allocate(writing)?;
            Builder::new(worker.pool().page_bytes(), 0, &[], None).finish(0, root.bytes_mut());
            Ok(root.page())
        })?;
        Ok(Self::open(worker.pool(), root))
    }

    /// The tree with this root page.
    pub fn open(pool: &Pool, root: PageId) -> Self {
        let page_bytes = pool.page_bytes();
        let value_most = VALUE_BYTES_AT_MOST.min(pool.frames() as usize * page_bytes / 8);
        Self { root, page_bytes, key_most: page_bytes / 8, value_most }
    }

    /// Number of its root page.
    pub fn root(&self) -> PageId {
        self.root
    }

    /// Bytes of the longest key.
    pub fn key_bytes_at_most(&self) -> usize {
        self.key_most
    }

    /// Bytes of the longest value.
    pub fn value_bytes_at_most(&self) -> usize {
        self.value_most
    }

    fn check_key(&self, key: &[u8]) -> Result<(), TreeError> {
        if (1..=self.key_most).contains(&key.len()) {
            return Ok(());
        }
        Err(TreeError::KeyLength { bytes: key.len(), most: self.key_most })
    }

    fn check_value(&self, bytes: usize) -> Result<(), TreeError> {
        if bytes <= self.value_most { Ok(()) } else { Err(TreeError::ValueLength { bytes, most: self.value_most }) }
    }

    /// Whether an entry lies in its leaf as a whole.
    fn is_small(&self, key: usize, value: usize) -> bool {
        key + value <= self.page_bytes / 4 - ENTRY_SLACK
    }

    /// Bytes of a node for slots and heap.
    fn room(&self) -> usize {
        self.page_bytes - HEADER_BYTES - 40
    }

    /// The leaf for a key: the one that a finger points to, if it is that. With the slot that has the key, where the
    /// finger knew it.
    #[inline(always)]
    fn leaf_at<'w>(
        &self,
        worker: &'w Worker<'w>,
        key: &[u8],
        finger: Finger,
    ) -> Attempt<(Optimistic<'w>, Option<usize>)> {
        if finger.page != 0 {
            if let Some(leaf) = worker.look_back(finger.page, finger.version) {
                let slot = usize::from(finger.slot);
                let seen = leaf.read(|page| {
                    let view = View(page);
                    if view.has(slot, key) { Some(Some(slot)) } else { view.is_for(key).then_some(None) }
                });
                if let Ok(Some(known)) = seen {
                    return Ok((leaf, known));
                }
            }
        }
        Ok((self.leaf(worker, key)?, None))
    }

    /// The leaf for a key.
    #[inline(always)]
    fn leaf<'w>(&self, worker: &'w Worker<'w>, key: &[u8]) -> Attempt<Optimistic<'w>> {
        let mut node = worker.look(self.root)?;
        loop {
            let next = node.step(|page| {
                let view = View(page);
                if view.level() == 0 { Err(()) } else { Ok(view.child(view.child_slot(key))) }
            })?;
            match next {
                Ok(child) => node = child,
                Err(()) => return Ok(node),
            }
        }
    }

    /// The node for a key at a level, and its parent, if it is not the root; none where the tree is not that high.
    fn at_level<'w>(&self, worker: &'w Worker<'w>, key: &[u8], level: u16) -> Attempt<Option<Place<'w>>> {
        let mut place = Place { parent: None, node: worker.look(self.root)? };
        loop {
            let next = place.node.step(|page| {
                let view = View(page);
                if view.level() > level { Ok(view.child(view.child_slot(key))) } else { Err(view.level()) }
            })?;
            match next {
                Ok(child) => place = Place { parent: Some(place.node), node: child },
                Err(found) => return Ok((found == level).then_some(place)),
            }
        }
    }
}

/// A node and its parent.
struct Place<'w> {
    parent: Option<Optimistic<'w>>,
    node: Optimistic<'w>,
}

/// An error of an attempt on what `guard` refers to counts only if `guard` is unchanged.
fn under<T>(guard: &Optimistic<'_>, result: Attempt<T>) -> Attempt<T> {
    let valid: Result<(), Stop> = guard.validate();
    valid.and(result)
}
