//! What makes an acknowledged transaction durable.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What makes an acknowledged transaction durable. It stands in every record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Nothing: there is no log. A crash takes back everything since the last checkpoint, which is whole.
    None,
    /// The log is written and `fdatasync` has returned before a transaction is acknowledged.
    #[default]
    Fdatasync,
    /// The log is written; the device keeps what it has taken when power fails, so it is not flushed.
    Plp,
    /// The log's tail is in persistent memory, flushed and fenced; it is copied to the drive in the background.
    Pmem,
}

impl Durability {
    /// Its name, as flags and records have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Fdatasync => "fdatasync",
            Self::Plp => "plp",
            Self::Pmem => "pmem",
        }
    }

    /// There is a log.
    pub fn logs(self) -> bool {
        self != Self::None
    }

    /// The drive is told to flush its caches.
    pub fn flushes(self) -> bool {
        matches!(self, Self::Fdatasync | Self::Pmem)
    }
}
