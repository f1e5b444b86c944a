//! Names and times of a run.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An id that no other run has: time, process and a random part.
pub fn run_id() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let random = RandomState::new().build_hasher().finish();
    format!("{nanoseconds:016x}-{:06x}-{:08x}", std::process::id(), random as u32)
}

/// The moment `ago` before now, RFC 3339, UTC, milliseconds.
pub fn rfc3339(ago: Duration) -> String {
    humantime::format_rfc3339_millis(SystemTime::now() - ago).to_string()
}

/// Name of an error number, as `errno(3)` has it.
pub fn error_name(errno: i32) -> String {
    let known = [
        (libc::EIO, "EIO"),
        (libc::ENOSPC, "ENOSPC"),
        (libc::EDQUOT, "EDQUOT"),
        (libc::EROFS, "EROFS"),
        (libc::EACCES, "EACCES"),
        (libc::EPERM, "EPERM"),
        (libc::EINVAL, "EINVAL"),
        (libc::EAGAIN, "EAGAIN"),
        (libc::EBADF, "EBADF"),
        (libc::ENOENT, "ENOENT"),
        (libc::ENXIO, "ENXIO"),
        (libc::ENODEV, "ENODEV"),
        (libc::ETIMEDOUT, "ETIMEDOUT"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
        (0, "short transfer"),
    ];
    known
        .iter()
        .find(|(number, _)| *number == errno)
        .map_or_else(|| format!("errno {errno}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ() {
        assert_ne!(run_id(), run_id());
    }
}
