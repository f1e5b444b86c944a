//! Loop devices.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Runs a program; its standard output, or none where it fails or is missing.
pub fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
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
