//! A database in files or on devices that the caller names: made where it is missing, opened where it is there.
//!
//! **Half made.** A mark lies beside the pages' file from before anything is made until everything is in the database that
//! is to be in it from the beginning ([`Database::complete`]). Who finds the mark and nobody who holds it finds what a
//! process left that was killed meanwhile: it never held anything for anybody, so it is made anew.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use assay_buffer::{
    BufferError, Config, Tier,
    disk::{Access, Disk, Drive, lock_patiently},
};
use assay_path::{PathError, SegmentKind};
use assay_pmem::{Mapped, Medium};
use assay_record::{PathKind, Target, TargetKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    database::{Database, Disks, Options},
    durability::Durability,
    error::{EngineError, Result},
    log::tail::PMEM_HEADER,
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
    /// File of the log.
    pub log: PathBuf,
    /// Bare devices for the log in the place of its file.
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
    /// Bytes of the log's file, given when it is made.
    #[serde(default = "default_log")]
    pub log_bytes: u64,
    /// Bytes per second at which dirty pages are written in the background; none where only what must be is written.
    #[serde(default)]
    pub write_rate_bytes_per_s: Option<f64>,
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
            log_devices: None,
            tail: None,
            durability: Durability::default(),
            path: default_path(),
            pool_bytes: default_pool(),
            page_bytes: default_page(),
            log_bytes: default_log(),
            write_rate_bytes_per_s: None,
        }
    }
}

impl Devices {
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
pub(crate) fn default_path() -> PathKind {
    PathKind::IoUring
}

fn default_pool() -> u64 {
    256 << 20
}

fn default_page() -> u32 {
    4096
}

fn default_log() -> u64 {
    256 << 20
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
pub(crate) fn tail_bytes(log_bytes: u64) -> u64 {
    (log_bytes / 8 / 4096 * 4096).clamp(64 << 10, 16 << 20)
}

/// Opens the database that is there, or makes one. On devices one is made always.
///
/// # Errors
/// Where a file cannot be made or holds no database, a log is there without its database, a guard has something against a
/// device, or there is not enough memory.
pub fn open(options: &FilesOptions, wanted: Wanted) -> Result<Opened> {
    let how = how(options, &wanted);
    let making = if options.devices.is_some() { None } else { Making::found(options)? };
    if options.devices.is_none() && making.is_none() && options.data.exists() {
        let log = match &options.log_devices {
            None => options.log.exists().then(|| opened(std::slice::from_ref(&options.log), options)).transpose()?,
            Some(_) => return Err(EngineError::unfit("a log on a bare device is not kept", "put it into a folder")),
        };
        let (tail, emulated_tail) = tail(options)?;
        let disks = Disks { data: opened(&files_of(options), options)?, log, tail };
        return Ok(Opened { database: Database::open(disks, &how)?, there: true, emulated_tail });
    }
    let making = match making {
        None if options.devices.is_none() => Some(Making::begin(options)?),
        other => other,
    };
    let (tail, emulated_tail) = tail(options)?;
    let data = match &options.devices {
        Some(devices) => bare(devices, "data", options)?,
        None => made(&files_of(options), wanted.data_bytes, options)?,
    };
    let log = options.durability.logs().then(|| match &options.log_devices {
        Some(devices) => bare(devices, "log", options),
        None => made(std::slice::from_ref(&options.log), options.log_bytes, options),
    });
    let disks = Disks { data, log: log.transpose()?, tail };
    let database = Database::create(disks, &how, wanted.tables, fresh_seed())?;
    if let Some(making) = making {
        database.complete_later(Box::new(move || making.end()));
    }
    Ok(Opened { database, there: false, emulated_tail })
}

fn how(options: &FilesOptions, wanted: &Wanted) -> Options {
    Options {
        pool: Config {
            page_bytes: options.page_bytes,
            pool_bytes: options.pool_bytes,
            workers: wanted.sessions + OTHERS,
            depth: 128,
        },
        durability: options.durability,
        tail_bytes: tail_bytes(options.log_bytes),
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

fn made(paths: &[PathBuf], bytes: u64, options: &FilesOptions) -> Result<Arc<dyn Disk>> {
    Ok(Arc::new(Drive::create(paths, bytes, access(options))?))
}

fn bare(devices: &Devices, id: &str, options: &FilesOptions) -> Result<Arc<dyn Disk>> {
    Ok(Arc::new(Drive::devices(&devices.target(id), access(options))?))
}

fn tail(options: &FilesOptions) -> Result<(Option<Box<dyn Medium>>, bool)> {
    let Some(path) = &options.tail else { return Ok((None, false)) };
    let medium = mapped(path, tail_bytes(options.log_bytes) + PMEM_HEADER)?;
    let emulated = medium.emulated();
    Ok((Some(Box::new(medium)), emulated))
}

/// A file as persistent memory. One that was made for it and cannot be it is removed.
pub(crate) fn mapped(path: &Path, bytes: u64) -> Result<Mapped> {
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

/// A database that is being made.
struct Making {
    mark: PathBuf,
    // Locked: another process that finds the mark knows that somebody is at it.
    _held: File,
}

impl Making {
    /// What a killed process left is taken away; the mark stays, and is ours. None where nothing was left.
    fn found(options: &FilesOptions) -> Result<Option<Self>> {
        let mark = mark_of(&options.data);
        let making = loop {
            let file = match OpenOptions::new().write(true).open(&mark) {
                Ok(file) => file,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(failed("opening", &mark, error)),
            };
            hold(&file, &mark, &options.data)?;
            // Whoever held it before may have completed the database since it was opened here.
            if is_still(&file, &mark)? {
                break Self { mark, _held: file };
            }
        };
        let log = options.log_devices.is_none().then_some(&options.log);
        for path in files_of(options).iter().chain(log).chain(&options.tail) {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed("removing", path, error));
                }
                _ => {}
            }
        }
        Ok(Some(making))
    }

    /// Marks a database that is about to be made; nothing may be there yet.
    fn begin(options: &FilesOptions) -> Result<Self> {
        if options.log_devices.is_none() && options.log.exists() {
            let what =
                format!("{} is a log, and its database {} is missing", options.log.display(), options.data.display());
            let fix = "bring the database back, or name another folder".to_owned();
            return Err(EngineError::Foreign { what, fix });
        }
        let mark = mark_of(&options.data);
        let file = OpenOptions::new().write(true).create_new(true).open(&mark);
        let file = file.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => in_use(&options.data),
            _ => failed("making", &mark, error),
        })?;
        hold(&file, &mark, &options.data)?;
        sync_folder(&mark)?;
        Ok(Self { mark, _held: file })
    }

    /// The database is complete: from now on it is opened.
    fn end(self) -> Result<()> {
        std::fs::remove_file(&self.mark).map_err(|error| failed("removing", &self.mark, error))?;
        // Before anybody is told of a commit: a mark that came back after a power cut would have it removed.
        sync_folder(&self.mark)
    }
}

fn mark_of(data: &Path) -> PathBuf {
    let mut name = data.as_os_str().to_owned();
    name.push(".making");
    name.into()
}

fn hold(file: &File, mark: &Path, data: &Path) -> Result<()> {
    lock_patiently(file).map_err(|errno| match errno {
        rustix::io::Errno::WOULDBLOCK => in_use(data),
        errno => failed("locking", mark, errno.into()),
    })
}

fn is_still(file: &File, mark: &Path) -> Result<bool> {
    let ours = file.metadata().map_err(|error| failed("looking at", mark, error))?;
    match std::fs::metadata(mark) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed("looking at", mark, error)),
    }
}

fn sync_folder(of: &Path) -> Result<()> {
    let folder = of.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed("flushing", folder, error))
}

fn in_use(data: &Path) -> EngineError {
    EngineError::Buffer(BufferError::InUse { disk: data.display().to_string() })
}

/// Databases are told apart by it.
fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64) ^ u64::from(std::process::id()) << 40
}

pub(crate) fn failed(action: &'static str, path: &Path, source: std::io::Error) -> EngineError {
    path_error(PathError::Io { action, path: path.to_owned(), source })
}

pub(crate) fn path_error(error: PathError) -> EngineError {
    EngineError::Buffer(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(folder: &Path) -> FilesOptions {
        let (pool_bytes, log_bytes) = (4 << 20, 4 << 20);
        FilesOptions { pool_bytes, log_bytes, ..FilesOptions::of(folder.join("data"), folder.join("log")) }
    }

    fn wanted() -> Wanted {
        Wanted { tables: 1, data_bytes: 64 << 20, sessions: 2, tier: None }
    }

    #[test]
    fn a_database_that_was_never_completed_is_made_anew_and_a_complete_one_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let options = options(folder.path());
        let half = open(&options, wanted()).unwrap();
        assert!(!half.there);
        assert!(matches!(open(&options, wanted()), Err(EngineError::Buffer(BufferError::InUse { .. }))));
        drop(half);
        let whole = open(&options, wanted()).unwrap();
        assert!(!whole.there, "what was half made is not opened");
        whole.database.complete().unwrap();
        let mut session = whole.database.session().unwrap();
        session.begin().unwrap();
        session.put(0, b"key", b"value").unwrap();
        session.commit().unwrap();
        drop(session);
        drop(whole);
        let again = open(&options, wanted()).unwrap();
        assert!(again.there);
        let (mut session, mut value) = (again.database.session().unwrap(), Vec::new());
        session.begin().unwrap();
        assert!(session.get(0, b"key", &mut value).unwrap());
        assert_eq!(value, b"value");
    }

    #[test]
    fn a_log_without_its_database_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let options = options(folder.path());
        std::fs::write(&options.log, b"precious").unwrap();
        let error = open(&options, wanted()).err().unwrap().to_string();
        assert!(error.contains("is missing"), "{error}");
        assert_eq!(std::fs::read(&options.log).unwrap(), b"precious");
    }

    #[test]
    fn pages_lie_on_several_files_and_are_reached_by_each_path() {
        for path in [PathKind::IoUring, PathKind::Libaio, PathKind::Pread] {
            let folder = tempfile::tempdir().unwrap();
            let stripes = vec![folder.path().join("second"), folder.path().join("third")];
            let options = FilesOptions { stripes, path, page_bytes: 16384, ..options(folder.path()) };
            let made = open(&options, wanted()).unwrap();
            made.database.complete().unwrap();
            let mut session = made.database.session().unwrap();
            for row in 0..2000_u32 {
                session.begin().unwrap();
                session.put(0, &row.to_be_bytes(), &[row as u8; 1000]).unwrap();
                session.commit_soon().unwrap();
            }
            drop(session);
            made.database.close().unwrap();
            let again = open(&options, wanted()).unwrap();
            let (mut session, mut value) = (again.database.session().unwrap(), Vec::new());
            session.begin().unwrap();
            for row in 0..2000_u32 {
                assert!(session.get(0, &row.to_be_bytes(), &mut value).unwrap(), "{path:?}, row {row}");
                assert_eq!(value, [row as u8; 1000]);
            }
        }
    }
}
