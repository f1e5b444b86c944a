//! From loads to answers, for every family whose parameters are kinds of access.

use assay_record::Persist;

use super::{
    latency::{Idle, Tails, percentiles},
    operation::Access,
    share::{LoadPart, Served, Sharing},
    together::serve,
};
use crate::{
    BoundBy, PathKey,
    device_load::{DeviceAnswer, DeviceLoad},
    document::{Curve, MemoryOperation, MemoryOperations},
};

/// A module is what sets the pace where it is busy beyond this share.
const BUSY: f64 = 0.85;
/// From here on the best stores are non-temporal (`Persist::Auto`), bytes.
const NT_FROM_BYTES: f64 = 256.0;
/// [`Set::idle_share`] was measured with so many modules and threads.
const IDLE_MODULES: f64 = 6.0;
const IDLE_THREADS: f64 = 16.0;

/// Interleaved modules of one family.
pub struct Set<'a> {
    /// Kinds of access.
    pub operations: &'a MemoryOperations,
    /// How many.
    pub modules: u32,
    /// Modules among which threads bunch up.
    pub group: u32,
    /// Share of the capacity that random accesses leave idle.
    pub idle_share: Option<&'a Curve>,
    /// Latency of a lone load.
    pub idle: Idle<'a>,
    /// Tails of reads and of writes.
    pub tails: [Tails; 2],
    /// What makes each write durable on top of the store, ns.
    pub persist_ns: f64,
}

impl Set<'_> {
    /// Serves the loads; `sharing` says how reads slow beside writes of a size, and writes of a size beside reads.
    pub fn answer(&self, loads: &[DeviceLoad], sharing: impl Fn(f64) -> Sharing, answers: &mut [DeviceAnswer]) {
        if let [load] = loads {
            let part = self.part(load, sharing(load.size_bytes));
            let mut served = [Served::default()];
            serve(&[part], &mut served);
            self.fill(load, &part, &served[0], busy(&served), &mut answers[0]);
            return;
        }
        let written = written_bytes(loads);
        let size = |load: &DeviceLoad| if load.write_share > 0.0 { load.size_bytes } else { written };
        let parts: Vec<LoadPart> = loads.iter().map(|load| self.part(load, sharing(size(load)))).collect();
        let mut served = vec![Served::default(); loads.len()];
        serve(&parts, &mut served);
        let busy = busy(&served);
        for ((load, part), (served, answer)) in loads.iter().zip(&parts).zip(served.iter().zip(answers)) {
            self.fill(load, part, served, busy, answer);
        }
    }

    fn part(&self, load: &DeviceLoad, sharing: Sharing) -> LoadPart {
        let bytes = load.size_bytes;
        let operations = self.operations;
        let reads = if load.sequential { &operations.sequential_read } else { &operations.random_read };
        let mut read = self.access(reads, load);
        if load.fenced {
            read.thread_ns = read.thread_ns.max(self.idle.load_ns(load, self.modules, operations));
        }
        let mut write = self.access(writes(operations, load), load);
        if store(load) != Persist::None {
            write.thread_ns += self.persist_ns;
        }
        debug_assert!(bytes > 0.0 && read.thread_ns > 0.0);
        LoadPart {
            read,
            write,
            write_share: load.write_share,
            threads: load.in_flight,
            think_ns: load.think_ns,
            rate: load.rate_per_s / 1e9,
            sharing,
        }
    }

    fn access(&self, operation: &MemoryOperation, load: &DeviceLoad) -> Access {
        let mut access = Access::new(operation, load.size_bytes, self.modules, self.group);
        if let (false, Some(share)) = (load.sequential, self.idle_share) {
            access.capacity *= 1.0 - share.at(load.size_bytes) * idle_by_chance(f64::from(self.modules));
        }
        access
    }

    fn fill(&self, load: &DeviceLoad, part: &LoadPart, served: &Served, busy: [f64; 2], answer: &mut DeviceAnswer) {
        let own_ns = served.alone_ns.max(1e-9);
        let reads =
            (1.0 - load.write_share) * self.idle.load_ns(load, self.modules, self.operations).max(part.read.thread_ns);
        let seen_ns = reads + load.write_share * part.write.thread_ns;
        let used = busy[0].max(busy[1]).min(1.0);
        *answer = DeviceAnswer {
            ops_per_s: served.ops * 1e9,
            mean_ns: served.mean_ns,
            overlap: (seen_ns / own_ns).max(1.0),
            queue_ns: (served.mean_ns - served.alone_ns).max(0.0),
            bound_by: bound(busy),
            utilisation: used,
            ..DeviceAnswer::default()
        };
        percentiles(self.tails, load.write_share, seen_ns, used, answer);
    }
}

/// Mean size of the writes of all loads: that of any of them where nobody writes.
fn written_bytes(loads: &[DeviceLoad]) -> f64 {
    let (mut bytes, mut writers) = (0.0, 0.0);
    for load in loads {
        let here = load.write_share * load.in_flight;
        (bytes, writers) = (bytes + here * load.size_bytes, writers + here);
    }
    if writers > 0.0 { bytes / writers } else { loads.first().map_or(1.0, |load| load.size_bytes) }
}

/// Share of [`Set::idle_share`] on a number of modules: as in a closed network of D stations without delay, whose
/// throughput is T / (T + D - 1) of its capacity.
fn idle_by_chance(modules: f64) -> f64 {
    let lost = |modules: f64| (modules - 1.0) / (modules + IDLE_THREADS - 1.0);
    (lost(modules) / lost(IDLE_MODULES)).min(2.0)
}

/// How stores leave the caches on this path: the kernel copies without the caches, `msync` flushes them.
fn store(load: &DeviceLoad) -> Persist {
    match (load.path, load.persist) {
        (PathKey::DaxMmapMsync, _) => Persist::Clwb,
        (PathKey::Pmem, Persist::Auto) if load.size_bytes < NT_FROM_BYTES => Persist::Clwb,
        (PathKey::Pmem, Persist::Auto) => Persist::Nt,
        (PathKey::Pmem, persist) => persist,
        _ => Persist::Nt,
    }
}

fn writes<'a>(operations: &'a MemoryOperations, load: &DeviceLoad) -> &'a MemoryOperation {
    match (store(load), load.sequential) {
        (Persist::Auto | Persist::Nt, true) => &operations.sequential_nt,
        (Persist::Auto | Persist::Nt, false) => &operations.random_nt,
        (Persist::Clwb | Persist::Clflushopt, true) => &operations.sequential_clwb,
        (Persist::Clwb | Persist::Clflushopt, false) => &operations.random_clwb,
        (Persist::None, true) => &operations.sequential_plain,
        (Persist::None, false) => &operations.random_plain,
    }
}

/// Shares of the capacity in use: [reads, writes].
fn busy(served: &[Served]) -> [f64; 2] {
    served.iter().fold([0.0; 2], |sum, one| [sum[0] + one.read_used, sum[1] + one.write_used])
}

fn bound(busy: [f64; 2]) -> BoundBy {
    match busy {
        [reads, writes] if writes >= reads && writes > BUSY => BoundBy::DeviceWrite,
        [reads, writes] if reads + writes > BUSY && reads > writes => BoundBy::DeviceRead,
        [reads, writes] if reads + writes > BUSY => BoundBy::DeviceWrite,
        _ => BoundBy::Latency,
    }
}
