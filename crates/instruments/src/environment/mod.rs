//! The machine that a record comes from, as the kernel describes it.

mod cpu;
mod memory;
mod played;
mod target;
mod virtualisation;

use std::{
    fs,
    path::{Path, PathBuf},
};

use assay_record::{Environment, TargetFacts};

pub use cpu::{parse_cpu_list, parse_size};
pub use memory::{dirty_bytes, parse_meminfo};
pub use played::{own_provenance, played};
pub use target::target_facts;

use crate::{clock::Clock, counters::Roots};

/// Describes this machine. `targets` are members of targets with the ids of their targets.
pub fn capture(clock: &Clock, targets: &[(String, PathBuf)]) -> Environment {
    let facts = |(id, path): &(String, PathBuf)| TargetFacts { target: id.clone(), ..target_facts(path) };
    Environment { targets: targets.iter().map(facts).collect(), ..capture_from(&Roots::default(), clock) }
}

/// Describes the machine whose kernel file systems lie at `roots`; no targets.
pub fn capture_from(roots: &Roots, clock: &Clock) -> Environment {
    let text = |file: &str| read_line(&roots.proc.join("sys/kernel").join(file));
    let number = |file: &str| text(file).parse().ok();
    Environment {
        host: text("hostname"),
        kernel: text("osrelease"),
        kernel_build: text("version"),
        distribution: distribution(roots),
        architecture: std::env::consts::ARCH.to_owned(),
        virtualisation: virtualisation::describe(roots),
        cpu: cpu::describe(roots, clock),
        memory: memory::describe(roots),
        perf_event_paranoid: number("perf_event_paranoid"),
        io_uring_disabled: number("io_uring_disabled"),
        load_average: load_average(&read_line(&roots.proc.join("loadavg"))),
        limits: crate::counters::LimitSampler::new(roots).set(),
        targets: Vec::new(),
    }
}

/// Memory that this process may fill, page cache included: the machine's, or its control group's limit, bytes.
pub fn usable_memory_bytes(roots: &Roots) -> u64 {
    let total = memory::describe(roots).total_bytes;
    crate::counters::Cgroup::of_self(roots).memory_limit().map_or(total, |limit| limit.min(total))
}

/// First line of a file without blanks around it; empty where it cannot be read.
fn read_line(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default().lines().next().unwrap_or_default().trim().to_owned()
}

fn load_average(line: &str) -> f64 {
    let value = line.split_ascii_whitespace().next().and_then(|field| field.parse().ok());
    value.filter(|load: &f64| load.is_finite()).unwrap_or(0.0)
}

/// `PRETTY_NAME` of `os-release`; empty where there is none.
fn distribution(roots: &Roots) -> String {
    let read = |file| fs::read_to_string(roots.root.join(file));
    let text = read("etc/os-release").or_else(|_| read("usr/lib/os-release")).unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or_default().trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn this_machine_is_described() {
        let environment = capture(&Clock::new(), &[("t".to_owned(), "/".into())]);
        eprintln!("{environment:#?}");
        assert!(!environment.kernel.is_empty() && !environment.kernel_build.is_empty());
        assert!(environment.cpu.usable >= 1 && environment.cpu.logical >= environment.cpu.usable);
        assert!(environment.memory.total_bytes >= environment.memory.available_bytes);
        assert!(environment.memory.available_bytes > 0);
        assert_eq!((environment.targets[0].target.as_str(), environment.targets[0].path.as_str()), ("t", "/"));
    }

    #[test]
    fn a_machine_without_any_file_gives_blanks_and_no_panic() {
        let nowhere = Roots { proc: "/nonexistent".into(), sys: "/nonexistent".into(), root: "/nonexistent".into() };
        let environment = capture_from(&nowhere, &Clock::new());
        assert_eq!((environment.kernel.as_str(), environment.perf_event_paranoid), ("", None));
        assert_eq!(usable_memory_bytes(&nowhere), 0);
    }

    #[test]
    fn names_and_settings_come_from_their_files() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let roots =
            Roots { proc: folder.path().join("proc"), sys: folder.path().join("sys"), root: folder.path().into() };
        for (file, text) in [
            ("proc/sys/kernel/hostname", "db1\n"),
            ("proc/sys/kernel/perf_event_paranoid", "-1\n"),
            ("proc/loadavg", "0.42 0.17 0.13 1/99 7\n"),
            ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        }
        let environment = capture_from(&roots, &Clock::new());
        assert_eq!((environment.host.as_str(), environment.load_average), ("db1", 0.42));
        assert_eq!((environment.perf_event_paranoid, environment.io_uring_disabled), (Some(-1), None));
        assert_eq!(environment.distribution, "Debian GNU/Linux 12 (bookworm)");
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(text in "\\PC{0,80}") {
            prop_assert!(load_average(&text).is_finite());
        }
    }
}
