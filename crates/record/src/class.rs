//! One kind of I/O that a database does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{path::PathSpec, pin::Pin};

/// Read, write, a mix of both, or trim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Operation {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Both: each operation is a write with probability `write_percent`/100, evenly spread (every fifth at 20).
    Mix {
        /// Share of writes, 0..=100.
        write_percent: u8,
    },
    /// Tells a device that it need not keep what lies there. Moves no bytes.
    Trim,
}

/// Order of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Pattern {
    /// One after the other, around at the end. Threads that share a file start evenly spread.
    Sequential,
    /// Every page equally likely.
    Uniform,
    /// Every page once, in random order, before any comes again: random reads that a page cache cannot serve while they
    /// go through a file for the first time.
    Shuffled,
    /// Zipf-distributed ranks, scattered over the file.
    Zipf {
        /// Exponent, above 0; 0.99 is YCSB's.
        theta: f64,
    },
    /// A share of operations goes to a share of the pages.
    HotSpot {
        /// Share of operations that go to the hot pages, 0..=100.
        operations_percent: u8,
        /// Share of pages that are hot, 1..=100.
        pages_percent: u8,
    },
}

/// One size with its weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// Size in bytes.
    pub bytes: u64,
    /// Relative weight, at least 1.
    pub weight: u32,
}

/// Size of operations: one, or a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Sizes {
    /// Every operation has this size in bytes.
    One(u64),
    /// Sizes with weights; offsets are multiples of the smallest.
    Mix(Vec<SizeShare>),
}

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateScope {
    /// The whole class.
    Total,
    /// Each thread of the class.
    Thread,
}

/// When operations are due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Arrivals {
    /// The next operation starts when one ends. Latency from an intended start does not exist.
    Closed,
    /// Evenly spaced.
    Fixed {
        /// Operations per second.
        rate_per_s: f64,
        /// Of the class or of each thread.
        scope: RateScope,
    },
    /// Exponentially distributed gaps.
    Poisson {
        /// Operations per second.
        rate_per_s: f64,
        /// Of the class or of each thread.
        scope: RateScope,
    },
    /// `burst` operations at once, evenly spaced bursts.
    Burst {
        /// Operations per second.
        rate_per_s: f64,
        /// Of the class or of each thread.
        scope: RateScope,
        /// Operations that are due at the same instant.
        burst: u32,
    },
}

/// A pause of each thread between its operations, as of a user who looks at an answer before asking again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Seconds from the end of an operation to the start of the next.
    pub pause_s: f64,
    /// Once in this many operations of a thread.
    #[serde(default = "one")]
    pub every: u32,
}

impl Think {
    /// Pause of an operation on average, seconds.
    pub fn mean_s(self) -> f64 {
        self.pause_s / f64::from(self.every.max(1))
    }
}

/// What makes a write durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DurabilityKind {
    /// Nothing: data may be lost.
    None,
    /// `fdatasync` (an NVMe flush on passthrough).
    Fdatasync,
    /// `fsync`.
    Fsync,
    /// The file is open with `O_DSYNC`.
    ODsync,
    /// `RWF_DSYNC` on the write call.
    RwfDsync,
    /// `msync` of just the pages written, for mappings.
    Msync,
    /// Cache line flushes and a fence, for persistent memory.
    Persist,
}

/// Durability of a class's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Durability {
    /// The means.
    pub kind: DurabilityKind,
    /// Once in this many writes of a thread; `O_DSYNC` and `RWF_DSYNC` know only 1.
    #[serde(default = "one")]
    pub every: u32,
}

fn one() -> u32 {
    1
}

/// What an objective is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Mean response time, ns (service time where arrivals are closed).
    MeanNs,
    /// Median, ns.
    P50Ns,
    /// 99th percentile, ns.
    P99Ns,
    /// 99.9th percentile, ns.
    P999Ns,
    /// Bytes per second.
    BandwidthBytesPerS,
    /// Operations per second.
    OpsPerS,
}

/// What a class must reach: a latency below, or a throughput at least.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// What is judged.
    pub metric: Metric,
    /// The bound: an upper one for latencies, a lower one for throughputs, in the metric's unit.
    pub bound: f64,
}

/// A class of I/O with its own arrivals, depth, durability, data and path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Name, unique in a job.
    pub name: String,
    /// Data set that it works on.
    pub dataset: String,
    /// How bytes reach it.
    pub path: PathSpec,
    /// Read, write, mix or trim.
    pub operation: Operation,
    /// Order of offsets.
    pub pattern: Pattern,
    /// Size of operations in bytes.
    pub size: Sizes,
    /// Threads.
    #[serde(default = "one")]
    pub threads: u32,
    /// Operations in flight per thread; blocking paths know only 1.
    #[serde(default = "one")]
    pub depth: u32,
    /// Operations submitted per system call.
    #[serde(default = "one")]
    pub batch: u32,
    /// When operations are due.
    #[serde(default = "closed")]
    pub arrivals: Arrivals,
    /// Pause between operations where arrivals are closed; none where the next one starts at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
    /// What makes writes durable.
    #[serde(default = "not_durable")]
    pub durability: Durability,
    /// Bytes of memory that reads land in, per thread: the operation's size times depth where 0 (stays in the L2 cache).
    /// A large value plays a buffer pool.
    #[serde(default)]
    pub buffer_bytes: u64,
    /// Bytes changed in a page of the pool before it is written; 8 at least (a stamp that defeats deduplication).
    #[serde(default)]
    pub dirty_bytes: u64,
    /// Seconds after the window's start at which the class begins (0: at once). Only for background load.
    #[serde(default)]
    pub start_s: f64,
    /// Where its threads run; none where the kernel decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
    /// What it must reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
}

fn closed() -> Arrivals {
    Arrivals::Closed
}

fn not_durable() -> Durability {
    Durability { kind: DurabilityKind::None, every: 1 }
}
