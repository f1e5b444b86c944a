//! redb (MIT or Apache-2.0): a copy-on-write B-tree in safe Rust, one writer at a time.
//!
//! It has no log: a commit is durable, or not kept at all until a durable one follows. Pages are freed by durable commits
//! alone, so that durability `none` still makes one of so many durable.

mod index;
mod kv;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::AcqRel},
};

use redb::{Database, ReadOnlyTable, ReadTransaction, TableDefinition, WriteTransaction};
use serde_json::Value;

use crate::{
    durability::Durability,
    engine::{Engine, Reach, Settings},
    error::{Result, RivalError},
};

pub use index::RedbSession;
pub use kv::RedbKvSession;

/// With durability `none`, one commit of so many is durable.
const DURABLE_EVERY: u64 = 1000;
/// Names of tables.
const NAMES: [&str; 11] = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "t10"];

type Bytes = &'static [u8];

/// A table by its number.
fn definition(table: usize) -> TableDefinition<'static, Bytes, Bytes> {
    TableDefinition::new(NAMES[table])
}

/// A database.
pub struct RedbStore {
    database: Database,
    durability: Durability,
    tables: usize,
    folder: PathBuf,
    /// Twice the commits so far, and one more while there is one: a snapshot that was taken at the same even number is
    /// still the newest.
    commits: AtomicU64,
}

impl Engine for RedbStore {
    const NAME: &'static str = "redb";

    fn version() -> String {
        env!("ASSAY_REDB_VERSION").to_owned()
    }

    fn durabilities() -> &'static [Durability] {
        &[Durability::None, Durability::Fsync]
    }

    fn reach(_: &Settings) -> Reach {
        Reach::Buffered
    }

    fn about(settings: &Settings) -> Vec<(&'static str, Value)> {
        let every = if settings.durability == Durability::None { DURABLE_EVERY } else { 1 };
        vec![("durable_every_commits", every.into())]
    }

    fn open(folder: &Path, settings: &Settings, tables: usize) -> Result<Self> {
        let cache_bytes = usize::try_from(settings.cache_bytes).unwrap_or(usize::MAX);
        let database =
            Database::builder().set_cache_size(cache_bytes).create(folder.join("data.redb")).map_err(told)?;
        let durability = settings.durability;
        let db = Self { database, durability, tables, folder: folder.to_owned(), commits: AtomicU64::new(0) };
        let making = db.begin()?;
        for table in 0..tables {
            making.open_table(definition(table)).map_err(told)?;
        }
        making.commit().map_err(told)?;
        Ok(db)
    }
}

impl RedbStore {
    fn begin(&self) -> Result<WriteTransaction> {
        self.database.begin_write().map_err(told)
    }

    /// Commits as durably as was asked for.
    fn commit(&self, mut transaction: WriteTransaction) -> Result<()> {
        // There is one writer at a time: this transaction is it.
        let number = self.commits.fetch_add(1, AcqRel) / 2;
        if self.durability == Durability::None && number % DURABLE_EVERY != 0 {
            transaction.set_durability(redb::Durability::None);
        }
        let done = transaction.commit().map_err(told);
        self.commits.fetch_add(1, AcqRel);
        done
    }

    fn read(&self) -> Result<ReadTransaction> {
        self.database.begin_read().map_err(told)
    }

    /// Makes durable what has been committed.
    fn settle(&self) -> Result<()> {
        self.begin()?.commit().map_err(told)
    }
}

impl Drop for RedbStore {
    fn drop(&mut self) {
        // What fails here is missed by whoever opens it next, and checked there.
        let _ = self.settle();
    }
}

/// A table as a snapshot has it.
fn table_of(snapshot: &ReadTransaction, table: usize) -> Result<ReadOnlyTable<Bytes, Bytes>> {
    snapshot.open_table(definition(table)).map_err(told)
}

fn told(error: impl Into<redb::Error>) -> RivalError {
    let error = error.into();
    let full = matches!(&error, redb::Error::Io(io) if io.kind() == std::io::ErrorKind::StorageFull);
    RivalError::Engine { engine: RedbStore::NAME, said: error.to_string(), full }
}
