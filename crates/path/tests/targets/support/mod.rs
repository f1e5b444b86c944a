//! Loop devices, mounts, swap and fake trees of the kernel's files, all undone when dropped.

mod loops;
mod machine;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use assay_path::{
    PathError,
    facts::System,
    prepare::{Prepared, prepare},
};
use assay_record::{
    Arrivals, Cache, Checks, Class, Content, Dataset, Durability, DurabilityKind, Job, Layout, Operation, PathKind,
    PathSpec, Pattern, Placement, Sizes, Target, TargetKind, Window,
};
use tempfile::TempDir;

pub use loops::{Loop, run};
pub use machine::Machine;

/// A folder on the disk that holds the build, not in memory.
pub fn disk_folder() -> TempDir {
    tempfile::Builder::new().prefix("targets").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A folder in memory; none (with a reason) where there is no tmpfs.
pub fn memory_folder() -> Option<TempDir> {
    let folder = tempfile::Builder::new().prefix("assay-targets").tempdir_in("/dev/shm").ok();
    if folder.is_none() {
        eprintln!("skipped: /dev/shm is not there or not writable");
    }
    folder
}

/// A mount, undone when dropped.
pub struct Mounted(pub PathBuf);

impl Mounted {
    pub fn new(arguments: &[&str], point: &Path) -> Option<Self> {
        fs::create_dir_all(point).unwrap();
        let all = [arguments, &[point.to_str().unwrap()]].concat();
        let done = run("mount", &all);
        if done.is_none() {
            eprintln!("skipped: mount {} is not permitted", all.join(" "));
        }
        done.map(|_| Self(point.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[self.0.to_str().unwrap()]);
    }
}

/// Swap space, switched off when dropped.
pub struct Swapped(String);

impl Swapped {
    pub fn on(path: &Path) -> Option<Self> {
        let path = path.to_str().unwrap().to_owned();
        let done = run("swapon", &[&path]);
        if done.is_none() {
            eprintln!("skipped: swapon is not permitted");
        }
        done.map(|_| Self(path))
    }
}

impl Drop for Swapped {
    fn drop(&mut self) {
        run("swapoff", &[&self.0]);
    }
}

pub fn target(kind: TargetKind, members: &[&Path]) -> Target {
    Target {
        id: "t".into(),
        kind,
        members: members.iter().map(|path| path.display().to_string()).collect(),
        serials: Vec::new(),
        yes_destroy: false,
        twin: None,
    }
}

pub fn dataset(name: &str, bytes: u64) -> Dataset {
    Dataset {
        name: name.into(),
        target: "t".into(),
        bytes,
        files: 1,
        layout: Layout::Written,
        placement: Placement::Interleave,
        stripe_bytes: 0,
        content: Content::Random,
    }
}

pub fn class(dataset: &str, path: PathKind, operation: Operation, size: u64) -> Class {
    Class {
        name: format!("{dataset}-class"),
        dataset: dataset.into(),
        path: PathSpec::plain(path),
        operation,
        pattern: Pattern::Uniform,
        size: Sizes::One(size),
        threads: 1,
        depth: 1,
        batch: 1,
        arrivals: Arrivals::Closed,
        durability: Durability { kind: DurabilityKind::None, every: 1 },
        buffer_bytes: 0,
        dirty_bytes: 8,
        start_s: 0.0,
        pin: None,
        think: None,
        objective: None,
    }
}

pub fn job(target: Target, datasets: Vec<Dataset>, classes: Vec<Class>) -> Job {
    Job {
        version: assay_record::FORMAT_VERSION,
        name: "test".into(),
        seed: 1,
        targets: vec![target],
        datasets,
        classes,
        window: Window { warmup_s: 0.0, measure_s: 1.0, steady_after_s: 0.0, interval_ms: 100, bytes_at_most: 0 },
        start_monotonic_ns: None,
        cache: Cache::AsFound,
        checks: Checks::default(),
        scratch: "assay-scratch".into(),
        keep_scratch: false,
        cache_bytes: None,
        cool_down_s: 0.0,
        trim: false,
        counting: assay_record::CpuCounting::Auto,
        free_percent_at_least: 1.0,
        labels: Default::default(),
    }
}

/// Prepares quietly; also says how many bytes were written (the progress that was told).
pub fn prepared(job: &Job) -> Result<(Prepared, bool), PathError> {
    let mut worked = false;
    let prepared = prepare(job, &mut |_, _, _| worked = true, &AtomicBool::new(false))?;
    Ok((prepared, worked))
}
