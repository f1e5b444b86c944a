//! What the rules look at. Whoever runs a load fills it in; a value that could not be had is `None`, and no rule takes
//! an unknown for a good sign or a bad one.

use std::collections::BTreeMap;

use assay_record::{
    Cache, CheckOutcome, Content, DeviceCounters, IntervalPoint, Layer, Layout, Metric, Overdue, PathKind, PathSpec,
    Stop, TargetKind,
};

use crate::{
    compress::Compressibility,
    counters::{FileChanges, FrequencyProbe, HeatUse, LimitUse, ProcessUse, SystemUse, WriteCache},
};

/// A run: what concerns all of it, and its classes.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// What concerns the whole run.
    pub run: RunObservation,
    /// One per class, in the job's order.
    pub classes: Vec<ClassObservation>,
}

/// What concerns the whole run.
#[derive(Clone, Debug, Default)]
pub struct RunObservation {
    /// State of the page cache that was asked for.
    pub cache: Cache,
    /// Seconds of the window.
    pub measured_s: f64,
    /// Seconds of the window that were asked for.
    pub asked_s: f64,
    /// Why the window closed; none while nobody has said.
    pub stop: Option<Stop>,
    /// Largest distance between the classes' window edges, ns. Classes that start later by request are compared with
    /// their own intended edges.
    pub edge_skew_ns: u64,
    /// [`crate::clock::Clock::drift`] over the window.
    pub clock_drift: f64,
    /// Memory that the page cache may fill ([`crate::environment::usable_memory_bytes`]); 0 where unknown.
    pub memory_bytes: u64,
    /// Last-level cache of the CPU, bytes; 0 where unknown.
    pub llc_bytes: u64,
    /// What block devices did in the window.
    pub devices: Vec<DeviceObservation>,
    /// Device bytes read by this process that no thread or living helper shows
    /// ([`crate::counters::ProcessUse::unattributed_io`]); 0 where there are none or the kernel does not account.
    pub unattributed_read_bytes: u64,
    /// Frequency probe before the window.
    pub frequency_before: Option<FrequencyProbe>,
    /// Frequency probe after the window.
    pub frequency_after: Option<FrequencyProbe>,
    /// What the machine did to everybody in the window.
    pub system: SystemUse,
    /// Limits of control groups, and what was counted of them.
    pub limits: Vec<LimitUse>,
    /// Temperatures of the devices that have a sensor.
    pub heat: Vec<HeatUse>,
    /// CPU time of this process in the window; none where that is not known.
    pub own_cpu: Option<OwnCpu>,
    /// Logical CPUs of the machine; 0 where unknown.
    pub cpus: u32,
    /// Seconds of the window in which the process neither ran nor waited for a CPU ([`crate::heartbeat`]).
    pub stood_still_s: f64,
    /// Largest difference between the clock and the kernel's within the run, s.
    pub clock_excursion_s: f64,
    /// Seconds for which the machine slept.
    pub suspended_s: f64,
    /// CPUs that the process could use when it began, and at the worst moment; none where the kernel does not say.
    pub usable_cpus: Option<(u32, u32)>,
    /// Flushes of the block devices that were written to.
    pub flushes: Vec<FlushObservation>,
    /// Between which frequencies this machine's CPUs can have run, Hz; none where nothing is known of them.
    pub plausible_hz: Option<(f64, f64)>,
}

/// Flushes of one block device in the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlushObservation {
    /// Kernel name.
    pub device: String,
    /// What it says of its cache.
    pub cache: WriteCache,
    /// Flushes that this process asked for.
    pub asked: u64,
    /// Durable writes (`O_DSYNC`, `RWF_DSYNC`) that it asked for.
    pub through: u64,
    /// Flushes that may have waited at a time, and so may have become one.
    pub in_flight: u32,
    /// Flush requests that the device completed.
    pub seen: u64,
}

/// CPU time that this process had, and what it wanted beyond that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnCpu {
    /// Seconds in user mode, all threads.
    pub user_s: f64,
    /// Seconds in the kernel, all threads and helpers.
    pub kernel_s: f64,
    /// Seconds, in sum over threads, in which they could have run and had no CPU; none where the kernel does not account.
    pub waited_s: Option<f64>,
}

impl OwnCpu {
    /// What a process used.
    pub fn of(used: &ProcessUse) -> Self {
        Self { user_s: used.user_s, kernel_s: used.kernel_s, waited_s: used.waited_s }
    }

    /// Seconds on a CPU.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.kernel_s
    }
}

/// A block device in the window.
#[derive(Clone, Debug)]
pub struct DeviceObservation {
    /// The kernel's counters of the device.
    pub counters: DeviceCounters,
    /// The file system on it copies on write (btrfs, ZFS, F2FS, bcachefs): metadata may outweigh the data.
    pub copies_on_write: bool,
    /// What this process moved through it; none where that cannot be told (a member of an array, a device below
    /// another).
    pub own: Option<OwnTraffic>,
}

/// What this process moved through a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTraffic {
    /// Bytes read from it, as the kernel accounts for this process, or as asked where that is more.
    pub read_bytes: u64,
    /// Bytes written to it, as the kernel accounts for this process (dirtied pages included, and those since the data
    /// sets were last written back: they may reach the device in the window), or as asked where that is more.
    pub written_bytes: u64,
    /// Flushes that were asked for, durable writes (`O_DSYNC`, `RWF_DSYNC`) included. Each may make the file system
    /// write its journal.
    pub flushes: u64,
    /// Read requests that its reads can have become at most; none where that cannot be told (buffered reads).
    pub read_requests_at_most: Option<u64>,
}

/// What is known of the counters of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CountingSeen {
    /// What the counters added to each operation of the judged window, by what a context switch and the null path cost
    /// with them, ns; none where none ran in it.
    pub added_ns_per_op: Option<f64>,
    /// Shorter of an operation's mean service time and a thread's time for each operation, ns.
    pub ns_per_op: f64,
    /// One context switch without counters, and what counters add to it, ns.
    pub switch_ns: (f64, f64),
    /// Context switches for each operation.
    pub switches_per_op: f64,
    /// Cycles by hardware counters, and CPU seconds of the same operations; none where no counter counted.
    pub two_instruments: Option<(f64, f64)>,
}

/// A class in the window.
#[derive(Clone, Debug)]
pub struct ClassObservation {
    /// Its name.
    pub name: String,
    /// How its bytes travel.
    pub path: PathSpec,
    /// What its target is.
    pub target: TargetKind,
    /// State of its data set when the window opened, as asked.
    pub layout: Layout,
    /// What the bytes of its data set look like, as asked.
    pub content: Content,
    /// Offsets follow one another.
    pub sequential: bool,
    /// Threads.
    pub threads: u32,
    /// Operations in flight per thread, as asked.
    pub depth: u32,
    /// Operations per submission, as asked.
    pub batch: u32,
    /// Mean operations in flight, all threads.
    pub achieved_depth: f64,
    /// The same with those that the loop knows only to be inside of its submitting call: they may be under way, or held up.
    pub in_service: f64,
    /// Rate asked for, operations per second of the whole class; none where arrivals are closed.
    pub asked_rate: Option<f64>,
    /// Operations that are due at the same instant, all threads (1 but for bursts).
    pub burst: u32,
    /// Arrivals are Poisson-distributed.
    pub poisson: bool,
    /// Seconds of the window in which the class was active.
    pub active_s: f64,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
    /// Bytes of these writes.
    pub written_bytes: u64,
    /// Flushes made.
    pub flushes: u64,
    /// Bytes that the kernel read from devices for its threads and their helpers; none where the kernel does not
    /// account for them ([`super::kernel_accounts`]).
    pub device_read_bytes: Option<u64>,
    /// The same for writes, pages dirtied in the page cache included.
    pub device_written_bytes: Option<u64>,
    /// Kernel names of the block devices directly beneath its data set.
    pub devices: Vec<String>,
    /// Layers beneath its data set, from the top down.
    pub layers: Vec<Layer>,
    /// Of what the devices at the bottom moved in the window, its share; none where no device is known there.
    pub beneath: Option<Beneath>,
    /// Its writes carry their durability themselves, or flushes follow them.
    pub durable: bool,
    /// Share of its data set that was in the page cache when the window opened.
    pub resident_before: Option<f64>,
    /// What its data set consists of on disk when the window opened.
    pub extents: Option<ExtentSurvey>,
    /// What became of its files while the run lasted.
    pub changes: FileChanges,
    /// Bytes of its data set whose blocks on disk are those of other bytes of it.
    pub repeated_extents: u64,
    /// File system that its target lies on; none for devices, and where unknown.
    pub file_system: Option<String>,
    /// Bytes of its data set, all files.
    pub dataset_bytes: u64,
    /// Samples of its data set.
    pub compressibility: Option<Compressibility>,
    /// Operations per second of one thread of it on the null path; none where that was not measured.
    pub null_ops_per_s: Option<f64>,
    /// Share of the window that its threads spent on a CPU and not waiting for an intended start, 0..=1 (CPU seconds of
    /// its threads without waiting, by threads and window).
    pub busy_share: Option<f64>,
    /// Share of the window that its threads spent inside the submitting call, 0..=1; none for blocking paths.
    pub submit_share: Option<f64>,
    /// The series.
    pub intervals: Vec<IntervalPoint>,
    /// Values in its latency histogram.
    pub latencies: u64,
    /// How late the generator started operations by its own fault; none where arrivals are closed.
    pub lateness: Option<Lateness>,
    /// What was due in the window and ended after it; none where nothing was.
    pub overdue: Option<Overdue>,
    /// What its objective is about.
    pub objective: Option<Metric>,
    /// Failed operations by error name.
    pub errors: BTreeMap<String, u64>,
    /// What the data check found.
    pub check: Option<CheckOutcome>,
    /// Blocks that were written and read back after the window; none where that was not done.
    pub readback: Option<CheckOutcome>,
    /// Its target is stand-in hardware.
    pub emulated: bool,
    /// A program plays the machine.
    pub played: bool,
    /// What is known of its hardware counters.
    pub counting: Option<CountingSeen>,
}

/// How late the generator started operations by its own fault, beside their latencies, at a percentile that the number of
/// operations supports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lateness {
    /// The percentile, 0..100.
    pub percentile: f64,
    /// Lateness at it, ns.
    pub late_ns: u64,
    /// Response time at it, ns.
    pub response_ns: u64,
    /// Service time at it, ns.
    pub service_ns: u64,
}

impl Lateness {
    /// The percentile to look at after so many operations: the 99th, or the highest one that ten values lie beyond. Of 300
    /// operations three make the 99th, and three interrupts make those.
    pub fn percentile(operations: u64) -> f64 {
        (100.0 * (1.0 - super::window::BEYOND_PERCENTILE / operations.max(1) as f64)).clamp(0.0, 99.0)
    }

    /// Share of the response time that it can have made, 0..=1. What started late need not be what took long: where the
    /// slowest are served as slowly as they answer, it made nothing of it.
    pub fn share(&self) -> f64 {
        let made_ns = self.late_ns.min(self.response_ns.saturating_sub(self.service_ns));
        made_ns as f64 / self.response_ns.max(1) as f64
    }
}

/// Bytes that the devices at the bottom moved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beneath {
    /// Bytes read.
    pub read_bytes: f64,
    /// Bytes written.
    pub written_bytes: f64,
}

/// What a data set consists of on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtentSurvey {
    /// Bytes in extents that were written.
    pub written: u64,
    /// Bytes in extents that are allocated and were never written.
    pub unwritten: u64,
    /// Bytes without any extent.
    pub hole: u64,
}

impl ClassObservation {
    /// A class of which nothing is known but its name and path: the starting point for filling one in.
    pub fn new(name: &str, path: PathSpec, target: TargetKind) -> Self {
        Self {
            name: name.to_owned(),
            path,
            target,
            layout: Layout::Written,
            content: Content::Random,
            sequential: false,
            threads: 1,
            depth: 1,
            batch: 1,
            achieved_depth: 0.0,
            in_service: 0.0,
            asked_rate: None,
            burst: 1,
            poisson: false,
            active_s: 0.0,
            reads: 0,
            writes: 0,
            read_bytes: 0,
            written_bytes: 0,
            flushes: 0,
            device_read_bytes: None,
            device_written_bytes: None,
            devices: Vec::new(),
            layers: Vec::new(),
            beneath: None,
            durable: false,
            resident_before: None,
            extents: None,
            changes: FileChanges::default(),
            repeated_extents: 0,
            file_system: None,
            dataset_bytes: 0,
            compressibility: None,
            null_ops_per_s: None,
            busy_share: None,
            submit_share: None,
            intervals: Vec::new(),
            latencies: 0,
            lateness: None,
            overdue: None,
            objective: None,
            errors: BTreeMap::new(),
            check: None,
            readback: None,
            emulated: false,
            played: false,
            counting: None,
        }
    }

    /// Operations completed.
    pub fn operations(&self) -> u64 {
        self.reads + self.writes
    }

    /// Its bytes go through the page cache.
    pub(super) fn buffered(&self) -> bool {
        match self.path.kind {
            PathKind::Pread | PathKind::Libaio | PathKind::IoUring => !self.path.direct,
            PathKind::Mmap => self.target != TargetKind::DeviceDax,
            _ => false,
        }
    }

    /// Its bytes reach a block device without the page cache.
    pub(super) fn direct(&self) -> bool {
        self.path.direct && matches!(self.path.kind, PathKind::Pread | PathKind::Libaio | PathKind::IoUring)
    }

    /// It keeps operations in flight by itself, and submits and reaps them.
    pub(super) fn queued(&self) -> bool {
        self.path.kind.is_queued()
    }

    /// It loads and stores memory itself.
    pub(super) fn memory(&self) -> bool {
        self.path.kind == PathKind::Pmem || self.target == TargetKind::Memory
    }

    /// Nothing is moved.
    pub(super) fn null(&self) -> bool {
        self.path.kind == PathKind::Null || self.target == TargetKind::Null
    }
}

/// Whether the kernel's per-task account of device bytes says anything about a path on a file system. It does not know
/// memory, commands that pass the block layer by, network file systems, or file systems with caches of their own.
pub fn kernel_accounts(path: PathKind, file_system: Option<&str>) -> bool {
    const UNACCOUNTED: [&str; 14] = [
        "tmpfs",
        "ramfs",
        "hugetlbfs",
        "devtmpfs",
        "zfs",
        "9p",
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "ceph",
        "virtiofs",
        "fuse",
        "fuseblk",
    ];
    let by_path = matches!(path, PathKind::Pread | PathKind::Mmap | PathKind::Libaio | PathKind::IoUring);
    let known = file_system.is_none_or(|kind| !UNACCOUNTED.contains(&kind) && !kind.starts_with("fuse."));
    by_path && known
}

#[cfg(test)]
mod tests;
