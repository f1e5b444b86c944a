//! The host: what a path costs, in cycles, on which cores.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameter;
use crate::{TWIN_VERSION, TwinError};

/// A way through the host's software.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathKey {
    /// `pread` and `pwrite` through the page cache.
    PreadBuffered,
    /// `pread` and `pwrite` with `O_DIRECT`.
    PreadDirect,
    /// A shared mapping through the page cache; `msync` writes back.
    Mmap,
    /// Linux native asynchronous I/O, direct.
    Libaio,
    /// `io_uring`, direct.
    IoUring,
    /// `io_uring`, direct, completions polled.
    IoUringPolled,
    /// `io_uring` through the page cache.
    IoUringBuffered,
    /// NVMe commands through `io_uring`.
    Passthrough,
    /// NVMe queues in user space, polled (SPDK).
    Polled,
    /// `pread` and `pwrite` of a file on a DAX file system: a copy, no page cache.
    DaxPread,
    /// A mapping of a file on a DAX file system that is made durable with `msync` or `fsync`.
    DaxMmapMsync,
    /// Load and store; cache line flushes make durable.
    Pmem,
}

impl PathKey {
    /// The path goes through the page cache.
    pub fn is_buffered(self) -> bool {
        matches!(self, Self::PreadBuffered | Self::Mmap | Self::IoUringBuffered)
    }

    /// A thread has one operation in flight.
    pub fn is_blocking(self) -> bool {
        matches!(
            self,
            Self::PreadBuffered | Self::PreadDirect | Self::Mmap | Self::DaxPread | Self::DaxMmapMsync | Self::Pmem
        )
    }

    /// The CPU itself moves the bytes from and to the device: the time that the device takes is CPU time.
    pub fn is_load_store(self) -> bool {
        matches!(self, Self::DaxPread | Self::DaxMmapMsync | Self::Pmem)
    }

    /// A thread that waits spins.
    pub fn spins(self) -> bool {
        matches!(self, Self::Polled | Self::IoUringPolled)
    }
}

/// What a path costs on a host. Costs of a file system come on top.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathCost {
    /// CPU cycles of a read, without what grows with its bytes or is shared by a batch.
    pub cycles_per_read: Parameter,
    /// CPU cycles of a write, likewise.
    pub cycles_per_write: Parameter,
    /// CPU cycles per byte read (copies, page cache).
    pub cycles_per_byte_read: Parameter,
    /// CPU cycles per byte written.
    pub cycles_per_byte_write: Parameter,
    /// CPU cycles of a submission, shared by the operations of a batch.
    pub cycles_per_submission: Parameter,
    /// CPU cycles of a flush.
    pub cycles_per_flush: Parameter,
    /// From the device's completion until the sleeping thread runs again: interrupt and reschedule. Not CPU time.
    pub wakeup_ns: Parameter,
    /// CPU cycles of a thread that goes to sleep until something has ended, and is woken. One sleep serves all that the thread
    /// has in flight. Part of the cycles of an operation where it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles_per_sleep: Option<Parameter>,
    /// CPU cycles of a submission that finds nothing in flight: a virtual device sleeps then, and is woken by leaving the
    /// virtual machine. While it is busy it looks for more by itself. Part of the cycles of an operation where it is not
    /// there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles_per_bell: Option<Parameter>,
    /// CPU cycles that wait for a lock shared by all threads, part of the cycles above: what does not scale with cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_cycles_per_op: Option<Parameter>,
    /// CPU cycles of a flush that wait for such a lock, part of `cycles_per_flush`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_cycles_per_flush: Option<Parameter>,
    /// CPU cycles of a flush under that lock for each byte that was written since the last one: it lasts until the modules
    /// have taken what their queues hold, and nobody else's flush begins before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_cycles_per_byte_flushed: Option<Parameter>,
    /// How the cycles of reads and writes (of flushes, too, where they are `msync`) grow with the threads that are busy in
    /// this path, for each of them: locks and cache lines of the page cache, siblings that share a core. 0.1 means that ten
    /// busy threads double the cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowding_per_busy_thread: Option<Parameter>,
    /// CPU cycles of an operation that finds its bytes in the page cache, without what grows with its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles_per_hit: Option<Parameter>,
    /// CPU cycles per byte of sequential reads that the kernel reads ahead; those of any read where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles_per_byte_ahead: Option<Parameter>,
    /// Kernel workers per hardware thread that serve the path: operations beyond them wait in the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers_per_thread: Option<Parameter>,
    /// CPU cycles of one look at an empty completion queue, for paths that poll with sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles_per_poll: Option<Parameter>,
}

/// What it costs beyond a flush of bytes that are there already that a file grows, or that space of it that was never
/// written is written: its metadata must be safe as well. One commit of the journal is under way at a time, and all who wait
/// for the next one share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrowthCost {
    /// CPU cycles of the thread that flushes: blocks to find, a transaction to join.
    pub cycles_per_flush: Parameter,
    /// CPU cycles of a commit, by a thread of the kernel.
    pub cycles_per_commit: Parameter,
    /// Time of a commit in which that thread sleeps: it is woken, and waits for operations that are under way, ns. 0 where it
    /// is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep_ns_per_commit: Option<Parameter>,
    /// CPU cycles of a commit for each thread that waits for it, the first one aside: waking it.
    pub cycles_per_waiter: Parameter,
    /// Bytes that a commit writes.
    pub bytes_per_commit: Parameter,
    /// Flushes of the device per commit, in place of those of a flush without one.
    pub device_flushes_per_commit: Parameter,
}

/// What a file system adds to a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSystemCost {
    /// CPU cycles of a read.
    pub cycles_per_read: Parameter,
    /// CPU cycles of a write.
    pub cycles_per_write: Parameter,
    /// CPU cycles of a flush (a commit of its journal).
    pub cycles_per_flush: Parameter,
    /// Bytes written to the device per flush beyond the data (journal, metadata).
    pub journal_bytes_per_flush: Parameter,
    /// Device flushes per flush.
    pub device_flushes_per_flush: Parameter,
    /// Bytes written per byte of data (copy on write, data in the journal).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<Parameter>,
    /// Share of the operation's cycles that other threads of the kernel spend, so that the caller's does not limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offloaded_share: Option<Parameter>,
    /// What it costs that a file grows; unknown where it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<GrowthCost>,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// [`crate::TWIN_VERSION`].
    pub version: u32,
    /// Name as in `--host NAME`.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Physical cores that the load may use.
    pub cores: Parameter,
    /// Hardware threads per core.
    pub threads_per_core: Parameter,
    /// Clock under load, Hz.
    pub clock_hz: Parameter,
    /// Bytes per second that a core copies (page cache, DAX); it shows where `cycles_per_byte` does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_bytes_per_s: Option<Parameter>,
    /// Bytes of memory that the page cache may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache_bytes: Option<Parameter>,
    /// Memory channels of all sockets that the load runs on; modules beyond them share channels. As many as there are modules
    /// where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_channels: Option<Parameter>,
    /// Costs of the paths.
    pub costs: BTreeMap<PathKey, PathCost>,
    /// What file systems add, by name (`ext4`, `xfs`, `btrfs`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub file_systems: BTreeMap<String, FileSystemCost>,
}

impl Host {
    /// Checks what the types cannot say.
    ///
    /// # Errors
    /// [`TwinError::Field`] that names the first thing found wrong.
    pub fn validate(&self) -> Result<(), TwinError> {
        let wrong = |field: &str, seen: f64, fix: &str| {
            Err(TwinError::field(format!("host {}: {field}", self.name), seen, fix))
        };
        if self.version != TWIN_VERSION {
            return Err(TwinError::Version { seen: self.version, wanted: TWIN_VERSION });
        }
        if !(1.0..=4096.0).contains(&self.cores.value) {
            return wrong("cores", self.cores.value, "use 1 to 4096 cores");
        }
        if !(1.0..=8.0).contains(&self.threads_per_core.value) {
            return wrong("threads_per_core", self.threads_per_core.value, "use 1 to 8");
        }
        if let Some(channels) =
            self.memory_channels.as_ref().filter(|channels| !(1.0..=256.0).contains(&channels.value))
        {
            return wrong("memory_channels", channels.value, "use 1 to 256 channels");
        }
        if !(1e6..=1e11).contains(&self.clock_hz.value) {
            return wrong("clock_hz", self.clock_hz.value, "use 1 MHz to 100 GHz");
        }
        Ok(())
    }

    /// Hardware threads.
    pub fn hardware_threads(&self) -> f64 {
        self.cores.value * self.threads_per_core.value.max(1.0)
    }

    /// Of `threads` of a class those that run where `holding` threads of all classes load and store: each holds a core all
    /// the time, so that no more of them run at once than there are cores.
    pub fn running(&self, threads: u32, holding: u32) -> f64 {
        let share = (self.hardware_threads() / f64::from(holding.max(1))).min(1.0);
        (f64::from(threads) * share + 1e-9).floor().max(1.0)
    }
}
