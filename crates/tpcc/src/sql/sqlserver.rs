//! SQL Server: T-SQL over TDS. Written from documentation and tried against a stand-in at the edge of the connection;
//! *not verified against a server*.

mod link;
mod load;
mod session;
mod statements;
mod tds;
// Another database stands in for the server.
#[cfg(all(test, feature = "databases"))]
mod tests;

use std::ops::ControlFlow;

use crate::{Result, Scale, Store, TpccError};
use assay_record::WorkCheck;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sql::{Isolation, conditions};
use link::{Connect, Link};
pub use session::SqlServerSession;
pub use tds::Server;

/// Begins a New-Order or a Payment.
fn begin(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => statements::BEGIN_COMMITTED,
        Isolation::RepeatableRead => "set transaction isolation level repeatable read; begin transaction",
        Isolation::Serializable => "set transaction isolation level serializable; begin transaction",
    }
}

/// How a server is reached. The connection is not encrypted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlServerOptions {
    /// Name or address of the host.
    pub host: String,
    /// Port.
    #[serde(default = "default_port")]
    pub port: u16,
    /// Who asks.
    pub user: String,
    /// Password of the user.
    pub password: String,
    /// Database, which is empty, or holds what was loaded, and allows snapshots.
    pub database: String,
    /// Isolation of New-Order and Payment.
    #[serde(default)]
    pub isolation: Isolation,
}

fn default_port() -> u16 {
    1433
}

impl std::fmt::Debug for SqlServerOptions {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("SqlServerOptions").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

/// A database of a server.
#[derive(Debug)]
pub struct SqlServerStore<C = Server> {
    connector: C,
    isolation: Isolation,
}

/// Whether an error of the server means that another transaction was in the way: a deadlock, a time limit of a lock, a
/// row that changed since the snapshot.
fn is_conflict(number: u32) -> bool {
    matches!(number, 1205 | 1222 | 3960)
}

impl SqlServerStore {
    /// The store of a server.
    pub fn new(options: SqlServerOptions) -> Self {
        let isolation = options.isolation;
        Self { connector: Server::new(options), isolation }
    }
}

impl<C: Connect> SqlServerStore<C> {
    fn word(&self, sql: &str) -> Result<String> {
        let answers = self.connector.connect()?.ask(sql, &[])?;
        let word = answers.first().and_then(|rows| rows.first()).and_then(|row| row.words(0));
        word.ok_or_else(|| TpccError::damaged("what the server says of itself"))
    }

    /// Version of the server.
    ///
    /// # Errors
    /// Where it does not answer.
    pub fn version(&self) -> Result<String> {
        self.word("select cast(serverproperty('ProductVersion') as varchar(64))")
    }

    /// What makes a commit durable, as the database is set.
    ///
    /// # Errors
    /// Where it does not answer.
    pub fn durability(&self) -> Result<String> {
        let sql = "select cast(delayed_durability_desc as varchar(64)) from sys.databases where name = db_name()";
        Ok(match self.word(sql)?.as_str() {
            "FORCED" => "write-through log, later than the commit",
            _ => "write-through log",
        }
        .to_owned())
    }
}

impl<C: Connect> Store for SqlServerStore<C> {
    type Session<'a>
        = SqlServerSession<C::Link>
    where
        C: 'a;

    fn session(&self) -> Result<SqlServerSession<C::Link>> {
        SqlServerSession::open(self.connector.connect()?, self.isolation)
    }

    fn load(&self, scale: &Scale, seed: u64, progress: &mut dyn FnMut(f64) -> ControlFlow<()>) -> Result<()> {
        load::load(&self.connector, scale, seed, progress)
    }

    fn check(&self, scale: &Scale, delivered: u64) -> Result<Vec<WorkCheck>> {
        let mut link = self.connector.connect()?;
        conditions::check(scale, delivered, |sql| {
            let answers = link.ask(sql, &[])?;
            let row = answers.first().and_then(|rows| rows.first());
            let row = row.ok_or_else(|| TpccError::damaged("the answer of a condition"))?;
            Ok((row.number(0)?, row.words(1)))
        })
    }

    fn spoil(&self, condition: u8) -> Result<()> {
        let mut link = self.connector.connect()?;
        conditions::spoil(condition)?.iter().try_for_each(|sql| link.batch(sql))
    }

    fn orders_taken(&self, scale: &Scale) -> Result<u64> {
        let answers = self.connector.connect()?.ask(&conditions::orders_taken(scale), &[])?;
        let row = answers.first().and_then(|rows| rows.first());
        Ok(row.ok_or_else(|| TpccError::damaged("the count of orders"))?.number(0)?.unsigned_abs())
    }
}
