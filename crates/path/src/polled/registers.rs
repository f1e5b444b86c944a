//! The registers of a controller: NVM Express Base Specification 2.0, section 3.1.

use std::{ptr::NonNull, sync::atomic};

/// Controller capabilities, 64 bits.
pub(super) const CAP: usize = 0x00;
/// Interrupt mask set.
pub(super) const INTMS: usize = 0x0c;
/// Controller configuration.
pub(super) const CC: usize = 0x14;
/// Controller status.
pub(super) const CSTS: usize = 0x1c;
/// Admin queue attributes.
pub(super) const AQA: usize = 0x24;
/// Admin submission queue base, 64 bits.
pub(super) const ASQ: usize = 0x28;
/// Admin completion queue base, 64 bits.
pub(super) const ACQ: usize = 0x30;
/// First doorbell.
pub(super) const DOORBELLS: usize = 0x1000;

/// `CC`: enabled, with entries of 64 and 16 bytes, memory pages of 4 KiB, the NVM command set.
pub(super) const CC_ON: u32 = (4 << 20) | (6 << 16) | 1;
/// `CC.EN`.
pub(super) const CC_ENABLE: u32 = 1;
/// `CC.SHN`: normal shutdown.
pub(super) const CC_SHUT_DOWN: u32 = 1 << 14;
/// `CSTS.RDY`.
pub(super) const CSTS_READY: u32 = 1;
/// `CSTS.CFS`: the controller has given up.
pub(super) const CSTS_FATAL: u32 = 1 << 1;
/// `CSTS.SHST`: shutdown complete.
pub(super) const CSTS_SHUT_DOWN: u32 = 2 << 2;
/// Mask of `CSTS.SHST`.
pub(super) const CSTS_SHUTDOWN_MASK: u32 = 3 << 2;
/// What every register reads as when the device is gone.
pub(super) const GONE: u32 = u32::MAX;

/// Registers of a controller, mapped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: registers are read and written with single volatile accesses; whoever makes them sees to it that they stay
// mapped as long as a copy is used.
unsafe impl Send for Registers {}
// SAFETY: as above.
unsafe impl Sync for Registers {}

impl Registers {
    /// Registers of `bytes` at `base`, which is aligned to a page and stays mapped while this or a copy is used.
    pub fn new(base: NonNull<u8>, bytes: usize) -> Self {
        Self { base, bytes }
    }

    fn at(self, offset: usize) -> *mut u32 {
        assert!(offset % 4 == 0 && offset + 4 <= self.bytes, "a register at {offset} of {} bytes", self.bytes);
        // SAFETY: inside the mapping, as asserted.
        unsafe { self.base.as_ptr().add(offset).cast() }
    }

    /// Reads a register.
    pub fn read(self, offset: usize) -> u32 {
        // SAFETY: `at` is mapped and aligned.
        unsafe { self.at(offset).read_volatile() }
    }

    /// Reads a register of 64 bits, as two.
    pub fn read_wide(self, offset: usize) -> u64 {
        u64::from(self.read(offset)) | u64::from(self.read(offset + 4)) << 32
    }

    /// Writes a register.
    pub fn write(self, offset: usize, value: u32) {
        // SAFETY: `at` is mapped and aligned.
        unsafe { self.at(offset).write_volatile(value) };
    }

    /// Writes a register of 64 bits, as two.
    pub fn write_wide(self, offset: usize, value: u64) {
        self.write(offset, value as u32);
        self.write(offset + 4, (value >> 32) as u32);
    }

    /// Doorbells of a queue pair: submission tail and completion head. None where they lie outside the mapping.
    pub fn doorbells(self, queue: u16, stride_bytes: usize) -> Option<[Doorbell; 2]> {
        let first = DOORBELLS + 2 * usize::from(queue) * stride_bytes;
        let second = first + stride_bytes;
        (second + 4 <= self.bytes).then(|| [Doorbell(self.at(first)), Doorbell(self.at(second))])
    }
}

/// A doorbell. It is only written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doorbell(*mut u32);

impl Doorbell {
    /// Everything written to memory before is seen by the device before it sees the value.
    #[inline(always)]
    pub fn ring(self, value: u16) {
        device_sees_memory();
        // SAFETY: made by `Registers`, which stay mapped while the queue lives.
        unsafe { self.0.write_volatile(u32::from(value)) };
    }
}

/// Orders writes to memory before writes to registers.
#[inline(always)]
fn device_sees_memory() {
    atomic::fence(atomic::Ordering::SeqCst);
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier for the outer domain changes no state.
    unsafe {
        std::arch::asm!("dsb st", options(nostack, preserves_flags));
    }
}

/// Orders the read of a phase bit before reads of what it announces.
#[inline(always)]
pub(super) fn memory_follows_device() {
    atomic::fence(atomic::Ordering::Acquire);
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("dmb oshld", options(nostack, preserves_flags));
    }
}

/// What a controller can do, out of its `CAP` register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capabilities(pub u64);

impl Capabilities {
    /// Entries of an I/O queue at most.
    pub fn entries_at_most(self) -> u32 {
        (self.0 & 0xffff) as u32 + 1
    }

    /// Milliseconds that enabling and disabling may take.
    pub fn ready_ms(self) -> u64 {
        ((self.0 >> 24) & 0xff).max(1) * 500
    }

    /// Distance of doorbells, bytes.
    pub fn stride_bytes(self) -> usize {
        4 << ((self.0 >> 32) & 0xf)
    }

    /// It takes memory pages of 4 KiB.
    pub fn has_small_pages(self) -> bool {
        (self.0 >> 48) & 0xf == 0
    }

    /// It has the NVM command set.
    pub fn has_blocks(self) -> bool {
        (self.0 >> 37) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_taken_apart() {
        let all = Capabilities(0x7ff | (0x1e << 24) | (1 << 32) | (1 << 37));
        assert_eq!((all.entries_at_most(), all.ready_ms(), all.stride_bytes()), (2048, 15_000, 8));
        assert!(all.has_small_pages() && all.has_blocks());
        assert!(!Capabilities(1 << 48).has_small_pages() && !Capabilities(0).has_blocks());
        assert_eq!(Capabilities(0).ready_ms(), 500, "a controller that says nothing gets half a second");
    }

    #[test]
    fn doorbells_lie_behind_each_other_and_inside_the_mapping() {
        let mut memory = vec![0_u32; 0x1010 / 4];
        let registers = Registers::new(NonNull::new(memory.as_mut_ptr().cast()).unwrap(), 0x1010);
        let [tail, head] = registers.doorbells(1, 4).unwrap();
        tail.ring(7);
        head.ring(9);
        assert!(registers.doorbells(2, 4).is_none() && registers.doorbells(1, 8).is_none());
        assert_eq!((memory[0x1008 / 4], memory[0x100c / 4]), (7, 9));
    }
}
