//! Operations that failed.

use std::{collections::BTreeMap, io};

/// A worker that fails this often gives up: the target is broken, not unlucky.
const FAILURES_AT_MOST: u64 = 100;

/// The failure that ended a worker.
#[derive(Debug)]
pub struct Fault {
    /// Segment concerned.
    pub segment: u32,
    /// It was a write or a flush.
    pub write: bool,
    /// The kernel's answer.
    pub source: io::Error,
}

/// What failed, by error number.
#[derive(Debug, Default)]
pub struct Faults {
    /// Failures by `errno`.
    pub by_errno: BTreeMap<i32, u64>,
    total: u64,
    /// The failure that ended the worker.
    pub fatal: Option<Fault>,
}

impl Faults {
    /// Notes a failure; true where the worker must stop.
    #[cold]
    pub fn note(&mut self, segment: u32, write: bool, source: io::Error) -> bool {
        let errno = source.raw_os_error().unwrap_or(0);
        *self.by_errno.entry(errno).or_default() += 1;
        self.total += 1;
        let hopeless = matches!(
            errno,
            libc::ENOSPC | libc::EDQUOT | libc::EROFS | libc::EBADF | libc::ENOENT | libc::EINVAL | libc::EOPNOTSUPP
        ) || source.kind() == io::ErrorKind::UnexpectedEof;
        if hopeless || self.total >= FAILURES_AT_MOST {
            self.fatal.get_or_insert(Fault { segment, write, source });
        }
        self.fatal.is_some()
    }
}
