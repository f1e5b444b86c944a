//! How transactions are kept apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How New-Order and Payment are kept apart. Reads that are followed by a write lock their rows, so that even the first
/// is as good as serialisable for these transactions. The others read what was committed before they began:
/// `repeatable-read` in PostgreSQL, a snapshot in SQL Server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Each statement sees what was committed before it.
    #[default]
    ReadCommitted,
    /// Each transaction sees what was committed before it.
    RepeatableRead,
    /// As if one after the other.
    Serializable,
}
