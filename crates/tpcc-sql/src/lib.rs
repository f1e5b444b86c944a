//! TPC-C's store in SQL, for PostgreSQL and SQLite: one schema, one set of conditions, and a session for each.

mod conditions;
pub mod postgres;
mod schema;
pub mod sqlite;

pub use crate::{
    postgres::{PostgresOptions, PostgresStore},
    sqlite::{SqliteOptions, SqliteStore},
};
