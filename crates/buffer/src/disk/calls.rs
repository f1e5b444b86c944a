//! Blocking calls on the files and devices of a drive.

use std::{fs::File, sync::Arc};

use assay_path::{Blocking, Pread};
use rustix::io::Errno;

use super::{Calls, Memory, lane::errno, striping::Striping};

/// The calls of a [`super::Drive`].
pub(super) struct DriveCalls {
    path: Pread,
    files: Arc<[File]>,
    striping: Striping,
    bytes: u64,
    /// Held as long as the path has its address.
    memory: Arc<Memory>,
}

// SAFETY: the path has descriptors of its own and the address of the memory, which is held here and may be used by any
// thread; whoever calls answers for the bytes.
unsafe impl Send for DriveCalls {}

impl DriveCalls {
    pub fn new(path: Pread, files: &Arc<[File]>, (striping, bytes): (Striping, u64), memory: &Arc<Memory>) -> Self {
        Self { path, files: Arc::clone(files), striping, bytes, memory: Arc::clone(memory) }
    }
}

impl Calls for DriveCalls {
    unsafe fn write(&mut self, offset: u64, memory: usize, bytes: u32) -> Result<(), Errno> {
        let inside = |start: u64, most: u64| start.checked_add(u64::from(bytes)).is_some_and(|end| end <= most);
        if !inside(offset, self.bytes) || !inside(memory as u64, self.memory.bytes() as u64) {
            return Err(Errno::INVAL);
        }
        let mut result = Ok(());
        self.striping.parts(offset, memory, bytes, |part| {
            if result.is_ok() {
                result =
                    self.path.write(part.member, part.offset, part.bytes, part.memory).map_err(|error| errno(&error));
            }
        });
        result
    }

    fn flush(&mut self) -> Result<(), Errno> {
        // All of them: other queues may have written to any.
        self.files.iter().try_for_each(rustix::fs::fdatasync)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Access, Action, Disk, DiskRequest, Drive, carry_out};

    #[test]
    fn what_calls_have_written_a_queue_reads_from_each_member() {
        let folder = tempfile::tempdir().unwrap();
        for members in [1, 3] {
            let paths: Vec<_> = (0..members).map(|member| folder.path().join(format!("{members}-{member}"))).collect();
            let access = Access { stripe_unit_bytes: 64 << 10, ..Access::default() };
            let drive = Drive::create(&paths, 1 << 20, access).unwrap();
            let memory = Arc::new(Memory::new(512 << 10).unwrap());
            // SAFETY: nobody else has the memory yet.
            let bytes = unsafe { std::slice::from_raw_parts_mut(memory.start(), 256 << 10) };
            bytes.iter_mut().zip(0_u32..).for_each(|(byte, at)| *byte = (at >> 8) as u8 | 1);
            let mut calls = drive.calls(&memory).unwrap().unwrap();
            // SAFETY: nobody writes the memory, and nothing else is in flight.
            unsafe {
                calls.write(4096, 0, 256 << 10).unwrap();
                calls.flush().unwrap();
                assert_eq!(calls.write(drive.bytes() - 4096, 0, 8192), Err(Errno::INVAL));
                assert_eq!(calls.write(0, 508 << 10, 8192), Err(Errno::INVAL));
                let read =
                    DiskRequest { action: Action::Read, offset: 4096, memory: 256 << 10, bytes: 256 << 10, token: 0 };
                carry_out(&mut *drive.queue(1, &memory).unwrap(), &drive, read).unwrap();
            }
            // SAFETY: nothing is in flight.
            let both = unsafe { std::slice::from_raw_parts(memory.start(), 512 << 10) };
            assert!(both[..256 << 10] == both[256 << 10..], "{members} members");
        }
    }
}
