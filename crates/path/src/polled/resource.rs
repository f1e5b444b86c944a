//! Registers of a PCI function, mapped; and its right to read and write memory.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    ptr::{self, NonNull},
};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use super::{
    registers::Registers,
    vfio::{Region, read_half},
};

/// The command register in the configuration space.
pub(super) const COMMAND: u64 = 4;
/// The function answers to reads and writes of its registers.
const MEMORY_SPACE: u16 = 1 << 1;
/// The function may read and write memory.
pub(super) const BUS_MASTER: u16 = 1 << 2;
/// Bytes of registers that are mapped at most: enough for 64 Ki queues at the usual distance of doorbells.
const BYTES_AT_MOST: u64 = 1 << 20;

/// Registers in the address space of this process.
#[derive(Debug)]
pub(super) struct Mapped {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is owned; its registers are accessed one at a time.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps the region of a file.
    pub fn new(file: &File, region: Region) -> io::Result<Self> {
        let bytes = region.bytes.min(BYTES_AT_MOST) as usize;
        if bytes < 2 * 4096 {
            return Err(io::Error::from_raw_os_error(libc::ENXIO));
        }
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let start = unsafe { mmap(ptr::null_mut(), bytes, prot, MapFlags::SHARED, file, region.offset)? };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let mapped = Self { start, bytes };
        // A process that is split off, as the guardian of another drive, would keep the device open with a copy.
        // SAFETY: the mapping is ours.
        unsafe { madvise(start.as_ptr().cast(), bytes, Advice::LinuxDontFork)? };
        Ok(mapped)
    }

    /// The registers; they must not be used after this is dropped.
    pub fn registers(&self) -> Registers {
        Registers::new(self.start, self.bytes)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Lets a function read and write memory, or not. `at` is the offset of its configuration space in the file.
pub(super) fn set_master(file: &File, at: u64, on: bool) -> io::Result<()> {
    let command = read_half(file, at + COMMAND)?;
    let wanted = if on { command | MEMORY_SPACE | BUS_MASTER } else { command & !BUS_MASTER };
    if wanted != command {
        file.write_all_at(&wanted.to_le_bytes(), at + COMMAND)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn mastering_changes_its_own_bits_alone() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0, 0, 0, 0, 0x01, 0x04]).unwrap();
        set_master(&file, 0, true).unwrap();
        assert_eq!(read_half(&file, 4).unwrap(), 0x0407);
        set_master(&file, 0, false).unwrap();
        assert_eq!(read_half(&file, 4).unwrap(), 0x0403);
    }

    #[test]
    fn a_process_that_is_split_off_does_not_keep_a_device_open() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let mapped = Mapped::new(&file, Region { offset: 0, bytes: 8192 }).unwrap();
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let start = format!("{:x}-", mapped.start.as_ptr() as usize);
        let own = maps.split_once(&start).unwrap().1;
        let flags = own.lines().find(|line| line.starts_with("VmFlags:")).unwrap();
        assert!(flags.split_whitespace().any(|flag| flag == "dc"), "do not copy on fork: {flags}");
    }

    #[test]
    fn a_region_too_small_for_doorbells_is_refused() {
        let file = tempfile::tempfile().unwrap();
        assert!(Mapped::new(&file, Region { offset: 0, bytes: 4096 }).is_err());
    }
}
