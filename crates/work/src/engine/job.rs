//! What a run of the engine is asked to do.

use std::path::PathBuf;

use assay_engine::{
    Durability,
    files::{Devices, LOG_BYTES, default_path, memory_bytes},
    log::logs::LOGS_AT_MOST,
};
use assay_record::PathKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::on_twins::OnTwins;
use crate::error::{Result, WorkError};

/// Version of the document. A reader refuses any other.
pub const JOB_VERSION: u32 = 1;

/// One run of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EngineJob {
    /// [`JOB_VERSION`].
    pub version: u32,
    /// Name of the run.
    pub name: String,
    /// Folder for the pages' file.
    pub target: PathBuf,
    /// More folders for pages, which are striped over all of them.
    #[serde(default)]
    pub stripes: Vec<PathBuf>,
    /// Bare devices for the pages in the place of the folder; what is on them is destroyed.
    #[serde(default)]
    pub devices: Option<Devices>,
    /// Folder for the log's file; the pages' where none is given.
    #[serde(default)]
    pub log_target: Option<PathBuf>,
    /// Bare devices for the log.
    #[serde(default)]
    pub log_devices: Option<Devices>,
    /// How pages and log are reached: `io_uring`, `libaio` or `pread`.
    #[serde(default = "default_path")]
    pub path: PathKind,
    /// Bytes per second at which dirty pages are written in the background; none where only what must be is written.
    #[serde(default)]
    pub write_rate_bytes_per_s: Option<f64>,
    /// Bytes that the drive erases together: written pages get their places by when they are expected to die, so that such a
    /// unit dies as a whole. None where they get the first that are free.
    #[serde(default)]
    pub collection_unit_bytes: Option<u64>,
    /// Folder for the log's tail in persistent memory; on a file system without DAX it stands in for it.
    #[serde(default)]
    pub tail_target: Option<PathBuf>,
    /// What makes commits durable.
    #[serde(default)]
    pub durability: Durability,
    /// Bytes of the pool.
    pub pool_bytes: u64,
    /// Bytes of a page.
    #[serde(default = "page")]
    pub page_bytes: u32,
    /// Bytes of the log's file; of several logs together.
    #[serde(default = "log")]
    pub log_bytes: u64,
    /// Logs, which threads share out among themselves; one where none is said, and as many as a kept database has.
    #[serde(default)]
    pub logs: Option<u32>,
    /// Threads.
    pub threads: u32,
    /// Cooperative tasks of each thread; of TPC-C each is a terminal.
    #[serde(default = "one")]
    pub tasks: u32,
    /// Seconds before the window.
    #[serde(default)]
    pub warmup_s: f64,
    /// Seconds of the window.
    pub duration_s: f64,
    /// Seed of everything that is left to chance.
    #[serde(default)]
    pub seed: u64,
    /// Folder in which the database is made and kept, or, where it is there already, opened: nothing is loaded then.
    #[serde(default)]
    pub keep: Option<PathBuf>,
    /// Twins in the place of the folders, whose names are then the targets': nothing is measured but CPU time.
    #[serde(default)]
    pub twins: Option<Box<OnTwins>>,
    /// Memory below the pool.
    #[serde(default)]
    pub tier: Option<TierJob>,
    /// What is done.
    pub workload: Workload,
}

/// Memory below the pool's frames, between them and the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TierJob {
    /// Folder on persistent memory; on a file system without DAX memory stands in for it. Of a twin its name.
    pub target: PathBuf,
    /// Bytes of it.
    pub bytes: u64,
    /// What happens to a page there that is read.
    #[serde(default)]
    pub placement: Placement,
}

/// What happens to a page in the memory below that is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// It is copied to DRAM first.
    Copy,
    /// It is read where it is.
    InPlace,
    /// It is read where it is, and goes to DRAM when it was read twice of late.
    #[default]
    Hot,
}

impl Placement {
    /// Its name, as flags and records have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::InPlace => "in-place",
            Self::Hot => "hot",
        }
    }
}

impl From<Placement> for assay_buffer::Placement {
    fn from(placement: Placement) -> Self {
        match placement {
            Placement::Copy => Self::Copy,
            Placement::InPlace => Self::InPlace,
            Placement::Hot => Self::Hot,
        }
    }
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// TPC-C's five transactions.
    Tpcc {
        /// Warehouses.
        warehouses: u32,
        /// A hundredth of each, for trials.
        #[serde(default)]
        small: bool,
    },
    /// Reads and changes of single rows.
    Ycsb {
        /// Rows.
        rows: u64,
        /// Bytes of a value.
        value_bytes: u32,
        /// Share of reads; the others change the whole value.
        read_share: f64,
        /// Skew of the Zipf distribution; 0 for all rows alike.
        zipf: f64,
    },
    /// Numbered transactions whose acknowledgements are written down outside: what a killed process had promised is
    /// looked for by the next run. Only with `keep`.
    Ledger {
        /// Bytes of a value.
        value_bytes: u32,
    },
    /// All rows from first to last, again and again, each thread a part of them.
    Scan {
        /// Rows.
        rows: u64,
        /// Bytes of a value.
        value_bytes: u32,
    },
}

impl Workload {
    /// Its name, as records have it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tpcc { .. } => "tpcc",
            Self::Ycsb { .. } => "ycsb",
            Self::Ledger { .. } => "ledger",
            Self::Scan { .. } => "scan",
        }
    }

    /// Bytes that its load takes of the pages' file, about.
    pub(crate) fn loaded_bytes(&self) -> u64 {
        match self {
            Self::Tpcc { warehouses, small: false } => u64::from(*warehouses) * (110 << 20),
            Self::Tpcc { .. } | Self::Ledger { .. } => 16 << 20,
            Self::Ycsb { rows, value_bytes, .. } | Self::Scan { rows, value_bytes } => {
                rows.saturating_mul(u64::from(*value_bytes) + 24) / 2 * 3
            }
        }
    }

    /// Bytes that the pages' file may grow to: it is sparse.
    pub(crate) fn data_bytes(&self) -> u64 {
        match self {
            Self::Tpcc { warehouses, .. } => u64::from(*warehouses) * (400 << 20) + (4 << 30),
            Self::Ledger { .. } => 16 << 30,
            Self::Ycsb { rows, value_bytes, .. } | Self::Scan { rows, value_bytes } => {
                rows * (u64::from(*value_bytes) + 64) * 4 + (1 << 30)
            }
        }
    }

    /// About what its pages come to in memory, their older copies included.
    pub(super) fn held_bytes(&self) -> u64 {
        match self {
            Self::Tpcc { warehouses, small: true } => u64::from(*warehouses) * (8 << 20),
            Self::Tpcc { warehouses, .. } => u64::from(*warehouses) * (260 << 20),
            Self::Ycsb { rows, value_bytes, .. } | Self::Scan { rows, value_bytes } => {
                rows * (u64::from(*value_bytes) + 40) * 2
            }
            // A ledger is kept, and nothing on a twin is.
            Self::Ledger { .. } => 0,
        }
    }
}

fn page() -> u32 {
    4096
}

fn log() -> u64 {
    LOG_BYTES
}

fn one() -> u32 {
    1
}

impl EngineJob {
    /// Reads and validates a document.
    ///
    /// # Errors
    /// With what is wrong in it.
    pub fn parse(text: &str) -> Result<Self> {
        let job: Self = serde_json::from_str(text).map_err(|error| {
            WorkError::job(format!("the job cannot be read: {error}"), "compare it with `assayer schema engine`")
        })?;
        job.validate()?;
        Ok(job)
    }

    /// What of the logs makes sense, what was given, and what is possible.
    fn log_bounds(&self) -> [(bool, String, &'static str); 5] {
        let logs = self.logs.unwrap_or(1).max(1);
        [
            (
                self.log_bytes / u64::from(logs) >= 1 << 20,
                format!("{logs} logs of {} bytes were asked for", self.log_bytes / u64::from(logs)),
                "at least 1 MiB for each",
            ),
            (
                self.logs.is_none_or(|logs| (1..=LOGS_AT_MOST as u32).contains(&logs)),
                format!("{} logs were asked for", self.logs.unwrap_or(0)),
                "1 to 16 logs",
            ),
            (
                self.logs.is_none() || self.durability.logs(),
                "a number of logs was given, and durability none has no log".to_owned(),
                "another durability, or leave the number out",
            ),
            (
                logs == 1 || self.log_devices.as_ref().is_none_or(|devices| devices.members.len() == logs as usize),
                format!("{logs} logs were to lie on another number of devices"),
                "as many devices as logs, or a folder",
            ),
            (
                logs == 1 || self.twins.is_none(),
                format!("{logs} logs were to lie on a twin"),
                "one log: a twin plays no more",
            ),
        ]
    }

    fn validate(&self) -> Result<()> {
        let rows = match self.workload {
            Workload::Tpcc { warehouses, .. } => u64::from(warehouses),
            Workload::Ycsb { rows, .. } | Workload::Scan { rows, .. } => rows,
            Workload::Ledger { .. } => 1,
        };
        let (share, zipf, value) = match self.workload {
            Workload::Ycsb { read_share, zipf, value_bytes, .. } => (read_share, zipf, value_bytes),
            Workload::Scan { value_bytes, .. } | Workload::Ledger { value_bytes } => (1.0, 0.0, value_bytes),
            Workload::Tpcc { .. } => (1.0, 0.0, 8),
        };
        let bounds = [
            (self.version == JOB_VERSION, format!("version {} was given", self.version), "version 1"),
            (rows > 0 && rows < 1 << 40, format!("{rows} rows or warehouses were asked for"), "at least 1"),
            ((8..=65536).contains(&value), format!("values of {value} bytes were asked for"), "8 to 65536 bytes"),
            ((0.0..=1.0).contains(&share), format!("a share of reads of {share} was asked for"), "0 to 1"),
            ((0.0..2.0).contains(&zipf), format!("a skew of {zipf} was asked for"), "0 to less than 2"),
            ((1..=48).contains(&self.threads), format!("{} threads were asked for", self.threads), "1 to 48 threads"),
            (
                (1..=1000).contains(&self.tasks) && self.threads * self.tasks <= 1000,
                format!("{} tasks on {} threads were asked for", self.tasks, self.threads),
                "1 to 1000 tasks in all",
            ),
            (
                self.duration_s > 0.0 && self.duration_s <= 86400.0 && (0.0..=3600.0).contains(&self.warmup_s),
                format!("a window of {} s after {} s was asked for", self.duration_s, self.warmup_s),
                "up to 86400 s after up to 3600 s",
            ),
            (
                self.collection_unit_bytes.is_none_or(|unit| unit > 0 && unit % u64::from(self.page_bytes) == 0),
                format!("collection units of {} bytes were asked for", self.collection_unit_bytes.unwrap_or(0)),
                "a multiple of the page",
            ),
            (
                self.tier.as_ref().is_none_or(|tier| tier.bytes >= u64::from(self.page_bytes)),
                "a tier smaller than a page was asked for".to_owned(),
                "at least a page",
            ),
            (
                !matches!(self.workload, Workload::Ledger { .. }) || self.keep.is_some(),
                "a ledger that is not kept was asked for".to_owned(),
                "one in a folder that keeps it (`keep`)",
            ),
            (
                self.keep.is_none() || (self.devices.is_none() && self.log_devices.is_none()),
                "a database on bare devices is to be kept".to_owned(),
                "a folder to keep it in, or leave `keep` out",
            ),
            (
                self.devices.is_none() || self.stripes.is_empty(),
                "pages were to lie on devices and in folders".to_owned(),
                "the one or the other",
            ),
            (
                self.devices.is_none()
                    || !self.durability.logs()
                    || self.log_devices.is_some()
                    || self.log_target.is_some(),
                "pages on a bare device leave no place for the log".to_owned(),
                "a log in a folder or on another device, or durability none",
            ),
        ];
        if let Some((_, seen, possible)) = bounds.into_iter().chain(self.log_bounds()).find(|(good, ..)| !good) {
            return Err(WorkError::job(seen, format!("ask for {possible}")));
        }
        self.twins.as_ref().map_or(Ok(()), |twins| self.validate_on(twins))
    }

    /// Refuses what cannot be played on twins.
    fn validate_on(&self, twins: &OnTwins) -> Result<()> {
        let parts = [Some(&twins.data), twins.log.as_ref(), twins.tail.as_ref(), twins.tier.as_ref()];
        for driven in parts.into_iter().flatten() {
            driven.target.validate().and_then(|()| driven.host.validate())?;
        }
        if twins.turn_ns.is_some_and(|length| !(10.0..=1e9).contains(&length)) {
            let what = format!("turns of {} ns were asked for", twins.turn_ns.unwrap_or(0.0));
            return Err(WorkError::job(what, "ask for 10 ns to 1 s"));
        }
        let memories = [&twins.tail, &twins.tier].into_iter().flatten();
        if let Some(other) = memories.into_iter().find(|driven| !driven.target.is_memory()) {
            let what = format!("{} is no memory, and the log's tail or a tier was to lie there", other.label);
            return Err(WorkError::job(what, "name modules of persistent memory, such as twin:pmem100-128g*6"));
        }
        if self.durability == Durability::Pmem && twins.tail.is_none() {
            let what = "durability pmem needs persistent memory for the log's tail";
            return Err(WorkError::job(what, "name a twin of it, such as --pmem 'twin:pmem100-128g*6'"));
        }
        if twins.tier.is_some() != self.tier.is_some() {
            return Err(WorkError::job("a tier has to have a twin and a size", "name both, or neither"));
        }
        if self.keep.is_some() {
            let what = "a database on a twin cannot be kept: it is in memory alone";
            return Err(WorkError::job(what, "leave --keep away"));
        }
        self.fits_on(twins)
    }

    /// Refuses data that this machine's memory cannot hold.
    fn fits_on(&self, twins: &OnTwins) -> Result<()> {
        let tier = self.tier.as_ref().map_or(0, |tier| tier.bytes);
        let wanted = self.workload.held_bytes() + self.pool_bytes + self.log_bytes + tier;
        let there = memory_bytes().unwrap_or(u64::MAX);
        if wanted as f64 > there as f64 * 0.9 {
            let what = format!(
                "what lies on the twin is kept in this machine's memory: about {} MiB with the pool and the log, and {} \
                 MiB are available",
                wanted >> 20,
                there >> 20
            );
            return Err(WorkError::job(what, "ask for fewer rows or warehouses: what counts is data over pool"));
        }
        let capacity = twins.data.target.capacity_bytes();
        // Of a drive that is followed page by page it is seen when it is filled.
        if wanted as f64 > capacity && !twins.is_exact() {
            let what = format!("about {} MiB do not fit into {} MiB of the twin", wanted >> 20, capacity as u64 >> 20);
            return Err(WorkError::job(what, "ask for fewer rows or warehouses, or a larger twin"));
        }
        Ok(())
    }
}
