//! What a status of a command means as an `errno`.

/// The `errno` of a status field (status code, type, and the bits above; without the phase bit); 0 where it is success.
///
/// As the kernel's `nvme_error_status` followed by `blk_status_to_errno`, but for errors of the medium: there they are
/// `ENODATA`, which here means that a file ends early; they are `EIO`.
#[cold]
pub(super) fn errno(status: u16) -> i32 {
    match status & 0x7ff {
        0x000 => 0,
        // Aborted by request, by the end of its queue, or with its partner.
        0x007..=0x00a => libc::ECANCELED,
        // Opcode, field or namespace that the controller does not have; attributes that conflict.
        0x001 | 0x002 | 0x00b | 0x180 => libc::EOPNOTSUPP,
        // Namespace or range write-protected; a read-only range.
        0x020 | 0x182 => libc::EROFS,
        // Beyond the end; not now.
        0x021 | 0x080 | 0x082 => libc::EREMOTEIO,
        0x081 => libc::ENOSPC,
        0x083 => libc::EBADE,
        // Protection information.
        0x181 | 0x282..=0x284 => libc::EILSEQ,
        0x286 => libc::EACCES,
        // The way to the namespace.
        0x300..=0x3ff => libc::ENOLINK,
        _ => libc::EIO,
    }
}

/// A status in words, for the few commands that set a controller up.
pub(super) fn words(status: u16) -> String {
    format!("status type {} code {:#04x}", (status >> 8) & 7, status & 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_no_error_and_everything_else_is_one() {
        assert_eq!(errno(0), 0);
        assert_eq!(errno(1 << 14), 0, "the bit \"do not retry\" alone says nothing");
        for status in 1..0x800 {
            assert!(errno(status) > 0, "{status:#x}");
        }
    }

    #[test]
    fn the_medium_fails_with_eio_and_a_full_device_with_enospc() {
        assert_eq!((errno(0x280), errno(0x281), errno(0x081)), (libc::EIO, libc::EIO, libc::ENOSPC));
        assert_eq!((errno(0x4281), errno(0x002)), (libc::EIO, libc::EOPNOTSUPP));
        assert_eq!(words(0x281), "status type 2 code 0x81");
    }
}
