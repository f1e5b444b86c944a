//! What one thread used between two moments.

use std::{
    marker::PhantomData,
    path::{Path, PathBuf},
};

use assay_record::Method;

use super::{
    io::IoBytes,
    perf::{PerfCounters, PerfCounts},
    rusage::Rusage,
    task,
};

/// Counters of the calling thread. Open, start and stop them on the thread that is measured.
pub struct ThreadCounters {
    perf: PerfCounters,
    before: Rusage,
    io_before: Option<IoBytes>,
    waited_before: Option<f64>,
    io_path: PathBuf,
    cpu_hz: f64,
    tid: i32,
    /// The counters follow the thread that opened them.
    not_send: PhantomData<*const ()>,
}

/// What a thread used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadUse {
    /// CPU seconds in user mode.
    pub user_s: f64,
    /// CPU seconds in the kernel, as this thread (not its helpers).
    pub kernel_s: f64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because somebody else got the CPU.
    pub involuntary_switches: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Cycles, user and kernel, and the rung that gave them; none where neither a counter nor a CPU frequency is known.
    pub cycles: Option<(u64, Method)>,
    /// Instructions, user and kernel, from a hardware counter.
    pub instructions: Option<u64>,
    /// Misses of the data TLB, user and kernel, from a hardware counter.
    pub tlb_misses: Option<u64>,
    /// Bytes that the kernel read from devices for it; none where it does not account.
    pub read_bytes: Option<u64>,
    /// Bytes that the kernel wrote to devices for it, or that it dirtied in the page cache.
    pub written_bytes: Option<u64>,
    /// Seconds in which it could have run and had no CPU; none where the kernel does not account.
    pub waited_s: Option<f64>,
    /// Its id.
    pub tid: i32,
}

impl ThreadCounters {
    /// The kernel's accounts of the thread, which cost nothing while it works. `cpu_hz` turns CPU time into cycles: the
    /// frequency of the time stamp counter, or what [`super::FrequencyProbe`] found where there is none; with 0 there are
    /// no cycles then.
    pub fn accounts(cpu_hz: f64) -> Self {
        Self::over(PerfCounters::default(), cpu_hz)
    }

    /// The accounts, and the hardware counters that the machine allows. What they cost says [`super::Cost`].
    pub fn with_hardware(cpu_hz: f64) -> Self {
        Self::over(PerfCounters::open(), cpu_hz)
    }

    fn over(perf: PerfCounters, cpu_hz: f64) -> Self {
        Self {
            perf,
            before: Rusage::default(),
            io_before: None,
            waited_before: None,
            io_path: Path::new("/proc/thread-self/io").to_owned(),
            cpu_hz,
            tid: current_tid(),
            not_send: PhantomData,
        }
    }

    /// Id of the thread.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Begins.
    pub fn start(&mut self) {
        self.io_before = IoBytes::read_from(&self.io_path);
        self.waited_before = waited_s();
        self.before = Rusage::of_thread();
        self.perf.start();
    }

    /// Ends, and says what was used since [`Self::start`].
    pub fn stop(&mut self) -> ThreadUse {
        let counts = self.perf.stop();
        let used = Rusage::of_thread().since(self.before);
        let io = self.io_before.and_then(|before| Some(IoBytes::read_from(&self.io_path)?.since(before)));
        let waited = self.waited_before.and_then(|before| Some((waited_s()? - before).max(0.0)));
        ThreadUse {
            user_s: used.user_s,
            kernel_s: used.kernel_s,
            voluntary_switches: used.voluntary_switches,
            involuntary_switches: used.involuntary_switches,
            minor_faults: used.minor_faults,
            major_faults: used.major_faults,
            cycles: cycles(&counts, used.cpu_s(), self.cpu_hz),
            instructions: counts.instructions,
            tlb_misses: counts.tlb_misses,
            read_bytes: io.map(|io| io.read),
            written_bytes: io.map(|io| io.written),
            waited_s: waited,
            tid: self.tid,
        }
    }
}

/// Seconds in which the calling thread could have run and had no CPU.
fn waited_s() -> Option<f64> {
    task::waited_s(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Id of the calling thread.
fn current_tid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// The ladder: a hardware counter, then `getrusage`, which the scheduler keeps to the nanosecond.
fn cycles(counts: &PerfCounts, cpu_s: f64, cpu_hz: f64) -> Option<(u64, Method)> {
    let counted = counts.cycles.map(|cycles| (cycles, Method::HardwareCounter));
    counted.or_else(|| (cpu_hz > 0.0).then_some(((cpu_s * cpu_hz) as u64, Method::RusageTimesTsc)))
}

/// Hardware counters of the calling thread over a stretch of its work. Open, start and stop them on that thread.
pub struct HardwareCounters {
    perf: PerfCounters,
    not_send: PhantomData<*const ()>,
}

impl HardwareCounters {
    /// Opens what the machine allows, and starts it.
    pub fn start() -> Self {
        let mut perf = PerfCounters::open();
        perf.start();
        Self { perf, not_send: PhantomData }
    }

    /// Ends, and says what was counted.
    pub fn stop(mut self) -> PerfCounts {
        self.perf.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rung_says_its_name() {
        let hardware = PerfCounts { cycles: Some(7), ..PerfCounts::default() };
        assert_eq!(cycles(&hardware, 1.0, 2e9), Some((7, Method::HardwareCounter)));
        assert_eq!(cycles(&PerfCounts::default(), 0.5, 2e9), Some((1_000_000_000, Method::RusageTimesTsc)));
        assert_eq!(cycles(&PerfCounts::default(), 0.5, 0.0), None);
    }

    #[test]
    fn a_busy_thread_uses_cpu_and_cycles() {
        let mut counters = ThreadCounters::with_hardware(1e9);
        counters.start();
        let started = Rusage::of_thread();
        let mut x = 1_u64;
        while Rusage::of_thread().since(started).cpu_s() < 0.02 {
            for i in 0..100_000_u64 {
                x = std::hint::black_box(x.wrapping_mul(31).wrapping_add(i));
            }
        }
        let used = counters.stop();
        assert!(used.user_s + used.kernel_s >= 0.019, "{used:?}");
        assert!(used.cycles.expect("some rung always gives cycles").0 > 1_000_000);
        assert_eq!(used.tid, counters.tid());
    }

    #[test]
    fn device_bytes_of_a_written_file_are_seen() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let mut counters = ThreadCounters::with_hardware(1e9);
        counters.start();
        std::fs::write(file.path(), vec![7_u8; 1 << 20]).expect("written");
        let used = counters.stop();
        match used.written_bytes {
            None => eprintln!("skipped: this kernel has no task I/O accounting"),
            Some(0) => eprintln!("skipped: temporary files lie in memory here"),
            Some(bytes) => assert!(bytes >= 1 << 20, "{bytes}"),
        }
    }
}
