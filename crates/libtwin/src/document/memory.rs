//! Parameters of byte-addressable families. Rates are of one module.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Curve, Parameter};

/// Loss of capacity with n threads on a module: g(n) = floor + (1 - floor) exp(-max(0, n - onset) / decay). With more
/// streams than the module's buffer can combine it moves whole granules for parts of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collapse {
    /// Share that is left with very many threads.
    pub floor: Curve,
    /// Threads on a module at which it begins.
    pub onset_threads: Curve,
    /// Threads over which it falls to 1/e of the way.
    pub decay_threads: Curve,
}

/// One kind of access: X = ((T b)^-k + (D C g)^-k)^(-1/k) with T threads on D modules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryOperation {
    /// b: bytes per second of one thread that does nothing else, on one module.
    pub thread_bytes_per_s: Curve,
    /// C: useful bytes per second of one saturated module.
    pub module_bytes_per_s: Curve,
    /// k on one module: 1 is a hyperbola, above 6 it is nearly a corner.
    pub sharpness: Parameter,
    /// c of k(D) = k D^-c: on more modules chance leaves some idle while others queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharpness_fall: Option<Parameter>,
    /// e of b(D) = b (1 + e (1 - 1/D)): one thread waits less where more modules work for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_gain: Option<Parameter>,
    /// Threads beyond which two share a core, and with it the loads that it can have in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee_threads: Option<Parameter>,
    /// What a thread beyond the knee adds, as a share of one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_knee_share: Option<Parameter>,
    /// Loss with many threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collapse: Option<Collapse>,
}

/// The kinds of access that a family knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryOperations {
    /// Sequential loads.
    pub sequential_read: MemoryOperation,
    /// Random loads, independent of one another.
    pub random_read: MemoryOperation,
    /// Sequential non-temporal stores with a fence.
    pub sequential_nt: MemoryOperation,
    /// Random non-temporal stores with a fence.
    pub random_nt: MemoryOperation,
    /// Sequential stores with `clwb` or `clflushopt` and a fence.
    pub sequential_clwb: MemoryOperation,
    /// Random stores with `clwb` or `clflushopt` and a fence.
    pub random_clwb: MemoryOperation,
    /// Sequential stores alone: the caches evict them in their own order.
    pub sequential_plain: MemoryOperation,
    /// Random stores alone.
    pub random_plain: MemoryOperation,
}

/// Idle latency of a load while the working set stays below a size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyStep {
    /// Up to this many bytes per module.
    pub working_set_bytes: f64,
    /// Latency of a dependent load, ns.
    pub latency_ns: Parameter,
}

/// Tails as multiples of the median, from idle to saturated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TailRatios {
    /// 99th percentile; `low` idle, `high` saturated.
    pub p99: Parameter,
    /// 99.9th percentile; `low` idle, `high` saturated.
    pub p999: Parameter,
}

/// A rare long stop (wear levelling).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// Length, ns.
    pub length_ns: Parameter,
    /// Writes to the same granule between two of them.
    pub every_writes: Parameter,
}

/// Steps of chains of dependent accesses on one thread, where chain follows chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chains {
    /// A read, ns.
    pub read_ns: Curve,
    /// A write that is made durable, ns.
    pub write_ns: Curve,
    /// A read from DRAM, ns.
    pub dram_read_ns: Curve,
    /// Granules that writing a line again costs.
    pub rewrite_granules: Parameter,
    /// Reads of a chain up to which the next chain's first reads overlap with it.
    pub overlapped_reads: Parameter,
    /// What longer chains take, times the sum of their steps.
    pub deep_factor: Parameter,
}

/// A module of persistent memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pmem {
    /// Bytes that the medium moves at once.
    pub granule_bytes: Parameter,
    /// Bytes that lie together on a module of an interleave set.
    pub interleave_bytes: Parameter,
    /// Modules behind one memory controller: threads bunch up among these.
    pub convoy_modules: Parameter,
    /// Kinds of access.
    pub operations: MemoryOperations,
    /// Share of the capacity of six modules that random accesses of a size leave idle by chance, 0..1.
    pub random_idle_share: Curve,
    /// theta of C_r' = C_r / (1 + theta u_w): what writers cost readers.
    pub read_interference: Curve,
    /// lambda of C_w' = C_w / (1 + lambda u_r): what readers cost writers.
    pub write_interference: Curve,
    /// Latency of a load that follows its neighbour, ns.
    pub sequential_latency_ns: Parameter,
    /// Latency of a dependent random load by working set, ascending; the last holds beyond.
    pub latency: Vec<LatencyStep>,
    /// Tails of reads.
    pub read_tail: TailRatios,
    /// Tails of writes.
    pub write_tail: TailRatios,
    /// Steps of chains (index lookups and updates).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chains: Option<Chains>,
    /// Wear levelling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
}

/// A module of DRAM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Kinds of access.
    pub operations: MemoryOperations,
    /// Share of the bus that is left where reads and writes are equal: turning it round costs.
    pub mixed_share: Parameter,
    /// Latency of a load that follows its neighbour, ns.
    pub sequential_latency_ns: Parameter,
    /// Latency of a dependent load, ns.
    pub latency_ns: Parameter,
    /// Tails of reads and writes.
    pub tail: TailRatios,
}

/// A module of DRAM that saves itself to flash when power fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nvdimm {
    /// The memory.
    pub memory: Dram,
    /// Time to make a write durable where a program asks for it (commit), ns.
    pub persist_ns: Parameter,
}

/// Memory behind CXL: L(u) = idle (1 + a u^b / (1 - u)).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cxl {
    /// Latency of a dependent load, ns.
    pub latency_ns: Parameter,
    /// The link towards the host.
    pub read_bytes_per_s: Parameter,
    /// The link towards the memory.
    pub write_bytes_per_s: Parameter,
    /// The memory behind it, both directions together.
    pub memory_bytes_per_s: Parameter,
    /// Cache lines that a thread has in flight where loads do not depend on one another.
    pub lines_in_flight: Parameter,
    /// a of the formula.
    pub rise: Parameter,
    /// b of the formula.
    pub rise_exponent: Parameter,
    /// Tails.
    pub tail: TailRatios,
}

impl MemoryOperations {
    /// All of them, with their names.
    pub fn each(&self) -> [(&'static str, &MemoryOperation); 8] {
        [
            ("sequential_read", &self.sequential_read),
            ("random_read", &self.random_read),
            ("sequential_nt", &self.sequential_nt),
            ("random_nt", &self.random_nt),
            ("sequential_clwb", &self.sequential_clwb),
            ("random_clwb", &self.random_clwb),
            ("sequential_plain", &self.sequential_plain),
            ("random_plain", &self.random_plain),
        ]
    }
}

impl MemoryOperation {
    /// Its curves, with their names.
    pub fn curves(&self) -> impl Iterator<Item = (&'static str, &Curve)> {
        let own = [("thread_bytes_per_s", &self.thread_bytes_per_s), ("module_bytes_per_s", &self.module_bytes_per_s)];
        let collapse = self.collapse.iter().flat_map(|collapse| {
            [
                ("floor", &collapse.floor),
                ("onset_threads", &collapse.onset_threads),
                ("decay_threads", &collapse.decay_threads),
            ]
        });
        own.into_iter().chain(collapse)
    }
}
