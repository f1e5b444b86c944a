//! `mmap`: load and store on a shared mapping of the file; `msync` of just the pages written makes it durable.
//!
//! What the kernel does. The first touch of a page is a page fault: the kernel finds the page in the page cache, or
//! reads it from the device with read-around, and enters it into the page table. A first store is a second fault, on
//! which the file system reserves the block and the page becomes dirty; write-back makes it read-only again, so the
//! next store faults again. Operations that hit a mapped page cost no system call at all, only the copy and the TLB.
//!
//! What databases should know. A fault cannot be queued or given a deadline: the thread waits, whatever else it has to
//! do. Every thread that evicts or writes back pays for TLB shootdowns on all CPUs that run the process. `msync` names a
//! range and does on it what `fdatasync` does: the pages go to the device, then its cache is flushed. A sync of the whole
//! mapping writes every dirty page of the file, those of other threads as well, and measures something else.
//!
//! The kernel keeps account of dirty pages by folio. Where a file was cached in large folios (ext4 since 6.16 does so
//! after large writes and read-ahead), a first store makes the whole folio dirty, and a sync of one page writes up to a
//! mebibyte. A file that was cached page by page, or is mapped with the hint `random` after its cache was dropped, is
//! written page by page; the device's counters tell.
//!
//! The kernel may write a dirty page back at any earlier moment: a store is not held back until the sync. An I/O error, a
//! file that was cut short, and a full file system show as SIGBUS inside the copy; here they become an error of the
//! operation, and of every later one on that segment, because the mapping no longer shows the file.
//!
//! A growing file is made sparse at its full length at open, as mapped logs do; blocks are allocated by page faults.

mod dirty;
mod mapping;
pub(crate) mod sigbus;

use std::{io, ptr};

use assay_record::{Advice, DurabilityKind, Layout};
use rustix::mm::Advice as MapAdvice;

pub use self::dirty::{DirtyPages, DirtyRange};
use self::mapping::Mapping;
use crate::{
    Blocking, Knows, OpenParameters, PathError,
    files::{Files, OpenSegment, io_error},
    pread::outside,
};

const KNOWS: Knows = Knows {
    direct: false,
    fixed: false,
    poll: false,
    advice: true,
    huge_pages: true,
    persist: false,
    depth: false,
    durability: &[DurabilityKind::Msync],
};

/// Ranges that the tracker holds at most; with more writes between flushes, it syncs what it has before it goes on.
const DIRTY_AT_MOST: usize = 1 << 16;

/// The path `mmap`.
#[derive(Debug)]
pub struct Mmap {
    maps: Vec<Mapping>,
    files: Files,
    /// None where writes are not made durable.
    dirty: Option<DirtyPages>,
    writes: bool,
    grows: bool,
    system_calls: u64,
}

impl Mmap {
    /// Opens and maps the segments for this thread.
    ///
    /// # Errors
    /// An option that the path does not have, a file shorter than its segment, or the kernel's answer.
    pub fn open(parameters: &OpenParameters<'_>) -> Result<Self, PathError> {
        parameters.refuse_unknown(&KNOWS)?;
        let files = Files::open(parameters)?;
        let grows = parameters.writes && parameters.layout == Layout::Grow;
        let maps = files.places().iter().map(|place| map_place(parameters, place, grows));
        let maps = maps.collect::<Result<Vec<_>, _>>()?;
        let room = (parameters.durability.every as usize + 1).clamp(16, DIRTY_AT_MOST);
        let dirty = (parameters.durability.kind == DurabilityKind::Msync)
            .then(|| DirtyPages::new(room, rustix::param::page_size() as u64));
        Ok(Self { maps, files, dirty, writes: parameters.writes, grows, system_calls: 0 })
    }

    /// The ranges that the next flush will sync, in bytes of each mapping.
    pub fn dirty_ranges(&mut self) -> &[DirtyRange] {
        self.dirty.as_mut().map_or(&[], |dirty| dirty.coalesce())
    }

    #[inline(always)]
    fn note_dirty(&mut self, segment: u32, offset: u64, length: u32) -> io::Result<()> {
        let Some(dirty) = &mut self.dirty else { return Ok(()) };
        let start = offset + self.maps[segment as usize].lead();
        if dirty.add(segment, start, u64::from(length)) {
            return Ok(());
        }
        self.sync_and_note(segment, start, length)
    }

    #[cold]
    fn sync_and_note(&mut self, segment: u32, start: u64, length: u32) -> io::Result<()> {
        self.flush()?;
        let added = self.dirty.as_mut().is_none_or(|dirty| dirty.add(segment, start, u64::from(length)));
        debug_assert!(added, "an empty list has room");
        Ok(())
    }

    /// Why a page could not be filled, as an error number.
    #[cold]
    fn lost(&self, segment: u32) -> io::Error {
        let place = &self.files.places()[segment as usize];
        let ends = file_end(place).unwrap_or(u64::MAX);
        let free = rustix::fs::fstatvfs(place.fd()).map_or(1, |status| status.f_bavail);
        io::Error::from_raw_os_error(match (ends < place.base + place.bytes, free) {
            (true, _) => libc::ENODATA,
            (false, 0) => libc::ENOSPC,
            (false, _) => libc::EIO,
        })
    }
}

fn map_place(parameters: &OpenParameters<'_>, place: &OpenSegment, grows: bool) -> Result<Mapping, PathError> {
    let end = place.base + place.bytes;
    if grows {
        rustix::fs::ftruncate(place.fd(), end).map_err(|error| io_error("extending", &place.path, error.into()))?;
    }
    let there = file_end(place).map_err(|error| io_error("examining", &place.path, error))?;
    if there < end {
        return Err(PathError::Refused {
            path: place.path.clone(),
            reason: format!("it has {there} bytes and {end} are to be mapped"),
            fix: "prepare the data set again, or make it smaller".to_owned(),
        });
    }
    let mapping = Mapping::new(place.fd(), place.base, place.bytes, parameters.writes)
        .map_err(|error| io_error("mapping", &place.path, error))?;
    if let Some(advice) = map_advice(parameters.spec.advice) {
        mapping.advise(advice).map_err(|error| refuse_advice(parameters, place, &error))?;
    }
    Ok(mapping)
}

fn refuse_advice(parameters: &OpenParameters<'_>, place: &OpenSegment, error: &io::Error) -> PathError {
    parameters.unavailable(
        format!("the kernel does not take the hint {:?} on {}: {error}", parameters.spec.advice, place.path.display()),
        "leave advice = \"normal\"; huge pages of files need tmpfs mounted with huge=advise".to_owned(),
    )
}

fn map_advice(advice: Advice) -> Option<MapAdvice> {
    match advice {
        Advice::Normal => None,
        Advice::Random => Some(MapAdvice::Random),
        Advice::Sequential => Some(MapAdvice::Sequential),
        Advice::WillNeed => Some(MapAdvice::WillNeed),
        Advice::HugePage => Some(MapAdvice::LinuxHugepage),
    }
}

/// Length of a file or a device.
fn file_end(place: &OpenSegment) -> io::Result<u64> {
    Ok(rustix::fs::seek(place.fd(), rustix::fs::SeekFrom::End(0))?)
}

impl Blocking for Mmap {
    #[inline]
    fn read(&mut self, segment: u32, offset: u64, length: u32, memory: usize) -> io::Result<()> {
        let Some(place) = self.files.locate(segment, offset, length, memory) else { return Err(outside()) };
        let map = &self.maps[segment as usize];
        // SAFETY: `locate` checked both ranges, and the arena is a mapping of its own. Another thread or process may
        // store into the file meanwhile: the bytes are then a mixture, as with any read, and nothing is derived from them.
        unsafe { ptr::copy_nonoverlapping(map.at(offset), place.memory, length as usize) };
        if map.is_lost() { Err(self.lost(segment)) } else { Ok(()) }
    }

    #[inline]
    fn write(&mut self, segment: u32, offset: u64, length: u32, memory: usize) -> io::Result<()> {
        let Some(place) = self.files.locate(segment, offset, length, memory) else { return Err(outside()) };
        if !self.writes {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        let map = &self.maps[segment as usize];
        // SAFETY: as for reads; a class that writes has mapped its segments to write.
        unsafe { ptr::copy_nonoverlapping(place.memory, map.at(offset), length as usize) };
        if map.is_lost() {
            return Err(self.lost(segment));
        }
        self.note_dirty(segment, offset, length)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        let Some(dirty) = &mut self.dirty else { return Ok(()) };
        for range in dirty.coalesce() {
            self.system_calls += 1;
            self.maps[range.segment as usize].sync(range.start, range.end)?;
        }
        dirty.clear();
        Ok(())
    }

    /// Frees every block: the file is all holes afterwards, at its full length.
    fn restart(&mut self, segment: u32) -> io::Result<()> {
        if !self.grows {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "only a growing file begins anew"));
        }
        self.files.restart(segment, &mut self.system_calls)?;
        let place = &self.files.places()[segment as usize];
        self.system_calls += 1;
        rustix::fs::ftruncate(place.fd(), place.base + place.bytes)?;
        Ok(())
    }

    fn system_calls(&self) -> u64 {
        self.system_calls
    }
}
