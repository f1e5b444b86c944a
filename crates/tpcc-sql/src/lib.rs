//! TPC-C's store in SQL, for PostgreSQL, SQLite and SQL Server: one schema, one set of conditions, and a session for each.

mod conditions;
pub mod postgres;
mod schema;
pub mod sqlite;
pub mod sqlserver;

pub use crate::{
    postgres::{PostgresOptions, PostgresStore},
    sqlite::{SqliteOptions, SqliteStore},
    sqlserver::{SqlServerOptions, SqlServerStore},
};
