//! A number that says where it came from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a figure came from. No figure exists without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// Observed on this machine, on the hardware named.
    Measured,
    /// Real code on stand-in hardware (for example persistent memory played by DRAM).
    Emulated,
    /// Computed by a twin.
    Modelled,
    /// Printed in a publication.
    Published,
    /// Promised by a vendor.
    Datasheet,
    /// Taken for granted; no source.
    Assumed,
}

/// Which instrument gave a figure; a fallback is never silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Counted or timed by the measured loop itself, with the time stamp counter.
    Loop,
    /// A hardware performance counter.
    HardwareCounter,
    /// A software event of the kernel's performance subsystem.
    SoftwareEvent,
    /// `getrusage`, for a thread or for the process.
    Rusage,
    /// CPU seconds from `getrusage` times the time stamp counter's frequency.
    RusageTimesTsc,
    /// The kernel's accounting in `/proc` or `/sys`.
    KernelAccounting,
    /// Arithmetic on other figures of the same record.
    Derived,
    /// Counted in virtual time, by a discrete-event simulation.
    Simulation,
}

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Unit {
    /// Bytes per second.
    #[serde(rename = "bytes/s")]
    BytesPerSecond,
    /// Operations per second.
    #[serde(rename = "ops/s")]
    OpsPerSecond,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// A count.
    #[serde(rename = "count")]
    Count,
    /// Cycles per byte.
    #[serde(rename = "cycles/byte")]
    CyclesPerByte,
    /// Cycles per operation.
    #[serde(rename = "cycles/op")]
    CyclesPerOp,
    /// Instructions per operation.
    #[serde(rename = "instructions/op")]
    InstructionsPerOp,
    /// Events per operation.
    #[serde(rename = "1/op")]
    PerOp,
    /// A share or ratio without unit.
    #[serde(rename = "ratio")]
    Ratio,
    /// Hertz.
    #[serde(rename = "Hz")]
    Hertz,
}

/// One number with unit, provenance and instrument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The number, in `unit`.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Where it came from.
    pub provenance: Provenance,
    /// Which instrument gave it.
    pub method: Method,
    /// Where the true value is expected, in `unit`; none for what was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<Band>,
}

/// Where a computed figure's true value is expected.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Lower end, in the figure's unit.
    pub low: f64,
    /// Upper end, in the figure's unit.
    pub high: f64,
}

impl Band {
    /// `value` with a factor of `1 + width` to either side.
    pub fn around(value: f64, width: f64) -> Self {
        Self { low: value / (1.0 + width), high: value * (1.0 + width) }
    }
}

/// Relative half-widths of a computed distribution: a factor of `1 + width` to either side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Widths {
    /// Of the mean and the median.
    pub latency: f64,
    /// Of the 99th percentile and beyond.
    pub tail: f64,
}

impl Figure {
    /// A figure of the given provenance.
    pub fn new(value: f64, unit: Unit, provenance: Provenance, method: Method) -> Self {
        // The sum of nothing is -0.0, which nobody has ever measured.
        Self { value: value + 0.0, unit, provenance, method, band: None }
    }

    /// The figure with a factor of `1 + width` to either side as its band.
    #[must_use]
    pub fn within(self, width: f64) -> Self {
        Self { band: Some(Band::around(self.value, width)), ..self }
    }
}

/// Operations that had not ended when waiting was given up. They are among the values with the time that they had waited
/// until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AtLeast {
    /// How many.
    pub count: u64,
    /// The shortest of these times, ns: what lies below it is exact; percentiles from it upward, the mean and the largest
    /// value are lower bounds.
    pub from_ns: u64,
}

/// Summary of a latency distribution, with the histogram that it was read from.
///
/// Percentiles are never merged: merge the histograms and read the percentiles again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// Where it came from.
    pub provenance: Provenance,
    /// Values recorded.
    pub count: u64,
    /// Smallest value, ns.
    pub min_ns: u64,
    /// Mean, ns.
    pub mean_ns: f64,
    /// Standard deviation, ns.
    pub stdev_ns: f64,
    /// Median, ns.
    pub p50_ns: u64,
    /// 90th percentile, ns.
    pub p90_ns: u64,
    /// 99th percentile, ns.
    pub p99_ns: u64,
    /// 99.9th percentile, ns.
    pub p999_ns: u64,
    /// 99.99th percentile, ns.
    pub p9999_ns: u64,
    /// Largest value, ns; exact even where it lies above the histogram's range.
    pub max_ns: u64,
    /// Values of which only a lower bound is known; none where all are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<AtLeast>,
    /// Values above the histogram's range. They are counted at its top, never at its bottom.
    pub above_range: u64,
    /// Highest percentile (0..100) with at least 100 values beyond it; what lies above it is weakly supported.
    pub supported_percentile: f64,
    /// HdrHistogram V2, DEFLATE-compressed, base64.
    pub histogram: String,
    /// How far a computed distribution may be off; none for what was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widths: Option<Widths>,
}
