//! The files of a run: made in folders of Assay's own and removed, or kept where the user asked for that.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_buffer::{Config, Grouping, Tier};
use assay_engine::{
    Database, Modules, Options,
    files::{self, FilesOptions, Wanted, fits, mapped, numbered, tail_bytes},
};
use assay_path::{Plan, Scratch};
use assay_pmem::Medium;

use super::job::{EngineJob, Workload};
use crate::error::{Result, WorkError, failed};

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
        if !is_left(job) {
            assay_path::space::reserve(needed(job))?;
        }
        let mut own = |folder: &Path, name: &str| -> Result<PathBuf> {
            let mut own = Scratch::fresh(folder, name, &Plan::measured())?;
            // Each of several logs, and each tail, has a file of its own.
            let count = if name == LOG || name == TAIL { logs } else { 1 };
            let numbers = (0..count as usize).map(|index| numbered(Path::new(name), index).display().to_string());
            for name in numbers.chain([mark_name(name)]) {
                own.claim(&name)?;
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
            collection_unit_bytes: job.collection_unit_bytes,
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

    /// Whether the pages' file may go on growing.
    pub fn room(&self, job: &EngineJob) -> Result<()> {
        if job.devices.is_some() {
            return Ok(());
        }
        let files = std::iter::once(&self.files.data).chain(&self.files.stripes);
        let mut folders = files.filter_map(|file| file.parent());
        folders.try_for_each(assay_path::space::still_there).map_err(WorkError::from)
    }

    /// The file is new each time: nothing in it outlives a run.
    fn tier(&mut self, job: &EngineJob) -> Result<Option<Tier>> {
        let (Some(path), Some(wanted)) = (&self.tier, &job.tier) else { return Ok(None) };
        let medium = mapped(path, wanted.bytes)?;
        self.emulated_tier = medium.emulated();
        Ok(Some(tier(job, Box::new(medium))))
    }
}

/// Bytes that a new database takes of each folder before its window opens: files, and pages filled by two thirds.
fn needed(job: &EngineJob) -> Vec<(&Path, u64)> {
    let data: Vec<&Path> = std::iter::once(&job.target).chain(&job.stripes).map(PathBuf::as_path).collect();
    let (loaded, members) = (job.workload.loaded_bytes(), data.len() as u64);
    let in_files = if job.devices.is_none() { data } else { Vec::new() };
    let pages = in_files.into_iter().map(|folder| (folder, loaded / members));
    let has_log =
        job.durability.logs() && job.log_devices.is_none() && (job.devices.is_none() || job.log_target.is_some());
    let log = has_log.then(|| (job.log_target.as_deref().unwrap_or(&job.target), job.log_bytes));
    let tail = job.tail_target.as_deref().map(|folder| (folder, tail_bytes(job.log_bytes)));
    let tier = job.tier.as_ref().map(|tier| (tier.target.as_path(), tier.bytes));
    // What is kept lies in one folder, which need not be there yet.
    let kept = |(folder, bytes)| match &job.keep {
        Some(keep) if folder == job.target => {
            (keep.ancestors().find(|folder| folder.is_dir()).unwrap_or(folder), bytes)
        }
        _ => (folder, bytes),
    };
    pages.chain(log).chain(tail).chain(tier).map(kept).collect()
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
        grouping: Grouping::by(job.collection_unit_bytes),
    };
    let (durability, tail_bytes) = (job.durability, tail_bytes(job.log_bytes));
    let write_rate_bytes_per_s = job.write_rate_bytes_per_s;
    Ok(Options { pool, durability, tail_bytes, write_rate_bytes_per_s, ..Options::default() })
}
