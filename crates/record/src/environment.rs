//! The machine that a record comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CPU facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Model name as the kernel gives it.
    pub model: String,
    /// Logical CPUs that this process may use.
    pub usable: u32,
    /// Logical CPUs of the machine.
    pub logical: u32,
    /// NUMA nodes.
    pub numa_nodes: u32,
    /// Frequency of the time stamp counter, Hz; 0 where there is none.
    pub tsc_hz: f64,
    /// Clock that times operations (`tsc`, `cntvct`, `clock_gettime`).
    pub clock: String,
    /// Frequency governor; empty where the kernel does not say.
    pub governor: String,
    /// Turbo or boost: `on`, `off`, or empty where the kernel does not say.
    pub turbo: String,
    /// Instruction sets that the kernels use (`avx512f`, `clwb`, ...).
    pub features: Vec<String>,
    /// Last-level cache, bytes; 0 where unknown.
    pub llc_bytes: u64,
}

/// Memory facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Bytes in all.
    pub total_bytes: u64,
    /// Bytes available.
    pub available_bytes: u64,
    /// Swap in use, bytes.
    pub swap_used_bytes: u64,
    /// Transparent huge pages setting.
    pub transparent_hugepages: String,
    /// Limit of locked memory, bytes; `u64::MAX` where unlimited.
    pub memlock_bytes: u64,
}

/// File system facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// Type (`ext4`).
    pub kind: String,
    /// Mount point.
    pub mount_point: String,
    /// Mount options.
    pub options: String,
    /// Block size, bytes.
    pub block_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Bytes free for this user.
    pub free_bytes: u64,
}

/// Block device facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDevice {
    /// Kernel name of the whole device (`nvme0n1`).
    pub name: String,
    /// Model.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// Firmware revision.
    pub firmware: String,
    /// Bytes in all.
    pub bytes: u64,
    /// Logical block size, bytes.
    pub logical_block_bytes: u64,
    /// Physical block size, bytes.
    pub physical_block_bytes: u64,
    /// I/O scheduler in use.
    pub scheduler: String,
    /// `write back` or `write through`.
    pub write_cache: String,
    /// It is a rotating disk, as the kernel sees it.
    pub rotational: bool,
    /// NUMA node; -1 where unknown.
    pub numa_node: i32,
    /// Poll queues are configured.
    pub io_poll: bool,
    /// DAX is supported.
    pub dax: bool,
    /// PCIe link speed and width, empty where there is none.
    pub link: String,
    /// Deepest request queue.
    pub nr_requests: u32,
    /// Largest request, KiB.
    pub max_sectors_kb: u32,
    /// Kernel names of the devices it is made of (md, dm), itself where it is simple.
    pub members: Vec<String>,
    /// What md says of it; none where it is no md array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Array>,
}

/// An md array, as it was when the run started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Array {
    /// `raid0`, `raid5`, `raid10`, ...
    pub level: String,
    /// Bytes that lie on one member before the next one follows; 0 where nothing is striped.
    pub chunk_bytes: u64,
    /// Members that it has when it is whole.
    pub devices: u32,
    /// Members that it lacks: above 0 it is degraded.
    pub missing: u32,
    /// What it does besides serving: `idle`, `resync`, `recover`, `check`, ...; empty for levels without redundancy.
    pub sync: String,
}

/// What a layer may do to operations on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayerDoes {
    /// Answers by itself, out of memory or a faster device: what lies beneath may see nothing.
    Serves,
    /// Takes longer than what lies beneath.
    Delays,
    /// Moves other bytes than were asked for: compresses, finds copies, encrypts, adds redundancy.
    Changes,
}

/// One thing that a layer may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerEffect {
    /// What.
    pub does: LayerDoes,
    /// To reads.
    pub reads: bool,
    /// To writes.
    pub writes: bool,
    /// By what means: a few words.
    pub by: String,
}

/// One layer of what a target lies on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layer {
    /// Kernel name, or the mount point of a file system.
    pub name: String,
    /// `file-system`, `partition`, `loop`, `device-mapper`, `md`, `memory`, `network`, `cache`, `disk`.
    pub kind: String,
    /// What it is in particular: the type of the file system, the file of a loop device, the targets of device mapper, the
    /// level of an array.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What it may do to operations; nothing for one that passes them on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<LayerEffect>,
}

/// A limit that somebody has set, as it was when the run started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetLimit {
    /// The kernel's name of the setting (`io.max riops`, `blkio.throttle.read_iops_device`, `cpu.max`, `memory.high`).
    pub setting: String,
    /// The control group's folder.
    pub group: String,
    /// Kernel name of the device, or its number where it has none; empty where the limit is no device's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// The limit: operations or bytes per second, CPUs, bytes.
    pub value: f64,
}

/// Facts of one member of a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFacts {
    /// Id of the target.
    pub target: String,
    /// Path of the member.
    pub path: String,
    /// File system that it lies on; none for devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
    /// Block device beneath; none for tmpfs, overlay and the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<BlockDevice>,
    /// All layers that it lies on, from the file system down, each asked by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
}

/// The machine, as it was when the run started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Host name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Kernel version line.
    pub kernel_build: String,
    /// Distribution.
    pub distribution: String,
    /// Architecture.
    pub architecture: String,
    /// `none`, or what virtualises (`kvm`, `docker`, ...).
    pub virtualisation: String,
    /// CPU.
    pub cpu: Cpu,
    /// Memory.
    pub memory: Memory,
    /// `/proc/sys/kernel/perf_event_paranoid`; none where unreadable.
    pub perf_event_paranoid: Option<i32>,
    /// `/proc/sys/kernel/io_uring_disabled`; none where unreadable.
    pub io_uring_disabled: Option<i32>,
    /// Load average over one minute.
    pub load_average: f64,
    /// Limits of the control groups that the process belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<SetLimit>,
    /// Members of targets.
    pub targets: Vec<TargetFacts>,
}
