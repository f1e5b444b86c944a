//! `getrusage`, for the calling thread or the whole process.

/// What `getrusage` says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rusage {
    /// CPU seconds in user mode.
    pub user_s: f64,
    /// CPU seconds in the kernel.
    pub kernel_s: f64,
    /// Context switches because the task waited.
    pub voluntary_switches: u64,
    /// Context switches because somebody else got the CPU.
    pub involuntary_switches: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
}

impl Rusage {
    /// Of the calling thread.
    pub fn of_thread() -> Self {
        Self::of(libc::RUSAGE_THREAD)
    }

    /// Of the process: all its threads, ended ones and kernel helpers included.
    pub fn of_process() -> Self {
        Self::of(libc::RUSAGE_SELF)
    }

    fn of(who: libc::c_int) -> Self {
        // SAFETY: an all-zero `rusage` is a valid value, and the kernel fills it.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is a valid place for the result; both values of `who` are known to the kernel.
        unsafe { libc::getrusage(who, &mut usage) };
        Self {
            user_s: seconds(usage.ru_utime),
            kernel_s: seconds(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
        }
    }

    /// What was used since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            user_s: (self.user_s - before.user_s).max(0.0),
            kernel_s: (self.kernel_s - before.kernel_s).max(0.0),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(before.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
        }
    }

    /// User and kernel together, CPU seconds.
    pub fn cpu_s(self) -> f64 {
        self.user_s + self.kernel_s
    }
}

/// CPU seconds of this process so far, user and kernel: neighbours on a shared machine do not count.
pub fn cpu_seconds() -> f64 {
    Rusage::of_process().cpu_s()
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_a_thread_shows_in_thread_and_process() {
        let (thread, process) = (Rusage::of_thread(), Rusage::of_process());
        let mut x = 1_u64;
        while Rusage::of_thread().since(thread).cpu_s() < 0.02 {
            for i in 0..100_000_u64 {
                x = std::hint::black_box(x.wrapping_mul(31).wrapping_add(i));
            }
        }
        assert!(Rusage::of_process().since(process).cpu_s() >= 0.019);
    }

    #[test]
    fn sleeping_is_a_voluntary_switch() {
        let before = Rusage::of_thread();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(Rusage::of_thread().since(before).voluntary_switches >= 1);
    }
}
