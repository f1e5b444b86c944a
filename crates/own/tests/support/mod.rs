//! Folders, other users and other processes for the tests; what they make is gone in the end.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::{
    io::{BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    path::Path,
    process::{self, Command, Stdio},
};

use tempfile::TempDir;

/// A user that owns nothing: `nobody`, as most systems number it.
pub const STRANGER: u32 = 65534;
const ORDERS: &str = "ASSAY_TEST_ORDERS";

/// A folder on the disk that holds the build, not in memory.
pub fn disk_folder() -> TempDir {
    tempfile::Builder::new().prefix("own").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Whether this process may act as another user; says so where it may not.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: only root can act as another user");
    }
    root
}

/// What this process was told to do, if it is a child of the test of this name.
pub fn orders(name: &str) -> Option<String> {
    std::env::var(ORDERS).ok()?.strip_prefix(&format!("{name}=")).map(str::to_owned)
}

/// Tells whoever started this process, and waits to be killed.
pub fn ready_and_wait() {
    eprintln!("ready");
    std::thread::sleep(std::time::Duration::from_secs(120));
}

/// Runs a shell's line as the stranger.
pub fn as_stranger(line: &str) {
    let done = Command::new("sh").args(["-c", line]).uid(STRANGER).gid(STRANGER).current_dir("/").status().unwrap();
    assert!(done.success(), "{line}");
}

/// This test program again, at one test with orders.
pub fn again(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(ORDERS, format!("{name}={}", folder.display()));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Another process; killed when dropped.
pub struct Child(process::Child);

impl Child {
    /// Starts it and waits until it says that it is ready.
    pub fn start(name: &str, folder: &Path) -> Self {
        Self::of(again(name, folder))
    }

    /// The same of a command that was made ready.
    pub fn of(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        while lines.read_line(&mut said).unwrap() > 0 {
            if said.ends_with("ready\n") {
                return Self(child);
            }
        }
        let _ = lines.read_to_string(&mut said);
        let ended = child.wait();
        panic!("the child ended early ({ended:?}): {said}");
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
