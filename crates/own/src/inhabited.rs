//! Processes that work in a folder: a server whose owner was killed puts itself in order before it ends, and needs its files.

use std::{fs, path::Path};

/// Whether some process stands in the folder, or beneath it. Those of users whom this one may not look at are not seen.
pub fn is_inhabited(folder: &Path) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    processes
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit))
        .any(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|at| at.starts_with(folder)))
}
