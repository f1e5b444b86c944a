//! The files of a run: made in folders of Assay's own and removed, or kept where the user asked for that.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_buffer::{Config, Tier};
use assay_path::Scratch;
use assay_pmem::Medium;

use super::job::{EngineJob, Workload};
use crate::{
    database::{Database, Options},
    error::Result,
    files::{self, FilesOptions, Wanted, failed, fits, mapped, numbered, path_error, tail_bytes},
    tier::Modules,
};

const DATA: &str = "engine-data";
const LOG: &str = "engine-log";
const TAIL: &str = "engine-tail";
const TIER: &str = "engine-tier";
/// Bytes of a leaf that a look-up reads where it lies, in blocks of 256 B: two with its head and slots, two with its entry.
const TOUCHED: usize = 4 * 256;
/// Workers besides those of the run: checkpoints, recovery, loading and checking.
const OTHERS: usize = 8;

/// Where a run's files are.
pub(super) struct Place {
    // Held so that their files are removed when the run has ended.
    _scratch: Vec<Scratch>,
    files: FilesOptions,
    tier: Option<PathBuf>,
    /// The tail's memory stands in for persistent memory.
    emulated_tail: bool,
    /// And that of the tier.
    emulated_tier: bool,
}

impl Place {
    /// Makes or takes over the folders.
    pub fn prepare(job: &EngineJob) -> Result<Self> {
        let mut scratch = Vec::new();
        let logs = job.logs.unwrap_or(1);
        let mut own = |folder: &Path, name: &str| -> Result<PathBuf> {
            let mut own = Scratch::open(folder, &format!("{name}-{}", std::process::id())).map_err(path_error)?;
            // Each of several logs, and each tail, has a file of its own.
            let count = if name == LOG || name == TAIL { logs } else { 1 };
            let numbers = (0..count as usize).map(|index| numbered(Path::new(name), index).display().to_string());
            for name in numbers.chain([mark_name(name)]) {
                own.remove(&name).map_err(path_error)?;
                own.claim(&name).map_err(path_error)?;
            }
            let path = own.path().join(name);
            scratch.push(own);
            Ok(path)
        };
        // What is kept lies in the folder that keeps it, but for what has a place of its own.
        let mut file = |folder: Option<&Path>, name: &str| -> Result<PathBuf> {
            let Some(keep) = &job.keep else { return own(folder.unwrap_or(&job.target), name) };
            let folder = folder.unwrap_or(keep);
            std::fs::create_dir_all(folder).map_err(|error| failed("making", folder, error))?;
            Ok(folder.join(name))
        };
        let on_devices = |devices: &Option<_>, name: &str| devices.as_ref().map(|_| PathBuf::from(name));
        let data = on_devices(&job.devices, DATA).map_or_else(|| file(None, DATA), Ok)?;
        let stripe = |(at, folder): (usize, &PathBuf)| file(Some(folder), &format!("{DATA}-{}", at + 1));
        let stripes = job.stripes.iter().enumerate().map(stripe).collect::<Result<_>>()?;
        // Beside a bare device there is no place for a log: who asked for one has named its own.
        let no_place = job.devices.is_some() && job.log_target.is_none();
        let log = on_devices(&job.log_devices, LOG).or_else(|| no_place.then(|| PathBuf::from(LOG)));
        let log = log.map_or_else(|| file(job.log_target.as_deref(), LOG), Ok)?;
        let tail = job.tail_target.as_ref().map(|folder| file(Some(folder), TAIL)).transpose()?;

        // Nothing in a tier outlives a run, and no other database may have the same file: it is never kept.
        let tier = job.tier.as_ref().map(|tier| own(&tier.target, TIER)).transpose()?;
        let files = FilesOptions {
            data,
            stripes,
            devices: job.devices.clone(),
            log,
            logs: job.logs,
            log_devices: job.log_devices.clone(),
            tail,
            durability: job.durability,
            path: job.path,
            pool_bytes: job.pool_bytes,
            page_bytes: job.page_bytes,
            log_bytes: job.log_bytes,
            write_rate_bytes_per_s: job.write_rate_bytes_per_s,
        };
        Ok(Self { _scratch: scratch, files, tier, emulated_tail: false, emulated_tier: false })
    }

    /// Whether memory stands in for persistent memory: under the log's tail, in the tier.
    pub fn emulated(&self) -> [bool; 2] {
        [self.emulated_tail, self.emulated_tier]
    }

    /// Opens the database that is there, or makes one; `true` where it was there. One that was made is to be completed.
    pub fn database(&mut self, job: &EngineJob, tables: usize) -> Result<(Database, bool)> {
        fits(job.pool_bytes)?;
        let tier = self.tier(job)?;
        let (data_bytes, sessions) = (job.workload.data_bytes(), job.threads as usize);
        let opened = files::open(&self.files, Wanted { tables, data_bytes, sessions, tier })?;
        self.emulated_tail = opened.emulated_tail;
        Ok((opened.database, opened.there))
    }

    /// The file is new each time: nothing in it outlives a run.
    fn tier(&mut self, job: &EngineJob) -> Result<Option<Tier>> {
        let (Some(path), Some(wanted)) = (&self.tier, &job.tier) else { return Ok(None) };
        let medium = mapped(path, wanted.bytes)?;
        self.emulated_tier = medium.emulated();
        Ok(Some(tier(job, Box::new(medium))))
    }
}

/// Whether the job's database outlives it: it was to be kept, and has been completed.
pub(super) fn is_left(job: &EngineJob) -> bool {
    job.keep.as_ref().is_some_and(|keep| keep.join(DATA).exists())
}

/// The mark beside pages that are being made.
fn mark_name(name: &str) -> String {
    format!("{name}.making")
}

/// The tier of a job over its medium. A scan reads whole pages, others a few blocks of them.
pub(super) fn tier(job: &EngineJob, medium: Box<dyn Medium>) -> Tier {
    let placement = job.tier.as_ref().map_or_else(Default::default, |tier| tier.placement).into();
    let scans = matches!(job.workload, Workload::Scan { .. });
    let touched_bytes = if scans { job.page_bytes as usize } else { TOUCHED };
    Tier { memory: Arc::new(Modules::new(medium, !scans)), placement, touched_bytes }
}

/// How a job opens its database, where that does not lie in files.
pub(super) fn options(job: &EngineJob) -> Result<Options> {
    fits(job.pool_bytes)?;
    let pool = Config {
        page_bytes: job.page_bytes,
        pool_bytes: job.pool_bytes,
        workers: job.threads as usize + OTHERS,
        depth: 128,
    };
    let (durability, tail_bytes) = (job.durability, tail_bytes(job.log_bytes));
    let write_rate_bytes_per_s = job.write_rate_bytes_per_s;
    Ok(Options { pool, durability, tail_bytes, write_rate_bytes_per_s, ..Options::default() })
}
