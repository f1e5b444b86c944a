//! Accounts that only a real kernel can prove: helper threads of `io_uring`, device bytes, a CPU quota.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::{fd::AsRawFd, unix::fs::FileExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use assay_instruments::{
    clock::Clock,
    counters::{
        ClassThreads, CpuTotals, DeviceSampler, HelperKind, ProcessCounters, Roots, SystemSampler, ThreadCounters,
        Work, attribute, cpu_use,
    },
    verdict::{Observation, RunObservation, judge},
};
use assay_record::{Provenance, ReasonCode};
use io_uring::{IoUring, opcode, squeue, types};

const PAGE: usize = 4096;
const PAGES: u64 = 8192;

/// What the bytes of a page are.
fn mark(page: u64) -> u8 {
    (page % 251) as u8 + 1
}

/// A file on the disk of the build folder (temporary folders may lie in memory), out of the page cache.
fn cold_file() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a file");
    for page in 0..PAGES {
        file.write_all(&[mark(page); PAGE]).expect("written");
    }
    drop_cached(file.as_file());
    file
}

fn drop_cached(file: &fs::File) {
    file.sync_all().expect("synced");
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).expect("advised");
}

/// Reads every page through a ring, each handed to a worker (`IOSQE_ASYNC`) as one that would block is.
fn read_by_workers(ring: &mut IoUring, file: &fs::File) {
    let mut buffer = vec![0_u8; PAGE];
    for page in 0..PAGES {
        let entry = opcode::Read::new(types::Fd(file.as_raw_fd()), buffer.as_mut_ptr(), PAGE as u32)
            .offset(page * PAGE as u64)
            .build()
            .flags(squeue::Flags::ASYNC);
        // SAFETY: the buffer and the file outlive the operation, which is waited for here.
        unsafe { ring.submission().push(&entry).expect("room for one") };
        ring.submit_and_wait(1).expect("submitted");
        let read = ring.completion().next().expect("completed").result();
        assert_eq!(read, PAGE as i32);
        assert_eq!(buffer[0], mark(page));
    }
}

#[test]
fn the_work_of_io_uring_helpers_is_counted_for_their_owner() {
    let mut ring = match IoUring::new(8) {
        Ok(ring) => ring,
        Err(error) => return eprintln!("skipped: no io_uring here: {error}"),
    };
    let file = cold_file();
    let mut thread = ThreadCounters::with_hardware(Clock::new().tsc_hz());
    let process = ProcessCounters::new();
    let before = process.snapshot();
    thread.start();
    read_by_workers(&mut ring, file.as_file());
    let own = thread.stop();
    let used = before.until(&process.snapshot(), std::slice::from_ref(&own));
    eprintln!("thread {own:?}\nprocess {used:?}");
    assert!(!used.helpers.is_empty(), "no worker was seen in {used:?}");
    assert!(used.helpers.iter().all(|helper| helper.helper.kind == HelperKind::Worker));
    let ours = ClassThreads { tids: vec![own.tid], uses_ring: true };
    let total = attribute(&used, &[ours])[0];
    assert!(total.cpu_s() > 0.0, "{total:?}");
    check_device_bytes(own.read_bytes, total.io.read, file.path());
    let work = Work {
        operations: PAGES,
        bytes: PAGES * PAGE as u64,
        wait_s: 0.0,
        system_calls: PAGES,
        cpu_hz: 2e9,
        provenance: Provenance::Measured,
    };
    let cpu = cpu_use(&CpuTotals::of_threads(&[own], &total), &work);
    assert!(cpu.helper_s.value > 0.0 && cpu.cycles_per_op.value > 0.0, "{cpu:?}");
}

/// What the thread did not read itself, its helpers did.
fn check_device_bytes(own: Option<u64>, helpers: u64, path: &Path) {
    let Some(own) = own else { return eprintln!("skipped: this kernel has no task I/O accounting") };
    let all = own + helpers;
    if all == 0 {
        return eprintln!("skipped: {} lies on a file system that the kernel does not account for", path.display());
    }
    assert!(all >= PAGES * PAGE as u64 * 9 / 10, "{all} of {} bytes are accounted for", PAGES * PAGE as u64);
    assert!(helpers > own, "workers read {helpers}, the thread {own}");
}

#[test]
fn a_cold_read_is_accounted_to_its_thread_and_a_warm_one_is_not() {
    let file = cold_file();
    let mut thread = ThreadCounters::with_hardware(0.0);
    let mut read = || {
        thread.start();
        let mut buffer = vec![0_u8; 1 << 20];
        for part in 0..PAGES * PAGE as u64 / (1 << 20) {
            file.as_file().read_exact_at(&mut buffer, part << 20).expect("read");
        }
        thread.stop()
    };
    let (cold, warm) = (read(), read());
    match cold.read_bytes {
        None | Some(0) => eprintln!("skipped: no accounting for this file system"),
        Some(bytes) => {
            assert!(bytes >= PAGES * PAGE as u64 * 9 / 10, "{bytes}");
            assert!(warm.read_bytes.expect("accounted") < bytes / 10, "{warm:?}");
        }
    }
}

/// Kernel name of the device that holds a folder, by way of `/sys/dev/block`.
fn device_of(folder: &Path) -> Option<String> {
    let number = rustix::fs::stat(folder).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let link = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(link.file_name()?.to_str()?.to_owned())
}

#[test]
fn the_device_counts_what_was_read_from_it() {
    let file = cold_file();
    let Some(name) = device_of(file.path()) else {
        return eprintln!("skipped: {} is not on a block device", file.path().display());
    };
    let sampler = DeviceSampler::new([name]);
    let before = sampler.sample();
    fs::read(file.path()).expect("read");
    let seen = before.until(&sampler.sample());
    eprintln!("{seen:?}");
    assert!(seen[0].read_bytes.value >= (PAGES * PAGE as u64) as f64 * 0.9);
    assert!(seen[0].reads.value >= 1.0);
}

const CHILD: &str = "ASSAY_TEST_THROTTLED_CHILD";

/// The part that runs in the control group: works for a while, and says what the machine did to it.
#[test]
fn throttled_child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
    let sampler = SystemSampler::new(&Roots::default());
    let before = sampler.sample();
    let start = Instant::now();
    let mut x = 1_u64;
    while start.elapsed() < Duration::from_millis(800) {
        x = std::hint::black_box(x.wrapping_mul(31).wrapping_add(7));
    }
    let system = before.until(&sampler.sample());
    let run = RunObservation { measured_s: start.elapsed().as_secs_f64(), system, ..RunObservation::default() };
    let verdict = judge(&Observation { run, classes: Vec::new() });
    eprintln!("verdict {}", serde_json::to_string(&verdict).expect("JSON"));
}

/// A control group of our own, removed in the end.
struct Group(PathBuf);

impl Group {
    fn with_a_tenth_of_a_cpu() -> Result<Self, String> {
        let name = format!("assay-test-{}", std::process::id());
        let (one, two) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup"));
        let (parent, quota, text) = if one.join("cpu.cfs_quota_us").exists() {
            (one, "cpu.cfs_quota_us", "10000")
        } else {
            (two, "cpu.max", "10000 100000")
        };
        fs::create_dir(parent.join(&name)).map_err(|error| format!("no control group can be made: {error}"))?;
        let group = Self(parent.join(name));
        fs::write(group.0.join(quota), text).map_err(|error| format!("no quota can be set: {error}"))?;
        Ok(group)
    }

    fn add(&self, child: &Child) -> Result<(), String> {
        let moved = fs::write(self.0.join("cgroup.procs"), child.id().to_string());
        moved.map_err(|error| format!("the process cannot be moved: {error}"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group can be removed only after the kernel has buried its last process.
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A child that does not outlive its test.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_cpu_quota_that_throttles_is_named_in_the_verdict() {
    let group = match Group::with_a_tenth_of_a_cpu() {
        Ok(group) => group,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "throttled_child", "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut child = Guard(child);
    if let Err(reason) = group.add(&child.0) {
        return eprintln!("skipped: {reason}");
    }
    child.0.stdin.take().expect("piped").write_all(b"go\n").expect("written");
    let lines = BufReader::new(child.0.stderr.take().expect("piped")).lines();
    let line = lines.map_while(Result::ok).find(|line| line.starts_with("verdict ")).expect("a verdict");
    let verdict: assay_record::Verdict = serde_json::from_str(&line["verdict ".len()..]).expect("JSON");
    drop(child);
    eprintln!("{verdict:#?}");
    assert!(
        verdict
            .reasons
            .iter()
            .any(|reason| reason.code == ReasonCode::FrequencyChanged && reason.numbers.contains_key("throttled_s"))
    );
}
