//! Why something is not made, not taken over or not removed.

use std::{
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

/// What went wrong, and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OwnError {
    /// A system call failed.
    #[error("{action} {path} failed: {source}", path = path.display())]
    Io {
        /// What was being done ("making", "removing").
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Somebody is at it.
    #[error("{path} is not touched: somebody is at what it marks", path = path.display())]
    Busy {
        /// The mark.
        path: PathBuf,
    },
    /// Not on this machine, or not for this user.
    #[error("{reason}")]
    NotPossible {
        /// What was seen.
        reason: String,
        /// What to do.
        fix: String,
    },
    /// It is not this user's to touch, or somebody uses it.
    #[error("{path} is not touched: {reason}", path = path.display())]
    Refused {
        /// What is not touched.
        path: PathBuf,
        /// What was seen.
        reason: String,
        /// What to do.
        fix: String,
    },
}

impl OwnError {
    pub(crate) fn refused(path: &Path, reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), reason: reason.into(), fix: fix.into() }
    }

    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::Refused { fix, .. } | Self::NotPossible { fix, .. } => fix.clone(),
            Self::Busy { .. } => "wait until that has ended, or name another folder".to_owned(),
            Self::Io { path, source, .. } => match source.raw_os_error() {
                Some(libc::ENOSPC | libc::EDQUOT) => {
                    format!("free space (or raise the quota) where {} lies, then run it again", path.display())
                }
                Some(libc::EROFS) => {
                    format!("{} is on a read-only file system; name a writable folder", path.display())
                }
                Some(libc::EACCES | libc::EPERM) => {
                    format!("give this user the right to use {}, or name another folder", path.display())
                }
                Some(libc::ENOENT) => format!("make {} first, or check its name", path.display()),
                _ => format!("look at {} and at dmesg, then run it again", path.display()),
            },
        }
    }
}

/// For `map_err`: names what was being done, and on what.
pub(crate) fn failed<E: Into<io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> OwnError {
    let path = path.to_owned();
    move |source| OwnError::Io { action, path, source: source.into() }
}

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,:@%".contains(letter);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
