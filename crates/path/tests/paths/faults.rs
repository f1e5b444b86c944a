//! What goes wrong beneath a path becomes a sentence that names the file, never a crash and never silence.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use crate::ground::{BLOCK, Ground, available, is_root, request};
use assay_path::{OpenParameters, Opened, PathError, Segment, SegmentKind, open::operation_error};
use assay_record::{DurabilityKind, Layout, PathKind, PathSpec};

/// The error of an operation, as a run reports it.
fn sentence(ground: &Ground, write: bool, error: std::io::Error) -> String {
    let error = operation_error(&ground.segments, 0, write, error);
    format!("{error}; {}", error.fix())
}

#[test]
fn a_file_that_is_cut_short_is_an_error_on_every_path() {
    for (name, spec) in available(&Ground::new(1, 8192)) {
        let ground = Ground::new(1, 256 << 10);
        let mut path = ground.open(&spec, DurabilityKind::None, false).unwrap();
        File::options().write(true).open(&ground.segments[0].path).unwrap().set_len(4096).unwrap();
        path.operate(request(false, 0, BLOCK, 0)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let error = path.operate(request(false, 128 << 10, BLOCK, 0)).expect_err(&name);
        assert_eq!(error.raw_os_error(), Some(libc::ENODATA), "{name}: {error}");
        let sentence = sentence(&ground, false, error);
        assert!(sentence.contains("data.0") && sentence.contains("cut short"), "{name}: {sentence}");
    }
}

#[test]
fn a_mapping_that_lost_a_page_is_not_trusted_again() {
    let ground = Ground::new(1, 256 << 10);
    let spec = PathSpec::plain(PathKind::Mmap);
    let mut path = ground.open(&spec, DurabilityKind::Msync, true).unwrap();
    let file = File::options().write(true).open(&ground.segments[0].path).unwrap();
    file.set_len(4096).unwrap();
    path.operate(request(true, 8192, BLOCK, 0)).unwrap_err();
    file.set_len(256 << 10).unwrap();
    path.operate(request(false, 8192, BLOCK, 0)).unwrap_err();
    drop(path);
    let mut again = ground.open(&spec, DurabilityKind::Msync, true).unwrap();
    again.operate(request(true, 8192, BLOCK, 0)).unwrap();
    again.flush(0).unwrap();
}

#[test]
fn a_file_that_was_removed_serves_those_who_have_it_open_and_nobody_else() {
    for (name, spec) in available(&Ground::new(1, 8192)) {
        let ground = Ground::new(1, 64 << 10);
        let content = ground.content(0);
        let mut path = ground.open(&spec, DurabilityKind::None, false).unwrap();
        fs::remove_file(&ground.segments[0].path).unwrap();
        path.operate(request(false, 8192, BLOCK, 0)).unwrap();
        assert!(ground.memory(0, 4096) == content[8192..12288], "{name}");
        let error = ground.open(&spec, DurabilityKind::None, false).expect_err(&name);
        assert!(error.to_string().contains("opening") && error.to_string().contains("data.0"), "{error}");
        assert!(error.fix().contains("does not exist"), "{}", error.fix());
        assert_eq!(error.exit_code(), 1);
    }
}

#[test]
fn something_else_under_the_name_is_not_written_to() {
    let mut ground = Ground::new(1, 64 << 10);
    ground.segments[0].path = PathBuf::from("/dev/null");
    let spec = PathSpec::plain(PathKind::Pread);
    let error = ground.open(&spec, DurabilityKind::None, true).unwrap_err();
    assert!(matches!(error, PathError::Refused { .. }), "{error}");
    ground.segments[0].kind = SegmentKind::BlockDevice;
    let error = ground.open(&spec, DurabilityKind::None, true).unwrap_err();
    assert!(error.to_string().contains("not a block device"), "{error}");
}

#[test]
fn a_mapping_of_a_file_that_is_too_short_is_refused() {
    let mut ground = Ground::new(1, 64 << 10);
    ground.segments[0].bytes = 1 << 20;
    let error = ground.open(&PathSpec::plain(PathKind::Mmap), DurabilityKind::None, false).unwrap_err();
    assert!(error.to_string().contains("65536 bytes and 1048576"), "{error}");
}

/// A tmpfs of its own, unmounted on drop.
struct Small(tempfile::TempDir);

impl Small {
    fn mount(options: &str) -> Option<Self> {
        if !is_root() {
            eprintln!("skipped: only root can mount a small file system");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        if run("mount", &["-t", "tmpfs", "-o", options, "assay-test", &folder.path().to_string_lossy()]) {
            return Some(Self(folder));
        }
        eprintln!("skipped: no tmpfs can be mounted here");
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Lazily: the kernel may hold the files of a closed ring for a moment longer.
        run("umount", &["--lazy", &self.0.path().to_string_lossy()]);
    }
}

fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).status().is_ok_and(|status| status.success())
}

#[test]
fn a_full_file_system_is_named_on_every_path() {
    let Some(probed) = Small::mount("size=512k") else { return };
    for (name, spec) in available(&Ground::in_folder(probed.0.path(), 1, 8192)) {
        // One each: a write that failed may still be giving back its pages when the next path begins.
        let Some(small) = Small::mount("size=512k") else { return };
        let mut ground = Ground::in_folder(small.0.path(), 1, 4096);
        ground.segments[0].bytes = 2 << 20;
        let parameters =
            OpenParameters { layout: Layout::Grow, ..ground.parameters(&spec, DurabilityKind::None, true) };
        let mut path = Opened::open(&parameters).unwrap();
        let mut writes = (0..32).map(|index| path.operate(request(true, index * 65536, 65536, 0)));
        let error = writes.find_map(Result::err).unwrap_or_else(|| panic!("{name} filled 512 KiB with 2 MiB"));
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC), "{name}: {error}");
        let sentence = sentence(&ground, true, error);
        assert!(sentence.contains("data.0") && sentence.contains("free space"), "{name}: {sentence}");
    }
}

#[test]
fn a_read_only_file_system_is_named() {
    let Some(small) = Small::mount("size=512k") else { return };
    let ground = Ground::in_folder(small.0.path(), 1, 8192);
    let at = small.0.path().to_string_lossy().into_owned();
    if !run("mount", &["-o", "remount,ro", &at]) {
        eprintln!("skipped: the file system cannot be made read-only");
        return;
    }
    let spec = PathSpec::plain(PathKind::Pread);
    let error = ground.open(&spec, DurabilityKind::None, true).expect_err("writes are refused");
    assert!(error.fix().contains("read-only file system"), "{error}; {}", error.fix());
    ground.open(&spec, DurabilityKind::None, false).expect("reads are not");
    assert!(run("mount", &["-o", "remount,rw", &at]), "the folder must be removed afterwards");
}

/// A loop device over a file, detached on drop.
struct Loop {
    node: PathBuf,
    backing: PathBuf,
    _folder: tempfile::TempDir,
}

impl Loop {
    fn attach(bytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let backing = folder.path().join("backing");
        fs::write(&backing, crate::ground::random(5, bytes as usize)).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&backing).output().ok();
        let Some(output) = output.filter(|output| is_root() && output.status.success()) else {
            eprintln!("skipped: no loop device can be attached here");
            return None;
        };
        let node = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        Some(Self { node, backing, _folder: folder })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["--detach", &self.node.to_string_lossy()]);
    }
}

#[test]
fn an_error_of_the_device_is_named_on_every_path() {
    let bytes = 4 << 20;
    for (name, spec) in available(&Ground::new(1, 8192)) {
        let Some(device) = Loop::attach(bytes) else { return };
        let mut ground = Ground::new(1, 4096);
        ground.segments[0] = Segment { path: device.node.clone(), kind: SegmentKind::BlockDevice, base: 0, bytes };
        let mut path = ground.open(&spec, DurabilityKind::None, false).unwrap();
        path.operate(request(false, 0, BLOCK, 0)).unwrap();
        assert!(ground.memory(0, 4096) == fs::read(&device.backing).unwrap()[..4096], "{name} reads the device");
        File::options().write(true).open(&device.backing).unwrap().set_len(4096).unwrap();
        let error = path.operate(request(false, 3 << 20, BLOCK, 0)).expect_err(&name);
        assert_eq!(error.raw_os_error(), Some(libc::EIO), "{name}: {error}");
        let sentence = sentence(&ground, false, error);
        assert!(sentence.contains("/dev/loop") && sentence.contains("dmesg"), "{name}: {sentence}");
    }
}

#[test]
fn a_fault_elsewhere_still_ends_a_process() {
    // In a process of its own: this test binary again, asked to touch a mapping that no path knows.
    if std::env::var_os("ASSAY_TEST_TOUCH").is_some() {
        touch_a_lost_page();
    }
    let this = std::env::current_exe().unwrap();
    let output = Command::new(this)
        .args(["--exact", "faults::a_fault_elsewhere_still_ends_a_process", "--test-threads=1"])
        .env("ASSAY_TEST_TOUCH", "1")
        .output()
        .unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
    assert_eq!(signal, Some(libc::SIGBUS), "{output:?}");
}

fn touch_a_lost_page() {
    let ground = Ground::new(1, 64 << 10);
    let _watching = ground.open(&PathSpec::plain(PathKind::Mmap), DurabilityKind::None, false).unwrap();
    let file = File::options().read(true).write(true).open(&ground.segments[0].path).unwrap();
    let flags = rustix::mm::MapFlags::SHARED;
    // SAFETY: a fresh mapping at an address that the kernel chooses.
    let at = unsafe { rustix::mm::mmap(std::ptr::null_mut(), 65536, rustix::mm::ProtFlags::READ, flags, &file, 0) };
    file.set_len(0).unwrap();
    fs::remove_dir_all(ground.folder.path()).unwrap();
    // SAFETY: the address is mapped; that its page is gone is the point.
    std::hint::black_box(unsafe { at.unwrap().cast::<u8>().read_volatile() });
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let mut ground = Ground::new(1, 8192);
    ground.segments[0].path = Path::new("/nowhere/data").to_owned();
    for (name, spec) in crate::ground::moving() {
        let error = ground.open(&spec, DurabilityKind::None, false).expect_err(&name);
        assert!(error.to_string().contains("/nowhere/data"), "{name}: {error}");
    }
}
