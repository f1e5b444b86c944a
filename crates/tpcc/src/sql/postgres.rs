//! PostgreSQL: several statements in one exchange, rows by the array, COPY for the load.

mod exchange;
mod load;
mod pending;
mod session;
mod statements;
mod wire;

use std::ops::ControlFlow;

use crate::{Result, Scale, Store, TpccError};
use assay_record::WorkCheck;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_postgres::error::SqlState;

use crate::sql::{Isolation, conditions};
pub use session::PostgresSession;
use wire::Wire;

/// Begins a New-Order or a Payment.
fn begin(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "begin isolation level read committed",
        Isolation::RepeatableRead => "begin isolation level repeatable read",
        Isolation::Serializable => "begin isolation level serializable",
    }
}

/// How a server is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostgresOptions {
    /// Connection string, `key=value` or a URL.
    pub connection: String,
    /// Isolation of New-Order and Payment.
    #[serde(default)]
    pub isolation: Isolation,
    /// Tablespace of all indexes; the default one where there is none.
    #[serde(default)]
    pub index_tablespace: Option<String>,
    /// Schema of the tables. A load drops it first.
    #[serde(default = "default_schema")]
    pub schema: String,
}

fn default_schema() -> String {
    "assay_tpcc".to_owned()
}

/// A server.
#[derive(Debug)]
pub struct PostgresStore {
    options: PostgresOptions,
}

/// Whether the server means that another transaction was in the way.
pub(crate) fn is_conflict(code: &str) -> bool {
    [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        // What follows a conflict in the same exchange.
        SqlState::IN_FAILED_SQL_TRANSACTION,
    ]
    .iter()
    .any(|conflict| conflict.code() == code)
}

/// What a failure is: another transaction in the way, or a defect.
pub(crate) fn failure(error: tokio_postgres::Error) -> TpccError {
    match error.code() {
        Some(code) if is_conflict(code.code()) => TpccError::Conflict,
        Some(_) => TpccError::store(Spoken(error)),
        None => TpccError::store(error),
    }
}

/// A number of an answer that came as text.
fn number(text: &str) -> Result<i64> {
    text.parse().map_err(|_| TpccError::damaged("a number of an answer"))
}

/// An error of the server with its own words, which the library's short form leaves out.
#[derive(Debug)]
struct Spoken(tokio_postgres::Error);

impl std::fmt::Display for Spoken {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_db_error() {
            Some(said) => write!(to, "{}: {} ({})", said.severity(), said.message(), said.code().code()),
            None => self.0.fmt(to),
        }
    }
}

impl std::error::Error for Spoken {}

impl PostgresStore {
    /// The store of a server.
    ///
    /// # Errors
    /// [`TpccError::Asked`] where a name could not be an identifier.
    pub fn new(options: PostgresOptions) -> Result<Self> {
        let names = [Some(&options.schema), options.index_tablespace.as_ref()];
        let plain = |name: &String| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        if let Some(name) = names.into_iter().flatten().find(|name| !plain(name)) {
            let reason = format!("`{name}` is no plain name of a schema or tablespace");
            return Err(TpccError::Asked { reason, fix: "use small letters, digits and underscores" });
        }
        Ok(Self { options })
    }

    /// Version of the server.
    ///
    /// # Errors
    /// Where it does not answer.
    pub fn version(&self) -> Result<String> {
        let [version] = self.connect()?.words("show server_version")?;
        Ok(version.split(' ').next().unwrap_or_default().to_owned())
    }

    /// What makes a commit durable, as the server is set.
    ///
    /// # Errors
    /// Where it does not answer.
    pub fn durability(&self) -> Result<String> {
        let settings = ["fsync", "synchronous_commit", "wal_sync_method"];
        let settings = settings.map(|name| format!("current_setting('{name}')"));
        let [fsync, commit, method] = self.connect()?.words(&format!("select {}", settings.join(", ")))?;
        Ok(match (fsync.as_str(), commit.as_str()) {
            ("off", _) => "none".to_owned(),
            (_, "off") => format!("{method}, later than the commit"),
            _ => method,
        })
    }

    fn connect(&self) -> Result<Wire> {
        let mut wire = Wire::connect(&self.options.connection)?;
        wire.run(&format!("set search_path = {}", self.options.schema))?;
        Ok(wire)
    }
}

impl Store for PostgresStore {
    type Session<'a> = PostgresSession;

    fn session(&self) -> Result<PostgresSession> {
        PostgresSession::open(&self.options)
    }

    fn load(&self, scale: &Scale, seed: u64, progress: &mut dyn FnMut(f64) -> ControlFlow<()>) -> Result<()> {
        load::load(self, scale, seed, progress)
    }

    fn check(&self, scale: &Scale, delivered: u64) -> Result<Vec<WorkCheck>> {
        let mut wire = self.connect()?;
        wire.run("begin read only")?;
        conditions::check(scale, delivered, |sql| {
            let [places, first] = wire.words(sql)?;
            Ok((number(&places)?, Some(first).filter(|first| !first.is_empty())))
        })
    }

    fn spoil(&self, condition: u8) -> Result<()> {
        let mut wire = self.connect()?;
        conditions::spoil(condition)?.iter().try_for_each(|sql| wire.run(sql))
    }

    fn orders_taken(&self, scale: &Scale) -> Result<u64> {
        let sql = format!("select ({})::bigint", conditions::orders_taken(scale));
        let [orders] = self.connect()?.words(&sql)?;
        Ok(number(&orders)?.unsigned_abs())
    }
}
