//! How bytes reach a target.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The system interface that carries the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// `pread` and `pwrite`.
    Pread,
    /// Load and store on a shared mapping; `msync` makes it durable.
    Mmap,
    /// Linux native asynchronous I/O (`io_submit`).
    Libaio,
    /// `io_uring`.
    IoUring,
    /// NVMe commands through `io_uring` on the character device.
    NvmePassthrough,
    /// Load and store on persistent memory; cache line flushes make it durable.
    Pmem,
    /// NVMe queues driven from user space by polling. The drive is taken from the kernel meanwhile.
    NvmePolled,
    /// Nothing is moved: what is left is the cost of the generator.
    Null,
}

impl PathKind {
    /// Its name, as it stands in a job.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pread => "pread",
            Self::Mmap => "mmap",
            Self::Libaio => "libaio",
            Self::IoUring => "io_uring",
            Self::NvmePassthrough => "nvme_passthrough",
            Self::Pmem => "pmem",
            Self::NvmePolled => "nvme_polled",
            Self::Null => "null",
        }
    }

    /// Whether it submits and reaps, so that one thread keeps operations in flight. `null` does either.
    pub fn is_queued(self) -> bool {
        matches!(self, Self::Libaio | Self::IoUring | Self::NvmePassthrough | Self::NvmePolled)
    }

    /// Whether it goes through an `io_uring`, whose kernel threads work for it.
    pub fn has_ring(self) -> bool {
        matches!(self, Self::IoUring | Self::NvmePassthrough)
    }
}

/// How stores are pushed out of the CPU caches on the `pmem` path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Persist {
    /// The best that the CPU has for the size: non-temporal stores from 256 B up, `clwb` below.
    #[default]
    Auto,
    /// Non-temporal stores and a store fence.
    Nt,
    /// Stores, `clwb` per cache line, a store fence.
    Clwb,
    /// Stores, `clflushopt` per cache line, a store fence.
    Clflushopt,
    /// Stores alone: not durable.
    None,
}

/// How completions of `io_uring` are found, and who submits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PollMode {
    /// Interrupts.
    #[default]
    None,
    /// The application polls the device (`IORING_SETUP_IOPOLL`).
    Iopoll,
    /// A kernel thread submits (`IORING_SETUP_SQPOLL`).
    Sqpoll,
}

/// How a drive is reached that is taken from the kernel (`nvme_polled`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// VFIO where there is an IOMMU; otherwise VFIO without one where the kernel permits it, and UIO.
    #[default]
    Auto,
    /// VFIO with an IOMMU, which keeps the drive to the memory that it is given.
    Vfio,
    /// VFIO without an IOMMU: the drive can reach all memory.
    NoIommu,
    /// Registers mapped from sysfs, physical addresses: the drive can reach all memory.
    Uio,
}

/// Hints for the kernel: `posix_fadvise` for file paths, `madvise` for mappings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// No hint.
    #[default]
    Normal,
    /// Random access: read-ahead off.
    Random,
    /// Sequential access: stronger read-ahead.
    Sequential,
    /// The data will be needed soon.
    WillNeed,
    /// Huge pages, for mappings.
    HugePage,
}

/// A path with its options. An option that the path does not have is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathSpec {
    /// The interface.
    pub kind: PathKind,
    /// Bypass the page cache (`O_DIRECT`).
    #[serde(default)]
    pub direct: bool,
    /// Register files and buffers with the ring (`io_uring`).
    #[serde(default)]
    pub fixed: bool,
    /// Polling (`io_uring`).
    #[serde(default)]
    pub poll: PollMode,
    /// Hint for the kernel.
    #[serde(default)]
    pub advice: Advice,
    /// Cache control of stores (`pmem`).
    #[serde(default)]
    pub persist: Persist,
    /// Each read has ended before the next begins (`pmem`): what a latency figure needs and a bandwidth figure does not.
    #[serde(default)]
    pub fenced: bool,
    /// Microseconds of sleep between two looks for completions (`nvme_polled`); 0 looks all the time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub poll_sleep_us: u32,
    /// How the drive is reached (`nvme_polled`).
    #[serde(default, skip_serializing_if = "is_auto")]
    pub reach: Reach,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn is_auto(reach: &Reach) -> bool {
    *reach == Reach::Auto
}

impl PathSpec {
    /// The path without options.
    pub fn plain(kind: PathKind) -> Self {
        Self {
            kind,
            direct: false,
            fixed: false,
            poll: PollMode::None,
            advice: Advice::Normal,
            persist: Persist::Auto,
            fenced: false,
            poll_sleep_us: 0,
            reach: Reach::Auto,
        }
    }
}
