//! Parameters of byte-addressable families. Rates are of one module.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameter;

/// Loss of throughput with more streams than the module can combine: g(u) = floor + (1 - floor) exp(-max(0, u - onset) /
/// decay), u = threads per module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collapse {
    /// Share that is left with very many threads.
    pub floor: Parameter,
    /// Threads per module at which it begins.
    pub onset_threads: Parameter,
    /// Threads per module over which it falls to 1/e of the way.
    pub decay_threads: Parameter,
}

/// One kind of access: single thread X = s / (base + s / rate), module capacity, sharpness of the corner between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PmemOperation {
    /// Time of an operation of one thread before its first byte, ns.
    pub base_ns: Parameter,
    /// Rate of one thread beyond that.
    pub thread_bytes_per_s: Parameter,
    /// Capacity of one module.
    pub module_bytes_per_s: Parameter,
    /// k of X = ((T b)^-k + (C g)^-k)^(-1/k); above 6 it is nearly a corner.
    pub sharpness: Parameter,
    /// Loss with many threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collapse: Option<Collapse>,
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

/// A rare long stop (wear levelling).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// Length, ns.
    pub length_ns: Parameter,
    /// Writes between two of them.
    pub every_writes: Parameter,
}

/// A module of persistent memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pmem {
    /// Bytes that the medium moves at once.
    pub granule_bytes: Parameter,
    /// Bytes that lie together on a module of an interleave set.
    pub interleave_bytes: Parameter,
    /// Sequential reads.
    pub sequential_read: PmemOperation,
    /// Random reads.
    pub random_read: PmemOperation,
    /// Sequential non-temporal stores.
    pub sequential_nt: PmemOperation,
    /// Random non-temporal stores.
    pub random_nt: PmemOperation,
    /// Sequential stores with `clwb`.
    pub sequential_clwb: PmemOperation,
    /// Random stores with `clwb`.
    pub random_clwb: PmemOperation,
    /// theta of C_r' = C_r / (1 + theta u_w): what writers cost readers beyond their share of the device.
    pub interference: Parameter,
    /// Idle latency by working set, ascending.
    pub latency: Vec<LatencyStep>,
    /// Wear levelling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
}

/// A module of DRAM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Bytes per second of a module, reads.
    pub read_bytes_per_s: Parameter,
    /// Bytes per second of a module, writes.
    pub write_bytes_per_s: Parameter,
    /// Rate of one thread.
    pub thread_bytes_per_s: Parameter,
    /// Latency of a dependent load, ns.
    pub latency_ns: Parameter,
    /// Sharpness of the corner.
    pub sharpness: Parameter,
}

/// A module of DRAM that saves itself to flash when power fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nvdimm {
    /// The memory.
    pub memory: Dram,
    /// Time to make a write durable (cache line flushes and fence), ns.
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
    /// Rate of one thread.
    pub thread_bytes_per_s: Parameter,
    /// a of the formula.
    pub rise: Parameter,
    /// b of the formula.
    pub rise_exponent: Parameter,
}
