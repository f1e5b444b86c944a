//! How a tree is made and opened again.

use std::collections::BTreeMap;

use assay_pmem::{Medium, Offset, Pool};
use serde_json::{Value, json};

use super::{
    FpTree,
    inner::{Hints, Inner, Latches},
    leaf::{LEAF_BYTES, LINE, RECORDS},
    list::{leaves, usual_threads},
};
use crate::{
    error::IndexError,
    in_pool::{PoolIndex, unknown_option},
    sizes::Sizes,
};

/// The root that holds the first leaf.
const FIRST_LEAF: usize = 0;
/// Share of a leaf's records that count on average after inserts in no order: `ln 2`, and less where leaves just split.
const FILL: f64 = 0.6;

/// FPTree as a kind of index.
#[derive(Clone, Copy, Debug)]
pub struct FpTreeKind {
    recovery_threads: usize,
}

impl Default for FpTreeKind {
    fn default() -> Self {
        Self { recovery_threads: usual_threads() }
    }
}

impl FpTreeKind {
    /// Of a job. Option: `recovery_threads`, 1 to 32; as many as there are CPUs.
    ///
    /// # Errors
    /// Where an option is not known.
    pub fn new(options: &BTreeMap<String, Value>) -> Result<Self, IndexError> {
        let mut kind = Self::default();
        for (name, value) in options {
            match (name.as_str(), value.as_u64()) {
                ("recovery_threads", Some(threads @ 1..=32)) => kind.recovery_threads = threads as usize,
                _ => return Err(unknown_option(name, value, "fptree knows recovery_threads (1 to 32)")),
            }
        }
        Ok(kind)
    }
}

impl PoolIndex for FpTreeKind {
    type On<M: Medium> = FpTree<M>;

    fn layout(&self, sizes: &Sizes) -> &'static str {
        if sizes.words() { "fptree-words-1" } else { "fptree-any-1" }
    }

    fn create<M: Medium>(&self, pool: Pool<M>, sizes: &Sizes) -> Result<FpTree<M>, IndexError> {
        self.open(pool, sizes)
    }

    fn open<M: Medium>(&self, pool: Pool<M>, sizes: &Sizes) -> Result<FpTree<M>, IndexError> {
        FpTree::open_by(pool, sizes.words(), self.recovery_threads)
    }

    fn pool_bytes(&self, sizes: &Sizes, entries: u64) -> u64 {
        let leaves = entries as f64 / (RECORDS as f64 * FILL) * LEAF_BYTES as f64;
        let block = assay_pmem::block_bytes((sizes.key.most + sizes.value.most + super::key::BLOCK_HEAD) as u64);
        let blocks = if sizes.words() { 0.0 } else { entries as f64 * block as f64 };
        ((leaves + blocks) * 1.25) as u64 + (32 << 20)
    }

    fn settings(&self) -> BTreeMap<String, Value> {
        BTreeMap::from([
            ("leaf_bytes".to_owned(), json!(LEAF_BYTES)),
            ("records_per_leaf".to_owned(), json!(RECORDS)),
            ("recovery_threads".to_owned(), json!(self.recovery_threads)),
            ("inner_concurrency".to_owned(), json!("optimistic versions; no hardware transactions")),
        ])
    }
}

impl<M: Medium> FpTree<M> {
    /// Opens the tree of a pool, or makes an empty one where the pool is new: reads two lines of every leaf, by as many
    /// threads as there are CPUs, and builds the inner nodes. `words` says that keys and values have 8 bytes and lie in the
    /// leaves.
    ///
    /// # Errors
    /// Where the pool is too small for a leaf, or the leaves contradict each other.
    pub fn open(pool: Pool<M>, words: bool) -> Result<Self, IndexError> {
        Self::open_by(pool, words, usual_threads())
    }

    /// As [`FpTree::open`], by that many threads at most: 1 to 32, and one for each 8 MiB of the pool.
    ///
    /// # Errors
    /// As [`FpTree::open`].
    pub fn open_by(pool: Pool<M>, words: bool, threads: usize) -> Result<Self, IndexError> {
        if pool.medium().load(pool.root::<u64>(FIRST_LEAF).raw()) == 0 {
            make_first_leaf(&pool)?;
        }
        let first = pool.medium().load(pool.root::<u64>(FIRST_LEAF).raw());
        let leaves = leaves(&pool, first, words, threads)?;
        let bytes = pool.medium().bytes();
        let (latches, hints) = (Latches::new(bytes), Hints::new(bytes));
        let inner = Inner::build(words, leaves.into_iter());
        Ok(Self { pool, inner, latches, hints, words })
    }

    /// The first leaf.
    pub(super) fn first(&self) -> u64 {
        self.pool.medium().load(self.pool.root::<u64>(FIRST_LEAF).raw())
    }
}

/// A pool that was made and whose tree was not is found empty and gets its first leaf.
fn make_first_leaf<M: Medium>(pool: &Pool<M>) -> Result<(), IndexError> {
    let mut transaction = pool.begin();
    let leaf: Offset<u64> = transaction.alloc(LEAF_BYTES)?;
    let medium = pool.medium();
    medium.write(leaf.raw(), &[0; 2 * LINE as usize]);
    medium.flush(leaf.raw(), 2 * LINE as usize); // first leaf
    transaction.link(pool.root(FIRST_LEAF), leaf)?;
    transaction.commit();
    Ok(())
}
