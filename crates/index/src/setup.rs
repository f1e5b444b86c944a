//! What an index is made or opened from.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{error::IndexError, kind::Kind, sizes::Sizes};

/// What an index is made or opened from: which one, where, and for how much.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Which index.
    pub index: Kind,
    /// Where it is to lie: a folder in which a file is made and removed again, or a device-DAX node.
    pub target: PathBuf,
    /// A file to make it in and to keep, or, where it is there already, to open.
    pub file: Option<PathBuf>,
    /// Lengths of keys and values.
    pub sizes: Sizes,
    /// Keys that are loaded first.
    pub keys: u64,
    /// What may be inserted later.
    pub inserts: Inserts,
    /// Operations of a pass that counts, each of which may insert.
    pub counted: u64,
    /// Threads that work on it.
    pub threads: u32,
    /// Each thread has a file, a pool and a structure of its own. On a drive alone.
    pub split: bool,
    /// Bytes of the pool: of the file in persistent memory, or of the buffer pool in front of a drive. The index's own
    /// reckoning where none is given.
    pub pool_bytes: Option<u64>,
    /// Asks the kernel for huge pages, as a file system on DAX gives them.
    pub huge_pages: bool,
    /// Waits that make memory as slow as modules that are not there.
    pub as_if: Option<AsIf>,
    /// Something is measured in its folder: nobody else is to measure there.
    pub measured: bool,
    /// What only some indexes know, by name.
    pub options: BTreeMap<String, Value>,
}

/// What may be inserted after the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inserts {
    /// As many as are done in so many seconds, of all threads together, that do nothing else.
    Seconds(f64),
    /// So many.
    Number(f64),
}

impl Inserts {
    /// How many there are at most, where a thread does no more than so many a second.
    pub(crate) fn at_most(self, per_s: f64) -> f64 {
        match self {
            Self::Seconds(seconds) => seconds * per_s,
            Self::Number(number) => number,
        }
    }
}

impl Setup {
    /// The file that is to keep the index, if one is.
    ///
    /// # Errors
    /// Where it is a folder.
    pub(crate) fn named_file(&self) -> Result<Option<PathBuf>, IndexError> {
        if let Some(folder) = self.file.as_ref().filter(|file| file.is_dir()) {
            let fix = "name a file in it: one that is there is opened, and one that is not is made";
            return Err(IndexError::job(format!("{} is a folder", folder.display()), fix));
        }
        Ok(self.file.clone())
    }
}

/// Modules that are not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AsIf {
    /// The twin that the waits come from.
    pub twin: String,
    /// Each cache line that is written back, ns.
    pub flush_ns: f64,
    /// Each fence, ns.
    pub fence_ns: f64,
    /// Each block of 256 B that comes from the media, ns.
    pub block_read_ns: f64,
    /// Each block of 256 B that goes to the media, ns.
    pub block_written_ns: f64,
    /// Blocks of 256 B that a thread's share of the CPU caches holds.
    pub cached_blocks: usize,
}
