//! The storage engine as a store: a turn is a transaction that changes a row in each of two tables.

use assay_engine::{
    Database, EngineError, Session,
    files::{self, FilesOptions, Wanted},
    handle::Handle as Worker,
};

use crate::{
    error::SoakError,
    job::SoakJob,
    store::{Store, StoreHandle},
};

const TABLES: usize = 2;
const POOL_BYTES: u64 = 4 << 20;
/// Small, so that checkpoints come often.
const LOG_BYTES: u64 = 8 << 20;
const DATA_BYTES: u64 = 256 << 20;

/// A database of two tables.
pub(crate) struct Tables {
    database: Database,
}

impl Tables {
    /// Opens the database of a job, or makes it.
    pub fn open(job: &SoakJob, make: bool) -> Result<Self, SoakError> {
        let log = job.log.as_ref().unwrap_or(&job.place).join("soak-log");
        let options = FilesOptions {
            tail: job.tail.as_ref().map(|folder| folder.join("soak-tail")),
            durability: job.durability,
            pool_bytes: POOL_BYTES,
            log_bytes: LOG_BYTES,
            logs: job.logs,
            ..FilesOptions::of(job.place.join("soak-data"), log)
        };
        if !make && !options.data.exists() {
            return Err(SoakError::file("opening", &options.data)(std::io::ErrorKind::NotFound.into()));
        }
        let sessions = job.threads as usize;
        let wanted = Wanted { tables: TABLES, data_bytes: DATA_BYTES, sessions, tier: None };
        let database = files::open(&options, wanted)?.database;
        database.complete()?;
        Ok(Self { database })
    }
}

impl Store for Tables {
    type StoreHandle<'a> = Rows<'a>;

    fn handle(&self) -> Result<Rows<'_>, SoakError> {
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

impl StoreHandle for Rows<'_> {
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
