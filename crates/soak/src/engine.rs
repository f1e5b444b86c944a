//! The storage engine as a store: a turn is a transaction that changes a row in each of two tables.

use std::{
    fs::OpenOptions,
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_buffer::{
    Config,
    disk::{Access, Disk, Drive},
};
use assay_engine::{Database, Disks, EngineError, Options, Session, forest::Hand as Worker, log::tail::PMEM_HEADER};
use assay_path::SegmentKind;
use assay_pmem::{Mapped, Medium};

use crate::{
    error::SoakError,
    job::SoakJob,
    store::{Hand, Store},
};

const TABLES: usize = 2;
const POOL_BYTES: u64 = 4 << 20;
/// Small, so that checkpoints come often.
const LOG_BYTES: u64 = 8 << 20;
const TAIL_BYTES: u64 = 1 << 20;
const DATA_BYTES: u64 = 256 << 20;
/// Workers besides the threads: checkpoints, recovery, looking.
const OTHERS: usize = 6;

/// A database of two tables.
pub(crate) struct Tables {
    database: Database,
}

impl Tables {
    /// Opens the database of a job, or makes it.
    pub fn open(job: &SoakJob, make: bool) -> Result<Self, SoakError> {
        let data = job.place.join("soak-data");
        let log = job.log.as_ref().unwrap_or(&job.place).join("soak-log");
        let fresh = make && !data.exists();
        let drive = |path: PathBuf, bytes: u64| -> Result<Arc<dyn Disk>, SoakError> {
            let paths = [path];
            Ok(Arc::new(if fresh {
                Drive::create(&paths, bytes, Access::default())?
            } else {
                Drive::open(&paths, Access::default())?
            }))
        };
        let log = if job.durability.logs() { Some(drive(log, LOG_BYTES)?) } else { None };
        let tail = job.tail.as_ref().map(|folder| tail(&folder.join("soak-tail"))).transpose()?;
        let disks = Disks { data: drive(data, DATA_BYTES)?, log, tail };
        let options = options(job);
        let seed = u64::from(std::process::id());
        let database =
            if fresh { Database::create(disks, &options, TABLES, seed)? } else { Database::open(disks, &options)? };
        Ok(Self { database })
    }
}

fn options(job: &SoakJob) -> Options {
    let workers = job.threads as usize + OTHERS;
    let pool = Config { pool_bytes: POOL_BYTES, workers, ..Config::default() };
    Options { pool, durability: job.durability, tail_bytes: TAIL_BYTES, ..Options::default() }
}

fn tail(path: &Path) -> Result<Box<dyn Medium>, SoakError> {
    let bytes = TAIL_BYTES + PMEM_HEADER;
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(SoakError::file("opening", path))?;
    if file.metadata().map_err(SoakError::file("looking at", path))?.len() < bytes {
        file.set_len(bytes).map_err(SoakError::file("growing", path))?;
    }
    Ok(Box::new(Mapped::open(path, SegmentKind::File, bytes).map_err(EngineError::from)?))
}

impl Store for Tables {
    type Hand<'a> = Rows<'a>;

    fn hand(&self) -> Result<Rows<'_>, SoakError> {
        Ok(Rows { session: self.database.session()?, other: Vec::new() })
    }

    fn batch(&self) -> u64 {
        1
    }

    fn make_durable(&self) -> Result<(), SoakError> {
        Ok(())
    }

    fn examine(&self) -> Option<Result<String, String>> {
        None
    }
}

/// A session on both tables.
pub(crate) struct Rows<'d> {
    session: Session<'d, Worker<'d>>,
    other: Vec<u8>,
}

impl Rows<'_> {
    fn change(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), EngineError> {
        self.session.begin()?;
        for table in 0..TABLES as u16 {
            match value {
                Some(value) => self.session.put(table, key, value)?,
                None => {
                    self.session.delete(table, key)?;
                }
            }
        }
        self.session.commit()
    }
}

impl Hand for Rows<'_> {
    fn set(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), SoakError> {
        loop {
            match self.change(key, value) {
                Err(error) if error.is_passing() => {}
                done => return Ok(done?),
            }
        }
    }

    fn get(&mut self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, SoakError> {
        self.session.begin()?;
        let here = self.session.get(0, key, into)?;
        let there = self.session.get(1, key, &mut self.other)?;
        self.session.abort();
        if here != there || (here && *into != self.other) {
            return Err(SoakError::Differs { what: format!("a transaction is there by half, under the key {key:?}") });
        }
        Ok(here)
    }
}
