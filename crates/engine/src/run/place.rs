//! The files of a run: made in folders of Assay's own and removed, or kept where the user asked for that.

use std::{
    fs::OpenOptions,
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_buffer::{
    Config, Tier,
    disk::{Access, Disk, Drive},
};
use assay_path::{PathError, Scratch, SegmentKind};
use assay_pmem::{Mapped, Medium};

use super::job::{EngineJob, Workload};
use crate::{
    database::{Database, Disks, Options},
    error::{EngineError, Result},
    log::tail::PMEM_HEADER,
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
    data: PathBuf,
    log: PathBuf,
    tail: Option<PathBuf>,
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
        let mut file = |folder: &Path, name: &str| -> Result<PathBuf> {
            if let Some(keep) = &job.keep {
                std::fs::create_dir_all(keep).map_err(|error| failed("making", keep, error))?;
                return Ok(keep.join(name));
            }
            let mut own = Scratch::open(folder, &format!("{name}-{}", std::process::id())).map_err(path_error)?;
            own.remove(name).map_err(path_error)?;
            let path = own.claim(name).map_err(path_error)?;
            scratch.push(own);
            Ok(path)
        };
        let data = file(&job.target, DATA)?;
        let log = file(job.log_target.as_ref().unwrap_or(&job.target), LOG)?;
        let tail = job.tail_target.as_ref().map(|folder| file(folder, TAIL)).transpose()?;
        let tier = job.tier.as_ref().map(|tier| file(&tier.target, TIER)).transpose()?;
        Ok(Self { _scratch: scratch, data, log, tail, tier, emulated_tail: false, emulated_tier: false })
    }

    /// Whether memory stands in for persistent memory: under the log's tail, in the tier.
    pub fn emulated(&self) -> [bool; 2] {
        [self.emulated_tail, self.emulated_tier]
    }

    /// Opens the database that is there, or makes one; `true` where it was there.
    pub fn database(&mut self, job: &EngineJob, tables: usize) -> Result<(Database, bool)> {
        let mut options = options(job)?;
        options.tier = self.tier(job)?;
        let there = self.data.exists();
        if there {
            let data: Arc<dyn Disk> = Arc::new(Drive::open(std::slice::from_ref(&self.data), Access::default())?);
            let has_log = self.log.exists();
            let log = has_log.then(|| Drive::open(std::slice::from_ref(&self.log), Access::default())).transpose()?;
            let tail = self.tail(job)?;
            let disks = Disks { data, log: log.map(|log| Arc::new(log) as Arc<dyn Disk>), tail };
            return Ok((Database::open(disks, &options)?, true));
        }
        let access = Access::default();
        let data = Drive::create(std::slice::from_ref(&self.data), job.workload.data_bytes(), access)?;
        let log = match job.durability.logs() {
            true => Some(Arc::new(Drive::create(std::slice::from_ref(&self.log), job.log_bytes, access)?) as Arc<_>),
            false => None,
        };
        let disks = Disks { data: Arc::new(data), log, tail: self.tail(job)? };
        Ok((Database::create(disks, &options, tables, fresh_seed())?, false))
    }

    /// The file is new each time: nothing in it outlives a run.
    fn tier(&mut self, job: &EngineJob) -> Result<Option<Tier>> {
        let (Some(path), Some(wanted)) = (&self.tier, &job.tier) else { return Ok(None) };
        let medium = mapped(path, wanted.bytes)?;
        self.emulated_tier = medium.emulated();
        Ok(Some(tier(job, Box::new(medium))))
    }

    fn tail(&mut self, job: &EngineJob) -> Result<Option<Box<dyn Medium>>> {
        let Some(path) = &self.tail else { return Ok(None) };
        let medium = mapped(path, tail_bytes(job) + PMEM_HEADER)?;
        self.emulated_tail = medium.emulated();
        Ok(Some(Box::new(medium)))
    }
}

/// A file as persistent memory.
fn mapped(path: &Path, bytes: u64) -> Result<Mapped> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|error| failed("opening", path, error))?;
    if file.metadata().map_err(|error| failed("looking at", path, error))?.len() < bytes {
        file.set_len(bytes).map_err(|error| failed("growing", path, error))?;
    }
    let medium = Mapped::open(path, SegmentKind::File, bytes)?;
    medium.populate().map_err(path_error)?;
    Ok(medium)
}

/// The tier of a job over its medium. A scan reads whole pages, others a few blocks of them.
pub(super) fn tier(job: &EngineJob, medium: Box<dyn Medium>) -> Tier {
    let placement = job.tier.as_ref().map_or_else(Default::default, |tier| tier.placement).into();
    let scans = matches!(job.workload, Workload::Scan { .. });
    let touched_bytes = if scans { job.page_bytes as usize } else { TOUCHED };
    Tier { memory: Arc::new(Modules::new(medium, !scans)), placement, touched_bytes }
}

pub(super) fn tail_bytes(job: &EngineJob) -> u64 {
    (job.log_bytes / 8 / 4096 * 4096).clamp(64 << 10, 16 << 20)
}

pub(super) fn options(job: &EngineJob) -> Result<Options> {
    let there = memory_bytes();
    if there.is_some_and(|there| job.pool_bytes > there) {
        let what =
            format!("a pool of {} bytes was asked for, and {} are available", job.pool_bytes, there.unwrap_or(0));
        return Err(EngineError::unfit(what, "ask for a smaller pool"));
    }
    let pool = Config {
        page_bytes: job.page_bytes,
        pool_bytes: job.pool_bytes,
        workers: job.threads as usize + OTHERS,
        depth: 128,
    };
    let (durability, tail_bytes) = (job.durability, tail_bytes(job));
    Ok(Options { pool, durability, tail_bytes, ..Options::default() })
}

/// Memory that could be had, as the kernel estimates it.
pub(super) fn memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Databases are told apart by it.
fn fresh_seed() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64) ^ u64::from(std::process::id()) << 40
}

pub(super) fn failed(action: &'static str, path: &Path, source: std::io::Error) -> EngineError {
    path_error(PathError::Io { action, path: path.to_owned(), source })
}

fn path_error(error: PathError) -> EngineError {
    EngineError::Buffer(error.into())
}
