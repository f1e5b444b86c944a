//! What the kernel and the CPU count while a load runs: per thread, per process, per device, per machine.
//!
//! Every reading is a snapshot before and after; nothing here is called inside the measured loop.

mod aggregate;
mod attribution;
mod cgroup;
mod cost;
mod device;
mod file_state;
mod frequency;
mod handover;
mod heat;
mod io;
mod limits;
mod own_cpus;
mod perf;
mod plausible;
mod played;
mod process;
mod roots;
mod rusage;
mod system;
mod task;
mod thread;
mod volume;
mod write_cache;

pub use aggregate::{CountedApart, CpuTotals, Work, cpu_use};
pub use attribution::{ClassThreads, HelperTotals, attribute};
pub use cgroup::{Cgroup, Throttle, parse_cpu_stat};
pub use cost::{BENDS_FROM, COST_PAIRS, Cost};
pub use device::{
    DeviceSample, DeviceSampler, DeviceStat, in_flight_device, loop_through_page_cache, parse_device_stat,
};
pub use file_state::{FileChanges, FileStates};
pub use frequency::{FrequencyProbe, PROBE_STEPS};
pub use heat::{HeatSample, HeatSampler, HeatUse};
pub use io::{IoBytes, parse_io};
pub use limits::{LimitSample, LimitSampler, LimitUse, parse_blkio, parse_io_stat};
pub use own_cpus::{OwnCpus, OwnCpusUse, parse_own_cpus};
pub use perf::PerfCounts;
pub use plausible::plausible_hz;
pub use played::counters_played;
pub use process::{ProcessCounters, ProcessSnapshot, ProcessUse};
pub use roots::Roots;
pub use rusage::cpu_seconds;
pub use system::{CpuTicks, SystemSample, SystemSampler, SystemUse, parse_cpu_mhz, parse_cpu_ticks};
pub use task::{Helper, HelperKind, HelperUse, parse_helper_name, parse_run_wait, parse_schedstat, parse_task_stat};
pub use thread::{HardwareCounters, ThreadCounters, ThreadUse};
pub use volume::EXCEEDED;
pub use write_cache::WriteCache;
