//! Where the kernel's file systems are mounted; tests put folders of their own there.

use std::path::PathBuf;

/// Roots of the kernel's file systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// `/`, for `/etc` and the marks that container engines leave.
    pub root: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into(), root: "/".into() }
    }
}
