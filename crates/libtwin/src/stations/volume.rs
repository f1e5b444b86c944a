//! A network volume in virtual time: token buckets, then a latency.

use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{
    document::{Bucket, CloudVolume, OrElse},
    request::{Action, PS_PER_S, Picoseconds, Request},
    rules::tokens,
};

/// A bucket: tokens flow in at a rate; who finds too few waits for them, in order. With credit a faster rate holds until
/// the credit is spent.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: f64,
    burst: f64,
    credit: f64,
    most: f64,
    /// When the tokens of all that came so far have flowed in.
    paid_at: f64,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(bucket: &Bucket) -> Self {
        let rate = bucket.rate_per_s.value / PS_PER_S;
        let credit = OrElse::or(&bucket.credit, 0.0);
        Self {
            rate,
            burst: OrElse::or(&bucket.burst_per_s, bucket.rate_per_s.value) / PS_PER_S,
            credit,
            most: credit,
            paid_at: 0.0,
        }
    }

    /// When `count` tokens are there for someone who came at `now`.
    pub fn take(&mut self, now: Picoseconds, count: f64) -> Picoseconds {
        let arrival = now as f64;
        if arrival > self.paid_at {
            self.credit = (self.credit + (arrival - self.paid_at) * self.rate).min(self.most);
            self.paid_at = arrival;
        }
        let bursting = self.credit > 0.0 && self.burst > self.rate;
        let time = count / if bursting { self.burst } else { self.rate };
        if bursting {
            // While it bursts, what the rate does not bring comes out of the credit.
            self.credit = (self.credit - (count - time * self.rate)).max(0.0);
        }
        self.paid_at += time;
        self.paid_at as Picoseconds
    }

    /// Lets credit come and go `factor` times as fast.
    fn hasten(&mut self, factor: f64) {
        (self.credit, self.most) = (self.credit / factor, self.most / factor);
    }

    /// Its rate may still change.
    pub fn is_transient(&self) -> bool {
        self.burst > self.rate && self.credit > 0.0
    }
}

/// Stations of a volume.
#[derive(Clone, Debug)]
pub struct VolumeStations {
    operations: Vec<TokenBucket>,
    bytes: Vec<TokenBucket>,
    unit_bytes: f64,
    median_ps: [f64; 2],
    sigma: f64,
    busy: Picoseconds,
}

impl VolumeStations {
    /// A volume with full buckets.
    pub fn new(volume: &CloudVolume) -> Self {
        let all = |own: &Bucket, instance: &Option<Bucket>| {
            std::iter::once(own).chain(instance.as_ref()).map(TokenBucket::new).collect()
        };
        let sigma = volume.latency_sigma.value;
        let median = |mean_ns: f64| mean_ns * 1e3 * (-sigma * sigma / 2.0).exp();
        Self {
            operations: all(&volume.operations, &volume.instance_operations),
            bytes: all(&volume.bytes, &volume.instance_bytes),
            unit_bytes: volume.unit_bytes.value,
            median_ps: [median(volume.read_latency_ns.value), median(volume.write_latency_ns.value)],
            sigma,
            busy: 0,
        }
    }

    /// Serves a request. The last tokens come while the operation is under way, so that a volume that is not held back
    /// answers after its latency alone.
    pub fn serve(&mut self, now: Picoseconds, request: &Request, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        let kind = usize::from(request.action != Action::Read);
        let normal: f64 = StandardNormal.sample(random);
        let latency = (self.median_ps[kind] * (self.sigma * normal).exp()) as Picoseconds;
        if request.action == Action::Flush {
            return now + latency;
        }
        let bytes = if request.action == Action::Trim { 0.0 } else { f64::from(request.bytes) };
        let count = tokens(bytes, self.unit_bytes);
        let mut paid = now;
        for bucket in &mut self.operations {
            paid = paid.max(bucket.take(now, count));
        }
        for bucket in &mut self.bytes {
            paid = paid.max(bucket.take(now, bytes));
        }
        self.busy = self.busy.max(paid.min(self.busy + paid.saturating_sub(now)));
        paid.max(now + latency)
    }

    /// Lets credit come and go `factor` times as fast.
    pub fn hasten(&mut self, factor: f64) {
        self.operations.iter_mut().chain(&mut self.bytes).for_each(|bucket| bucket.hasten(factor));
    }

    /// Credit is left.
    pub fn is_transient(&self) -> bool {
        self.operations.iter().chain(&self.bytes).any(TokenBucket::is_transient)
    }

    /// Time in which a bucket was short.
    pub fn busy(&self) -> Picoseconds {
        self.busy
    }
}
