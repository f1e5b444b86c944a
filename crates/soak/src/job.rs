//! What is worked on, where, and by how many.

use std::path::PathBuf;

use assay_engine::Durability;
use assay_index::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::SoakError;

/// Version of the document. A reader refuses any other.
pub const JOB_VERSION: u32 = 1;
const THREADS_AT_MOST: u32 = 64;
/// Of the engine: each has a MiB at least.
const LOGS_AT_MOST: u32 = 8;
const KEYS_AT_MOST: u32 = 1 << 20;
const ENGINE: &str = "engine";

/// A store, by the name that flags have for it: an index, a rival (in a program of its own), or `engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "&'static str")]
#[schemars(with = "String")]
pub enum StoreName {
    /// An index.
    Index(Kind),
    /// The storage engine.
    Engine,
}

impl StoreName {
    /// Which index; none where it is the engine.
    pub fn kind(self) -> Option<Kind> {
        match self {
            Self::Index(kind) => Some(kind),
            Self::Engine => None,
        }
    }
}

impl TryFrom<String> for StoreName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let kinds = || Kind::ALL.into_iter().chain(Kind::RIVALS);
        let index = kinds().find(|kind| kind.name() == name).map(Self::Index);
        index.or((name == ENGINE).then_some(Self::Engine)).ok_or_else(|| {
            let known: Vec<_> = kinds().map(Kind::name).chain([ENGINE]).collect();
            format!("there is no store {name}; there are {}", known.join(", "))
        })
    }
}

impl From<StoreName> for &'static str {
    fn from(store: StoreName) -> Self {
        store.kind().map_or(ENGINE, Kind::name)
    }
}

/// A store and who works on it. Work and check are given the same job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoakJob {
    /// [`JOB_VERSION`].
    pub version: u32,
    /// What the finding is called.
    pub name: String,
    /// The store.
    pub store: StoreName,
    /// A folder for its files, which stay: Assay makes files of its own in it.
    pub place: PathBuf,
    /// A folder for the engine's log; the place where none is given.
    #[serde(default)]
    pub log: Option<PathBuf>,
    /// Logs of the engine; one where none is said.
    #[serde(default)]
    pub logs: Option<u32>,
    /// A folder for the engine's tail in persistent memory.
    #[serde(default)]
    pub tail: Option<PathBuf>,
    /// What makes commits of the engine or a rival durable; other indexes are as durable as they are made.
    #[serde(default)]
    pub durability: Durability,
    /// The acknowledgement journal, a file that outlives the crash.
    pub journal: PathBuf,
    /// Threads that work.
    pub threads: u32,
    /// Keys of each thread; a power of two.
    pub keys: u32,
    /// Turns of each thread; without an end where none is given.
    #[serde(default)]
    pub turns: Option<u64>,
}

impl SoakJob {
    /// Reads and validates a document.
    ///
    /// # Errors
    /// [`SoakError::Job`] with what is wrong in it.
    pub fn parse(text: &str) -> Result<Self, SoakError> {
        let job: Self = serde_json::from_str(text).map_err(|error| SoakError::Job {
            reason: format!("the job cannot be read: {error}"),
            fix: "compare it with `assayer schema soak`",
        })?;
        job.validate()?;
        Ok(job)
    }

    fn validate(&self) -> Result<(), SoakError> {
        let bounds = [
            (self.version == JOB_VERSION, format!("version {} was given", self.version), "give version 1"),
            (
                (1..=THREADS_AT_MOST).contains(&self.threads),
                format!("{} threads were asked for", self.threads),
                "ask for 1 to 64 threads",
            ),
            (
                self.keys.is_power_of_two() && self.keys <= KEYS_AT_MOST,
                format!("{} keys were asked for", self.keys),
                "ask for a power of two up to 1048576",
            ),
            (
                self.store == StoreName::Engine || (self.log.is_none() && self.tail.is_none() && self.logs.is_none()),
                "a place for a log was given, or a number of them, and an index has none".to_owned(),
                "leave it out, or name the engine",
            ),
            (
                self.logs.is_none_or(|logs| (1..=LOGS_AT_MOST).contains(&logs) && self.durability.logs()),
                format!("{} logs were asked for, with durability {}", self.logs.unwrap_or(1), self.durability.name()),
                "ask for 1 to 8 logs, and a durability that has any",
            ),
            (
                self.durability != Durability::Pmem || self.tail.is_some(),
                "the log's end is to be in persistent memory, and no place for it was given".to_owned(),
                "name a folder on persistent memory or in memory",
            ),
        ];
        match bounds.into_iter().find(|(good, ..)| !good) {
            Some((_, reason, fix)) => Err(SoakError::Job { reason, fix }),
            None => Ok(()),
        }
    }
}
