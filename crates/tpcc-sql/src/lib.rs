//! TPC-C's store in SQL, for PostgreSQL, SQLite and SQL Server: one schema, one set of conditions, and a session for each.

mod conditions;
mod isolation;
pub mod postgres;
mod schema;
mod side_by_side;
pub mod sqlite;
pub mod sqlserver;

pub use crate::{
    isolation::Isolation,
    postgres::{PostgresOptions, PostgresStore},
    sqlite::{SqliteOptions, SqliteStore},
    sqlserver::{SqlServerOptions, SqlServerStore},
};
