//! What the machine did to everybody: CPU time stolen by the hypervisor, throttling by quota or heat, clock frequency.

use std::fs;

use super::{
    cgroup::{Cgroup, Throttle},
    own_cpus::{OwnCpus, OwnCpusUse, allowed, is_covered, parse_own_cpus},
    roots::Roots,
};

/// CPU time of the machine, clock ticks, summed over CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// All time, idle included.
    pub total: u64,
    /// Time in which a CPU had work and the hypervisor ran somebody else.
    pub stolen: u64,
    /// Time in which CPUs worked.
    pub busy: u64,
}

/// Samples the machine.
#[derive(Clone, Debug)]
pub struct SystemSampler {
    roots: Roots,
    cgroup: Cgroup,
    /// The CPUs that whoever made it may use.
    allowed: Vec<usize>,
    covered: bool,
}

/// The machine at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemSample {
    ticks: Option<CpuTicks>,
    own: Option<OwnCpus>,
    covered: bool,
    throttle: Option<Throttle>,
    thermal_events: Option<u64>,
    /// Mean clock frequency of the CPUs as the kernel shows it, Hz; none in most virtual machines.
    pub frequency_hz: Option<f64>,
}

/// What happened between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SystemUse {
    /// Share of all CPU time that the hypervisor gave to somebody else while this machine had work; none where unknown.
    pub stolen_share: Option<f64>,
    /// Share of all CPU time in which CPUs worked (for anybody).
    pub busy_share: Option<f64>,
    /// What everybody did on the CPUs that this process may use; none where the kernel does not say.
    pub own_cpus: Option<OwnCpusUse>,
    /// Throttling by the CPU quota of this process's control group; none where the kernel does not account.
    pub throttle: Option<Throttle>,
    /// Times that a CPU slowed down because of heat; none where the kernel does not say.
    pub thermal_events: Option<u64>,
}

impl SystemSampler {
    /// Of this machine.
    pub fn new(roots: &Roots) -> Self {
        let covered = is_covered(roots);
        Self { roots: roots.clone(), cgroup: Cgroup::of_self(roots), allowed: allowed(), covered }
    }

    /// Reads everything.
    pub fn sample(&self) -> SystemSample {
        let stat = fs::read_to_string(self.roots.proc.join("stat")).unwrap_or_default();
        SystemSample {
            ticks: parse_cpu_ticks(&stat),
            own: parse_own_cpus(&stat, &self.allowed),
            covered: self.covered,
            throttle: self.cgroup.throttle(),
            thermal_events: self.sum_over_cpus("thermal_throttle/core_throttle_count").map(|(sum, _)| sum),
            frequency_hz: self.frequency_hz(),
        }
    }

    fn frequency_hz(&self) -> Option<f64> {
        if let Some((sum_khz, cpus)) = self.sum_over_cpus("cpufreq/scaling_cur_freq") {
            return Some(sum_khz as f64 * 1e3 / cpus as f64);
        }
        parse_cpu_mhz(&fs::read_to_string(self.roots.proc.join("cpuinfo")).ok()?).map(|mhz| mhz * 1e6)
    }

    /// Sum of a per-CPU file, and how many CPUs have it; none where no CPU has it.
    fn sum_over_cpus(&self, file: &str) -> Option<(u64, usize)> {
        let folders = fs::read_dir(self.roots.sys.join("devices/system/cpu")).ok()?;
        let cpus = folders.flatten().filter(|entry| is_cpu(entry.file_name().to_str()));
        let values = cpus.filter_map(|entry| fs::read_to_string(entry.path().join(file)).ok()?.trim().parse().ok());
        let (sum, count) = values.fold((0_u64, 0), |(sum, count), value: u64| (sum.saturating_add(value), count + 1));
        (count > 0).then_some((sum, count))
    }
}

impl SystemSample {
    /// What happened from this sample to `later`.
    pub fn until(&self, later: &Self) -> SystemUse {
        let ticks = self.ticks.zip(later.ticks).map(|(before, after)| CpuTicks {
            total: after.total.saturating_sub(before.total),
            stolen: after.stolen.saturating_sub(before.stolen),
            busy: after.busy.saturating_sub(before.busy),
        });
        let share = |part: fn(CpuTicks) -> u64| {
            ticks.filter(|ticks| ticks.total > 0).map(|ticks| part(ticks) as f64 / ticks.total as f64)
        };
        SystemUse {
            stolen_share: share(|ticks| ticks.stolen),
            busy_share: share(|ticks| ticks.busy),
            own_cpus: self.own.zip(later.own).map(|(before, after)| before.until(&after, self.covered)),
            throttle: self.throttle.zip(later.throttle).map(|(before, after)| after.since(before)),
            thermal_events: self.thermal_events.zip(later.thermal_events).map(|(a, b)| b.saturating_sub(a)),
        }
    }
}

fn is_cpu(name: Option<&str>) -> bool {
    let digits = name.and_then(|name| name.strip_prefix("cpu"));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal (guest time is part of user).
pub fn parse_cpu_ticks(text: &str) -> Option<CpuTicks> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields = line.split_ascii_whitespace().take(8).map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
    let total = fields.iter().fold(0_u64, |sum, &ticks| sum.saturating_add(ticks));
    let idle = fields.get(3)?.saturating_add(*fields.get(4)?);
    let stolen = fields.get(7).copied().unwrap_or(0);
    Some(CpuTicks { total, stolen, busy: total.saturating_sub(idle).saturating_sub(stolen) })
}

/// Mean of the `cpu MHz` lines of `/proc/cpuinfo`, MHz; none where there is none.
pub fn parse_cpu_mhz(text: &str) -> Option<f64> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("cpu MHz")?.split_once(':'));
    let values: Vec<f64> =
        lines.filter_map(|(_, value)| value.trim().parse().ok()).filter(|mhz: &f64| mhz.is_finite()).collect();
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn steal_is_a_share_of_all_cpu_time() {
        let before = parse_cpu_ticks("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3\n").expect("a stat file");
        let after = parse_cpu_ticks("cpu  150 0 70 900 50 0 10 20 0 0\n").expect("a stat file");
        assert_eq!((before.total, before.busy), (1000, 150));
        assert_eq!((after.total, after.stolen, after.busy), (1200, 20, 230));
        let nothing = SystemSample {
            ticks: None,
            own: None,
            covered: false,
            throttle: None,
            thermal_events: None,
            frequency_hz: None,
        };
        let sample = |ticks| SystemSample { ticks: Some(ticks), ..nothing };
        let used = sample(before).until(&sample(after));
        assert_eq!((used.stolen_share, used.busy_share), (Some(0.1), Some(0.4)));
        assert_eq!(sample(before).until(&sample(before)).stolen_share, None);
    }

    #[test]
    fn frequencies_and_heat_are_read_per_cpu() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let roots = Roots { sys: folder.path().to_owned(), proc: folder.path().to_owned(), ..Roots::default() };
        for (cpu, khz) in [("cpu0", "2000000\n"), ("cpu1", "3000000\n"), ("cpufreq", "9\n")] {
            let folder = folder.path().join("devices/system/cpu").join(cpu);
            for (file, text) in [("cpufreq/scaling_cur_freq", khz), ("thermal_throttle/core_throttle_count", "3\n")] {
                fs::create_dir_all(folder.join(file).parent().expect("a parent")).expect("made");
                fs::write(folder.join(file), text).expect("written");
            }
        }
        let sample = SystemSampler::new(&roots).sample();
        assert_eq!((sample.frequency_hz, sample.thermal_events), (Some(2.5e9), Some(6)));
    }

    #[test]
    fn without_any_file_everything_is_unknown() {
        let nowhere = Roots { proc: "/nonexistent".into(), sys: "/nonexistent".into(), root: "/nonexistent".into() };
        let sample = SystemSampler::new(&nowhere).sample();
        assert_eq!(sample.until(&sample), SystemUse::default());
        assert_eq!(parse_cpu_mhz("cpu MHz\t\t: 2250.0\nx\ncpu MHz : 2750.0\n"), Some(2500.0));
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(text in "\\PC{0,200}", line in "cpu [0-9 -]{0,120}", mhz in "cpu MHz[:\t ]{0,3}\\PC{0,9}") {
            let _ = (parse_cpu_ticks(&text), parse_cpu_ticks(&line), parse_cpu_mhz(&text), parse_cpu_mhz(&mhz));
        }
    }
}
