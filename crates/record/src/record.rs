//! What a run leaves.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    class::Objective,
    counting::{Counted, CountingCost},
    environment::Environment,
    figure::{Distribution, Figure},
    job::Job,
    verdict::Verdict,
};

/// Identity of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunInfo {
    /// Unique id.
    pub id: String,
    /// When it started, RFC 3339, UTC.
    pub started_at: String,
    /// Version of the program.
    pub assayer_version: String,
    /// Seconds from start to end, preparation included.
    pub wall_s: f64,
    /// Seconds of preparation.
    pub prepare_s: f64,
}

/// Why the window closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// At its limit.
    Limit,
    /// Early, because the figures were steady.
    Steady,
    /// The bytes asked for were moved.
    Bytes,
    /// By an interrupt.
    Interrupted,
    /// By an error.
    Error,
    /// A simulation had done as many operations as its figures need.
    Operations,
}

/// The window as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowOutcome {
    /// Seconds of warm-up.
    pub warmup_s: f64,
    /// Seconds of the window.
    pub measured_s: f64,
    /// Why it closed.
    pub stop: Stop,
    /// Largest distance between the threads' window edges, ns: of their starts, or of an early end from the close.
    pub edge_skew_ns: u64,
    /// Time stamp counter against the kernel's clock over the window: relative difference.
    pub clock_drift: f64,
    /// When it opened, by `CLOCK_MONOTONIC` of this machine, ns; none where no start was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_monotonic_ns: Option<u64>,
    /// When it closed, by the same clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_monotonic_ns: Option<u64>,
}

/// CPU that a class, or the whole run, used in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuUse {
    /// CPU seconds in user mode.
    pub user_s: Figure,
    /// CPU seconds in the kernel.
    pub kernel_s: Figure,
    /// CPU seconds of kernel helper threads (`iou-wrk`, `iou-sqp`) that worked for it.
    pub helper_s: Figure,
    /// Seconds of the user time that were spent waiting for an intended start, not working.
    pub wait_s: Figure,
    /// Cycles per operation: user, kernel and helpers, without waiting.
    pub cycles_per_op: Figure,
    /// Cycles per byte: user, kernel and helpers, without waiting.
    pub cycles_per_byte: Figure,
    /// Instructions per operation; none where no counter is to be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions_per_op: Option<Figure>,
    /// Data TLB misses per operation; none where no counter is to be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tlb_misses_per_op: Option<Figure>,
    /// Context switches per operation.
    pub context_switches_per_op: Figure,
    /// System calls per operation, as the path counts its own.
    pub system_calls_per_op: Figure,
    /// Minor and major page faults per operation.
    pub page_faults_per_op: Figure,
    /// How cycles, instructions and TLB misses were counted; none in a record from before that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
}

/// One point of a class's series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntervalPoint {
    /// Seconds since the window opened, at the interval's end.
    pub at_s: f64,
    /// Length, s.
    pub length_s: f64,
    /// Operations completed.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Mean service time, ns.
    pub mean_ns: f64,
    /// Median, ns.
    pub p50_ns: u64,
    /// 99th percentile, ns.
    pub p99_ns: u64,
    /// Largest, ns.
    pub max_ns: u64,
}

/// What the generator can do without a target, on this machine, for this class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Operations per second of one thread on the null path.
    pub null_ops_per_s: Figure,
    /// Cost of one operation there, cycles.
    pub null_cycles_per_op: Figure,
    /// Share of the class's busy time that is the generator's own.
    pub generator_share: Figure,
}

/// Operations that were due in the window, or in flight at its end, and ended after it. Those of a class with a rate are
/// in its distributions, and in no rate or count of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overdue {
    /// How many of them ended.
    pub completed: u64,
    /// How many had not when waiting was given up: the distributions know of them only that they took "at least" so long.
    pub missing: u64,
    /// Seconds from the close until the last had ended, or waiting was given up.
    pub waited_s: f64,
}

/// Whether an objective was met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveOutcome {
    /// The objective.
    pub objective: Objective,
    /// What was seen, in the metric's unit.
    pub seen: f64,
    /// It is a lower bound: operations that never ended may move it. Such a latency is not shown to be met.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// It was met.
    pub met: bool,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckOutcome {
    /// Blocks verified.
    pub blocks: u64,
    /// Blocks whose offset, generation or checksum was wrong.
    pub wrong: u64,
    /// The first wrong blocks, in words.
    pub examples: Vec<String>,
}

/// Result of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassResult {
    /// Name of the class.
    pub name: String,
    /// Operations completed in the window.
    pub operations: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Bytes per second.
    pub bandwidth: Figure,
    /// Operations per second.
    pub ops_rate: Figure,
    /// Rate asked for, operations per second; none where arrivals are closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_rate: Option<Figure>,
    /// Depth asked for: threads times depth.
    pub asked_depth: u32,
    /// Mean number of operations in flight.
    pub achieved_depth: Figure,
    /// From submission to completion, the flush of a durable write included.
    pub service: Distribution,
    /// From intended start to completion; none where arrivals are closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Distribution>,
    /// Service time of reads alone; none unless the class mixes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_service: Option<Distribution>,
    /// Service time of writes alone; none unless the class mixes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_service: Option<Distribution>,
    /// Flushes alone; none where none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Distribution>,
    /// How late the generator itself started operations that it could have started on time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Distribution>,
    /// What was due in the window and ended after it; none where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overdue: Option<Overdue>,
    /// CPU of its threads.
    pub cpu: CpuUse,
    /// Bytes that the kernel read from devices for its threads; none where the kernel does not account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_read_bytes: Option<Figure>,
    /// Bytes that the kernel wrote to devices, or dirtied in the page cache, for its threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_written_bytes: Option<Figure>,
    /// What the generator costs.
    pub baseline: Baseline,
    /// Failed operations by error name (`EIO`), in the window.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// The series.
    pub intervals: Vec<IntervalPoint>,
    /// Whether its objective was met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<ObjectiveOutcome>,
    /// What the data check found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckOutcome>,
}

/// Counters of one block device over the window, from the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceCounters {
    /// Kernel name.
    pub device: String,
    /// Bytes read.
    pub read_bytes: Figure,
    /// Bytes written.
    pub written_bytes: Figure,
    /// Read requests.
    pub reads: Figure,
    /// Write requests.
    pub writes: Figure,
    /// Flush requests.
    pub flushes: Figure,
    /// Mean requests in flight.
    pub mean_in_flight: Figure,
    /// Share of the window in which it was busy.
    pub utilisation: Figure,
    /// Of a cloud's volume: seconds of the window in which more was asked for than is allowed, as the volume counts them, by
    /// what was exceeded; empty where a device does not say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held_up: BTreeMap<String, Figure>,
}

/// Something that was asked for and could not be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotMeasured {
    /// What.
    pub what: String,
    /// Why not: one sentence.
    pub reason: String,
    /// What would make it possible: one sentence.
    pub fix: String,
}

/// What a run leaves: figures, histograms, series, environment, provenance, verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`crate::FORMAT_VERSION`].
    pub version: u32,
    /// Identity.
    pub run: RunInfo,
    /// What was asked, as it was run (defaults filled in).
    pub job: Job,
    /// The machine.
    pub environment: Environment,
    /// The window.
    pub window: WindowOutcome,
    /// One result per class, in the job's order.
    pub classes: Vec<ClassResult>,
    /// CPU of the whole process, helpers and controller included.
    pub process_cpu: CpuUse,
    /// What hardware counters cost on this machine; none where none are to be had, or none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counting_cost: Option<CountingCost>,
    /// Block devices beneath the targets.
    pub devices: Vec<DeviceCounters>,
    /// What could not be measured.
    pub not_measured: Vec<NotMeasured>,
    /// The verdict.
    pub verdict: Verdict,
}
