//! What a run says while it runs: one line of JSON each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{record::Record, work::WorkRecord};

/// Figures of one class over one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntervalSample {
    /// The class.
    pub class: String,
    /// Operations completed.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Mean service time, ns; 0 where nothing completed.
    pub mean_ns: f64,
    /// Largest service time, ns.
    pub max_ns: u64,
}

/// One line of a run's standard output. Every line is complete in itself: a killed run leaves a valid prefix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "event", deny_unknown_fields)]
pub enum Event {
    /// The job was read and found good.
    Started {
        /// [`crate::FORMAT_VERSION`].
        version: u32,
        /// Name of the cell.
        name: String,
        /// Process that runs it.
        pid: u32,
        /// Seconds that warm-up and window take at most.
        seconds: f64,
    },
    /// Something that takes time moved on: preparing data, filling caches, warming up.
    Progress {
        /// What is being done.
        stage: String,
        /// Share done, 0..=1.
        done: f64,
        /// Free text, for people.
        detail: String,
    },
    /// An interval of the window ended.
    Interval {
        /// Seconds since the window opened, at the interval's end; negative during warm-up.
        at_s: f64,
        /// One sample per class.
        classes: Vec<IntervalSample>,
    },
    /// The run ended; its record.
    Finished {
        /// The record.
        record: Box<Record>,
    },
    /// The run of an index, an engine or a database ended; its record.
    Worked {
        /// The record.
        record: Box<WorkRecord>,
    },
    /// The run could not be done.
    Refused {
        /// What was seen: one sentence.
        reason: String,
        /// What to do: one sentence.
        fix: String,
        /// Exit code of the process: 1 failed, 2 bad job, 3 interrupted, 4 not possible here.
        exit_code: i32,
    },
}
