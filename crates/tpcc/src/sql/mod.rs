//! TPC-C's store in SQL, for PostgreSQL, SQLite and SQL Server: one schema, one set of conditions, and a session for each.
//! Each is a feature, as its driver is heavy.

mod conditions;
mod isolation;
#[cfg(feature = "postgres")]
pub mod postgres;
mod schema;
#[cfg(any(feature = "postgres", feature = "sqlserver"))]
mod side_by_side;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "sqlserver")]
pub mod sqlserver;

pub use isolation::Isolation;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore};
#[cfg(feature = "sqlserver")]
pub use sqlserver::{SqlServerOptions, SqlServerStore};
