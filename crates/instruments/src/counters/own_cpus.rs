//! The CPUs that this process may use, and what everybody did on them.

use super::roots::Roots;

/// Of several CPUs since the machine was started, clock ticks in sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnCpus {
    /// How many CPUs these are.
    pub cpus: u64,
    /// Time in user mode.
    pub user: u64,
    /// Time in the kernel, interrupts apart.
    pub kernel: u64,
    /// All time, idle included.
    pub total: u64,
}

/// What everybody did between two moments on the CPUs that this process may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnCpusUse {
    /// How many CPUs these are.
    pub cpus: u64,
    /// Seconds in user mode, of whatever process.
    pub user_s: f64,
    /// Seconds in the kernel, interrupts apart.
    pub kernel_s: f64,
    /// All seconds that were counted, idle included: as many as passed on each CPU.
    pub total_s: f64,
    /// Another file lies over the kernel's `/proc/stat`, as in containers that are to see themselves alone.
    pub covered: bool,
}

impl OwnCpus {
    /// From this moment to `later`.
    pub(super) fn until(&self, later: &Self, covered: bool) -> OwnCpusUse {
        let seconds = |before: u64, after: u64| {
            after.saturating_sub(before) as f64 / rustix::param::clock_ticks_per_second() as f64
        };
        OwnCpusUse {
            cpus: later.cpus,
            user_s: seconds(self.user, later.user),
            kernel_s: seconds(self.kernel, later.kernel),
            total_s: seconds(self.total, later.total),
            covered,
        }
    }
}

/// Numbers of the CPUs that the calling thread may use; none where the kernel does not say.
pub(super) fn allowed() -> Vec<usize> {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect()
}

/// Whether something is mounted over `/proc/stat`.
pub(super) fn is_covered(roots: &Roots) -> bool {
    let mounts = std::fs::read_to_string(roots.proc.join("self/mountinfo")).unwrap_or_default();
    mounts.lines().any(|line| line.split_ascii_whitespace().nth(4) == Some("/proc/stat"))
}

/// The lines of some CPUs in `/proc/stat`; none where one of them is missing.
pub fn parse_own_cpus(text: &str, allowed: &[usize]) -> Option<OwnCpus> {
    let mut sum = OwnCpus::default();
    for line in text.lines().filter_map(|line| line.strip_prefix("cpu")) {
        let mut words = line.split_ascii_whitespace();
        let Some(Ok(cpu)) = words.next().filter(|_| !line.starts_with(' ')).map(str::parse::<usize>) else { continue };
        if !allowed.contains(&cpu) {
            continue;
        }
        // user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user.
        let fields = words.take(8).map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
        sum.cpus += 1;
        sum.user = sum.user.saturating_add(fields.first()?.saturating_add(*fields.get(1)?));
        sum.kernel = sum.kernel.saturating_add(*fields.get(2)?);
        sum.total = fields.iter().fold(sum.total, |sum, &ticks| sum.saturating_add(ticks));
    }
    (sum.cpus > 0 && sum.cpus as usize == allowed.len()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &str =
        "cpu  9 9 9 9 9 9 9 9\ncpu0 100 10 20 800 50 1 2 3 0 0\ncpu1 1 2 3 4 5 6 7 8\ncpu10 7 0 0 1\nintr 5\n";

    #[test]
    fn the_cpus_that_may_be_used_are_summed_and_no_others() {
        let one = OwnCpus { cpus: 1, user: 110, kernel: 20, total: 986 };
        assert_eq!(parse_own_cpus(STAT, &[0]), Some(one));
        assert_eq!(parse_own_cpus(STAT, &[0, 1]), Some(OwnCpus { cpus: 2, user: 113, kernel: 23, total: 1022 }));
        assert_eq!(parse_own_cpus(STAT, &[0, 2]), None, "one of them is not shown");
        assert_eq!(parse_own_cpus(STAT, &[]), None);
    }

    #[test]
    fn something_that_is_mounted_over_the_file_is_seen() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let roots = Roots { proc: folder.path().to_owned(), ..Roots::default() };
        assert!(!is_covered(&roots));
        std::fs::create_dir(folder.path().join("self")).expect("made");
        let write = |line: &str| std::fs::write(folder.path().join("self/mountinfo"), line).expect("written");
        write("24 1 0:22 / /proc rw - proc proc rw\n");
        assert!(!is_covered(&roots));
        write("24 1 0:22 / /proc rw - proc proc rw\n99 24 0:50 /proc/stat /proc/stat rw - fuse.lxcfs lxcfs rw\n");
        assert!(is_covered(&roots));
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(text in "\\PC{0,200}", line in "cpu[0-9 -]{0,120}") {
            let _ = (parse_own_cpus(&text, &[0]), parse_own_cpus(&line, &[0, 1]));
        }
    }
}
