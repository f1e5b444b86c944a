//! How the runner makes and opens tables.

use std::{collections::BTreeMap, marker::PhantomData};

use assay_pmem::{Medium, Pool, block_bytes};
use serde_json::Value;

use super::{bucket::BUCKET_BYTES, directory::Directory, geometry::DashShape, table::Dash};
use crate::{error::IndexError, in_pool::PoolIndex, sizes::Sizes};

/// Tables of one kind, for keys and values of any length.
#[derive(Clone, Copy, Debug)]
pub struct Tables<D> {
    shape: DashShape,
    directory: PhantomData<D>,
}

impl<D> Default for Tables<D> {
    fn default() -> Self {
        Self { shape: DashShape::default(), directory: PhantomData }
    }
}

impl<D: Directory> PoolIndex for Tables<D> {
    type On<M: Medium> = Dash<M, D>;

    fn layout(&self, _sizes: &Sizes) -> &'static str {
        D::LAYOUT
    }

    fn create<M: Medium>(&self, pool: Pool<M>, _sizes: &Sizes) -> Result<Self::On<M>, IndexError> {
        Ok(Dash::create(pool, &self.shape)?)
    }

    fn open<M: Medium>(&self, pool: Pool<M>, _sizes: &Sizes) -> Result<Self::On<M>, IndexError> {
        Ok(Dash::open(pool)?)
    }

    fn pool_bytes(&self, sizes: &Sizes, entries: u64) -> u64 {
        // After a round of splits segments are two fifths full; linear hashing takes space a quarter ahead.
        let blocks = self.shape.segment_bytes() / BUCKET_BYTES;
        let per_entry = self.shape.segment_bytes() * 5 / 2 / (blocks * 14) * 5 / 4;
        let entry = if sizes.words() { 0 } else { block_bytes(8 + sizes.entry_bytes().ceil() as u64) * 3 / 2 };
        (32 << 20) + entries * (per_entry + 8 + entry)
    }

    fn settings(&self) -> BTreeMap<String, Value> {
        let DashShape { buckets, stash, .. } = self.shape;
        let all = [("segment_bytes", self.shape.segment_bytes()), ("buckets", buckets), ("stash_buckets", stash)];
        all.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
    }
}
