//! What the guards' tests stand on: made-up machines, loop devices, device nodes.
#![allow(dead_code, reason = "the tests of the crate's folder use more of it")]

#[path = "../../../tests/targets/support/loops.rs"]
mod loops;
#[path = "../../../tests/targets/support/machine.rs"]
mod machine;

use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::NamedTempFile;

use super::super::{InUse, PathError};
use crate::facts::System;

pub(in crate::guard) use loops::{Loop, run};
pub(in crate::guard) use machine::Machine;

/// An image of a device: 4 MiB without a signature.
pub(in crate::guard) fn image() -> NamedTempFile {
    let image = NamedTempFile::new().unwrap();
    image.as_file().set_len(4 << 20).unwrap();
    image
}

/// Makes a node of a device; false (with a reason) where this user may not.
pub(in crate::guard) fn node(at: &Path, kind: FileType, major: u32, minor: u32) -> bool {
    let made = mknodat(CWD, at, kind, Mode::from_raw_mode(0o600), rustix::fs::makedev(major, minor));
    made.inspect_err(|error| eprintln!("skipped: a device node cannot be made: {error}")).is_ok()
}

/// Reasons and fixes.
pub(in crate::guard) fn told(found: &[InUse]) -> Vec<(&str, &str)> {
    found.iter().map(|one| (one.reason.as_str(), one.fix.as_str())).collect()
}

/// Reason and fix of a refusal.
#[track_caller]
pub(in crate::guard) fn refusal<T>(answer: Result<T, PathError>) -> (String, String) {
    match answer {
        Err(PathError::Refused { reason, fix, .. }) => (reason, fix),
        Err(error) => panic!("it was not refused, it failed: {error}"),
        Ok(_) => panic!("it was not refused"),
    }
}
