//! What a table lies in.

use assay_pmem::{Medium, Pool, PoolFile};

/// A pool, in a file or not.
#[derive(Debug)]
pub enum Holder<M: Medium> {
    /// On any medium.
    Bare(Pool<M>),
    /// In a file, which nobody else has open.
    File(PoolFile<M>),
}

impl<M: Medium> Holder<M> {
    /// The pool.
    #[inline(always)]
    pub fn pool(&self) -> &Pool<M> {
        match self {
            Self::Bare(pool) => pool,
            Self::File(file) => file,
        }
    }
}

impl<M: Medium> From<Pool<M>> for Holder<M> {
    fn from(pool: Pool<M>) -> Self {
        Self::Bare(pool)
    }
}

impl<M: Medium> From<PoolFile<M>> for Holder<M> {
    fn from(file: PoolFile<M>) -> Self {
        Self::File(file)
    }
}
