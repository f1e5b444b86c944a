//! Network volumes: token buckets and a latency.

use crate::{
    BoundBy, Percentile,
    analytic::{DeviceAnswer, DeviceLoad},
    document::{Bucket, CloudVolume, OrElse},
};

/// Tokens that an operation of `bytes` costs in a bucket of operations: one for every unit begun.
pub fn tokens(bytes: f64, unit_bytes: f64) -> f64 {
    (bytes / unit_bytes).ceil().max(1.0)
}

/// Mean rate of a bucket over `duration_s`, beginning with all its credit; the plain rate in steady state (0).
pub fn mean_rate(bucket: &Bucket, duration_s: f64) -> f64 {
    let rate = bucket.rate_per_s.value;
    let (burst, credit) = (OrElse::or(&bucket.burst_per_s, rate), OrElse::or(&bucket.credit, 0.0));
    if duration_s <= 0.0 || burst <= rate {
        return rate;
    }
    let lasts = credit / (burst - rate);
    if lasts >= duration_s { burst } else { rate + credit / duration_s }
}

/// Tokens per second that all loads may take, over tokens per second that they ask: 1 where nothing is short.
struct Share {
    operations: f64,
    bytes: f64,
}

/// Answers for all loads.
pub fn answer(volume: &CloudVolume, loads: &[DeviceLoad], answers: &mut [DeviceAnswer]) {
    let latency: Vec<f64> = loads.iter().map(|load| latency_ns(volume, load)).collect();
    let wanted: Vec<f64> = loads.iter().zip(&latency).map(|(load, ns)| free_rate(load, *ns)).collect();
    let granted = fair(volume, loads, &wanted);
    for (index, (load, answer)) in loads.iter().zip(answers).enumerate() {
        let rate = granted.0[index];
        let closed = (load.in_flight / rate * 1e9 - load.think_ns).max(latency[index]);
        let held = if rate < wanted[index] * 0.999_999 { closed } else { latency[index] };
        *answer = DeviceAnswer {
            ops_per_s: rate,
            mean_ns: held,
            overlap: 1.0,
            queue_ns: held - latency[index],
            flush_ns: 0.0,
            p50: percentile(volume, held, latency[index], 0.0),
            p99: percentile(volume, held, latency[index], 2.326),
            p999: percentile(volume, held, latency[index], 3.09),
            bound_by: if held > latency[index] { BoundBy::Bucket } else { BoundBy::Latency },
            utilisation: granted.1,
            ..DeviceAnswer::default()
        };
    }
}

fn latency_ns(volume: &CloudVolume, load: &DeviceLoad) -> f64 {
    let pure =
        (1.0 - load.write_share) * volume.read_latency_ns.value + load.write_share * volume.write_latency_ns.value;
    // A flush is one more trip: what was acknowledged is on the servers already.
    pure + load.flushes_per_op * volume.write_latency_ns.value
}

fn free_rate(load: &DeviceLoad, latency_ns: f64) -> f64 {
    (load.in_flight / (load.think_ns + latency_ns) * 1e9).min(load.rate_per_s)
}

/// Rates within the buckets: all closed loads give way in proportion. Second: how full the fullest bucket is.
fn fair(volume: &CloudVolume, loads: &[DeviceLoad], wanted: &[f64]) -> (Vec<f64>, f64) {
    let unit = |load: &DeviceLoad| tokens(load.size_bytes, volume.unit_bytes.value);
    let asked = Share {
        operations: loads.iter().zip(wanted).map(|(load, rate)| rate * unit(load)).sum(),
        bytes: loads.iter().zip(wanted).map(|(load, rate)| rate * load.size_bytes).sum(),
    };
    let duration = loads.iter().map(|load| load.duration_s).fold(0.0, f64::max);
    let limit = |own: &Bucket, instance: &Option<Bucket>| {
        let instance = instance.as_ref().map_or(f64::INFINITY, |bucket| mean_rate(bucket, duration));
        mean_rate(own, duration).min(instance)
    };
    let operations = limit(&volume.operations, &volume.instance_operations) / asked.operations.max(1e-9);
    let bytes = limit(&volume.bytes, &volume.instance_bytes) / asked.bytes.max(1e-9);
    let factor = operations.min(bytes);
    (wanted.iter().map(|rate| rate * factor.min(1.0)).collect(), (1.0 / factor).min(1.0))
}

/// Lognormal around the mean latency, and the wait for tokens, which hardly varies.
fn percentile(volume: &CloudVolume, held: f64, latency: f64, normal: f64) -> Percentile {
    let sigma = volume.latency_sigma.value;
    let median = latency * (-sigma * sigma / 2.0).exp();
    let mid = median * (sigma * normal).exp() + (held - latency);
    let wide = 0.3 + 0.4 * normal;
    Percentile { low_ns: mid / (1.0 + wide), mid_ns: mid, high_ns: mid * (1.0 + wide) }
}
