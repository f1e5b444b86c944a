//! Gives what lies in data sets of a run back to the drive, before they are written anew.
//!
//! Of files only those that Assay made are removed, and the file system tells the drive, where it is mounted to do so. A
//! device is told of the ranges that the run was allowed to destroy, and of nothing else.

use std::{
    fs::{File, OpenOptions},
    io,
    os::fd::AsFd,
    path::Path,
};

use crate::{PathError, Segment, discard};

/// Lets a file system finish what was removed: it tells the drive when its journal is written.
pub(super) fn settle(folder: &Path) -> Result<(), PathError> {
    let failed = |source: io::Error| PathError::Io { action: "syncing", path: folder.to_owned(), source };
    let open = File::open(folder).map_err(failed)?;
    rustix::fs::syncfs(&open).map_err(|errno| failed(errno.into()))
}

/// Discards a range of a device.
pub(super) fn device_range(segment: &Segment) -> Result<(), PathError> {
    let path = &segment.path;
    let failed = |source: io::Error| PathError::Io { action: "discarding a range of", path: path.clone(), source };
    let device = OpenOptions::new().write(true).open(path).map_err(failed)?;
    let Err(source) = discard::range(device.as_fd(), segment.base, segment.bytes) else { return Ok(()) };
    if source.raw_os_error() != Some(libc::EOPNOTSUPP) {
        return Err(failed(source));
    }
    Err(PathError::Unavailable {
        what: format!("trimming {}", path.display()),
        reason: "the device takes no discards".to_owned(),
        fix: "leave trim out: this device knows nothing of data that is not needed any more".to_owned(),
    })
}
