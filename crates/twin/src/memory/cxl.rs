//! Memory behind CXL: a link each way, one memory behind both.
//!
//! The latency of a line rises with the utilisation of the busiest of the three, L(u) = L0 (1 + a u^b / (1 - u)) (the form
//! that fits the bandwidth-latency curves of "A Mess of Memory System Benchmarking", MICRO 2024, for one ratio of reads).
//! Loads are closed: N threads with m lines in flight each give X = N m / L(u). Both hold at exactly one u.

use crate::{
    BoundBy, Percentile,
    device_load::{DeviceAnswer, DeviceLoad},
    document::Cxl,
};

const LINE_BYTES: f64 = 64.0;
const HALVINGS: usize = 44;

/// Serves the loads.
pub fn answer(cxl: &Cxl, modules: u32, loads: &[DeviceLoad], answers: &mut [DeviceAnswer]) {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if used(cxl, modules, loads, middle).into_iter().fold(0.0, f64::max) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    let busy = used(cxl, modules, loads, low);
    for (load, answer) in loads.iter().zip(answers) {
        fill(cxl, load, low, bound(busy), answer);
    }
}

fn line_ns(cxl: &Cxl, utilisation: f64) -> f64 {
    let rise = cxl.rise.value * utilisation.powf(cxl.rise_exponent.value) / (1.0 - utilisation).max(1e-9);
    cxl.latency_ns.value * (1.0 + rise)
}

/// Time that an operation keeps a thread, ns.
fn thread_ns(cxl: &Cxl, load: &DeviceLoad, line: f64) -> f64 {
    let lines = (load.size_bytes / LINE_BYTES).max(1.0);
    let streamed = lines * line / cxl.lines_in_flight.value;
    if load.fenced { line + (lines - 1.0) * line / cxl.lines_in_flight.value } else { streamed }
}

fn ops(cxl: &Cxl, load: &DeviceLoad, utilisation: f64) -> f64 {
    let each = load.think_ns + thread_ns(cxl, load, line_ns(cxl, utilisation));
    (load.in_flight / each).min(load.rate_per_s / 1e9)
}

/// Utilisation of [link to the host, link to the memory, memory] while lines take as long as at `utilisation`.
fn used(cxl: &Cxl, modules: u32, loads: &[DeviceLoad], utilisation: f64) -> [f64; 3] {
    let per_ns = f64::from(modules) / 1e9;
    let mut bytes = [0.0; 2];
    for load in loads {
        let all = ops(cxl, load, utilisation) * load.size_bytes.max(LINE_BYTES);
        bytes[0] += all * (1.0 - load.write_share);
        bytes[1] += all * load.write_share;
    }
    [
        bytes[0] / (cxl.read_bytes_per_s.value * per_ns),
        bytes[1] / (cxl.write_bytes_per_s.value * per_ns),
        (bytes[0] + bytes[1]) / (cxl.memory_bytes_per_s.value * per_ns),
    ]
}

fn bound(busy: [f64; 3]) -> BoundBy {
    let most = busy.into_iter().fold(0.0, f64::max);
    match busy {
        _ if most < 0.85 => BoundBy::Latency,
        [_, _, memory] if memory >= most && busy[1] > busy[0] => BoundBy::DeviceWrite,
        [_, _, memory] if memory >= most => BoundBy::DeviceRead,
        _ => BoundBy::Link,
    }
}

fn fill(cxl: &Cxl, load: &DeviceLoad, utilisation: f64, bound_by: BoundBy, answer: &mut DeviceAnswer) {
    let line = line_ns(cxl, utilisation);
    let ops = ops(cxl, load, utilisation);
    let mean_ns = thread_ns(cxl, load, line);
    let lines = (load.size_bytes / LINE_BYTES).max(1.0);
    let seen = line + (lines - 1.0) * line / cxl.lines_in_flight.value;
    let reads = 1.0 - load.write_share;
    let tail = |ratio: &crate::Parameter| {
        let (low, high) = (ratio.low.unwrap_or(ratio.value), ratio.high.unwrap_or(ratio.value));
        Percentile { low_ns: seen * low, mid_ns: seen * (low + (high - low) * utilisation), high_ns: seen * high }
    };
    *answer = DeviceAnswer {
        ops_per_s: ops * 1e9,
        mean_ns,
        overlap: 1.0 + reads * (seen / mean_ns - 1.0).max(0.0),
        queue_ns: mean_ns - thread_ns(cxl, load, cxl.latency_ns.value),
        p50: Percentile { low_ns: seen * 0.9, mid_ns: seen, high_ns: seen * 1.1 },
        p99: tail(&cxl.tail.p99),
        p999: tail(&cxl.tail.p999),
        bound_by,
        utilisation,
        ..DeviceAnswer::default()
    };
}
