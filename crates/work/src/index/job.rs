//! What a run of an index is asked to do.

use std::{collections::BTreeMap, path::PathBuf};

use assay_index::{AsIf, IndexError, Inserts, Kind, Setup, Sizes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::{
    on_twin::{Asked, OnTwin},
    workload::{Distribution, Operation, Territory, WorkloadName},
};

/// Version of the document. A reader refuses any other.
pub const JOB_VERSION: u32 = 1;
/// Of operations as short as a few accesses of memory one of so many is timed, and of longer ones.
const OF_SHORT: u32 = 64;
const OF_LONG: u32 = 16;
/// Most keys that ids are permuted over.
const KEYS_AT_MOST: u64 = u32::MAX as u64;
const THREADS_AT_MOST: u32 = 1024;
/// Lookups of one thread that can wait together.
pub const BATCH_AT_MOST: u32 = 256;

/// One run of one index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IndexJob {
    /// [`JOB_VERSION`].
    pub version: u32,
    /// Name of the run.
    pub name: String,
    /// Which index.
    pub index: Kind,
    /// Where it is to lie: a folder in which a file is made and removed again, or a device-DAX node.
    pub target: PathBuf,
    /// What is done.
    pub workload: WorkloadName,
    /// Which keys are picked; by the workload's own habit where none is given.
    #[serde(default)]
    pub distribution: Option<Distribution>,
    /// Keys that are loaded first.
    pub keys: u64,
    /// Threads that load, and that work in the window.
    pub threads: u32,
    /// Lengths of keys and values.
    #[serde(default = "words")]
    pub sizes: Sizes,
    /// Lookups of one thread that wait for the drive together.
    #[serde(default = "one_at_a_time")]
    pub batch: u32,
    /// Each thread has a file, a pool and a structure of its own, with its part of the keys, and shares nothing. On a drive
    /// alone.
    #[serde(default)]
    pub split: bool,
    /// Entries that a scan visits at most.
    #[serde(default = "scan_length")]
    pub scan_length: u32,
    /// Seconds of warm-up.
    pub warmup_s: f64,
    /// When the window ends.
    pub window: Window,
    /// Threads keep to a CPU each.
    #[serde(default)]
    pub pin: bool,
    /// Of so many operations one is timed, by chance; as many as suit the index where it is not said.
    #[serde(default)]
    pub sample_every: Option<u32>,
    /// Bytes of the pool: of the file in persistent memory, or of the buffer pool in front of a drive. The index's own
    /// reckoning where none is given.
    #[serde(default)]
    pub pool_bytes: Option<u64>,
    /// A file to make the pool in and to keep, or, where it is there already, to open: nothing is loaded then.
    #[serde(default)]
    pub pool_file: Option<PathBuf>,
    /// Asks the kernel for huge pages, as a file system on DAX gives them.
    #[serde(default = "yes")]
    pub huge_pages: bool,
    /// Waits that make memory as slow as modules that are not there.
    #[serde(default)]
    pub as_if: Option<AsIf>,
    /// A twin on which it is played in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<Box<OnTwin>>,
    /// Operations of the pass that counts flushes, fences and blocks; 0 leaves it out.
    #[serde(default = "counted_operations")]
    pub counted_operations: u64,
    /// Entries whose content is checked at the end; all where there are fewer.
    #[serde(default = "checked_entries")]
    pub checked_entries: u64,
    /// Seed of everything that is left to chance.
    #[serde(default = "one")]
    pub seed: u64,
    /// What only some indexes know, by name.
    #[serde(default)]
    pub options: BTreeMap<String, serde_json::Value>,
}

/// When the window ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Window {
    /// After so many seconds.
    Seconds(f64),
    /// After so many operations of all threads together.
    Operations(u64),
}

fn words() -> Sizes {
    Sizes::WORDS
}

fn scan_length() -> u32 {
    100
}

fn counted_operations() -> u64 {
    100_000
}

fn checked_entries() -> u64 {
    1_000_000
}

fn one() -> u64 {
    1
}

fn one_at_a_time() -> u32 {
    1
}

fn yes() -> bool {
    true
}

impl IndexJob {
    /// Reads and validates a document.
    ///
    /// # Errors
    /// [`IndexError::Job`] with what is wrong in it.
    pub fn parse(text: &str) -> Result<Self, IndexError> {
        let wrong = |error: serde_json::Error| {
            IndexError::job(format!("the job cannot be read: {error}"), "compare it with `assayer schema index`")
        };
        let job: Self = serde_json::from_str(text).map_err(wrong)?;
        job.validate()?;
        Ok(job)
    }

    /// Which keys are picked.
    pub fn distribution(&self) -> Distribution {
        self.distribution.unwrap_or_else(|| self.workload.distribution())
    }

    /// Of so many operations one is timed. Timing drains what a CPU has under way, some 100 ns: next to nothing beside an
    /// access of a drive, but most of a lookup in memory, so that fewer of those are timed.
    pub fn timed_one_in(&self) -> u32 {
        self.sample_every.unwrap_or(if self.index.in_pmem() { OF_SHORT } else { OF_LONG })
    }

    /// What the index is made or opened from.
    pub fn setup(&self) -> Setup {
        // The warm-up inserts nothing.
        let share = f64::from(self.workload.mix().0[Operation::Insert as usize]) / 1000.0;
        let inserts = match self.window {
            Window::Seconds(seconds) => Inserts::Seconds(share * seconds * f64::from(self.threads)),
            Window::Operations(operations) => Inserts::Number(share * operations as f64),
        };
        Setup {
            index: self.index,
            target: self.target.clone(),
            file: self.pool_file.clone(),
            sizes: self.sizes,
            keys: self.keys,
            inserts,
            counted: self.counted_operations,
            threads: self.threads,
            split: self.split,
            pool_bytes: self.pool_bytes,
            huge_pages: self.huge_pages,
            as_if: self.as_if.clone(),
            // What a twin plays is not measured in the folder where its bytes lie.
            measured: self.twin.is_none(),
            options: self.options.clone(),
        }
    }

    /// The ids of a thread.
    pub(crate) fn territory(&self, thread: u64) -> Territory {
        Territory { alone: self.split, ..Territory::new(self.keys, thread, u64::from(self.threads)) }
    }

    /// By which calls pages reach a drive; empty where it is not said.
    pub(crate) fn io(&self) -> &str {
        self.options.get("io").and_then(serde_json::Value::as_str).unwrap_or_default()
    }

    /// What a twin is asked for.
    fn asked(&self) -> Asked<'_> {
        Asked {
            index: self.index,
            threads: self.threads,
            bytes: self.keys as f64 * self.sizes.entry_bytes(),
            batched: self.batch > 1,
            io: self.io(),
            direct: self.options.get("direct") != Some(&serde_json::Value::Bool(false)),
            of_here: self.pool_file.is_some() || self.as_if.is_some() || self.pin,
        }
    }

    fn validate(&self) -> Result<(), IndexError> {
        let bounds = [
            (self.version == JOB_VERSION, format!("version {} was given", self.version), "version 1"),
            (
                (1..=KEYS_AT_MOST).contains(&self.keys),
                format!("{} keys were asked for", self.keys),
                "1 to 4294967295 keys",
            ),
            (
                (1..=THREADS_AT_MOST).contains(&self.threads),
                format!("{} threads were asked for", self.threads),
                "1 to 1024 threads",
            ),
            (self.sample_every != Some(0), "one of 0 operations cannot be timed".to_owned(), "a share of at least 1"),
            (
                (1..=BATCH_AT_MOST).contains(&self.batch),
                format!("batches of {} lookups were asked for", self.batch),
                "1 to 256 lookups that wait together",
            ),
            (
                !self.split || (self.index.can_be_split() && self.pool_file.is_none()),
                format!("{} was to be split over threads, or kept in a file while it is", self.index.name()),
                "ssd-btree or ssd-hash in a folder, or leave the split out",
            ),
            (
                !self.split || self.keys >= u64::from(self.threads),
                format!("{} keys were to be split over {} threads", self.keys, self.threads),
                "at least a key for each thread",
            ),
            (self.scan_length >= 1, "a scan of 0 entries was asked for".to_owned(), "a scan length of at least 1"),
            (
                (0.0..=3600.0).contains(&self.warmup_s),
                format!("{} s of warm-up were asked for", self.warmup_s),
                "0 to 3600 s of warm-up",
            ),
            (
                self.window.is_possible(),
                format!("the window cannot be {:?}", self.window),
                "up to 86400 s, or at least 1 operation",
            ),
        ];
        if let Some((_, seen, possible)) = bounds.into_iter().find(|(good, ..)| !good) {
            return Err(IndexError::job(seen, format!("ask for {possible}")));
        }
        self.distribution().validate()?;
        if self.workload.scans() && !self.index.ordered() {
            return Err(IndexError::job(
                format!("the workload {} scans, and {} has no order", self.workload.name(), self.index.name()),
                "name an index with an order: fptree, bztree or ssd-btree",
            ));
        }
        self.sizes.validate()?;
        self.twin.as_ref().map_or(Ok(()), |twin| twin.validate(&self.asked()))
    }
}

impl Window {
    /// Seconds that it takes; 0 where nobody knows.
    pub fn seconds(self) -> f64 {
        if let Self::Seconds(seconds) = self { seconds } else { 0.0 }
    }

    fn is_possible(self) -> bool {
        match self {
            Self::Seconds(seconds) => seconds > 0.0 && seconds <= 86_400.0,
            Self::Operations(operations) => operations > 0,
        }
    }
}
