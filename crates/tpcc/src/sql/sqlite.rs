//! SQLite: a file, its log beside it, and one writer at a time.

mod session;

use std::{ops::ControlFlow, path::PathBuf, time::Duration};

use crate::{Result, Scale, Store, TpccError, population::Population};
use assay_record::WorkCheck;
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter, types::ToSqlOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sql::{
    conditions,
    schema::{self, INDEXES, Rows, TABLES, Value},
};
pub use session::SqliteSession;

/// How long a session waits for its turn to write.
const TURN: Duration = Duration::from_secs(20);
/// Statements that a session keeps prepared.
const PREPARED: usize = 64;

/// When a commit is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Synchronous {
    /// When it returns: the log is flushed at every commit.
    #[default]
    Full,
    /// Some time later: the log is flushed at checkpoints; a power cut loses the last commits.
    Normal,
    /// Never asked for.
    Off,
}

/// How a database is opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqliteOptions {
    /// The file.
    pub path: PathBuf,
    /// When a commit is durable.
    #[serde(default)]
    pub synchronous: Synchronous,
    /// Page cache of each session, bytes.
    #[serde(default = "default_cache")]
    pub cache_bytes: u64,
    /// Bytes of log after which a checkpoint is written.
    #[serde(default = "default_checkpoint")]
    pub checkpoint_bytes: u64,
}

fn default_cache() -> u64 {
    64 << 20
}

fn default_checkpoint() -> u64 {
    4 << 20
}

/// A database in a file.
#[derive(Debug)]
pub struct SqliteStore {
    options: SqliteOptions,
}

/// What a failure is: somebody else was faster, or a defect.
pub(crate) fn failure(error: rusqlite::Error) -> TpccError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => TpccError::Conflict,
        _ => TpccError::store(error),
    }
}

impl SqliteStore {
    /// The store of a file, which is made where it is missing.
    pub fn new(options: SqliteOptions) -> Self {
        Self { options }
    }

    /// Version of the library.
    pub fn version() -> &'static str {
        rusqlite::version()
    }

    /// What makes a commit durable, as records have it.
    pub fn durability(&self) -> &'static str {
        match self.options.synchronous {
            Synchronous::Full => "fdatasync",
            Synchronous::Normal => "fdatasync at checkpoints",
            Synchronous::Off => "none",
        }
    }

    pub(crate) fn open(&self) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.options.path, flags).map_err(failure)?;
        connection.busy_timeout(TURN).map_err(failure)?;
        connection.set_prepared_statement_cache_capacity(PREPARED);
        let synchronous = match self.options.synchronous {
            Synchronous::Full => "full",
            Synchronous::Normal => "normal",
            Synchronous::Off => "off",
        };
        let pages = self.options.checkpoint_bytes.div_ceil(4096).max(1);
        connection
            .execute_batch(&format!(
                "pragma journal_mode = wal; pragma synchronous = {synchronous}; pragma cache_size = -{};
                 pragma wal_autocheckpoint = {pages};",
                self.options.cache_bytes / 1024
            ))
            .map_err(failure)?;
        Ok(connection)
    }

    fn fill(
        connection: &Connection,
        population: &Population,
        progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> rusqlite::Result<bool> {
        for table in &TABLES {
            let key = if table.key.is_empty() { String::new() } else { format!(", primary key ({})", table.key) };
            let kind = if table.key.is_empty() { "" } else { " without rowid" };
            connection.execute_batch(&format!("create table {} ({}{key}){kind}", table.name, table.columns))?;
        }
        schema::rows::items(population, &mut Inserter::new(connection, "item")?)?;
        let warehouses = population.scale.warehouses;
        for warehouse in 1..=warehouses {
            for table in &TABLES[1..] {
                schema::rows::table(table.name, population, warehouse, &mut Inserter::new(connection, table.name)?)?;
            }
            if progress(f64::from(warehouse) / f64::from(warehouses)).is_break() {
                return Ok(false);
            }
        }
        for (name, table, columns) in INDEXES {
            connection.execute_batch(&format!("create index {name} on {table} ({columns})"))?;
        }
        Ok(true)
    }
}

struct Inserter<'c> {
    statement: rusqlite::Statement<'c>,
}

impl<'c> Inserter<'c> {
    fn new(connection: &'c Connection, name: &str) -> rusqlite::Result<Self> {
        let columns = connection.prepare(&format!("select * from {name} limit 0"))?.column_count();
        let marks = vec!["?"; columns].join(", ");
        Ok(Self { statement: connection.prepare(&format!("insert into {name} values ({marks})"))? })
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Number(number) => Ok(ToSqlOutput::from(*number)),
            Self::Text(text) => text.to_sql(),
            Self::Null => Ok(ToSqlOutput::from(rusqlite::types::Null)),
        }
    }
}

impl Rows for Inserter<'_> {
    type Error = rusqlite::Error;

    fn row(&mut self, values: &[Value<'_>]) -> rusqlite::Result<()> {
        self.statement.execute(params_from_iter(values)).map(|_| ())
    }
}

impl Store for SqliteStore {
    type Session<'a> = SqliteSession;

    fn session(&self) -> Result<SqliteSession> {
        Ok(SqliteSession::new(self.open()?))
    }

    fn load(&self, scale: &Scale, seed: u64, progress: &mut dyn FnMut(f64) -> ControlFlow<()>) -> Result<()> {
        scale.validate()?;
        let connection = self.open()?;
        // One transaction, and nothing durable before its end: a load that breaks off leaves an empty database.
        connection.execute_batch("pragma synchronous = off; begin immediate").map_err(failure)?;
        let whole = Self::fill(&connection, &Population::new(*scale, seed), progress).map_err(failure)?;
        if !whole {
            connection.execute_batch("rollback").map_err(failure)?;
            return Err(TpccError::Conflict);
        }
        connection
            .execute_batch("commit; analyze; pragma synchronous = full; pragma wal_checkpoint(truncate)")
            .map_err(failure)
    }

    fn check(&self, scale: &Scale, delivered: u64) -> Result<Vec<WorkCheck>> {
        let connection = self.open()?;
        conditions::check(scale, delivered, |sql| connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))))
            .map_err(failure)
    }

    fn spoil(&self, condition: u8) -> Result<()> {
        let connection = self.open()?;
        conditions::spoil(condition)?.iter().try_for_each(|sql| connection.execute_batch(sql).map_err(failure))
    }

    fn orders_taken(&self, scale: &Scale) -> Result<u64> {
        let taken: i64 =
            self.open()?.query_row(&conditions::orders_taken(scale), [], |row| row.get(0)).map_err(failure)?;
        Ok(taken.unsigned_abs())
    }
}
