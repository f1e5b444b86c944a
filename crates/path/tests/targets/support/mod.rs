//! Loop devices, mounts, swap and fake trees of the kernel's files, all undone when dropped.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
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

/// Runs a program; its standard output, or none where it fails or is missing.
pub fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

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

/// A loop device, detached when dropped.
pub struct Loop {
    pub device: PathBuf,
    pub backing: PathBuf,
}

impl Loop {
    /// Over a new image of this many bytes.
    pub fn new(folder: &Path, name: &str, bytes: u64) -> Option<Self> {
        let image = folder.join(name);
        File::create(&image).unwrap().set_len(bytes).unwrap();
        Self::over(&image)
    }

    /// Over an existing file or device.
    pub fn over(backing: &Path) -> Option<Self> {
        let device = run("losetup", &["--find", "--show", backing.to_str()?]);
        if device.is_none() {
            eprintln!("skipped: losetup is not there or not permitted");
        }
        Some(Self { device: device?.into(), backing: backing.canonicalize().unwrap() })
    }

    pub fn text(&self) -> &str {
        self.device.to_str().unwrap()
    }

    pub fn name(&self) -> String {
        self.device.file_name().unwrap().to_string_lossy().into_owned()
    }

    /// Writes bytes to the device itself.
    pub fn put(&self, at: u64, bytes: &[u8]) {
        let device = File::options().write(true).open(&self.device).unwrap();
        device.write_all_at(bytes, at).unwrap();
        device.sync_all().unwrap();
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // The mark would outlive the detaching and hit whoever gets this device next.
        run("blockdev", &["--setrw", self.text()]);
        run("partx", &["--delete", self.text()]);
        run("losetup", &["--detach", self.text()]);
    }
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

/// A made-up machine: block devices, mount table, swap.
pub struct Machine {
    folder: TempDir,
}

impl Machine {
    pub fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        machine.file("proc/self/mountinfo", "");
        machine.file("proc/swaps", "Filename Type Size Used Priority\n");
        fs::create_dir_all(machine.path("sys/dev/block")).unwrap();
        fs::create_dir_all(machine.path("sys/class/block")).unwrap();
        fs::create_dir_all(machine.path("dev")).unwrap();
        machine
    }

    fn path(&self, at: &str) -> PathBuf {
        self.folder.path().join(at)
    }

    pub fn system(&self) -> System {
        let at = |name| self.path(name);
        System { sys: at("sys"), proc: at("proc"), dev: at("dev"), run: at("run") }
    }

    pub fn file(&self, at: &str, text: &str) {
        let path = self.path(at);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A whole device, `at` below `sys/devices`.
    pub fn device(&self, at: &str, number: &str) {
        let folder = self.path(&format!("sys/devices/{at}"));
        for inner in ["holders", "slaves", "queue"] {
            fs::create_dir_all(folder.join(inner)).unwrap();
        }
        fs::write(folder.join("dev"), format!("{number}\n")).unwrap();
        fs::write(folder.join("size"), "2097152\n").unwrap();
        symlink(&folder, self.path(&format!("sys/dev/block/{number}"))).unwrap();
        let name = folder.file_name().unwrap().to_str().unwrap();
        symlink(&folder, self.path(&format!("sys/class/block/{name}"))).unwrap();
    }

    /// A partition of a device.
    pub fn partition(&self, at: &str, number: &str) {
        self.device(at, number);
        self.file(&format!("sys/devices/{at}/partition"), "1\n");
    }

    /// `above` is built on `below`.
    pub fn built_on(&self, above: &str, below: &str) {
        let (up, down) = (self.path(&format!("sys/devices/{above}")), self.path(&format!("sys/devices/{below}")));
        symlink(&up, down.join("holders").join(up.file_name().unwrap())).unwrap();
        symlink(&down, up.join("slaves").join(down.file_name().unwrap())).unwrap();
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
