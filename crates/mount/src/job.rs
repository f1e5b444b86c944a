//! What is asked for: one JSON document.

use std::path::PathBuf;

use serde::Deserialize;

/// A folder that is to answer as a drive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Where it is mounted.
    pub at: PathBuf,
    /// Where its files lie; none: in the folder itself.
    pub over: Option<PathBuf>,
    /// What it is called.
    pub name: String,
    /// What is played.
    pub drive: PlayedBy,
    /// Seed of all chance.
    pub seed: u64,
    /// The drive's time passes so many times as slowly.
    #[serde(default = "one")]
    pub slow: f64,
    /// Flushes reach the folder below, too; otherwise a crash of this machine may lose what was flushed.
    #[serde(default = "yes")]
    pub sync_below: bool,
    /// Users besides this one who may use it, by number; root alone can give that.
    #[serde(default)]
    pub others: Vec<u32>,
    /// When the power is cut.
    pub cut: Option<Cut>,
    /// It ends when whoever started it does.
    #[serde(default)]
    pub ends_with_parent: bool,
    /// Every answer comes so much too late: for tests of what judges that.
    #[serde(default)]
    pub injected_ns: u64,
}

/// What is played.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PlayedBy {
    /// Nothing: every answer is given at once.
    Pass,
    /// Every request takes as long, ns; for tests.
    Fixed {
        /// A read.
        read_ns: u64,
        /// A write.
        write_ns: u64,
        /// A flush.
        flush_ns: u64,
    },
    /// A drive of the catalog, or of a file like those there.
    Twin {
        /// The file's text, TOML or JSON.
        text: String,
        /// What software takes of a request beside the drive where no FUSE is in between, ns.
        #[serde(default)]
        host_ns: u64,
    },
}

impl PlayedBy {
    /// What software takes of a request beside the drive, ns.
    pub fn host_ns(&self) -> u64 {
        if let Self::Twin { host_ns, .. } = self { *host_ns } else { 0 }
    }
}

fn one() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

/// When the power is cut, and what was written and is not durable is lost, torn or kept by seed.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Cut {
    /// After so many reads, writes and flushes.
    AfterRequests(u64),
    /// So many seconds after it was mounted.
    AfterSeconds(f64),
    /// When the program hears SIGUSR1.
    OnSignal,
}
