//! What a database lies on, and how it is made or opened.

use std::sync::Arc;

use assay_buffer::{Config, Tier, disk::Disk};
use assay_pmem::Medium;

use crate::{durability::Durability, log::Pace};

/// How a database is made or opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The pool. A checkpointing thread and the threads of a recovery are among its workers.
    pub pool: Config,
    /// What makes commits durable.
    pub durability: Durability,
    /// Whether threads of the engine's own work unasked; simulations ask.
    pub pace: Pace,
    /// Bytes of a log's tail in memory: no transaction is longer than half of it. Given when the database is made.
    pub tail_bytes: u64,
    /// Bytes of replaced versions that are kept at most.
    pub versions_bytes: usize,
    /// Threads of a recovery.
    pub recovery_threads: usize,
    /// Memory below the pool's frames.
    pub tier: Option<Tier>,
    /// Bytes per second at which dirty pages are written in the background; none where only what must be is written.
    pub write_rate_bytes_per_s: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pool: Config::default(),
            durability: Durability::Fdatasync,
            pace: Pace::Eager,
            tail_bytes: 16 << 20,
            versions_bytes: 256 << 20,
            recovery_threads: 2,
            tier: None,
            write_rate_bytes_per_s: None,
        }
    }
}

/// What a database lies on.
pub struct Disks {
    /// Its pages.
    pub data: Arc<dyn Disk>,
    /// Its logs; none where nothing is to be durable but checkpoints.
    pub logs: Vec<Arc<dyn Disk>>,
    /// Persistent memory for each log's tail.
    pub tails: Vec<Box<dyn Medium>>,
}
