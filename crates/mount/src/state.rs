//! What a mount says of itself: a document that is written again and again, and at the end.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{error::MountError, lateness::LatenessSummary, volatile::Left};

/// What is known of a mount. Times in ns of this machine's clock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// Where it is mounted.
    pub at: PathBuf,
    /// Where its files lie.
    pub over: PathBuf,
    /// What is played.
    pub name: String,
    /// How many times as slowly the drive's time passes.
    pub slow: f64,
    /// How many times as slowly it must pass so that the way is no longer than any answer; none where it is not now.
    #[serde(default)]
    pub slow_wanted: Option<f64>,
    /// Seed of all chance.
    pub seed: u64,
    /// The process.
    pub pid: u32,
    /// It is mounted.
    pub mounted: bool,
    /// The power was cut, and this became of writes that no flush had covered.
    pub cut: Option<Left>,
    /// The way through FUSE and back of a read of 4 KiB when nothing else went on: measured at the start.
    pub floor_ns: u64,
    /// How much longer the way was while it played than what was taken off for it (less than zero: shorter): the middle of all
    /// probes.
    pub way_p50_ns: i64,
    /// The same of the slowest in a hundred.
    pub way_p99_ns: i64,
    /// The clock is watched for so long before an answer is due.
    pub watched_ns: u64,
    /// Its threads run before others that wait for a CPU (SCHED_FIFO).
    pub first_in_line: bool,
    /// Idle CPUs wake up at once meanwhile: the kernel was asked (`/dev/cpu_dma_latency`), or they are kept busy.
    #[serde(default)]
    pub awake: bool,
    /// Seconds since it was mounted.
    pub seconds: f64,
    /// CPU seconds of the whole program.
    pub cpu_s: f64,
    /// Of them, those of the thread that waits for moments.
    pub holder_cpu_s: f64,
    /// Of them, those that kept idle CPUs busy, which anybody else had at once.
    #[serde(default)]
    pub awake_cpu_s: f64,
    /// Lateness by class.
    pub played: Vec<LatenessSummary>,
    /// What is odd about it.
    pub notes: Vec<String>,
    /// Reasons not to believe what was measured on it.
    pub reasons: Vec<String>,
    /// `played: reads p50 +0.4 us late, ...`.
    pub sentence: String,
}

impl State {
    /// Makes sentence and reasons of the figures.
    pub fn judged(mut self) -> Self {
        let classes: Vec<String> = self.played.iter().map(LatenessSummary::sentence).collect();
        self.sentence = if classes.is_empty() {
            "played: nothing".to_owned()
        } else {
            format!(
                "played: {}; way p50 {:+.1} \u{b5}s, p99 {:+.1} \u{b5}s",
                classes.join("; "),
                self.way_p50_ns as f64 / 1e3,
                self.way_p99_ns as f64 / 1e3
            )
        };
        let late = self.played.iter().any(|one| one.is_late(self.floor_ns, self.way_p50_ns));
        self.reasons = if late { vec!["played-late".to_owned()] } else { Vec::new() };
        self
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// Where the state folder takes no file.
    pub fn write(&self, path: &Path) -> Result<(), MountError> {
        let new = path.with_extension("new");
        let written = || -> io::Result<()> {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
            file.write_all(&serde_json::to_vec_pretty(self)?)?;
            fs::rename(&new, path)
        };
        written().map_err(|source| MountError::Io { action: "writing", path: path.to_owned(), source })
    }

    /// Reads that of a folder; whether it is mounted is asked of the process.
    ///
    /// # Errors
    /// Where there is none.
    pub fn read(at: &Path) -> Result<Self, MountError> {
        let unknown = || MountError::Unknown { path: at.to_owned() };
        let text = fs::read(assay_own::mount_state(at)?).map_err(|_| unknown())?;
        let state: Self = serde_json::from_slice(&text).map_err(|_| unknown())?;
        if state.at == at { Ok(state) } else { Err(unknown()) }
    }
}
