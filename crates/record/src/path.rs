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
    /// NVMe queues driven from user space by polling. The place is kept; it is not available yet.
    NvmePolled,
    /// Nothing is moved: what is left is the cost of the generator.
    Null,
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
        }
    }
}
