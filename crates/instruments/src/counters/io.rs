//! The kernel's account of device bytes, per task: `/proc/.../io`.

use std::{fs, path::Path};

/// Bytes that the kernel moved to and from devices for a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoBytes {
    /// Read from devices: counted when a request is made, so a page that was in the page cache does not count.
    pub read: u64,
    /// Written to devices by direct I/O, or dirtied in the page cache by buffered writes and mappings.
    pub written: u64,
    /// Of `written`, dirtied in the page cache and dropped before it reached a device (a truncated file).
    pub cancelled: u64,
}

impl IoBytes {
    /// Reads and parses an `io` file; none where the kernel has no task I/O accounting, or the task has ended.
    pub fn read_from(path: &Path) -> Option<Self> {
        parse_io(&fs::read_to_string(path).ok()?)
    }

    /// What was moved since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            read: self.read.saturating_sub(before.read),
            written: self.written.saturating_sub(before.written),
            cancelled: self.cancelled.saturating_sub(before.cancelled),
        }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            read: self.read.saturating_add(other.read),
            written: self.written.saturating_add(other.written),
            cancelled: self.cancelled.saturating_add(other.cancelled),
        }
    }
}

/// Parses the text of an `io` file; none where `read_bytes` or `write_bytes` is missing or not a number.
pub fn parse_io(text: &str) -> Option<IoBytes> {
    let field = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().parse().ok()
    };
    Some(IoBytes {
        read: field("read_bytes")?,
        written: field("write_bytes")?,
        cancelled: field("cancelled_write_bytes").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "rchar: 6976\nwchar: 0\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 8192\n\
                        cancelled_write_bytes: 512\n";

    #[test]
    fn reads_the_device_bytes_and_not_the_bytes_of_system_calls() {
        assert_eq!(parse_io(TEXT), Some(IoBytes { read: 4096, written: 8192, cancelled: 512 }));
    }

    #[test]
    fn a_kernel_without_accounting_gives_none() {
        assert_eq!(parse_io("rchar: 1\nwchar: 2\n"), None);
        assert_eq!(IoBytes::read_from(Path::new("/nonexistent/io")), None);
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(text in "\\PC{0,200}", lines in "(read_bytes|write_bytes)?:?[ 0-9a-z\n-]{0,60}") {
            let _ = parse_io(&text);
            let _ = parse_io(&lines);
        }

        #[test]
        fn a_difference_never_wraps(a: u64, b: u64) {
            let one = IoBytes { read: a, written: b, cancelled: 0 };
            let two = IoBytes { read: b, written: a, cancelled: 0 };
            prop_assert_eq!(one.since(two).read, a.saturating_sub(b));
        }
    }
}
