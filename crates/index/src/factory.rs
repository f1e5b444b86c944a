//! What makes and opens an index for a run.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use crate::{error::IndexError, index::Index};

/// Makes, opens and removes one index. Dropped, it removes what it made.
pub trait Factory: Sync {
    /// The index at full speed.
    type Index: Index;
    /// The index on a medium that counts; [`Factory::Index`] where there is none.
    type Counted: Index;

    /// An index is there already: nothing is made or loaded.
    fn is_there(&self) -> bool {
        false
    }

    /// Whether what is being loaded may go on growing; always, where all room was taken at the start.
    ///
    /// # Errors
    /// Where less than the reserve of its file system is free.
    fn room(&self) -> Result<(), IndexError> {
        Ok(())
    }

    /// Makes an empty one.
    ///
    /// # Errors
    /// Where it cannot be made.
    fn create(&self) -> Result<Self::Index, IndexError>;

    /// Opens the one that was made and closed.
    ///
    /// # Errors
    /// Where it cannot be opened.
    fn open(&self) -> Result<Opened<Self::Index>, IndexError>;

    /// The same on a medium that counts what each thread does ([`assay_pmem::counts`]); none where nothing is flushed
    /// or fenced.
    fn open_counted(&self) -> Option<Result<Self::Counted, IndexError>>;

    /// What the record says of it, once it was made.
    fn about(&self) -> About;
}

/// An index that was opened.
pub struct Opened<I> {
    /// The index.
    pub index: I,
    /// What recovery took, the mapping of files apart.
    pub recovery: Duration,
}

/// What a record says of an index beside its figures.
#[derive(Clone, Debug)]
pub struct About {
    /// It ran on stand-in hardware.
    pub emulated: bool,
    /// What makes an acknowledged change durable.
    pub durability: &'static str,
    /// Its version, where it is not Assay's.
    pub version: Option<String>,
    /// What bears on the figures.
    pub settings: BTreeMap<String, Value>,
}
