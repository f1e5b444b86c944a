//! What every rival is to this crate: something that is opened in a folder.

use std::path::Path;

use serde_json::Value;

use crate::{
    durability::Durability,
    error::{Result, RivalError},
};

/// Bytes of the cache where nobody says.
pub const CACHE_BYTES: u64 = 256 << 20;

/// How an engine is opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Bytes that it may cache, write buffers included.
    pub cache_bytes: u64,
    /// What a commit waits for.
    pub durability: Durability,
    /// Past the kernel's page cache, where the engine can.
    pub direct: bool,
    /// Bytes of a page or block, where the engine lets one choose.
    pub page_bytes: u32,
    /// The kernel may read ahead of what is asked for.
    pub readahead: bool,
    /// Inserts and updates do not look whether the key is there: what they answer is then not true.
    pub blind: bool,
    /// Threads that use it.
    pub threads: u32,
    /// Put in order when it is closed: what a load has left to do is not left to the window.
    pub settle: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cache_bytes: CACHE_BYTES,
            durability: Durability::None,
            direct: true,
            page_bytes: 4096,
            readahead: false,
            blind: false,
            threads: 1,
            settle: false,
        }
    }
}

impl Settings {
    /// Sets one by its name in a job.
    ///
    /// # Errors
    /// Where there is none of this name, or the value does not fit.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        match (name, value.as_u64(), value.as_str(), value.as_bool()) {
            ("durability", _, Some(durability), _) => self.durability = Durability::parse(durability)?,
            ("direct", .., Some(direct)) => self.direct = direct,
            ("readahead", .., Some(readahead)) => self.readahead = readahead,
            ("blind", .., Some(blind)) => self.blind = blind,
            ("page_bytes", Some(bytes @ 4096..=65536), ..) if bytes.is_power_of_two() => {
                self.page_bytes = bytes as u32;
            }
            _ => {
                let fix = "rivals know durability (none, wal, fsync), direct, readahead, blind and page_bytes \
                           (4096 to 65536, a power of two)";
                return Err(RivalError::Asked {
                    reason: format!("the option {name} = {value} is not known"),
                    fix: fix.to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// How an engine reaches its files, which says whose cache holds what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Through the kernel's page cache alone: it keeps no cache of its own.
    Mapped,
    /// Through a cache of its own over the kernel's.
    Buffered,
    /// Through a cache of its own, past the kernel's.
    Direct,
}

/// An engine in a folder.
pub trait Engine: Sized + Send + Sync {
    /// Its name in jobs and records.
    const NAME: &'static str;

    /// Its version, as it says itself.
    fn version() -> String;

    /// What it can promise.
    fn durabilities() -> &'static [Durability];

    /// How it reaches its files.
    fn reach(settings: &Settings) -> Reach;

    /// Bytes that it may take beside its cache: what it does not count as such, and what its allocator wastes.
    fn beside_bytes(cache_bytes: u64) -> u64 {
        cache_bytes / 8
    }

    /// What a record says of its settings beside cache and durability.
    fn about(settings: &Settings) -> Vec<(&'static str, Value)>;

    /// Opens what lies in a folder, or makes it: so many tables.
    ///
    /// # Errors
    /// Where the engine refuses.
    fn open(folder: &Path, settings: &Settings, tables: usize) -> Result<Self>;

    /// Opens it, where its durability is one that it has.
    ///
    /// # Errors
    /// As [`Engine::open`].
    fn start(folder: &Path, settings: &Settings, tables: usize) -> Result<Self> {
        if Self::durabilities().contains(&settings.durability) {
            return Self::open(folder, settings, tables);
        }
        let names: Vec<_> = Self::durabilities().iter().map(|one| one.name()).collect();
        Err(RivalError::Asked {
            reason: format!("{} has no durability `{}`", Self::NAME, settings.durability.name()),
            fix: format!("use {}", names.join(" or ")),
        })
    }
}
