//! CPU facts.

use std::{collections::BTreeMap, fs, path::Path};

use assay_record::Cpu;

use super::read_line;
use crate::{
    clock::Clock,
    counters::{Cgroup, Roots},
};

/// Instruction sets that matter to moving bytes and to persistent memory, by the kernel's names.
const FEATURES: [&str; 14] = [
    "sse2",
    "avx",
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "clflush",
    "clflushopt",
    "clwb",
    "movdir64b",
    "erms",
    "asimd",
    "sve",
    "dcpop",
];

/// Describes the CPUs.
pub(super) fn describe(roots: &Roots, clock: &Clock) -> Cpu {
    let info = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    let cpus = roots.sys.join("devices/system/cpu");
    let logical = parse_cpu_list(&read_line(&cpus.join("present"))).or_else(|| count_processors(&info)).unwrap_or(1);
    Cpu {
        model: model(&info),
        usable: usable(roots).clamp(1, logical.max(1)),
        logical,
        numa_nodes: parse_cpu_list(&read_line(&roots.sys.join("devices/system/node/online"))).unwrap_or(1),
        tsc_hz: clock.tsc_hz(),
        clock: clock.name().to_owned(),
        governor: read_line(&cpus.join("cpu0/cpufreq/scaling_governor")),
        turbo: turbo(&cpus),
        features: features(&info),
        llc_bytes: last_level_cache(&cpus.join("cpu0/cache")).unwrap_or(0),
    }
}

/// Value of the first line of `cpuinfo` with this key.
fn value_of<'a>(info: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = info.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

fn model(info: &str) -> String {
    if let Some(name) = value_of(info, "model name") {
        return name.to_owned();
    }
    // aarch64 has no name, only numbers.
    let number = |key| value_of(info, key);
    match (number("CPU implementer"), number("CPU part")) {
        (Some(implementer), Some(part)) => format!("implementer {implementer} part {part}"),
        _ => String::new(),
    }
}

fn features(info: &str) -> Vec<String> {
    let flags = value_of(info, "flags").or_else(|| value_of(info, "Features")).unwrap_or_default();
    let has = |name: &&str| flags.split_ascii_whitespace().any(|flag| flag == *name);
    FEATURES.iter().filter(|name| has(name)).map(|&name| name.to_owned()).collect()
}

fn count_processors(info: &str) -> Option<u32> {
    let count = info.lines().filter(|line| line.split(':').next().is_some_and(|key| key.trim() == "processor")).count();
    u32::try_from(count).ok().filter(|&count| count > 0)
}

/// CPUs that this process may run on: its affinity mask, or its control group's quota where that is less (rounded up:
/// half a CPU is still one to run on).
fn usable(roots: &Roots) -> u32 {
    let allowed = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    let quota = Cgroup::of_self(roots).cpu_quota().map_or(u32::MAX, |cpus| cpus.ceil() as u32);
    allowed.min(quota).max(1)
}

fn turbo(cpus: &Path) -> String {
    let word = |on| if on { "on" } else { "off" }.to_owned();
    match read_line(&cpus.join("intel_pstate/no_turbo")).as_str() {
        "0" => return word(true),
        "1" => return word(false),
        _ => {}
    }
    match read_line(&cpus.join("cpufreq/boost")).as_str() {
        "1" => word(true),
        "0" => word(false),
        _ => String::new(),
    }
}

/// Size of the cache of the highest level, bytes.
fn last_level_cache(folder: &Path) -> Option<u64> {
    let mut by_level = BTreeMap::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let field = |file| read_line(&entry.path().join(file));
        let level = field("level").parse::<u32>().ok().filter(|_| field("type") != "Instruction");
        if let (Some(level), Some(bytes)) = (level, parse_size(&field("size"))) {
            by_level.insert(level, bytes);
        }
    }
    by_level.into_values().next_back()
}

/// Bytes of a size as sysfs writes it (`32768K`, `2M`).
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Number of members of a list as sysfs writes it (`0-3,8`); none where it is empty or not a list.
pub fn parse_cpu_list(text: &str) -> Option<u32> {
    let mut count = 0_u32;
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_and_sizes_are_read() {
        assert_eq!(parse_cpu_list("0-3,8\n"), Some(5));
        assert_eq!(parse_cpu_list("0"), Some(1));
        assert_eq!(parse_cpu_list(""), None);
        assert_eq!(parse_cpu_list("3-0"), None);
        assert_eq!(
            (parse_size("32768K"), parse_size("2M"), parse_size("7"), parse_size("x")),
            (Some(32 << 20), Some(2 << 20), Some(7), None)
        );
    }

    #[test]
    fn x86_and_arm_name_their_cpus_differently() {
        let x86 = "processor\t: 0\nmodel name\t: AMD EPYC 9R45\nflags\t\t: fpu sse2 clwb avx512f\nprocessor\t: 1\n";
        assert_eq!(model(x86), "AMD EPYC 9R45");
        assert_eq!(features(x86), ["sse2", "avx512f", "clwb"]);
        assert_eq!(count_processors(x86), Some(2));
        let arm = "processor : 0\nFeatures : fp asimd sve dcpop\nCPU implementer : 0x41\nCPU part : 0xd40\n";
        assert_eq!(model(arm), "implementer 0x41 part 0xd40");
        assert_eq!(features(arm), ["asimd", "sve", "dcpop"]);
        assert_eq!(count_processors(""), None);
    }

    #[test]
    fn the_last_level_cache_is_the_largest_level() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (index, level, kind, size) in
            [(0, "1", "Data", "32K"), (1, "3", "Unified", "16384K"), (2, "2", "Unified", "1M")]
        {
            let cache = folder.path().join(format!("index{index}"));
            fs::create_dir(&cache).expect("made");
            for (file, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(cache.join(file), text).expect("written");
            }
        }
        assert_eq!(last_level_cache(folder.path()), Some(16 << 20));
        assert_eq!(last_level_cache(Path::new("/nonexistent")), None);
    }

    #[test]
    fn turbo_is_told_by_either_driver() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(turbo(folder.path()), "");
        fs::create_dir(folder.path().join("cpufreq")).expect("made");
        fs::write(folder.path().join("cpufreq/boost"), "1\n").expect("written");
        assert_eq!(turbo(folder.path()), "on");
        fs::create_dir(folder.path().join("intel_pstate")).expect("made");
        fs::write(folder.path().join("intel_pstate/no_turbo"), "1\n").expect("written");
        assert_eq!(turbo(folder.path()), "off");
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(text in "\\PC{0,80}", list in "[0-9,-]{0,24}", size in "[0-9]{0,24}[KMGx]?") {
            let _ = (model(&text), features(&text), count_processors(&text), parse_cpu_list(&text), parse_size(&text));
            let _ = (parse_cpu_list(&list), parse_size(&size));
        }
    }
}
