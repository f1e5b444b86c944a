//! A load as the device sees it, and what the device makes of it.

use assay_record::Persist;

use crate::{BoundBy, PathKey, Percentile, Stream};

/// A load as the device sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceLoad {
    /// Share of writes, 0..=1.
    pub write_share: f64,
    /// Mean bytes of an operation.
    pub size_bytes: f64,
    /// Offsets are consecutive.
    pub sequential: bool,
    /// Customers: operations in flight at most.
    pub in_flight: f64,
    /// Threads that they belong to.
    pub threads: f64,
    /// Requests that come from a thread at once, and of which none comes back before as many have ended.
    pub bunch: f64,
    /// Time that a customer spends away from the device between two operations, ns.
    pub think_ns: f64,
    /// Operations per second at most, of the whole load; infinite where it is closed.
    pub rate_per_s: f64,
    /// Flushes per operation that reach the device (0 where writes are not made durable).
    pub flushes_per_op: f64,
    /// Bytes that it works on.
    pub working_set_bytes: f64,
    /// Seconds that the load lasts; 0 asks for the steady state.
    pub duration_s: f64,
    /// The way through the host.
    pub path: PathKey,
    /// How stores leave the CPU caches.
    pub persist: Persist,
    /// Each read ends before the next begins.
    pub fenced: bool,
}

impl DeviceLoad {
    /// What the device sees of a stream before the host's part is known: no think time.
    pub fn of(stream: &Stream, capacity_bytes: f64) -> Self {
        let durable = crate::host::needs_flush(stream);
        let every = f64::from(stream.durability.every.max(1));
        Self {
            write_share: stream.write_share,
            size_bytes: stream.size_bytes,
            sequential: stream.sequential,
            in_flight: stream.in_flight(),
            threads: f64::from(stream.threads),
            bunch: if stream.path.key.is_buffered() { 1.0 } else { stream.bunch() },
            think_ns: 0.0,
            rate_per_s: stream.rate_per_s.unwrap_or(f64::INFINITY),
            flushes_per_op: if durable { stream.write_share / every } else { 0.0 },
            working_set_bytes: if stream.working_set_bytes > 0.0 { stream.working_set_bytes } else { capacity_bytes },
            duration_s: stream.duration_s,
            path: stream.path.key,
            persist: stream.path.persist,
            fenced: stream.path.fenced,
        }
    }
}

impl DeviceLoad {
    /// Its writes end in the page cache; the kernel brings them to the device later, or when a flush asks for it.
    pub fn is_behind(&self) -> bool {
        self.path.is_buffered()
    }
}

/// What the device makes of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceAnswer {
    /// Operations per second: at most `rate_per_s`, and in_flight / (think + mean) where the load is closed.
    pub ops_per_s: f64,
    /// Mean time at the device, queues and flushes included, ns.
    pub mean_ns: f64,
    /// Operations of one customer that overlap: until its data is there an operation takes `overlap * mean_ns` (loads that
    /// do not depend on one another). Below 1 counts as 1.
    pub overlap: f64,
    /// Part of the mean spent in the device's queues, ns.
    pub queue_ns: f64,
    /// Part of the mean spent in flushes, ns (per operation).
    pub flush_ns: f64,
    /// How much longer than the mean the last request of a bunch stays, ns.
    pub last_ns: f64,
    /// Median at the device.
    pub p50: Percentile,
    /// 99th percentile at the device.
    pub p99: Percentile,
    /// 99.9th percentile at the device.
    pub p999: Percentile,
    /// What of the device sets the pace; [`BoundBy::Latency`] where nothing of it is busy.
    pub bound_by: BoundBy,
    /// How busy the busiest station of the device is, 0..=1.
    pub utilisation: f64,
}

impl DeviceAnswer {
    /// What becomes of a load that the device answers like `other` for a share of the time, and like this for the rest.
    /// Times count by the operations that take them, so that Little's law holds of the whole.
    pub fn shared(&self, other: &Self, share: f64) -> Self {
        let ops_per_s = (1.0 - share) * self.ops_per_s + share * other.ops_per_s;
        let of_other = if ops_per_s > 0.0 { share * other.ops_per_s / ops_per_s } else { share };
        let mix = |own: f64, others: f64| own + of_other * (others - own);
        let rank = |own: Percentile, others: Percentile| Percentile {
            low_ns: mix(own.low_ns, others.low_ns),
            mid_ns: mix(own.mid_ns, others.mid_ns),
            high_ns: mix(own.high_ns, others.high_ns),
        };
        Self {
            ops_per_s,
            mean_ns: mix(self.mean_ns, other.mean_ns),
            overlap: mix(self.overlap, other.overlap),
            queue_ns: mix(self.queue_ns, other.queue_ns),
            flush_ns: mix(self.flush_ns, other.flush_ns),
            last_ns: mix(self.last_ns, other.last_ns),
            p50: rank(self.p50, other.p50),
            p99: rank(self.p99, other.p99),
            p999: rank(self.p999, other.p999),
            bound_by: if of_other < 0.5 { self.bound_by } else { other.bound_by },
            utilisation: self.utilisation + share * (other.utilisation - self.utilisation),
        }
    }
}
