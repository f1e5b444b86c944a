//! How a tree is made and opened again.

use std::collections::BTreeMap;

use assay_pmem::{Medium, Offset, Pool};
use serde_json::{Value, json};

use super::{
    FpTree,
    inner::{Hints, Inner, Latches, key, word},
    key::block,
    leaf::{FULL, LEAF_BYTES, LINE, Leaf, RECORDS},
    node::Separator,
};
use crate::{error::IndexError, in_pool::PoolIndex, sizes::Sizes};

/// The root that holds the first leaf.
const FIRST_LEAF: usize = 0;
/// Share of a leaf's records that count on average after inserts in no order: `ln 2`, and less where leaves just split.
const FILL: f64 = 0.6;

/// FPTree as a kind of index.
#[derive(Clone, Copy, Debug)]
pub struct FpTreeKind;

impl PoolIndex for FpTreeKind {
    type On<M: Medium> = FpTree<M>;

    fn layout(&self, sizes: &Sizes) -> &'static str {
        if sizes.words() { "fptree-words-1" } else { "fptree-any-1" }
    }

    fn create<M: Medium>(&self, pool: Pool<M>, sizes: &Sizes) -> Result<FpTree<M>, IndexError> {
        self.open(pool, sizes)
    }

    fn open<M: Medium>(&self, pool: Pool<M>, sizes: &Sizes) -> Result<FpTree<M>, IndexError> {
        FpTree::open(pool, sizes.words())
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
            ("inner_concurrency".to_owned(), json!("optimistic versions; no hardware transactions")),
        ])
    }
}

impl<M: Medium> FpTree<M> {
    /// Opens the tree of a pool, or makes an empty one where the pool is new: reads a line of every leaf and builds the
    /// inner nodes. `words` says that keys and values have 8 bytes and lie in the leaves.
    ///
    /// # Errors
    /// Where the pool is too small for a leaf, or the leaves contradict each other.
    pub fn open(pool: Pool<M>, words: bool) -> Result<Self, IndexError> {
        if pool.medium().load(pool.root::<u64>(FIRST_LEAF).raw()) == 0 {
            make_first_leaf(&pool)?;
        }
        let leaves = walk(&pool, words)?;
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

/// Separators and leaves in order, from the list of leaves.
fn walk<M: Medium>(pool: &Pool<M>, words: bool) -> Result<Vec<(Separator, u64)>, IndexError> {
    let medium = pool.medium();
    let most = medium.bytes() / LEAF_BYTES;
    let mut all: Vec<(Separator, u64)> = Vec::new();
    let mut at = medium.load(pool.root::<u64>(FIRST_LEAF).raw());
    while at != 0 {
        let fits = at % LEAF_BYTES as u64 == 0 && at + LEAF_BYTES as u64 <= medium.bytes() as u64;
        if !fits || all.len() > most {
            return Err(damaged(at, "no leaf can lie there, or the list of leaves ends nowhere"));
        }
        let leaf = Leaf::new(medium, at);
        medium.reads(at, 2 * LINE as usize);
        if leaf.bitmap() & !FULL != 0 {
            return Err(damaged(at, "its bitmap has bits beyond its records"));
        }
        let separator = match (all.is_empty(), words) {
            (true, _) => word(0),
            (false, true) => word(leaf.low()),
            (false, false) => key(block(pool, leaf.low())?.0),
        };
        if all.len() > 1 && !rises(&all[all.len() - 1].0, &separator) {
            return Err(damaged(at, "its low key is not above that of the leaf before it"));
        }
        all.push((separator, at));
        at = leaf.next();
    }
    Ok(all)
}

fn rises(before: &Separator, after: &Separator) -> bool {
    // SAFETY: tails were made by `key` just now, and nobody else has them.
    let tail = |separator: &Separator| unsafe { separator.tail.as_ref().map(|tail| tail.to_vec()) };
    (before.head, tail(before)) < (after.head, tail(after))
}

fn damaged(at: u64, what: &str) -> IndexError {
    IndexError::Damaged { what: format!("leaf {at:#x}: {what}") }
}
