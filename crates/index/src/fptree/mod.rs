//! FPTree (Oukid, Lasperas, Nica, Willhalm, Lehner, SIGMOD 2016): unsorted leaves in persistent memory, found through
//! fingerprints and committed by one word; inner nodes in DRAM, rebuilt when the tree is opened.
//!
//! What an operation does to persistent memory:
//!
//! | operation | with keys and values of 8 bytes | of any length |
//! | --- | --- | --- |
//! | insert | record, fence; fingerprint and bitmap, fence | block and record, then a transaction: block, bitmap |
//! | update | the value's word, fence | a transaction: new block, record, old block |
//! | remove | bitmap, fence | a transaction: bitmap, block |
//! | split | a transaction: new leaf, bitmap and link of the old one | the same |
//! | join | records, then a transaction: bitmap and link of the left leaf, right leaf | the same |
//!
//! The paper's micro-logs are the pool's transactions, its leaf groups the pool's chunks, which hold 64 leaves, and its
//! free leaves those that each lane reserves ahead.
//!
//! A leaf's latch lives in DRAM: what a crash leaves locked is open afterwards. So does the order that a scan has put a
//! leaf's records into, which later scans use until the leaf changes. Readers are optimistic at every level.
//! There is no path by hardware transactions; records say so.

mod change;
mod check;
pub(crate) mod hint;
mod inner;
mod join;
mod key;
pub(crate) mod latch;
mod leaf;
mod list;
mod node;
mod open;
mod read;
mod session;
mod split;
mod sync;

use assay_pmem::{Medium, Pool};

use self::{
    inner::{Hints, Inner, Latches, Spot},
    key::Probe,
    latch::Latch,
    leaf::Leaf,
};
pub use self::{open::FpTreeKind, session::FpSession};
use crate::index::Index;

/// An FPTree in a pool.
#[derive(Debug)]
pub struct FpTree<M: Medium> {
    pool: Pool<M>,
    inner: Inner,
    latches: Latches,
    hints: Hints,
    /// Keys and values are words and lie in the leaves.
    words: bool,
}

/// A leaf that this thread has locked.
struct Locked<'t, M: Medium> {
    tree: &'t FpTree<M>,
    spot: Spot<'t>,
    version: u64,
    /// Something in the leaf has changed.
    dirty: bool,
}

impl<M: Medium> FpTree<M> {
    #[inline(always)]
    fn medium(&self) -> &M {
        self.pool.medium()
    }

    #[inline(always)]
    fn leaf(&self, at: u64) -> Leaf<'_, M> {
        Leaf::new(self.pool.medium(), at)
    }

    #[inline(always)]
    fn latch(&self, leaf: u64) -> &Latch {
        self.latches.of(leaf)
    }

    /// Locks the leaf that a key belongs to.
    #[inline(always)]
    fn lock(&self, probe: &Probe<'_>) -> Locked<'_, M> {
        loop {
            let spot = self.inner.find(probe);
            let latch = self.latch(spot.leaf);
            let version = latch.version();
            // The version was taken while the leaf was the right one; locking by it means that it still is.
            if spot.holds() && latch.lock(version) {
                return Locked { tree: self, spot, version, dirty: false };
            }
        }
    }
}

impl<M: Medium> Locked<'_, M> {
    #[inline(always)]
    fn at(&self) -> u64 {
        self.spot.leaf
    }

    #[inline(always)]
    fn leaf(&self) -> Leaf<'_, M> {
        self.tree.leaf(self.spot.leaf)
    }
}

impl<M: Medium> Drop for Locked<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        let latch = self.tree.latch(self.spot.leaf);
        if self.dirty { latch.changed(self.version) } else { latch.unchanged(self.version) }
    }
}

impl<M: Medium> Index for FpTree<M> {
    type Session<'a>
        = FpSession<'a, M>
    where
        Self: 'a;

    fn session(&self) -> FpSession<'_, M> {
        FpSession::new(self)
    }

    fn used_bytes(&self) -> u64 {
        self.pool.usage().map_or(0, |usage| usage.allocated_bytes + usage.partly_free_bytes)
    }

    fn anatomy(&self) -> Vec<(&'static str, f64)> {
        self.figures()
    }

    fn examine(&self) -> Option<Result<String, String>> {
        Some(self.check())
    }
}
