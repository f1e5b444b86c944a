//! What an engine answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What sets the pace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BoundBy {
    /// All cores of the host are busy.
    HostCpu,
    /// One thread's own CPU work.
    Path,
    /// Nothing is busy: operations wait for one another's latency.
    #[default]
    Latency,
    /// The medium, reading.
    DeviceRead,
    /// The medium, writing (garbage collection included).
    DeviceWrite,
    /// The link or channel.
    Link,
    /// The controller.
    Controller,
    /// Flushes.
    Flush,
    /// A token bucket.
    Bucket,
    /// The load's own rate.
    Rate,
}

/// A percentile as a band: the published figure should lie inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Percentile {
    /// Lower end, ns.
    pub low_ns: f64,
    /// Best guess, ns.
    pub mid_ns: f64,
    /// Upper end, ns.
    pub high_ns: f64,
}

impl Percentile {
    /// `mid` with a factor of `1 + width` to either side.
    pub fn around(mid_ns: f64, width: f64) -> Self {
        Self { low_ns: mid_ns / (1.0 + width), mid_ns, high_ns: mid_ns * (1.0 + width) }
    }
}

/// Relative half-widths of an answer, those of extrapolation included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BandWidths {
    /// Of bandwidth and operations per second.
    pub bandwidth: f64,
    /// Of mean and median latency.
    pub latency: f64,
    /// Of high percentiles, as a factor less 1.
    pub tail: f64,
}

/// Where an operation's time goes, ns of the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeShares {
    /// The host's CPU: system call, copy, completion.
    pub host_ns: f64,
    /// Waiting for a core, a lock, or to be woken.
    pub wait_ns: f64,
    /// Waiting in the device's queues.
    pub queue_ns: f64,
    /// The device itself.
    pub device_ns: f64,
    /// Flushes, per operation.
    pub flush_ns: f64,
}

/// How busy a station is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Utilisation {
    /// The station.
    pub station: String,
    /// 0..=1.
    pub value: f64,
}

/// Answer for one stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamSolution {
    /// Name of the stream.
    pub name: String,
    /// Operations per second.
    pub ops_per_s: f64,
    /// Bytes per second.
    pub bandwidth_bytes_per_s: f64,
    /// Mean latency of an operation, flushes included, ns.
    pub mean_ns: f64,
    /// Median.
    pub p50: Percentile,
    /// 99th percentile.
    pub p99: Percentile,
    /// 99.9th percentile.
    pub p999: Percentile,
    /// CPU cycles per operation.
    pub cycles_per_op: f64,
    /// CPU cycles per byte.
    pub cycles_per_byte: f64,
    /// What sets the pace.
    pub bound_by: BoundBy,
    /// Where the time goes.
    pub time: TimeShares,
    /// What lies outside the calibrated box, one sentence each.
    pub extrapolated: Vec<String>,
    /// How far the answer may be off.
    pub band: BandWidths,
}

/// Answer for all streams of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Solution {
    /// In the order of the streams.
    pub streams: Vec<StreamSolution>,
    /// Stations of host and device.
    pub utilisation: Vec<Utilisation>,
}
