//! Telling a device that it need not keep what lies in a range of it.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
};

/// `BLKDISCARD` of linux/fs.h: `_IO(0x12, 119)`.
const BLKDISCARD: u64 = 0x1277;

/// Discards `bytes` from `offset` on, and returns when the device has taken it. One system call.
///
/// # Errors
/// The kernel's answer: `EOPNOTSUPP` where the device takes no discards, `EINVAL` where the range is no whole number of its
/// sectors.
pub fn range(device: BorrowedFd<'_>, offset: u64, bytes: u64) -> io::Result<()> {
    let range = [offset, bytes];
    // SAFETY: the device is open, and the kernel reads two words, which live until the call returns.
    if unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
