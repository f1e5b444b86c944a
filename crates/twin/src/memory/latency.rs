//! Latency of one access, idle and in the tail.

use crate::{
    Percentile,
    device_load::{DeviceAnswer, DeviceLoad},
    document::{LatencyStep, MemoryOperations, TailRatios},
};

const LINE_BYTES: f64 = 64.0;

/// Latency of a load on idle modules.
#[derive(Clone, Copy, Debug)]
pub struct Idle<'a> {
    /// Of a load that follows its neighbour, ns.
    pub sequential_ns: f64,
    /// Of a random load, by working set.
    pub steps: &'a [LatencyStep],
    /// Of a random load where there are no steps, ns.
    pub random_ns: f64,
}

impl Idle<'_> {
    /// Time until all bytes of a lone read are there: the first line's latency, the rest as one thread streams.
    pub fn load_ns(&self, load: &DeviceLoad, modules: u32, operations: &MemoryOperations) -> f64 {
        let first = if load.sequential { self.sequential_ns } else { self.first_ns(load.working_set_bytes, modules) };
        let rest = (load.size_bytes - LINE_BYTES).max(0.0);
        first + rest / operations.sequential_read.thread_bytes_per_s.at(load.size_bytes.max(LINE_BYTES)) * 1e9
    }

    fn first_ns(&self, working_set_bytes: f64, modules: u32) -> f64 {
        let each = working_set_bytes / f64::from(modules);
        let step = self.steps.iter().find(|step| each <= step.working_set_bytes).or(self.steps.last());
        step.map_or(self.random_ns, |step| step.latency_ns.value)
    }
}

/// Tails as multiples of the median: [idle, saturated].
#[derive(Clone, Copy, Debug)]
pub struct Tails {
    /// 99th percentile.
    pub p99: [f64; 2],
    /// 99.9th percentile.
    pub p999: [f64; 2],
}

impl From<&TailRatios> for Tails {
    fn from(ratios: &TailRatios) -> Self {
        let ends = |ratio: &crate::Parameter| [ratio.low.unwrap_or(ratio.value), ratio.high.unwrap_or(ratio.value)];
        Self { p99: ends(&ratios.p99), p999: ends(&ratios.p999) }
    }
}

/// Fills the percentiles of an answer. A median lies between the idle latency and the mean: the mean has the tail in it.
pub fn percentiles(tails: [Tails; 2], write_share: f64, idle_ns: f64, used: f64, answer: &mut DeviceAnswer) {
    let mean = answer.mean_ns * answer.overlap;
    let blend = |pick: fn(&Tails) -> [f64; 2]| {
        let (reads, writes) = (pick(&tails[0]), pick(&tails[1]));
        [0, 1].map(|end| reads[end] + (writes[end] - reads[end]) * write_share)
    };
    let low = idle_ns.min(mean);
    let mid = mean + (low - mean) * 0.2 * used;
    answer.p50 = Percentile { low_ns: low, mid_ns: mid, high_ns: mean.max(mid) };
    let tail = |[idle, full]: [f64; 2]| Percentile {
        low_ns: low * idle.min(full),
        mid_ns: mid * (idle + (full - idle) * used * used),
        high_ns: mid * idle.max(full),
    };
    answer.p99 = tail(blend(|tails| tails.p99));
    answer.p999 = tail(blend(|tails| tails.p999));
}
