//! A database in files that the caller names: made where they are missing, opened where they are there.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use assay_buffer::{
    Config,
    disk::{Access, Disk, Drive},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    database::{Database, Disks, Options},
    durability::Durability,
    error::{EngineError, Result},
};

/// Workers besides those of sessions: checkpoints, recovery, loading and checking.
const OTHERS: usize = 8;
/// What a warehouse of TPC-C may grow to in a run.
const WAREHOUSE_BYTES: u64 = 400 << 20;
const SPARE_BYTES: u64 = 4 << 30;

/// Where a database lies, and how it is opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesOptions {
    /// File of the pages.
    pub data: PathBuf,
    /// File of the log.
    pub log: PathBuf,
    /// What makes commits durable.
    #[serde(default)]
    pub durability: Durability,
    /// Bytes of the pool.
    #[serde(default = "default_pool")]
    pub pool_bytes: u64,
    /// Bytes of a page.
    #[serde(default = "default_page")]
    pub page_bytes: u32,
    /// Bytes of the log's file, given when it is made.
    #[serde(default = "default_log")]
    pub log_bytes: u64,
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

/// Bytes that the pages' file of so many warehouses may grow to; it is sparse.
pub fn tpcc_bytes(warehouses: u32) -> u64 {
    u64::from(warehouses) * WAREHOUSE_BYTES + SPARE_BYTES
}

/// Opens the database that is there, or makes one of `tables` tables in at most `data_bytes`, for so many sessions.
///
/// # Errors
/// Where a file cannot be made or holds no database, or there is not enough memory.
pub fn open(options: &FilesOptions, tables: usize, data_bytes: u64, sessions: u32) -> Result<Database> {
    if options.durability == Durability::Pmem {
        let what = "a log in persistent memory has no place among a database's two files".to_owned();
        return Err(EngineError::unfit(what, "use `assay engine tpcc --durability pmem`"));
    }
    let how = Options {
        pool: Config {
            page_bytes: options.page_bytes,
            pool_bytes: options.pool_bytes,
            workers: sessions as usize + OTHERS,
            depth: 128,
        },
        durability: options.durability,
        tail_bytes: (options.log_bytes / 8 / 4096 * 4096).clamp(64 << 10, 16 << 20),
        ..Options::default()
    };
    if options.data.exists() {
        let log = options.log.exists().then(|| opened(&options.log)).transpose()?;
        return Database::open(Disks { data: opened(&options.data)?, log, tail: None }, &how);
    }
    let log = options.durability.logs().then(|| made(&options.log, options.log_bytes)).transpose()?;
    let disks = Disks { data: made(&options.data, data_bytes)?, log, tail: None };
    Database::create(disks, &how, tables, fresh_seed())
}

fn opened(path: &Path) -> Result<Arc<dyn Disk>> {
    Ok(Arc::new(Drive::open(&[path.to_owned()], Access::default())?))
}

fn made(path: &Path, bytes: u64) -> Result<Arc<dyn Disk>> {
    Ok(Arc::new(Drive::create(&[path.to_owned()], bytes, Access::default())?))
}

/// Databases are told apart by it.
fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64) ^ u64::from(std::process::id()) << 40
}
