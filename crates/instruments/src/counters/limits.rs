//! Limits of the control groups of this process, and how near a window came to them. Both versions.
//!
//! The kernel counts what a group's processes did per device; it does not count for how long it held them up. What went
//! through at the limit's pace was held up by it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use assay_record::SetLimit;

use super::{cgroup::Cgroup, roots::Roots};

/// What the kernel counts of a group on a device: bytes read and written, operations read and written.
type Counts = [u64; 4];
/// The limits of `io.max`, in the order of [`Counts`].
const IO_MAX: [&str; 4] = ["rbps", "wbps", "riops", "wiops"];
/// The files of version 1, in the same order.
const BLKIO: [&str; 4] = ["read_bps", "write_bps", "read_iops", "write_iops"];

/// Samples the groups.
#[derive(Clone, Debug)]
pub struct LimitSampler {
    limits: Vec<Known>,
}

/// A limit, and where its use is counted.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    set: SetLimit,
    count: Count,
}

#[derive(Clone, Debug, PartialEq)]
enum Count {
    /// Of a device by number, at a place of [`Counts`].
    Io { folder: PathBuf, number: String, place: usize },
    /// Times that memory was held back or taken back for it: the field of a file.
    Memory { file: PathBuf, field: &'static str },
    /// Counted elsewhere ([`super::Throttle`]).
    Cpu,
}

/// Counters of all limits at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitSample {
    counts: Vec<Option<u64>>,
}

/// A limit in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitUse {
    /// The limit.
    pub set: SetLimit,
    /// Of a device: operations or bytes that the group moved. Of memory: times that it was met.
    pub counted: u64,
}

impl LimitUse {
    /// It is a limit of a device's pace.
    pub fn is_pace(&self) -> bool {
        !self.set.device.is_empty()
    }

    /// It is counted in bytes.
    pub fn in_bytes(&self) -> bool {
        self.set.setting.contains("bps")
    }
}

impl LimitSampler {
    /// Of this process's groups as they are now.
    pub fn new(roots: &Roots) -> Self {
        let groups = Cgroup::of_self(roots);
        let mut limits: Vec<Known> = groups.io().iter().flat_map(|folder| io_limits(folder, roots)).collect();
        // Version 1 does not add up what groups within a group do: only the group itself is held to its limit.
        let own = groups.blkio().into_iter().take(1);
        limits.extend(own.flat_map(|folder| blkio_limits(&folder, roots)));
        limits.extend(groups.memory().iter().flat_map(|folder| memory_limits(folder)));
        limits.extend(groups.cpu().iter().filter_map(|folder| cpu_limit(folder)));
        Self { limits }
    }

    /// The limits, for the record.
    pub fn set(&self) -> Vec<SetLimit> {
        self.limits.iter().map(|known| known.set.clone()).collect()
    }

    /// Reads all counters.
    pub fn sample(&self) -> LimitSample {
        LimitSample { counts: self.limits.iter().map(|known| known.count.read()).collect() }
    }

    /// What was counted from `before` to `after`; limits whose counter cannot be read are left out.
    pub fn used(&self, before: &LimitSample, after: &LimitSample) -> Vec<LimitUse> {
        let pairs = self.limits.iter().zip(before.counts.iter().zip(&after.counts));
        let used = |(known, (before, after)): (&Known, (&Option<u64>, &Option<u64>))| {
            let counted = (*after)?.saturating_sub((*before)?);
            Some(LimitUse { set: known.set.clone(), counted })
        };
        pairs.filter_map(used).collect()
    }
}

impl Count {
    fn read(&self) -> Option<u64> {
        match self {
            Self::Io { folder, number, place } => {
                Some(io_counts(folder).get(number).map_or(0, |counts| counts[*place]))
            }
            Self::Memory { file, field } => {
                let text = fs::read_to_string(file).ok()?;
                if field.is_empty() { text.trim().parse().ok() } else { field_of(&text, field) }
            }
            Self::Cpu => None,
        }
    }
}

fn io_counts(folder: &Path) -> BTreeMap<String, Counts> {
    let text = |file: &str| fs::read_to_string(folder.join(file)).ok();
    if let Some(stat) = text("io.stat") {
        return parse_io_stat(&stat);
    }
    let both = ["bytes", "serviced"].map(|what| {
        let name = if what == "bytes" { "io_service_bytes" } else { "io_serviced" };
        text(&format!("blkio.throttle.{name}")).unwrap_or_default()
    });
    parse_blkio(&both[0], &both[1])
}

/// `254:0 rbytes=1 wbytes=2 rios=3 wios=4 ...`, a line a device.
pub fn parse_io_stat(text: &str) -> BTreeMap<String, Counts> {
    let line = |line: &str| {
        let (number, rest) = line.split_once(' ')?;
        Some((number.to_owned(), keyed(rest, ["rbytes", "wbytes", "rios", "wios"]).map(|value| value.unwrap_or(0))))
    };
    text.lines().filter_map(line).collect()
}

/// `254:0 Read 1`, a line a device and a kind: the bytes and the operations of version 1.
pub fn parse_blkio(bytes: &str, operations: &str) -> BTreeMap<String, Counts> {
    let mut found: BTreeMap<String, Counts> = BTreeMap::new();
    for (text, first) in [(bytes, 0), (operations, 2)] {
        for line in text.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [number, kind, count] = words[..] else { continue };
            let place = match kind {
                "Read" => first,
                "Write" => first + 1,
                _ => continue,
            };
            found.entry(number.to_owned()).or_default()[place] = count.parse().unwrap_or(0);
        }
    }
    found
}

/// Values of `key=value` words.
fn keyed(text: &str, keys: [&str; 4]) -> [Option<u64>; 4] {
    keys.map(|key| {
        let mut words = text.split_ascii_whitespace();
        words.find_map(|word| word.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
    })
}

fn field_of(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

fn io_limits(folder: &Path, roots: &Roots) -> Vec<Known> {
    let text = fs::read_to_string(folder.join("io.max")).unwrap_or_default();
    let mut found = Vec::new();
    for (number, rest) in text.lines().filter_map(|line| line.split_once(' ')) {
        for (place, value) in keyed(rest, IO_MAX).into_iter().enumerate() {
            let setting = format!("io.max {}", IO_MAX[place]);
            found.extend(value.map(|value| io_limit(folder, roots, number, (setting, place, value))));
        }
    }
    found
}

fn blkio_limits(folder: &Path, roots: &Roots) -> Vec<Known> {
    let mut found = Vec::new();
    for (place, name) in BLKIO.iter().enumerate() {
        let setting = format!("blkio.throttle.{name}_device");
        let text = fs::read_to_string(folder.join(&setting)).unwrap_or_default();
        for (number, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            let value = value.trim().parse().ok().filter(|&value: &u64| value > 0);
            found.extend(value.map(|value| io_limit(folder, roots, number, (setting.clone(), place, value))));
        }
    }
    found
}

fn io_limit(folder: &Path, roots: &Roots, number: &str, (setting, place, value): (String, usize, u64)) -> Known {
    let name = fs::read_link(roots.sys.join("dev/block").join(number)).ok();
    let name = name.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
    Known {
        set: SetLimit {
            setting,
            group: folder.display().to_string(),
            device: name.unwrap_or_else(|| number.to_owned()),
            value: value as f64,
        },
        count: Count::Io { folder: folder.to_owned(), number: number.to_owned(), place },
    }
}

fn memory_limits(folder: &Path) -> Vec<Known> {
    // Version 1 says "no limit" with a number near 2^63.
    let value = |file: &str| {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        text.trim().parse().ok().filter(|&bytes: &u64| bytes < 1 << 60)
    };
    let known = |setting: &str, file: &str, field: &'static str| {
        Some(Known {
            set: SetLimit {
                setting: setting.to_owned(),
                group: folder.display().to_string(),
                device: String::new(),
                value: value(setting)? as f64,
            },
            count: Count::Memory { file: folder.join(file), field },
        })
    };
    let all = [
        known("memory.high", "memory.events", "high"),
        known("memory.max", "memory.events", "max"),
        known("memory.limit_in_bytes", "memory.failcnt", ""),
    ];
    all.into_iter().flatten().collect()
}

fn cpu_limit(folder: &Path) -> Option<Known> {
    let cpus = super::cgroup::quota(folder)?;
    let setting = if folder.join("cpu.max").exists() { "cpu.max" } else { "cpu.cfs_quota_us" };
    let set = SetLimit {
        setting: setting.to_owned(),
        group: folder.display().to_string(),
        device: String::new(),
        value: cpus,
    };
    Some(Known { set, count: Count::Cpu })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A machine with these files; a group of version 2 is `/sys/fs/cgroup/inner`.
    fn machine(groups: &str, mounts: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = folder.path();
        let mounts = mounts.replace("ROOT", at.to_str().expect("a name"));
        let own = [("proc/self/cgroup", groups), ("proc/self/mountinfo", mounts.as_str())];
        for (file, text) in own.iter().chain(files) {
            fs::create_dir_all(at.join(file).parent().expect("a parent")).expect("made");
            fs::write(at.join(file), text).expect("written");
        }
        let roots = Roots { proc: at.join("proc"), sys: at.join("sys"), root: at.to_owned() };
        (folder, roots)
    }

    const UNIFIED: &str = "31 25 0:27 / ROOT/cg rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn limits_of_version_2_are_found_on_the_way_up_and_counted() {
        let (folder, roots) = machine(
            "0::/outer/inner\n",
            UNIFIED,
            &[
                ("cg/outer/io.max", "254:0 rbps=max wbps=1048576 riops=1000 wiops=max\n"),
                ("cg/outer/io.stat", "254:0 rbytes=4096 wbytes=0 rios=100 wios=7 dbytes=0 dios=0\n"),
                ("cg/outer/inner/memory.high", "1073741824\n"),
                ("cg/outer/inner/memory.max", "max\n"),
                ("cg/outer/inner/memory.events", "low 0\nhigh 3\nmax 0\n"),
                ("cg/outer/cpu.max", "150000 100000\n"),
            ],
        );
        let sampler = LimitSampler::new(&roots);
        let settings: Vec<String> = sampler.set().into_iter().map(|one| one.setting).collect();
        assert_eq!(settings, ["io.max wbps", "io.max riops", "memory.high", "cpu.max"]);
        let before = sampler.sample();
        let stat = folder.path().join("cg/outer/io.stat");
        fs::write(stat, "254:0 rbytes=8192 wbytes=10 rios=4100 wios=7\n").expect("written");
        fs::write(folder.path().join("cg/outer/inner/memory.events"), "low 0\nhigh 8\nmax 0\n").expect("written");
        let used = sampler.used(&before, &sampler.sample());
        let counted: Vec<u64> = used.iter().map(|one| one.counted).collect();
        assert_eq!(counted, [10, 4000, 5]);
        assert_eq!(used[1].set.device, "254:0");
        assert!(used[0].in_bytes() && !used[1].in_bytes() && used[1].is_pace() && !used[2].is_pace());
    }

    #[test]
    fn limits_of_version_1_are_those_of_the_group_itself() {
        let (folder, roots) = machine(
            "7:blkio:/outer/inner\n4:memory:/outer\n1:cpu,cpuacct:/\n0::/\n",
            "38 31 0:35 / ROOT/cg/blkio rw - cgroup cgroup rw,blkio\n35 31 0:32 / ROOT/cg/memory rw - cgroup cgroup rw,memory\n",
            &[
                ("cg/blkio/outer/blkio.throttle.read_iops_device", "254:0 5\n"),
                ("cg/blkio/outer/inner/blkio.throttle.read_iops_device", "254:0 1000\n"),
                (
                    "cg/blkio/outer/inner/blkio.throttle.io_serviced",
                    "254:0 Read 10\n254:0 Write 3\n254:0 Total 13\nTotal 13\n",
                ),
                ("cg/memory/outer/memory.limit_in_bytes", "1073741824\n"),
                ("cg/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("cg/memory/outer/memory.failcnt", "2\n"),
            ],
        );
        fs::create_dir_all(folder.path().join("sys/dev/block")).expect("made");
        std::os::unix::fs::symlink("../../block/vda", folder.path().join("sys/dev/block/254:0")).expect("linked");
        let sampler = LimitSampler::new(&roots);
        let set = sampler.set();
        assert_eq!(set.len(), 2, "{set:?}");
        assert_eq!((set[0].device.as_str(), set[0].value), ("vda", 1000.0));
        let used = sampler.used(&LimitSample::default(), &sampler.sample());
        assert!(used.is_empty(), "without a first reading nothing is known");
        let before = sampler.sample();
        let counted = folder.path().join("cg/blkio/outer/inner/blkio.throttle.io_serviced");
        fs::write(counted, "254:0 Read 4010\nTotal 4010\n").expect("written");
        assert_eq!(sampler.used(&before, &sampler.sample())[0].counted, 4000);
    }

    #[test]
    fn a_machine_without_groups_has_no_limits() {
        let nowhere = Roots { proc: "/nonexistent".into(), sys: "/nonexistent".into(), root: "/nonexistent".into() };
        assert!(LimitSampler::new(&nowhere).set().is_empty());
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(text in "\\PC{0,200}", lines in "([0-9:]{0,6} [a-zR=]{0,8}[0-9]{0,20}\n){0,4}") {
            let _ = (parse_io_stat(&text), parse_blkio(&text, &lines), parse_io_stat(&lines), parse_blkio(&lines, &text));
        }
    }
}
