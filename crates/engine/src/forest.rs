//! The tables: one B+-tree each.

use assay_btree::{Tree, TreeError};
use assay_buffer::{PageId, Pool, Worker};

use crate::error::{EngineError, Result};

/// One tree per table.
#[derive(Clone, Debug)]
pub(crate) struct Forest {
    trees: Vec<Tree>,
}

impl Forest {
    /// Makes `tables` empty trees.
    pub fn create(worker: &Worker<'_>, tables: usize) -> Result<Self> {
        let writing = worker.write();
        let trees = (0..tables).map(|_| Tree::create(worker, &writing).map_err(EngineError::from));
        Ok(Self { trees: trees.collect::<Result<_>>()? })
    }

    /// The trees with these roots.
    pub fn open(pool: &Pool, roots: &[PageId]) -> Self {
        Self { trees: roots.iter().map(|&root| Tree::open(pool, root)).collect() }
    }

    /// The tree of the first table.
    pub fn first(&self) -> Option<&Tree> {
        self.trees.first()
    }

    /// Where their roots are: those never move.
    pub fn roots(&self) -> Vec<PageId> {
        self.trees.iter().map(Tree::root).collect()
    }

    /// The tree of a table.
    pub fn tree(&self, table: u16) -> Result<&Tree> {
        self.trees.get(table as usize).ok_or_else(|| {
            let what = format!("table {table} was asked for, and the database has {}", self.trees.len());
            EngineError::unfit(what, "name one that it has")
        })
    }
}

impl From<TreeError> for EngineError {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Buffer(error) => Self::Buffer(error),
            TreeError::Damaged { page, what } => Self::Damaged { place: format!("page {page}"), what },
            other => Self::unfit(other.to_string(), other.fix()),
        }
    }
}
