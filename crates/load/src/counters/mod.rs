//! What the kernel and the CPU count while a load runs: per thread, per process, per device, per machine.
//!
//! Every reading is a snapshot before and after; nothing here is called inside the measured loop.

mod aggregate;
mod attribution;
mod cgroup;
mod device;
mod frequency;
mod io;
mod own_cpus;
mod perf;
mod process;
mod roots;
mod rusage;
mod system;
mod task;
mod thread;

pub use aggregate::{CpuTotals, Work, cpu_use};
pub use attribution::{ClassThreads, HelperTotals, attribute};
pub use cgroup::{Cgroup, Throttle, parse_cpu_stat};
pub use device::{
    DeviceSample, DeviceSampler, DeviceStat, in_flight_device, loop_through_page_cache, parse_device_stat,
};
pub use frequency::{FrequencyProbe, PROBE_STEPS};
pub use io::{IoBytes, parse_io};
pub use own_cpus::{OwnCpus, OwnCpusUse, parse_own_cpus};
pub use process::{ProcessCounters, ProcessSnapshot, ProcessUse};
pub use roots::Roots;
pub use rusage::cpu_seconds;
pub use system::{CpuTicks, SystemSample, SystemSampler, SystemUse, parse_cpu_mhz, parse_cpu_ticks};
pub use task::{Helper, HelperKind, HelperUse, parse_helper_name, parse_run_wait, parse_schedstat, parse_task_stat};
pub use thread::{ThreadCounters, ThreadUse};
