//! A database in files or on devices that the caller names: made where it is missing, opened where it is there.

use std::{
    fs::{File, OpenOptions},
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use assay_buffer::{
    Config, Grouping, Tier,
    disk::{Access, Disk, Drive},
};
use assay_path::SegmentKind;
use assay_pmem::{Mapped, Medium};
use assay_record::{PathKind, Target, TargetKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    database::Database,
    durability::Durability,
    error::{EngineError, Result, failed, path_error},
    log::tail::PMEM_HEADER,
    making::{Making, hold, new_file},
    options::{Disks, Options},
};

/// Workers besides those of sessions: checkpoints, recovery, loading and checking.
const OTHERS: usize = 8;
/// What a warehouse of TPC-C may grow to in a run.
const WAREHOUSE_BYTES: u64 = 400 << 20;
const SPARE_BYTES: u64 = 4 << 30;

/// Where a database lies, and how it is opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesOptions {
    /// File of the pages.
    pub data: PathBuf,
    /// More files for the pages, which are striped over all of them.
    #[serde(default)]
    pub stripes: Vec<PathBuf>,
    /// Bare devices for the pages in the place of files, named with their serial numbers; what is on them is destroyed.
    #[serde(default)]
    pub devices: Option<Devices>,
    /// File of the log, and the first of several: others have its name and their number.
    pub log: PathBuf,
    /// Logs, each with a file of its own; one where none is said, and as many as it has of a database that is there.
    #[serde(default)]
    pub logs: Option<u32>,
    /// Bare devices for the log in the place of its file, or for several logs one each.
    #[serde(default)]
    pub log_devices: Option<Devices>,
    /// File of the log's tail, on persistent memory; without DAX memory stands in for it.
    #[serde(default)]
    pub tail: Option<PathBuf>,
    /// What makes commits durable.
    #[serde(default)]
    pub durability: Durability,
    /// How pages and log are reached: `io_uring`, `libaio` or `pread`.
    #[serde(default = "default_path")]
    pub path: PathKind,
    /// Bytes of the pool.
    #[serde(default = "default_pool")]
    pub pool_bytes: u64,
    /// Bytes of a page.
    #[serde(default = "default_page")]
    pub page_bytes: u32,
    /// Bytes of the log's file, of several logs together, given when it is made.
    #[serde(default = "default_log")]
    pub log_bytes: u64,
    /// Bytes per second at which dirty pages are written in the background; none where only what must be is written.
    #[serde(default)]
    pub write_rate_bytes_per_s: Option<f64>,
    /// Bytes that a drive of flash erases together: written pages get their places by when they are expected to die. None
    /// where the first free places will do.
    #[serde(default)]
    pub collection_unit_bytes: Option<u64>,
}

/// Bare devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Devices {
    /// Their paths; pages are striped over them.
    pub members: Vec<String>,
    /// Their serial numbers, in that order.
    pub serials: Vec<String>,
    /// The user typed `--yes-destroy`.
    #[serde(default)]
    pub yes_destroy: bool,
}

impl FilesOptions {
    /// One file for the pages and one for the log; all else as who names nothing else gets it.
    pub fn of(data: PathBuf, log: PathBuf) -> Self {
        Self {
            data,
            stripes: Vec::new(),
            devices: None,
            log,
            logs: None,
            log_devices: None,
            tail: None,
            durability: Durability::default(),
            path: default_path(),
            pool_bytes: default_pool(),
            page_bytes: default_page(),
            log_bytes: default_log(),
            write_rate_bytes_per_s: None,
            collection_unit_bytes: None,
        }
    }
}

impl FilesOptions {
    /// Logs of a database that is made.
    fn count(&self) -> usize {
        self.logs.unwrap_or(1).max(1) as usize
    }

    /// The files of so many logs.
    fn logs_of(&self, count: usize) -> Vec<PathBuf> {
        (0..count).map(|index| numbered(&self.log, index)).collect()
    }

    /// The files of the tails of so many logs.
    fn tails_of(&self, count: usize) -> Vec<PathBuf> {
        self.tail.iter().flat_map(|tail| (0..count).map(|index| numbered(tail, index))).collect()
    }

    /// The files that are made with a database.
    fn parts(&self) -> Vec<PathBuf> {
        let in_files = self.durability.logs() && self.log_devices.is_none();
        let logs = if in_files { self.logs_of(self.count()) } else { Vec::new() };
        files_of(self).into_iter().chain(logs).chain(self.tails_of(self.count())).collect()
    }

    /// Bytes of each of so many logs.
    fn bytes_of_each(&self, count: usize) -> u64 {
        self.log_bytes / count as u64
    }
}

/// The name of one of several files: the first has the one that was given.
pub fn numbered(path: &Path, index: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    if index > 0 {
        name.push(format!("-{index}"));
    }
    name.into()
}

impl Devices {
    /// Each of them by itself.
    fn one_by_one(&self) -> impl Iterator<Item = Self> + '_ {
        self.members.iter().zip(&self.serials).map(|(member, serial)| Self {
            members: vec![member.clone()],
            serials: vec![serial.clone()],
            yes_destroy: self.yes_destroy,
        })
    }

    fn target(&self, id: &str) -> Target {
        Target {
            id: id.to_owned(),
            kind: TargetKind::BlockDevice,
            members: self.members.clone(),
            serials: self.serials.clone(),
            yes_destroy: self.yes_destroy,
            twin: None,
        }
    }
}

/// The path of who names none.
pub fn default_path() -> PathKind {
    PathKind::IoUring
}

fn default_pool() -> u64 {
    256 << 20
}

fn default_page() -> u32 {
    4096
}

/// Bytes of a log that nobody gave a size. A checkpoint begins with each 40 % of it: with 256 MiB TPC-C in memory made two a
/// second on two CPUs, wrote twice as much for each transaction and did an eighth to a quarter fewer. PostgreSQL's `max_wal_size`
/// is as much.
pub const LOG_BYTES: u64 = 1 << 30;

fn default_log() -> u64 {
    LOG_BYTES
}

/// What a database is made for.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Tables.
    pub tables: usize,
    /// Bytes that its pages may grow to: files are sparse.
    pub data_bytes: u64,
    /// Threads that will work on it, those of the database itself not counted.
    pub sessions: usize,
    /// Memory below the pool.
    pub tier: Option<Tier>,
}

/// A database that was opened or made.
pub struct Opened {
    /// The database. One that was made is to be completed.
    pub database: Database,
    /// It was there.
    pub there: bool,
    /// Memory stands in for persistent memory under the log's tail.
    pub emulated_tail: bool,
}

/// Bytes that the pages' file of so many warehouses may grow to; it is sparse.
pub fn tpcc_bytes(warehouses: u32) -> u64 {
    u64::from(warehouses) * WAREHOUSE_BYTES + SPARE_BYTES
}

/// Bytes of the log's tail for a log of so many.
pub fn tail_bytes(log_bytes: u64) -> u64 {
    (log_bytes / 8 / 4096 * 4096).clamp(64 << 10, 16 << 20)
}

/// Opens the database that is there, or makes one. On devices one is made always.
///
/// # Errors
/// Where a file cannot be made or holds no database, a log is there without its database, a file belongs to another
/// database, a guard has something against a device, or there is not enough memory.
pub fn open(options: &FilesOptions, wanted: Wanted) -> Result<Opened> {
    fits(options.pool_bytes)?;
    let how = how(options, &wanted);
    let making = if options.devices.is_some() { None } else { Making::found(&options.data)? };
    if options.devices.is_none() && making.is_none() && options.data.symlink_metadata().is_ok() {
        return reopen(options, &how, &wanted);
    }
    let mut making = match making {
        None if options.devices.is_none() => Some(Making::begin(&options.data)?),
        other => other,
    };
    if let Some(making) = &making {
        options.parts().iter().try_for_each(|part| making.vacant(part))?;
    }
    let (mut tails, mut held, mut emulated_tail) = (Vec::new(), Vec::new(), false);
    for path in options.tails_of(options.count()) {
        held.push(new(&mut making, &path, options)?);
        let (medium, emulated) = tail(&path, how.tail_bytes + PMEM_HEADER)?;
        tails.push(medium);
        emulated_tail |= emulated;
    }
    let data = match &options.devices {
        Some(devices) => bare(devices, "data", options)?,
        None => made(&mut making, &files_of(options), wanted.data_bytes, options)?,
    };
    let logs = logs::made(options, &mut making)?;
    let mut database = Database::create(Disks { data, logs, tails }, &how, wanted.tables, fresh_seed())?;
    database.hold(held);
    if let Some(making) = making {
        database.complete_later(Box::new(move || making.end()));
    }
    Ok(Opened { database, there: false, emulated_tail })
}

/// Opens the database that is there.
fn reopen(options: &FilesOptions, how: &Options, wanted: &Wanted) -> Result<Opened> {
    if options.log_devices.is_some() {
        return Err(EngineError::unfit("a log on a bare device is not kept", "put it into a folder"));
    }
    // First, so that whoever is refused has made and grown nothing.
    let data = opened(&files_of(options), options)?;
    let logs = logs::found(options)?;
    let count = logs.len().max(1);
    let found = options.tails_of(count).into_iter().map(|path| FoundTail::of(&path, options, count));
    let found = found.collect::<Result<Vec<_>>>()?;
    let (mut tails, mut emulated_tail) = (Vec::new(), false);
    for one in &found {
        let (medium, emulated) = one.map()?;
        tails.push(medium);
        emulated_tail |= emulated;
    }
    let name = data.name().to_owned();
    let mut database = Database::open(Disks { data, logs, tails }, how)?;
    if database.tables() != wanted.tables {
        let what = format!(
            "the database in {name} has {} tables, and this work needs {}: it was made for other work",
            database.tables(),
            wanted.tables
        );
        return Err(EngineError::Foreign {
            what,
            fix: "name another folder, or the work that it was made for".to_owned(),
        });
    }
    database.hold(found.into_iter().map(FoundTail::keep).collect());
    Ok(Opened { database, there: true, emulated_tail })
}

/// Whether there is memory for a pool.
///
/// # Errors
/// Where there is not.
pub fn fits(pool_bytes: u64) -> Result<()> {
    let there = memory_bytes();
    if there.is_some_and(|there| pool_bytes > there) {
        let what = format!("a pool of {pool_bytes} bytes was asked for, and {} are available", there.unwrap_or(0));
        return Err(EngineError::unfit(what, "ask for a smaller pool"));
    }
    Ok(())
}

/// Memory that could be had, as the kernel estimates it.
pub fn memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn how(options: &FilesOptions, wanted: &Wanted) -> Options {
    Options {
        pool: Config {
            page_bytes: options.page_bytes,
            pool_bytes: options.pool_bytes,
            workers: wanted.sessions + OTHERS,
            depth: 128,
            grouping: Grouping::by(options.collection_unit_bytes),
        },
        durability: options.durability,
        tail_bytes: tail_bytes(options.bytes_of_each(options.count())),
        tier: wanted.tier.clone(),
        write_rate_bytes_per_s: options.write_rate_bytes_per_s,
        ..Options::default()
    }
}

fn files_of(options: &FilesOptions) -> Vec<PathBuf> {
    std::iter::once(&options.data).chain(&options.stripes).cloned().collect()
}

fn access(options: &FilesOptions) -> Access {
    Access { path: options.path, ..Access::default() }
}

fn opened(paths: &[PathBuf], options: &FilesOptions) -> Result<Arc<dyn Disk>> {
    Ok(Arc::new(Drive::open(paths, access(options))?))
}

/// A new file, listed where the database has a mark.
fn new(making: &mut Option<Making>, path: &Path, options: &FilesOptions) -> Result<File> {
    match making {
        Some(making) => making.make(path),
        None => new_file(path, &options.data),
    }
}

fn made(making: &mut Option<Making>, paths: &[PathBuf], bytes: u64, options: &FilesOptions) -> Result<Arc<dyn Disk>> {
    let files = paths.iter().map(|path| Ok((path.clone(), new(making, path, options)?)));
    Ok(Arc::new(Drive::on(files.collect::<Result<_>>()?, bytes, access(options))?))
}

fn bare(devices: &Devices, id: &str, options: &FilesOptions) -> Result<Arc<dyn Disk>> {
    Ok(Arc::new(Drive::devices(&devices.target(id), access(options))?))
}

/// A log's tail on a file, and whether memory stands in for persistent memory.
fn tail(path: &Path, bytes: u64) -> Result<(Box<dyn Medium>, bool)> {
    let medium = map(path, bytes)?;
    let emulated = medium.emulated();
    Ok((Box::new(medium), emulated))
}

/// The file of a log's tail when a database is opened: held, so that no other process takes it, and removed again where
/// it had to be made and the database could not be opened.
struct FoundTail {
    path: PathBuf,
    held: Option<File>,
    bytes: u64,
    fresh: bool,
}

impl FoundTail {
    fn of(path: &Path, options: &FilesOptions, count: usize) -> Result<Self> {
        let held = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let held = Some(new_file(path, &options.data)?);
                let bytes = tail_bytes(options.bytes_of_each(count)) + PMEM_HEADER;
                return Ok(Self { path: path.to_owned(), held, bytes, fresh: true });
            }
            Err(error) => return Err(failed("opening", path, error)),
        };
        hold(&held, path, path)?;
        let facts = held.metadata().map_err(|error| failed("looking at", path, error))?;
        if !facts.is_file() || facts.len() <= PMEM_HEADER {
            let what = format!("{} has {} bytes, and is no tail of a log", path.display(), facts.len());
            return Err(EngineError::Foreign { what, fix: "name the folder of the log's tail".to_owned() });
        }
        Ok(Self { path: path.to_owned(), held: Some(held), bytes: facts.len(), fresh: false })
    }

    fn map(&self) -> Result<(Box<dyn Medium>, bool)> {
        tail(&self.path, self.bytes)
    }

    /// The file stays, and is held as long as what is returned.
    fn keep(mut self) -> File {
        self.fresh = false;
        self.held.take().expect("it is kept once")
    }
}

impl Drop for FoundTail {
    fn drop(&mut self) {
        if self.fresh {
            // What went wrong counts, not whether this does.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A file as persistent memory. One that was made for it and cannot be it is removed.
pub fn mapped(path: &Path, bytes: u64) -> Result<Mapped> {
    let there = path.exists();
    let medium = map(path, bytes);
    if medium.is_err() && !there {
        // What went wrong counts, not whether this does.
        let _ = std::fs::remove_file(path);
    }
    medium
}

fn map(path: &Path, bytes: u64) -> Result<Mapped> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|error| failed("opening", path, error))?;
    if file.metadata().map_err(|error| failed("looking at", path, error))?.len() < bytes {
        file.set_len(bytes).map_err(|error| failed("growing", path, error))?;
    }
    let medium = Mapped::open(path, SegmentKind::File, bytes)?;
    medium.populate().map_err(path_error)?;
    Ok(medium)
}

/// Databases are told apart by it.
fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64) ^ u64::from(std::process::id()) << 40
}

mod logs;
#[cfg(test)]
mod tests;
