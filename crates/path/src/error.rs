//! Why a target or a path cannot be used.

use std::{io, path::PathBuf};

use assay_own::OwnError;
use thiserror::Error;

/// What went wrong, and what to do. `exit_code` maps it to the process's exit code.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PathError {
    /// A system call failed on a file or device.
    #[error("{action} {path} failed: {source}", path = path.display())]
    Io {
        /// What was being done ("opening", "writing").
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The target must not be touched.
    #[error("{path} is not touched: {reason}", path = path.display())]
    Refused {
        /// The target.
        path: PathBuf,
        /// What was seen.
        reason: String,
        /// What to do.
        fix: String,
    },
    /// The machine cannot do it.
    #[error("{what} is not possible here: {reason}")]
    Unavailable {
        /// Path or feature.
        what: String,
        /// What was seen.
        reason: String,
        /// What would make it possible.
        fix: String,
    },
    /// Stopped by the user.
    #[error("interrupted while {action}")]
    Interrupted {
        /// What was being done.
        action: &'static str,
    },
}

impl PathError {
    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::Io { source, path, .. } => io_fix(source, path),
            Self::Refused { fix, .. } | Self::Unavailable { fix, .. } => fix.clone(),
            Self::Interrupted { .. } => "run it again with --resume".to_owned(),
        }
    }

    /// 1 failed, 3 interrupted, 4 not possible on this machine.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Io { .. } | Self::Refused { .. } => 1,
            Self::Interrupted { .. } => 3,
            Self::Unavailable { .. } => 4,
        }
    }
}

impl From<OwnError> for PathError {
    fn from(error: OwnError) -> Self {
        match error {
            OwnError::Io { action, path, source } => Self::Io { action, path, source },
            OwnError::Refused { path, reason, fix } => Self::Refused { path, reason, fix },
            OwnError::NotPossible { reason, fix } => {
                Self::Unavailable { what: "a control group of its own".to_owned(), reason, fix }
            }
            other => {
                let reason = other.to_string();
                Self::Refused { path: PathBuf::new(), reason, fix: other.fix() }
            }
        }
    }
}

fn io_fix(error: &io::Error, path: &std::path::Path) -> String {
    let at = path.display();
    match error.raw_os_error() {
        Some(libc::ENOSPC) => format!("free space on the file system of {at}, or make the data set smaller"),
        Some(libc::EDQUOT) => format!("raise the quota on {at}, or make the data set smaller"),
        Some(libc::EROFS) => format!("{at} is on a read-only file system; name a writable folder with --on"),
        Some(libc::EACCES | libc::EPERM) => format!("give this user the right to use {at}, or name another target"),
        Some(libc::ENOENT) => format!("{at} does not exist (any more); check the name, or that nobody removes it"),
        Some(libc::EIO) => format!("the device under {at} reports an error: look at dmesg and at its SMART log"),
        Some(libc::ENODATA) => {
            format!(
                "{at} ends before its data set does: it was cut short while in use; see that nobody else changes it"
            )
        }
        Some(libc::EINVAL) => format!(
            "{at} does not take this request; past the page cache a size must be whole blocks of it, and one NVMe \
             command moves at most queue/max_hw_sectors_kb"
        ),
        Some(libc::EOPNOTSUPP) => format!(
            "{at} does not know this kind of request; polling (iopoll) needs a drive with poll queues \
             (nvme.poll_queues=4), bare or with ext4 or XFS"
        ),
        Some(libc::EMFILE | libc::ENFILE) => "raise the limit of open files (ulimit -n)".to_owned(),
        Some(libc::ENOMEM | libc::EAGAIN) => "raise the limits of locked memory and asynchronous I/O".to_owned(),
        _ => format!("look at dmesg for what happened to {at}"),
    }
}
