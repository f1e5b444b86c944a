//! What tells extendible and linear hashing apart.

use std::sync::atomic::AtomicU64;

use assay_pmem::{Medium, PmemError, Pool, Transaction};

use super::{geometry::DashShape, hash::Hash, table::Dash};
use crate::error::IndexError;

/// Where a key belongs, and what that was read off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'t> {
    pub(super) segment: u64,
    pub(super) token: u64,
    /// The word of the directory that leads to the segment.
    pub(super) entry: &'t AtomicU64,
}

/// How segments are found, and how there come to be more and fewer of them.
pub trait Directory: Sized + Send + Sync + 'static + private::Sealed {
    /// Its name, as flags have it.
    const NAME: &'static str;
    /// The layout that a pool of it is made with.
    const LAYOUT: &'static str;
}

pub(super) mod private {
    #[allow(clippy::wildcard_imports, reason = "the seal speaks of nothing but its own family")]
    use super::*;

    /// The part that is nobody else's business.
    #[allow(private_interfaces, reason = "sealed: only this module's directories have it")]
    pub trait Sealed: Sized + Send + Sync + 'static {
        /// Makes the first segments and the directory, as a part of a transaction.
        fn create<M: Medium>(
            pool: &Pool<M>,
            shape: &DashShape,
            transaction: &mut Transaction<'_, M>,
        ) -> Result<(), PmemError>;

        /// What is kept of it beside persistent memory.
        fn open<M: Medium>(pool: &Pool<M>, shape: &DashShape) -> Result<Self, PmemError>;

        /// The segment of a hash.
        fn locate<M: Medium>(table: &Dash<M, Self>, hash: Hash) -> Spot<'_>;

        /// Whether it is its segment still.
        fn still<M: Medium>(table: &Dash<M, Self>, hash: Hash, spot: Spot<'_>) -> bool;

        /// Whether keys of that hash are a segment's own; asked by who holds the segment.
        fn belongs<M: Medium>(table: &Dash<M, Self>, segment: u64, hash: Hash) -> bool;

        /// Room for a key whose segment had none. No bucket is locked by the caller.
        fn make_room<M: Medium>(table: &Dash<M, Self>, spot: Spot<'_>, hash: Hash) -> Result<(), IndexError>;

        /// A bucket of that hash's segment became empty. No bucket is locked by the caller.
        fn emptied<M: Medium>(table: &Dash<M, Self>, hash: Hash) -> Result<(), IndexError>;

        /// All segments, once each. Nobody should be changing the table.
        fn segments<M: Medium>(table: &Dash<M, Self>) -> Vec<u64>;

        /// Whether the directory agrees with its segments. Nobody should be changing the table.
        fn examine<M: Medium>(table: &Dash<M, Self>) -> Result<(), String>;

        /// Blocks of the pool that are the directory's own, segments among them.
        fn blocks<M: Medium>(table: &Dash<M, Self>) -> Vec<u64>;
    }
}
