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
    /// The first failure, in the kernel's words.
    pub first: Option<String>,
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
        self.first.get_or_insert_with(|| source.to_string());
        let hopeless = matches!(
            errno,
            libc::ENOSPC | libc::EDQUOT | libc::EROFS | libc::EBADF | libc::ENOENT | libc::EINVAL | libc::EOPNOTSUPP
        ) || source.kind() == io::ErrorKind::UnexpectedEof;
        if hopeless || self.total >= FAILURES_AT_MOST {
            self.fatal.get_or_insert(Fault { segment, write, source });
        }
        self.fatal.is_some()
    }

    /// Notes a failure after which the worker must not go on.
    #[cold]
    pub fn end_with(&mut self, segment: u32, write: bool, source: io::Error) {
        *self.by_errno.entry(source.raw_os_error().unwrap_or(0)).or_default() += 1;
        self.fatal.get_or_insert(Fault { segment, write, source });
    }

    /// Forgets the counts of the warm-up; how much patience is left stays as it is.
    pub fn window_opens(&mut self) {
        self.by_errno.clear();
        self.first = None;
    }
}
