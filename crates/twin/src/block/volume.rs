//! Network volumes: token buckets and a latency.

use assay_libtwin::rules::tokens;

use crate::{
    BoundBy, Percentile,
    device_load::{DeviceAnswer, DeviceLoad},
    document::{Bucket, CloudVolume, OrElse},
};

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

/// Halvings of the search for the wait: beyond a year to below a ns.
const HALVINGS: usize = 80;
/// Longest wait that is looked for, ns.
const WAIT_AT_MOST_NS: f64 = 3e16;

/// Answers for all loads: whoever comes waits as long as anybody for tokens, so that a closed load slows down, and one
/// with a rate of its own keeps it for as long as what it may have in flight covers the wait.
pub fn answer(volume: &CloudVolume, loads: &[DeviceLoad], answers: &mut [DeviceAnswer]) {
    let buckets = Buckets::of(volume, loads);
    let wait_ns = buckets.wait_ns(loads);
    let full = buckets.asked(loads, wait_ns);
    for (load, answer) in loads.iter().zip(answers) {
        let latency = latency_ns(volume, load);
        let held = latency + wait_ns;
        *answer = DeviceAnswer {
            ops_per_s: rate(load, held),
            mean_ns: held,
            overlap: 1.0,
            queue_ns: wait_ns,
            flush_ns: 0.0,
            last_ns: 0.0,
            p50: percentile(volume, held, latency, 0.0),
            p99: percentile(volume, held, latency, 2.326),
            p999: percentile(volume, held, latency, 3.09),
            bound_by: if wait_ns > 0.0 { BoundBy::Bucket } else { BoundBy::Latency },
            utilisation: full.min(1.0),
        };
    }
}

/// Operations per second of a load whose operations take `held_ns`.
fn rate(load: &DeviceLoad, held_ns: f64) -> f64 {
    (load.in_flight / (load.think_ns + held_ns) * 1e9).min(load.rate_per_s)
}

/// What the buckets give, and what each operation of the loads takes.
struct Buckets {
    operations: f64,
    bytes: f64,
    /// By load: time without waiting, ns, and tokens of operations.
    each: Vec<(f64, f64)>,
}

impl Buckets {
    fn of(volume: &CloudVolume, loads: &[DeviceLoad]) -> Self {
        let duration = loads.iter().map(|load| load.duration_s).fold(0.0, f64::max);
        let limit = |own: &Bucket, instance: &Option<Bucket>| {
            let instance = instance.as_ref().map_or(f64::INFINITY, |bucket| mean_rate(bucket, duration));
            mean_rate(own, duration).min(instance)
        };
        let one = |load: &DeviceLoad| (latency_ns(volume, load), tokens(load.size_bytes, volume.unit_bytes.value));
        Self {
            operations: limit(&volume.operations, &volume.instance_operations),
            bytes: limit(&volume.bytes, &volume.instance_bytes),
            each: loads.iter().map(one).collect(),
        }
    }

    /// What all loads ask of the fuller bucket while they wait so long, over what it gives.
    fn asked(&self, loads: &[DeviceLoad], wait_ns: f64) -> f64 {
        let (mut operations, mut bytes) = (0.0, 0.0);
        for (load, (latency, tokens)) in loads.iter().zip(&self.each) {
            let rate = rate(load, latency + wait_ns);
            operations += rate * tokens;
            bytes += rate * load.size_bytes;
        }
        (operations / self.operations).max(bytes / self.bytes)
    }

    /// The least wait at which the buckets give what is asked of them.
    fn wait_ns(&self, loads: &[DeviceLoad]) -> f64 {
        if self.asked(loads, 0.0) <= 1.0 {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, WAIT_AT_MOST_NS);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if self.asked(loads, middle) > 1.0 { low = middle } else { high = middle }
        }
        high
    }
}

fn latency_ns(volume: &CloudVolume, load: &DeviceLoad) -> f64 {
    let pure =
        (1.0 - load.write_share) * volume.read_latency_ns.value + load.write_share * volume.write_latency_ns.value;
    // A flush is one more trip: what was acknowledged is on the servers already.
    pure + load.flushes_per_op * volume.write_latency_ns.value
}

/// Lognormal around the mean latency, and the wait for tokens, which hardly varies.
fn percentile(volume: &CloudVolume, held: f64, latency: f64, normal: f64) -> Percentile {
    let sigma = volume.latency_sigma.value;
    let median = latency * (-sigma * sigma / 2.0).exp();
    let mid = median * (sigma * normal).exp() + (held - latency);
    let wide = 0.3 + 0.4 * normal;
    Percentile { low_ns: mid / (1.0 + wide), mid_ns: mid, high_ns: mid * (1.0 + wide) }
}
