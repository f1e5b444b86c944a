//! BzTree: an ordered index that lies in persistent memory as a whole, without locks.
//!
//! **Leaves** have sorted records and a tail of later ones. A record is one word in its leaf, the meta word: whether it
//! is live, its lengths, and where in the leaf its bytes are. Space is reserved in the status word, the bytes are copied
//! there and made durable, and one compare-and-swap of the next free place of the tail, from zero, publishes them. As a
//! place is only taken by who has seen all places before it, no key is ever published twice, and a single word is
//! enough where the tree that this one follows swaps two: reservations leave no word behind that a crash would have to
//! void. Removing clears the live bit; a value of eight bytes below 2^60 changes where it is, any other one gets new
//! bytes and its meta word another offset. All of these are persistent compare-and-swaps of one word: dirty at first,
//! flushed, fenced, clean; whoever meets a dirty word makes it durable before acting upon it.
//!
//! **Inner nodes** never change but for their pointers and their status.
//!
//! **A full leaf**, or one that holds too much of what is gone, is frozen and each of its words sealed, so that nobody
//! can change it; seals mean nothing after a crash but that somebody has to go on. Its live records go into one new
//! leaf, or two, or one together with a neighbour's. One multi-word compare-and-swap ([`crate::pmwcas`]) puts them in
//! their place: of the pointer in the parent and the parent's status, or, where the parent gets other separators, of
//! the pointer to the parent's replacement. Whoever finds a frozen node in his way does that himself, and the first one
//! wins.
//!
//! **Recovery** reads the descriptors of these operations and nothing else.

mod check;
mod descent;
mod image;
mod in_pool;
mod inner;
mod key;
mod leaf;
mod links;
mod meta;
mod node;
mod progress;
mod put;
mod restructure;
mod scan;
mod session;
mod snapshot;
mod write;

use std::ops::Deref;

use assay_pmem::{Medium, Offset, PmemError, Pool, Shape as PoolShape};

pub use self::{check::Census, in_pool::BzTrees, session::BzSession};
use crate::{
    index::Index,
    pmwcas::{DescriptorTable, area_bytes},
};

/// Name and version in a pool's header.
pub const LAYOUT: &str = "bztree-1";
const ROOT: usize = 0;
const AREA: usize = 1;
const DESCRIPTORS: usize = 2;
/// Structural changes that can be under way at once, or wait until nobody can be helping any more.
const DESCRIPTOR_COUNT: u16 = 128;

/// How large nodes become. What is there already stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// Places in the unsorted tail of a leaf, 1 to 4095.
    pub tail: usize,
    /// A leaf with more live records is split.
    pub records: usize,
    /// A leaf whose records take more words of eight bytes is split, if it has several.
    pub record_words: usize,
    /// An inner node with so many children is split before it gets another one; at least 4.
    pub children: usize,
}

impl Default for Nodes {
    fn default() -> Self {
        Self { tail: 32, records: 63, record_words: 1024, children: 128 }
    }
}

/// The tree, in a pool of its own.
#[derive(Debug)]
pub struct BzTree<P> {
    pool: P,
    table: DescriptorTable,
    nodes: Nodes,
}

impl<M: Medium, P: Deref<Target = Pool<M>>> BzTree<P> {
    /// A shape for the pool of a tree.
    pub fn pool_shape() -> PoolShape {
        PoolShape::new(LAYOUT)
    }

    /// Opens the tree of a pool, or begins one in a pool that has none. It recovers what a crash left behind: only the
    /// descriptors are read.
    ///
    /// # Errors
    /// Where the pool is damaged, or too small for a new tree.
    pub fn open(pool: P) -> Result<Self, PmemError> {
        Self::open_with(pool, Nodes::default())
    }

    /// As [`BzTree::open`], with nodes of another size.
    ///
    /// # Errors
    /// As [`BzTree::open`].
    ///
    /// # Panics
    /// Where nodes cannot be so small or so large.
    pub fn open_with(pool: P, nodes: Nodes) -> Result<Self, PmemError> {
        let good = (1..4096).contains(&nodes.tail) && nodes.records >= 2 && (4..=1 << 14).contains(&nodes.children);
        assert!(good && nodes.records < 1 << 14 && nodes.record_words < 1 << 14, "{nodes:?}");
        if pool.medium().load(pool.root::<u64>(ROOT).raw()) == 0 {
            begin(&pool, nodes)?;
        }
        let medium = pool.medium();
        let (area, count) =
            (medium.load(pool.root::<u64>(AREA).raw()), medium.load(pool.root::<u64>(DESCRIPTORS).raw()));
        let bytes = medium.bytes() as u64;
        let descriptors = u16::try_from(count)
            .ok()
            .filter(|&count| count != 0 && area % 64 == 0 && area < bytes && area_bytes(count) as u64 <= bytes - area);
        let Some(descriptors) = descriptors else {
            return Err(PmemError::Damaged { what: format!("its roots name {count} descriptors at {area:#x}") });
        };
        let table = DescriptorTable::open(&pool, area, descriptors)?;
        Ok(Self { pool, table, nodes })
    }

    /// The pool that it lies in.
    pub fn pool(&self) -> &Pool<M> {
        &self.pool
    }

    fn medium(&self) -> &M {
        self.pool.medium()
    }

    /// Where the pointer to the topmost node lies.
    fn root_place(&self) -> u64 {
        self.pool.root::<u64>(ROOT).raw()
    }
}

impl<M: Medium, P: Deref<Target = Pool<M>> + Send + Sync> Index for BzTree<P> {
    type Session<'a>
        = BzSession<'a, P>
    where
        Self: 'a;

    fn session(&self) -> BzSession<'_, P> {
        BzSession::new(self)
    }

    fn used_bytes(&self) -> u64 {
        self.pool.usage().map_or(0, |usage| usage.allocated_bytes)
    }

    fn anatomy(&self) -> Vec<(&'static str, f64)> {
        let Ok(census) = self.census() else { return Vec::new() };
        let leaves = census.leaves as f64;
        vec![
            ("leaves", leaves),
            ("inner_nodes", census.inner_nodes as f64),
            ("inner_levels", census.levels as f64),
            ("entries_per_leaf", census.records as f64 / leaves),
        ]
    }

    fn examine(&self) -> Option<Result<String, String>> {
        let said = |census: Census| {
            let Census { leaves, inner_nodes, records, bytes, .. } = census;
            format!("{records} entries in {leaves} leaves below {inner_nodes} inner nodes; all {bytes} bytes reached")
        };
        Some(self.census().map(said).map_err(|error| error.to_string()))
    }
}

/// Descriptors and an empty leaf, in one transaction.
fn begin<M: Medium>(pool: &Pool<M>, nodes: Nodes) -> Result<(), PmemError> {
    let medium = pool.medium();
    let bytes = area_bytes(DESCRIPTOR_COUNT);
    let mut transaction = pool.begin();
    let area: Offset<u64> = transaction.alloc(bytes)?;
    medium.write(area.raw(), &vec![0; bytes]);
    medium.flush(area.raw(), bytes); // new descriptors
    let leaf: Offset<u64> = transaction.alloc(image::empty_leaf_bytes(nodes))?;
    image::write_empty_leaf(medium, leaf.raw(), nodes);
    transaction.set(pool.root(AREA), area.raw())?;
    transaction.set(pool.root(DESCRIPTORS), u64::from(DESCRIPTOR_COUNT))?;
    transaction.set(pool.root(ROOT), leaf.raw())?;
    transaction.commit();
    Ok(())
}
