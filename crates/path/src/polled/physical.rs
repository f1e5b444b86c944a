//! Physical addresses, for machines without an IOMMU.
//!
//! A page must neither be swapped out nor moved while a device may write to it, and it must not be given to anybody else
//! before the device has stopped, however this process ends. Locking memory grants none of these: the kernel may still
//! move locked pages. So the pages are registered as buffers of a ring, which pins them for good; and the guardian holds
//! the ring too, so that the pins outlive a killed process until the device is quiet.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd, RawFd},
        unix::fs::FileExt,
    },
    sync::Mutex,
};

use io_uring::IoUring;

/// Bytes of a page of the device.
pub(super) const PAGE: usize = 4096;
/// Ranges that can be pinned at once.
const RANGES_AT_MOST: u32 = 16_384;
/// Length of a range at most: the kernel registers 1 GiB.
const RANGE_BYTES: usize = 1 << 30;
/// A page is present.
const PRESENT: u64 = 1 << 63;
/// Bits of the page's number.
const FRAME: u64 = (1 << 55) - 1;

/// Pinned pages of this process.
#[derive(Debug)]
pub(super) struct Pins {
    held: Mutex<Held>,
}

struct Held {
    ring: IoUring,
    free: Vec<u32>,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Held").field("free", &self.free.len()).finish_non_exhaustive()
    }
}

impl Pins {
    /// No pins yet.
    ///
    /// # Errors
    /// Where the kernel has no ring, or it is forbidden.
    pub fn new() -> io::Result<Self> {
        let ring = IoUring::new(1)?;
        ring.submitter().register_buffers_sparse(RANGES_AT_MOST)?;
        Ok(Self { held: Mutex::new(Held { ring, free: (0..RANGES_AT_MOST).rev().collect() }) })
    }

    /// What the guardian holds on to, so that the pins outlive this process.
    pub fn descriptor(&self) -> RawFd {
        self.lock().ring.as_raw_fd()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Pins whole pages; returns their physical addresses and the numbers of the pins.
    pub fn pin(&self, start: *mut u8, bytes: usize) -> io::Result<(Box<[u64]>, Vec<u32>)> {
        let mut pins = Vec::new();
        for offset in (0..bytes).step_by(RANGE_BYTES) {
            let length = RANGE_BYTES.min(bytes - offset);
            match self.pin_one(start.wrapping_add(offset), length) {
                Ok(pin) => pins.push(pin),
                Err(error) => {
                    self.release(&pins);
                    return Err(error);
                }
            }
        }
        match addresses(start as u64, bytes) {
            Ok(addresses) => Ok((addresses, pins)),
            Err(error) => {
                self.release(&pins);
                Err(error)
            }
        }
    }

    fn pin_one(&self, start: *mut u8, bytes: usize) -> io::Result<u32> {
        let mut held = self.lock();
        let pin = held.free.pop().ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))?;
        let range = libc::iovec { iov_base: start.cast(), iov_len: bytes };
        // SAFETY: the caller keeps the range mapped until it is released.
        let answer = unsafe { held.ring.submitter().register_buffers_update(pin, &[range], None) };
        if let Err(error) = answer {
            held.free.push(pin);
            return Err(error);
        }
        Ok(pin)
    }

    /// Lets pages go.
    pub fn release(&self, pins: &[u32]) {
        let mut held = self.lock();
        for pin in pins {
            let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
            // SAFETY: an empty range has no memory.
            let _ = unsafe { held.ring.submitter().register_buffers_update(*pin, &[nothing], None) };
            held.free.push(*pin);
        }
    }
}

/// Physical addresses of pages that are pinned: `Documentation/admin-guide/mm/pagemap.rst`.
fn addresses(start: u64, bytes: usize) -> io::Result<Box<[u64]>> {
    let mut entries = vec![0; bytes / PAGE * 8];
    File::open("/proc/self/pagemap")?.read_exact_at(&mut entries, start / PAGE as u64 * 8)?;
    entries.chunks_exact(8).map(address_of).collect()
}

/// Without the right to see them, the kernel shows every page at 0.
fn address_of(entry: &[u8]) -> io::Result<u64> {
    let entry = u64::from_ne_bytes(entry.try_into().unwrap_or_default());
    match entry & FRAME {
        0 => Err(io::Error::from_raw_os_error(libc::EPERM)),
        frame if entry & PRESENT != 0 => Ok(frame * PAGE as u64),
        _ => Err(io::Error::from_raw_os_error(libc::EFAULT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arena;

    #[test]
    fn an_entry_of_the_page_map_is_read() {
        assert_eq!(address_of(&(PRESENT | 5).to_ne_bytes()).unwrap(), 5 * 4096);
        assert_eq!(address_of(&PRESENT.to_ne_bytes()).unwrap_err().raw_os_error(), Some(libc::EPERM));
        assert_eq!(address_of(&5_u64.to_ne_bytes()).unwrap_err().raw_os_error(), Some(libc::EFAULT));
    }

    #[test]
    fn pinned_pages_have_addresses_that_differ() {
        let pins = match Pins::new() {
            Ok(pins) => pins,
            Err(error) => return println!("skipped: no ring here ({error})"),
        };
        let mut arena = Arena::new(64 * 4096).unwrap();
        arena.fill_random(1);
        let (addresses, held) = match pins.pin(arena.start(), arena.len()) {
            Ok(found) => found,
            Err(error) => return println!("skipped: pages cannot be pinned and looked up here ({error})"),
        };
        let mut unique = addresses.to_vec();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!((unique.len(), held.len()), (64, 1));
        pins.release(&held);
        assert_eq!(pins.lock().free.len(), RANGES_AT_MOST as usize);
    }
}
