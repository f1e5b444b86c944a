//! What a run is asked to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Result, TpccError},
    input::{Choice, Mix},
    scale::Scale,
};

/// When a terminal begins its next transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Pace {
    /// When the one before has ended.
    #[default]
    Closed,
    /// After keying and think times (clause 5.2.5.4, 5.2.5.7).
    Think {
        /// 1 for the specification's times, 0.1 for a tenth of them.
        factor: f64,
    },
    /// At a rate, whatever the store does; response times count from the intended start.
    Rate {
        /// Transactions per second of all terminals together.
        per_s: f64,
        /// Exponential gaps instead of equal ones.
        #[serde(default)]
        poisson: bool,
    },
}

/// The measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Terminals, each with a session of its own.
    pub terminals: u32,
    /// Terminals that share a thread and take turns on it, where the store can do that.
    #[serde(default = "single")]
    pub per_thread: u32,
    /// Seconds before the window.
    pub ramp_s: f64,
    /// Seconds of the window.
    pub measure_s: f64,
    /// Seconds of one point of the series.
    #[serde(default = "one")]
    pub interval_s: f64,
    /// When transactions begin.
    #[serde(default)]
    pub pace: Pace,
    /// Which warehouses they are for.
    #[serde(default)]
    pub choice: Choice,
    /// Shares of the five.
    #[serde(default)]
    pub mix: Mix,
    /// Times that a transaction is tried that meets others.
    #[serde(default = "hundred")]
    pub tries: u32,
}

impl Drive {
    /// Terminals as fast as they go, for so long; a tenth of that before.
    pub fn new(terminals: u32, measure_s: f64) -> Self {
        Self {
            terminals,
            per_thread: single(),
            ramp_s: measure_s / 10.0,
            measure_s,
            interval_s: one(),
            pace: Pace::Closed,
            choice: Choice::Home,
            mix: Mix::default(),
            tries: hundred(),
        }
    }
}

fn single() -> u32 {
    1
}

fn one() -> f64 {
    1.0
}

fn hundred() -> u32 {
    100
}

/// A place that the store uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// What lies there: `data`, `wal`, `temp`, `index`.
    pub role: String,
    /// The target as it was named.
    pub target: String,
    /// The folder that is used.
    pub path: std::path::PathBuf,
    /// Memory, or something else that stands in for a device.
    #[serde(default)]
    pub emulated: bool,
}

/// What to do, in this order: load, drive, spoil, check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Name of the run.
    #[serde(default)]
    pub name: String,
    /// Size of the data set.
    pub scale: Scale,
    /// Where all random numbers begin.
    #[serde(default)]
    pub seed: u64,
    /// Seed that the data set was loaded with.
    #[serde(default)]
    pub load_seed: u64,
    /// Fill the store first.
    #[serde(default)]
    pub load: bool,
    /// The measured part.
    #[serde(default)]
    pub drive: Option<Drive>,
    /// Break a consistency condition before the checks.
    #[serde(default)]
    pub spoil: Option<u8>,
    /// Check the consistency conditions in the end.
    #[serde(default)]
    pub check: bool,
    /// Where the store's parts lie.
    #[serde(default)]
    pub sites: Vec<Site>,
    /// First process of the server, where there is one.
    #[serde(default)]
    pub server_pid: Option<u32>,
}

impl Order {
    /// Refuses what cannot be done.
    ///
    /// # Errors
    /// [`TpccError::Asked`].
    pub fn validate(&self) -> Result<()> {
        self.scale.validate()?;
        let asked = |reason: String, fix| Err(TpccError::Asked { reason, fix });
        if self.spoil.is_some_and(|condition| !(1..=12).contains(&condition)) {
            return asked("there are twelve consistency conditions".to_owned(), "spoil one of 1 to 12");
        }
        let Some(drive) = &self.drive else { return Ok(()) };
        drive.mix.validate()?;
        let Drive { terminals, ramp_s, measure_s, interval_s, .. } = *drive;
        if !(1..=10_000).contains(&terminals) {
            return asked(format!("{terminals} terminals cannot be"), "use 1 to 10,000");
        }
        if drive.per_thread == 0 {
            return asked("a thread without a terminal cannot be".to_owned(), "give each thread at least one");
        }
        if !(measure_s > 0.0 && ramp_s >= 0.0 && interval_s > 0.0 && measure_s + ramp_s < 1e7) {
            let reason = format!("{ramp_s} s, {measure_s} s and intervals of {interval_s} s make no window");
            return asked(reason, "use positive lengths of time");
        }
        let wrong = match drive.pace {
            Pace::Closed => false,
            Pace::Think { factor } => !(factor > 0.0 && factor <= 100.0),
            Pace::Rate { per_s, .. } => !(per_s > 0.0 && per_s <= 1e8),
        };
        if wrong {
            return asked(format!("{:?} is no pace", drive.pace), "use a rate or factor above 0");
        }
        Ok(())
    }
}
