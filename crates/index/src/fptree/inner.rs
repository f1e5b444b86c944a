//! The inner nodes: a B+-tree in DRAM over the leaves, rebuilt whenever the tree is opened.
//!
//! Whoever reads goes down optimistically and begins again where a version has passed; whoever changes a node locks it
//! (and its parent) by its version. Nodes are never given back while the tree lives, only used again as nodes, so a
//! reader that was late reads a node all the same, and its version tells. The root stays where it is: it grows by moving
//! its content into two new children.
//!
//! There is no path by hardware transactions.

use std::sync::{Mutex, PoisonError, atomic::AtomicU64};

use super::{
    hint::{self, Hint},
    key::Probe,
    latch::Latch,
    node::{Node, SEPARATORS, Separator},
};

/// Separators that a node is filled with when the tree is built anew.
const FILL: usize = 48;
/// Nodes that are made at once.
const AT_ONCE: usize = 16;

/// The tree of inner nodes.
#[derive(Debug)]
pub(super) struct Inner {
    root: Box<Node>,
    words: bool,
    arena: Mutex<Arena>,
}

#[derive(Debug, Default)]
struct Arena {
    all: Vec<Box<[Node]>>,
    /// Addresses of those that are not in use.
    free: Vec<usize>,
}

/// Where a key belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'t> {
    /// The leaf.
    pub(super) leaf: u64,
    /// The node above it, the version under which it was read, and which of its children the leaf is.
    pub(super) node: &'t Node,
    pub(super) version: u64,
    pub(super) index: usize,
}

impl Spot<'_> {
    /// Whether the leaf is still the right one.
    #[inline(always)]
    pub(super) fn holds(&self) -> bool {
        self.node.latch.is(self.version)
    }
}

impl Inner {
    /// Over leaves in order. Each comes with its low key, which the first one does not use.
    pub(super) fn build(words: bool, leaves: impl Iterator<Item = (Separator, u64)>) -> Self {
        let tree = Self { root: Box::new(Node::new()), words, arena: Mutex::default() };
        let mut below: Vec<(Separator, u64)> = leaves.collect();
        let mut level = 0;
        while below.len() > FILL + 1 {
            below = below.chunks(FILL + 1).map(|part| (part[0].0, address(tree.filled(level, part)))).collect();
            level += 1;
        }
        fill(&tree.root, level, &below);
        tree
    }

    fn filled(&self, level: u64, children: &[(Separator, u64)]) -> &Node {
        let node = self.new_node();
        fill(node, level, children);
        node
    }

    /// Finds where a key belongs. With keys of any length the caller is pinned.
    #[inline(always)]
    pub(super) fn find(&self, probe: &Probe<'_>) -> Spot<'_> {
        loop {
            if let Some(spot) = self.try_find(probe) {
                return spot;
            }
        }
    }

    #[inline(always)]
    fn try_find(&self, probe: &Probe<'_>) -> Option<Spot<'_>> {
        let (mut node, mut version) = (&*self.root, self.root.latch.version());
        loop {
            let index = self.position(node, probe, version)?;
            let (child, level) = (node.child(index), node.level());
            if !node.latch.is(version) {
                return None;
            }
            if level == 0 {
                return Some(Spot { leaf: child, node, version, index });
            }
            let next = self.node(child);
            let next_version = next.latch.version();
            if !node.latch.is(version) {
                return None;
            }
            (node, version) = (next, next_version);
        }
    }

    #[inline(always)]
    fn position(&self, node: &Node, probe: &Probe<'_>, version: u64) -> Option<usize> {
        if self.words { Some(node.position(probe.head)) } else { node.position_of(probe, version) }
    }

    /// A child of a node above level 0, as it was read under a version that still held.
    #[inline(always)]
    fn node(&self, child: u64) -> &Node {
        // SAFETY: nodes of the arena live as long as the tree; above level 0 nothing else is stored as a child.
        unsafe { &*(child as *const Node) }
    }

    /// Adds a leaf to the right of the one that holds its low key. The caller holds the latch of that one.
    pub(super) fn insert(&self, probe: &Probe<'_>, separator: Separator, leaf: u64) {
        while self.try_insert(probe, separator, leaf).is_none() {}
    }

    /// Splits full nodes on its way down, beginning again after each.
    fn try_insert(&self, probe: &Probe<'_>, separator: Separator, leaf: u64) -> Option<()> {
        let (mut parent, mut node, mut version): (Option<(&Node, u64)>, _, _) =
            (None, &*self.root, self.root.latch.version());
        loop {
            if node.count() == SEPARATORS {
                self.split(parent, (node, version), probe);
                return None;
            }
            let position = self.position(node, probe, version)?;
            let (child, level) = (node.child(position), node.level());
            if level == 0 {
                if !node.latch.lock(version) {
                    return None;
                }
                node.insert(position, separator, leaf);
                node.latch.changed(version);
                return Some(());
            }
            if !node.latch.is(version) {
                return None;
            }
            let next = self.node(child);
            let next_version = next.latch.version();
            if !node.latch.is(version) {
                return None;
            }
            (parent, node, version) = (Some((node, version)), next, next_version);
        }
    }

    /// Splits a full node whose parent is not full, if neither has changed.
    #[cold]
    fn split(&self, parent: Option<(&Node, u64)>, (node, version): (&Node, u64), probe: &Probe<'_>) {
        let Some((parent, parent_version)) = parent else { return self.grow(version) };
        if !parent.latch.lock(parent_version) {
            return;
        }
        if !node.latch.lock(version) {
            return parent.latch.unchanged(parent_version);
        }
        let right = self.new_node();
        let between = node.split_into(right);
        // The parent is locked: its state is the one that the way down was taken by.
        let position = self.locked_position(parent, probe);
        parent.insert(position, between, address(right));
        node.latch.changed(version);
        parent.latch.changed(parent_version);
    }

    /// The root gets one level more: its content moves into two new children.
    fn grow(&self, version: u64) {
        if !self.root.latch.lock(version) {
            return;
        }
        let (left, right) = (self.new_node(), self.new_node());
        left.copy_from(&self.root);
        let between = left.split_into(right);
        self.root.set_child(0, address(left));
        self.root.set_child(1, address(right));
        self.root.set_separator(0, between);
        self.root.set_shape(1, left.level() + 1);
        self.root.latch.changed(version);
    }

    /// In a node that this thread has locked: nothing changes, so it is not validated.
    fn locked_position(&self, node: &Node, probe: &Probe<'_>) -> usize {
        if self.words {
            return node.position(probe.head);
        }
        let not_above = |index: &usize| {
            let separator = node.separator(*index);
            // SAFETY: separators of a locked node are the tree's own and stay.
            separator.head < probe.head || (separator.head == probe.head && unsafe { &**separator.tail } <= probe.key)
        };
        (0..node.count()).take_while(not_above).count()
    }

    /// Joins nodes above a key that have become small with a neighbour, from the top down, one at a time.
    #[cold]
    pub(super) fn shrink(&self, probe: &Probe<'_>) {
        // A failed attempt is repeated by the next removal.
        while self.try_shrink(probe).is_some() {}
    }

    /// `Some` where something was joined and there may be more.
    fn try_shrink(&self, probe: &Probe<'_>) -> Option<()> {
        let (mut node, mut version) = (&*self.root, self.root.latch.version());
        loop {
            let index = self.position(node, probe, version)?;
            let (count, level) = (node.count(), node.level());
            if level == 0 || !node.latch.is(version) {
                return None;
            }
            let child = self.node(node.child(index));
            let child_version = child.latch.version();
            if !node.latch.is(version) {
                return None;
            }
            if count == 0 && std::ptr::eq(node, &*self.root) {
                return self.lower(version, child, child_version);
            }
            if child.is_small() && count > 0 {
                return self.join(node, version, index.min(count - 1));
            }
            (node, version) = (child, child_version);
        }
    }

    /// The root takes the place of its only child.
    fn lower(&self, version: u64, child: &Node, child_version: u64) -> Option<()> {
        if !self.root.latch.lock(version) {
            return None;
        }
        if !child.latch.lock(child_version) {
            self.root.latch.unchanged(version);
            return None;
        }
        self.root.copy_from(child);
        self.recycle(child, child_version);
        self.root.latch.changed(version);
        Some(())
    }

    /// Joins two neighbouring children, if they fit into one.
    fn join(&self, parent: &Node, version: u64, left_index: usize) -> Option<()> {
        if !parent.latch.lock(version) {
            return None;
        }
        let (left, right) = (self.node(parent.child(left_index)), self.node(parent.child(left_index + 1)));
        let (left_version, right_version) = (left.latch.version(), right.latch.version());
        if !left.latch.lock(left_version) {
            parent.latch.unchanged(version);
            return None;
        }
        if left.count() + right.count() + 1 > SEPARATORS * 3 / 4 || !right.latch.lock(right_version) {
            left.latch.unchanged(left_version);
            parent.latch.unchanged(version);
            return None;
        }
        left.absorb(parent.separator(left_index), right);
        parent.remove(left_index);
        self.recycle(right, right_version);
        left.latch.changed(left_version);
        parent.latch.changed(version);
        Some(())
    }

    /// A node that may be used again as another one.
    fn new_node(&self) -> &Node {
        let mut arena = self.arena.lock().unwrap_or_else(PoisonError::into_inner);
        if arena.free.is_empty() {
            let more: Box<[Node]> = (0..AT_ONCE).map(|_| Node::new()).collect();
            arena.free.extend(more.iter().map(|node| address(node) as usize));
            arena.all.push(more);
        }
        let node = arena.free.pop().expect("some were added just now") as *const Node;
        // SAFETY: boxes of the arena live and stay where they are as long as the tree.
        unsafe { &*node }
    }

    /// Its version goes on, so late readers see that it is another node now.
    fn recycle(&self, node: &Node, version: u64) {
        node.set_shape(0, 0);
        node.latch.changed(version);
        self.arena.lock().unwrap_or_else(PoisonError::into_inner).free.push(address(node) as usize);
    }

    /// Inner nodes in use, and levels.
    pub(super) fn extent(&self) -> (usize, u64) {
        let arena = self.arena.lock().unwrap_or_else(PoisonError::into_inner);
        (1 + arena.all.len() * AT_ONCE - arena.free.len(), self.root.level() + 1)
    }

    /// Leaves from left to right, with their separators; nobody works on the tree.
    pub(super) fn leaves(&self) -> Vec<(Option<Separator>, u64)> {
        let mut all = Vec::new();
        self.gather(&self.root, None, &mut all);
        all
    }

    fn gather(&self, node: &Node, low: Option<Separator>, all: &mut Vec<(Option<Separator>, u64)>) {
        for index in 0..=node.count() {
            let low = if index == 0 { low } else { Some(node.separator(index - 1)) };
            if node.level() == 0 {
                all.push((low, node.child(index)));
            } else {
                self.gather(self.node(node.child(index)), low, all);
            }
        }
    }
}

// SAFETY: the pointers in it are to nodes of its arena and to tails that it owns; both are reached under latches only.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        let arena = self.arena.get_mut().unwrap_or_else(PoisonError::into_inner);
        for node in arena.all.iter().flatten().chain([&*self.root]) {
            for index in 0..node.count() {
                let tail = node.separator(index).tail;
                if !tail.is_null() {
                    // SAFETY: each tail belongs to one separator of one node, and nobody reads any more.
                    drop(unsafe { Box::from_raw(tail) });
                }
            }
        }
    }
}

fn address(node: &Node) -> u64 {
    std::ptr::from_ref(node) as u64
}

fn fill(node: &Node, level: u64, children: &[(Separator, u64)]) {
    for (index, &(separator, child)) in children.iter().enumerate() {
        node.set_child(index, child);
        if let Some(before) = index.checked_sub(1) {
            node.set_separator(before, separator);
        }
    }
    node.set_shape(children.len() - 1, level);
}

/// A separator that is a word.
pub(super) fn word(head: u64) -> Separator {
    Separator { head, tail: std::ptr::null_mut() }
}

/// A separator of any length.
pub(super) fn key(key: &[u8]) -> Separator {
    Separator { head: super::key::head_of(key), tail: Box::into_raw(Box::new(key.into())) }
}

/// Frees a separator's key once nobody can be reading it.
pub(super) fn retire(separator: Separator, guard: &crossbeam_epoch::Guard) {
    if !separator.tail.is_null() {
        let tail = separator.tail as usize;
        // SAFETY: it was taken out of the tree, once; whoever is pinned later does not find it.
        guard.defer(move || drop(unsafe { Box::from_raw(tail as *mut Box<[u8]>) }));
    }
}

/// Latches of leaves: one per place where a leaf can lie.
#[derive(Debug)]
pub(super) struct Latches(Box<[Latch]>);

impl Latches {
    /// For a pool of so many bytes. Memory is only touched where there are leaves.
    pub(super) fn new(bytes: usize) -> Self {
        let zeros = vec![0_u64; bytes / super::leaf::LEAF_BYTES + 1].into_boxed_slice();
        // SAFETY: a latch is a word and nothing else, and 0 is an open one.
        Self(unsafe { Box::from_raw(Box::into_raw(zeros) as *mut [Latch]) })
    }

    /// That of a leaf.
    #[inline(always)]
    pub(super) fn of(&self, leaf: u64) -> &Latch {
        &self.0[leaf as usize / super::leaf::LEAF_BYTES]
    }
}

/// Hints of the order in leaves: one per place where a leaf can lie, each in a cache line of its own.
#[derive(Debug)]
pub(super) struct Hints {
    words: Box<[AtomicU64]>,
    /// Words before the first whole cache line.
    skipped: usize,
}

impl Hints {
    /// For a pool of so many bytes. Memory is only touched where a scan has sorted a leaf.
    pub(super) fn new(bytes: usize) -> Self {
        let places = bytes / super::leaf::LEAF_BYTES + 1;
        let zeros = vec![0_u64; (places + 1) * hint::WORDS].into_boxed_slice();
        // SAFETY: an atomic word is a word, and these are nobody else's.
        let words = unsafe { Box::from_raw(Box::into_raw(zeros) as *mut [AtomicU64]) };
        let skipped = words.as_ptr().align_offset(hint::WORDS * 8).min(hint::WORDS);
        Self { words, skipped }
    }

    /// That of a leaf.
    #[inline(always)]
    pub(super) fn of(&self, leaf: u64) -> Hint<'_> {
        let at = self.skipped + leaf as usize / super::leaf::LEAF_BYTES * hint::WORDS;
        Hint(self.words[at..].first_chunk().expect("every place of a leaf has a hint"))
    }
}
