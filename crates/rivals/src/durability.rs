//! What a commit waits for.

use serde::{Deserialize, Serialize};

use crate::error::{Result, RivalError};

/// What a commit waits for. Set explicitly for every engine, and written beside every figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Nothing, and there is no log: a crash may lose everything since the last checkpoint.
    #[default]
    None,
    /// The log was handed to the kernel: the end of the process loses nothing, a power cut the latest.
    Wal,
    /// The log, or the pages, are on the device: nothing that was acknowledged is lost.
    Fsync,
}

impl Durability {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Wal, Self::Fsync];

    /// Its name in jobs.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Wal => "wal",
            Self::Fsync => "fsync",
        }
    }

    /// As a record has it.
    pub fn describe(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Wal => "wal, not synced",
            Self::Fsync => "fsync per commit or group",
        }
    }

    /// The one of this name.
    ///
    /// # Errors
    /// Where there is none.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| RivalError::Asked {
            reason: format!("there is no durability `{name}`"),
            fix: "use none, wal or fsync".to_owned(),
        })
    }
}
