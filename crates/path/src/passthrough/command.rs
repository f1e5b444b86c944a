//! NVMe commands as the kernel takes them from a ring.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

/// `NVME_URING_CMD_IO`: `_IOWR('N', 0x80, struct nvme_uring_cmd)` with its 72 bytes.
pub(super) const URING_CMD_IO: u32 = (3 << 30) | (72 << 16) | ((b'N' as u32) << 8) | 0x80;
/// `NVME_IOCTL_IO_CMD`: `_IOWR('N', 0x43, struct nvme_passthru_cmd)` with its 72 bytes.
const IOCTL_IO_CMD: u32 = (3 << 30) | (72 << 16) | ((b'N' as u32) << 8) | 0x43;
/// Bytes of a command in a submission entry.
pub(super) const COMMAND_BYTES: usize = 80;

const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
/// Forced unit access: the write is on the medium before it completes.
const FORCE_UNIT_ACCESS: u32 = 1 << 30;
/// Blocks that one command moves at most.
const BLOCKS_AT_MOST: u64 = 1 << 16;

/// A namespace, as commands name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Namespace {
    /// Namespace id.
    pub id: u32,
    /// Binary logarithm of the logical block's length in bytes.
    pub block_shift: u32,
}

/// A transfer, in bytes of the namespace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub write: bool,
    pub position: u64,
    pub length: u32,
    /// Address of the buffer.
    pub memory: u64,
    pub force_unit_access: bool,
}

impl Namespace {
    /// Encodes a read or a write; none where it does not consist of whole blocks.
    #[inline(always)]
    pub fn transfer(self, transfer: Transfer) -> Option<[u8; COMMAND_BYTES]> {
        let mask = (1_u64 << self.block_shift) - 1;
        let blocks = u64::from(transfer.length) >> self.block_shift;
        let whole = (transfer.position | u64::from(transfer.length)) & mask == 0;
        if !whole || blocks == 0 || blocks > BLOCKS_AT_MOST {
            return None;
        }
        let first = transfer.position >> self.block_shift;
        let force = if transfer.write && transfer.force_unit_access { FORCE_UNIT_ACCESS } else { 0 };
        let mut command = self.command(if transfer.write { WRITE } else { READ });
        put64(&mut command, 24, transfer.memory);
        put32(&mut command, 36, transfer.length);
        put32(&mut command, 40, first as u32);
        put32(&mut command, 44, (first >> 32) as u32);
        put32(&mut command, 48, (blocks as u32 - 1) | force);
        Some(command)
    }

    /// Encodes a flush of the namespace's volatile cache.
    pub fn flush(self) -> [u8; COMMAND_BYTES] {
        self.command(FLUSH)
    }

    #[inline(always)]
    fn command(self, opcode: u8) -> [u8; COMMAND_BYTES] {
        let mut command = [0; COMMAND_BYTES];
        command[0] = opcode;
        put32(&mut command, 4, self.id);
        command
    }
}

/// Empties the volatile cache of a namespace and waits for it: 0, or a negated `errno`.
pub(super) fn flush_blocking(device: &OwnedFd, namespace: Namespace) -> i32 {
    // The kernel's structure for this call has the fields of a command in a ring, with a time limit (0: the driver's) in
    // the place of a reserved word.
    let mut command = namespace.flush();
    // SAFETY: the device is open, and the 72 bytes that the kernel reads and writes lie inside the 80 of `command`.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), IOCTL_IO_CMD as _, command.as_mut_ptr()) };
    match status {
        0 => 0,
        _ if status < 0 => -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
        _ => -libc::EIO,
    }
}

#[inline(always)]
fn put32(command: &mut [u8; COMMAND_BYTES], at: usize, value: u32) {
    command[at..at + 4].copy_from_slice(&value.to_ne_bytes());
}

#[inline(always)]
fn put64(command: &mut [u8; COMMAND_BYTES], at: usize, value: u64) {
    command[at..at + 8].copy_from_slice(&value.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMESPACE: Namespace = Namespace { id: 3, block_shift: 9 };

    fn word(command: &[u8; COMMAND_BYTES], at: usize) -> u32 {
        u32::from_ne_bytes(command[at..at + 4].try_into().unwrap())
    }

    fn transfer(write: bool, position: u64, length: u32) -> Transfer {
        Transfer { write, position, length, memory: 0x1234_5678_9abc_d000, force_unit_access: true }
    }

    #[test]
    fn the_request_codes_are_the_kernels() {
        assert_eq!(URING_CMD_IO, 0xc048_4e80);
        assert_eq!(IOCTL_IO_CMD, 0xc048_4e43);
    }

    #[test]
    fn a_read_names_first_block_and_count_less_one() {
        let command = NAMESPACE.transfer(transfer(false, 4096 + (1 << 45), 4096)).unwrap();
        assert_eq!((command[0], word(&command, 4)), (0x02, 3));
        assert_eq!(u64::from_ne_bytes(command[24..32].try_into().unwrap()), 0x1234_5678_9abc_d000);
        assert_eq!(word(&command, 36), 4096);
        assert_eq!((word(&command, 40), word(&command, 44)), (8, 16));
        assert_eq!(word(&command, 48), 7);
    }

    #[test]
    fn a_durable_write_forces_unit_access_and_a_read_does_not() {
        let write = NAMESPACE.transfer(transfer(true, 0, 512)).unwrap();
        assert_eq!((write[0], word(&write, 48)), (0x01, 1 << 30));
        let plain = Transfer { force_unit_access: false, ..transfer(true, 0, 512) };
        assert_eq!(word(&NAMESPACE.transfer(plain).unwrap(), 48), 0);
        assert_eq!(word(&NAMESPACE.transfer(transfer(false, 0, 512)).unwrap(), 48), 0);
    }

    #[test]
    fn parts_of_blocks_and_too_many_are_refused() {
        assert!(NAMESPACE.transfer(transfer(false, 256, 512)).is_none());
        assert!(NAMESPACE.transfer(transfer(false, 0, 700)).is_none());
        assert!(NAMESPACE.transfer(transfer(false, 0, 0)).is_none());
        assert!(NAMESPACE.transfer(transfer(true, 0, 32 << 20)).is_some());
        assert!(NAMESPACE.transfer(transfer(true, 0, (32 << 20) + 512)).is_none());
        assert!(Namespace { id: 1, block_shift: 12 }.transfer(transfer(false, 512, 4096)).is_none());
    }

    #[test]
    fn a_flush_names_the_namespace_alone() {
        let command = NAMESPACE.flush();
        assert_eq!(word(&command, 4), 3);
        assert!(command.iter().enumerate().all(|(at, byte)| at == 4 || *byte == 0));
    }
}
