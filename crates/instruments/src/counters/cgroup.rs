//! The control group of this process: its CPU quota, its throttling, its memory limit. Both versions.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::roots::Roots;

/// How often and how long a control group was throttled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Throttle {
    /// Enforcement periods that passed.
    pub periods: u64,
    /// Periods in which the group had used up its quota.
    pub throttled: u64,
    /// Seconds for which its threads were stopped, summed over CPUs.
    pub throttled_s: f64,
}

impl Throttle {
    /// What happened since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(before.periods),
            throttled: self.throttled.saturating_sub(before.throttled),
            throttled_s: (self.throttled_s - before.throttled_s).max(0.0),
        }
    }
}

/// The folders of the groups that this process belongs to, itself and its ancestors, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroup {
    cpu: Vec<PathBuf>,
    memory: Vec<PathBuf>,
    io: Vec<PathBuf>,
    blkio: Vec<PathBuf>,
}

impl Cgroup {
    /// Of this process.
    pub fn of_self(roots: &Roots) -> Self {
        let text = |name: &str| fs::read_to_string(roots.proc.join(name)).unwrap_or_default();
        let (groups, mounts) = (text("self/cgroup"), text("self/mountinfo"));
        Self {
            cpu: folders("cpu", &groups, &mounts),
            memory: folders("memory", &groups, &mounts),
            io: folders("io", &groups, &mounts),
            blkio: folders("blkio", &groups, &mounts),
        }
    }

    /// Folders of the groups that share out the CPUs, innermost first.
    pub(super) fn cpu(&self) -> &[PathBuf] {
        &self.cpu
    }

    /// Folders of the groups that share out memory, innermost first.
    pub(super) fn memory(&self) -> &[PathBuf] {
        &self.memory
    }

    /// Folders of the groups of version 2 that share out devices, innermost first.
    pub(super) fn io(&self) -> &[PathBuf] {
        &self.io
    }

    /// The same of version 1; where there is none, those of version 2 stand in, which have no file of its kind.
    pub(super) fn blkio(&self) -> Vec<PathBuf> {
        self.blkio.clone()
    }

    /// Throttling so far: of the group on the way up that was throttled longest. None where no group accounts for it.
    pub fn throttle(&self) -> Option<Throttle> {
        let all = self.cpu.iter().filter_map(|folder| parse_cpu_stat(&text_of(folder, "cpu.stat")?));
        all.max_by(|a, b| a.throttled_s.total_cmp(&b.throttled_s))
    }

    /// CPUs that the tightest quota on the way up allows; none where there is no quota.
    pub fn cpu_quota(&self) -> Option<f64> {
        self.cpu.iter().filter_map(|folder| quota(folder)).min_by(f64::total_cmp)
    }

    /// The tightest memory limit on the way up, bytes: the page cache of this process has to live within it, too.
    pub fn memory_limit(&self) -> Option<u64> {
        let limit = |folder: &PathBuf| {
            let text = text_of(folder, "memory.max").or_else(|| text_of(folder, "memory.limit_in_bytes"))?;
            // Version 1 says "no limit" with a number near 2^63.
            text.trim().parse().ok().filter(|&bytes: &u64| bytes < 1 << 60)
        };
        self.memory.iter().filter_map(limit).min()
    }
}

fn text_of(folder: &Path, file: &str) -> Option<String> {
    fs::read_to_string(folder.join(file)).ok()
}

/// CPUs that a group's quota allows; none where there is none.
pub(super) fn quota(folder: &Path) -> Option<f64> {
    if let Some(text) = text_of(folder, "cpu.max") {
        return parse_cpu_max(&text);
    }
    let number = |file| text_of(folder, file)?.trim().parse::<f64>().ok();
    ratio(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
}

/// CPUs of a `cpu.max` file (`max 100000` or `150000 100000`); none where there is no limit.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let mut fields = text.split_ascii_whitespace();
    ratio(fields.next()?.parse().ok()?, fields.next().map_or(Ok(100_000.0), str::parse).ok()?)
}

fn ratio(quota: f64, period: f64) -> Option<f64> {
    (quota > 0.0 && period > 0.0 && quota.is_finite() && period.is_finite()).then(|| quota / period)
}

/// Parses a `cpu.stat` file of either version; none where it does not count throttling.
pub fn parse_cpu_stat(text: &str) -> Option<Throttle> {
    let field = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse().ok()
    };
    let throttled = field("nr_throttled")?;
    let seconds = field("throttled_usec").map(|us| us as f64 * 1e-6);
    let seconds = seconds.or_else(|| field("throttled_time").map(|ns| ns as f64 * 1e-9));
    Some(Throttle { periods: field("nr_periods").unwrap_or(0), throttled, throttled_s: seconds.unwrap_or(0.0) })
}

/// Folders of the groups of a controller. Version 1 where the controller is mounted by itself, else version 2.
fn folders(controller: &str, groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut unified = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(names), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        if names.is_empty() {
            unified = Some(path);
        } else if names.split(',').any(|name| name == controller) {
            if let Some(mount) = mount_of(mounts, "cgroup", Some(controller)) {
                return upwards(&mount, path);
            }
        }
    }
    let both = unified.zip(mount_of(mounts, "cgroup2", None));
    both.map(|(path, mount)| upwards(&mount, path)).unwrap_or_default()
}

/// A mounted hierarchy: where, and which of its folders is there.
struct Mount {
    point: PathBuf,
    root: String,
}

/// Finds a control group mount in the text of a `mountinfo` file.
fn mount_of(mounts: &str, kind: &str, option: Option<&str>) -> Option<Mount> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split_ascii_whitespace();
        let (seen, _source, options) = (after.next()?, after.next()?, after.next().unwrap_or(""));
        let matches = option.is_none_or(|wanted| options.split(',').any(|one| one == wanted));
        let mut before = before.split_ascii_whitespace().skip(3);
        let (root, point) = (before.next()?, before.next()?);
        (seen == kind && matches).then(|| Mount { point: point.into(), root: root.to_owned() })
    })
}

/// The group's folder and its ancestors up to the mount point. In a container the mount shows a part of the hierarchy:
/// its root is cut off where the group lies in it, and the mount point itself is the group otherwise.
fn upwards(mount: &Mount, group: &str) -> Vec<PathBuf> {
    let inside = Path::new(group).strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let inside: PathBuf = inside.components().filter(|part| matches!(part, std::path::Component::Normal(_))).collect();
    inside
        .ancestors()
        .map(|part| if part.as_os_str().is_empty() { mount.point.clone() } else { mount.point.join(part) })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_versions_of_the_throttling_account_are_read() {
        let one = parse_cpu_stat("nr_periods 10\nnr_throttled 4\nthrottled_time 1500000000\n");
        assert_eq!(one, Some(Throttle { periods: 10, throttled: 4, throttled_s: 1.5 }));
        let two = parse_cpu_stat("usage_usec 1\nnr_periods 3\nnr_throttled 2\nthrottled_usec 250000\n");
        assert_eq!(two, Some(Throttle { periods: 3, throttled: 2, throttled_s: 0.25 }));
        assert_eq!(parse_cpu_stat("usage_usec 280874983\nuser_usec 199460710\n"), None);
    }

    #[test]
    fn a_quota_is_a_number_of_cpus() {
        assert_eq!(parse_cpu_max("150000 100000\n"), Some(1.5));
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max(""), None);
        assert_eq!(ratio(-1.0, 100_000.0), None);
    }

    #[test]
    fn version_1_is_found_and_followed_upwards() {
        let groups = "4:memory:/a/b\n1:cpu,cpuacct:/a\n0::/\n";
        let mounts = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      31 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let found = folders("cpu", groups, mounts);
        assert_eq!(found, [PathBuf::from("/sys/fs/cgroup/cpu/a"), PathBuf::from("/sys/fs/cgroup/cpu")]);
        // No memory mount of version 1: the unified hierarchy stands in.
        assert_eq!(folders("memory", groups, mounts), [PathBuf::from("/sys/fs/cgroup/unified")]);
    }

    #[test]
    fn in_a_container_the_mount_point_is_the_group() {
        let mounts = "31 25 0:27 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(folders("cpu", "0::/docker/abc\n", mounts), [PathBuf::from("/sys/fs/cgroup")]);
        assert_eq!(folders("cpu", "0::/../../x\n", mounts), [PathBuf::from("/sys/fs/cgroup")]);
    }

    #[test]
    fn limits_come_from_the_tightest_group() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).expect("made");
        fs::write(folder.path().join("cpu.max"), "50000 100000").expect("written");
        fs::write(inner.join("cpu.max"), "200000 100000").expect("written");
        fs::write(inner.join("memory.max"), "max").expect("written");
        fs::write(folder.path().join("memory.max"), "1048576").expect("written");
        let both = vec![inner, folder.path().to_owned()];
        let group = Cgroup { cpu: both.clone(), memory: both, ..Cgroup::default() };
        assert_eq!((group.cpu_quota(), group.memory_limit()), (Some(0.5), Some(1_048_576)));
        assert_eq!(group.throttle(), None);
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(text in "\\PC{0,200}", groups in "([0-9]:[a-z,]{0,6}:/?[a-z/.]{0,9}\n){0,4}",
                                  mounts in "([0-9 /a-z.]{0,30}( - )?[a-z0-9, ]{0,30}\n){0,4}") {
            let _ = (parse_cpu_stat(&text), parse_cpu_max(&text), folders("cpu", &text, &text));
            let _ = folders("cpu", &groups, &mounts);
        }
    }
}
