//! A shared mapping of a segment, watched for pages that get lost.

use std::{ffi::c_void, io, os::fd::BorrowedFd, ptr};

use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

use super::sigbus::Watched;

/// A mapping, unmapped on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut u8,
    bytes: usize,
    /// Bytes between the mapping's start, which is on a page boundary, and the segment's.
    lead: usize,
    watched: &'static Watched,
}

impl Mapping {
    /// Maps `bytes` at `base` of a file, shared; to write as well where `writes`.
    pub fn new(fd: BorrowedFd<'_>, base: u64, bytes: u64, writes: bool) -> io::Result<Self> {
        let page_bytes = rustix::param::page_size() as u64;
        let lead = (base % page_bytes) as usize;
        let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)? + lead;
        let protection = if writes { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let start =
            unsafe { mmap(ptr::null_mut(), length, protection, MapFlags::SHARED, fd, base - lead as u64)? }.cast();
        match Watched::watch(start as usize, length) {
            Ok(watched) => Ok(Self { start, bytes: length, lead, watched }),
            Err(error) => {
                // SAFETY: exactly what was just mapped.
                let _ = unsafe { munmap(start.cast(), length) };
                Err(error)
            }
        }
    }

    /// Address of a byte of the segment. The caller has checked that `offset` lies in the segment.
    #[inline(always)]
    pub fn at(&self, offset: u64) -> *mut u8 {
        // SAFETY: `lead + offset` lies inside the mapping.
        unsafe { self.start.add(self.lead + offset as usize) }
    }

    /// Bytes between the mapping's first page and the segment.
    #[inline(always)]
    pub fn lead(&self) -> u64 {
        self.lead as u64
    }

    /// A page could not be filled; what was copied since is not the file's.
    #[inline(always)]
    pub fn is_lost(&self) -> bool {
        self.watched.is_lost()
    }

    /// Writes the pages from `start` to `end`, in bytes of the mapping, and waits until they are durable.
    pub fn sync(&self, start: u64, end: u64) -> io::Result<()> {
        let end = (end as usize).min(self.bytes);
        // SAFETY: the range lies inside the mapping and starts on a page.
        let first = unsafe { self.start.add(start as usize) }.cast::<c_void>();
        // SAFETY: as above.
        unsafe { msync(first, end - start as usize, MsyncFlags::SYNC)? };
        Ok(())
    }

    /// Hints how it will be used.
    pub fn advise(&self, advice: Advice) -> io::Result<()> {
        // SAFETY: the range is ours, and the hints in use change no content.
        unsafe { madvise(self.start.cast(), self.bytes, advice)? };
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.watched.release();
        // SAFETY: exactly what was mapped; nothing points into it any more.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}
