//! Mappings of files, DAX devices and memory, shared by all threads that open the same range.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io,
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    ptr,
    sync::{Arc, Mutex, Weak},
};

use rustix::{
    io::Errno,
    mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap},
};

use super::{Isa, Store, isa::FlushSupport, kernel};
use crate::{PathError, Segment, SegmentKind, mmap::sigbus::Watched};

const PAGE: u64 = 4096;
const HUGE_PAGE: usize = 2 << 20;
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;
const HUGETLBFS: i64 = 0x9584_58f6;
/// `MADV_COLLAPSE`: make huge pages of what is there, now. Linux 6.1.
const COLLAPSE: i32 = 25;

/// What a range can be for this path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Persistent memory: a file on DAX that takes `MAP_SYNC`, or a device-DAX node.
    Persistent,
    /// The machine's memory, as such.
    Memory,
    /// A file system in memory stands in for persistent memory.
    Emulated,
}

/// A mapping, unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    bytes: usize,
    map_start: *mut u8,
    map_bytes: usize,
    support: Support,
    file: Option<File>,
    /// Where the segment ends in the file.
    end: u64,
    huge: bool,
    /// Turns a page that cannot be had into a mark instead of a signal; none for memory.
    watched: Option<&'static Watched>,
}

// SAFETY: the mapping belongs to this value; what is read and written through it is bytes that mean nothing to Rust.
unsafe impl Send for Mapping {}
// SAFETY: as above; `&Mapping` only hands out the address.
unsafe impl Sync for Mapping {}

/// A mapping that is shared by everyone in this process who opens the same range.
pub type Region = Arc<Mapping>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Memory { name: PathBuf, bytes: u64 },
    File { device: u64, inode: u64, base: u64, bytes: u64, writes: bool },
}

static SHARED: Mutex<Option<HashMap<Key, Weak<Mapping>>>> = Mutex::new(None);

impl Mapping {
    /// The mapping of a segment: the one that another thread made, or a new one.
    ///
    /// Memory is known by the segment's path, which is only a name; it lives as long as somebody holds it.
    ///
    /// # Errors
    /// Where the segment cannot serve as persistent memory, with what would make it so; or the kernel's answer.
    pub fn shared(segment: &Segment, writes: bool) -> Result<Region, PathError> {
        let (key, file) = identify(segment, writes)?;
        let mut guard = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let all = guard.get_or_insert_default();
        if let Some(there) = all.get(&key).and_then(Weak::upgrade) {
            return Ok(there);
        }
        let new = Arc::new(match file {
            Some(file) => map_file(segment, file, writes)?,
            None => map_memory(segment)?,
        });
        all.retain(|_, mapping| mapping.strong_count() != 0);
        all.insert(key, Arc::downgrade(&new));
        Ok(new)
    }

    /// Address of the segment's first byte.
    #[inline(always)]
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Bytes of the segment.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Stores bytes durably.
    ///
    /// # Panics
    /// Where they do not fit.
    pub(crate) fn put(&self, at: usize, bytes: &[u8]) {
        assert!(at.checked_add(bytes.len()).is_some_and(|end| end <= self.bytes), "{at} is outside of the mapping");
        let store = if FlushSupport::detect().non_temporal { Store::NonTemporal } else { Store::Flush };
        // SAFETY: the range was checked just now; callers map what they put to for writing.
        unsafe { kernel::write(Isa::detect(), store, self.start.add(at), bytes.as_ptr(), bytes.len()) };
        kernel::store_fence();
    }

    /// What knows whether a page was lost.
    pub(super) fn watched(&self) -> Option<&'static Watched> {
        self.watched
    }

    /// Why a page was lost: the file was cut short, its file system is full, or its device failed.
    pub fn loss(&self) -> Option<io::Error> {
        let file = self.file.as_ref().filter(|_| self.watched.is_some_and(Watched::is_lost))?;
        let short = file.metadata().is_ok_and(|facts| facts.is_file() && facts.len() < self.end);
        let full = rustix::fs::fstatvfs(file).is_ok_and(|facts| facts.f_bavail == 0);
        Some(io::Error::from_raw_os_error(match (short, full) {
            (true, _) => libc::ENODATA,
            (false, true) => libc::ENOSPC,
            (false, false) => libc::EIO,
        }))
    }

    /// What it is.
    pub fn support(&self) -> Support {
        self.support
    }

    /// The file behind it; none for memory.
    pub(super) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Asks for huge pages, and makes them of pages that are already there. A refusal means ordinary pages.
    pub fn ask_for_huge_pages(&self) {
        if self.huge {
            return;
        }
        // SAFETY: a hint on our own mapping; it changes no byte.
        let _ = unsafe { madvise(self.map_start.cast(), self.map_bytes, Advice::LinuxHugepage) };
        let first = self.map_start.align_offset(HUGE_PAGE);
        for at in (first..).step_by(HUGE_PAGE).take_while(|at| at + HUGE_PAGE <= self.map_bytes) {
            // SAFETY: inside the mapping, as was just seen.
            let start = unsafe { self.map_start.add(at) };
            if any_there(start) {
                // SAFETY: as above; it changes no byte.
                unsafe { libc::madvise(start.cast(), HUGE_PAGE, COLLAPSE) };
            }
        }
    }

    /// Brings every page into the page table, so that no fault falls into the window.
    ///
    /// # Errors
    /// The kernel's answer where a page cannot be had (memory or file system full, or a media error).
    pub fn populate(&self, writes: bool) -> io::Result<()> {
        let advice = if writes { Advice::LinuxPopulateWrite } else { Advice::LinuxPopulateRead };
        // SAFETY: populating our own mapping changes no byte.
        match unsafe { madvise(self.map_start.cast(), self.map_bytes, advice) } {
            Ok(()) => Ok(()),
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.touch();
                Ok(())
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// For kernels before 5.14: reads a byte of each page.
    fn touch(&self) {
        for page in (0..self.bytes).step_by(PAGE as usize) {
            // SAFETY: inside the mapping.
            unsafe { self.start.add(page).read_volatile() };
        }
    }
}

/// Whether any page of a huge page's range is in memory. Of an empty range the kernel would make a huge page too, and a
/// sparse file would become a full one.
fn any_there(start: *mut u8) -> bool {
    let mut pages = [0_u8; HUGE_PAGE / PAGE as usize];
    // SAFETY: the caller's mapping has that many bytes, and there is a byte for each of their pages.
    let asked = unsafe { libc::mincore(start.cast(), HUGE_PAGE, pages.as_mut_ptr()) };
    asked == 0 && pages.iter().any(|page| page & 1 == 1)
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Some(watched) = self.watched {
            watched.release();
        }
        // SAFETY: exactly what was mapped, and whoever uses its address holds it alive.
        let _ = unsafe { munmap(self.map_start.cast(), self.map_bytes) };
    }
}

fn identify(segment: &Segment, writes: bool) -> Result<(Key, Option<File>), PathError> {
    let failed = |source| PathError::Io { action: "opening", path: segment.path.clone(), source };
    match segment.kind {
        SegmentKind::Memory => Ok((Key::Memory { name: segment.path.clone(), bytes: segment.bytes }, None)),
        SegmentKind::File | SegmentKind::DeviceDax => {
            let file = OpenOptions::new().read(true).write(writes).open(&segment.path).map_err(failed)?;
            let facts = file.metadata().map_err(failed)?;
            let device = if segment.kind == SegmentKind::File { facts.dev() } else { facts.rdev() };
            let (inode, base, bytes) = (facts.ino(), segment.base, segment.bytes);
            Ok((Key::File { device, inode, base, bytes, writes }, Some(file)))
        }
        SegmentKind::BlockDevice => Err(unavailable(
            &segment.path,
            "a block device cannot be mapped with MAP_SYNC",
            "make a file system on it and mount it with -o dax, or turn the namespace into device-DAX (ndctl create-namespace -m devdax)",
        )),
        SegmentKind::Null => Err(unavailable(&segment.path, "the null target has no bytes", "use the path null")),
    }
}

fn unavailable(path: &Path, reason: &str, fix: &str) -> PathError {
    PathError::Unavailable {
        what: format!("the path pmem on {}", path.display()),
        reason: reason.to_owned(),
        fix: fix.to_owned(),
    }
}

/// Anonymous memory, at a multiple of 2 MiB and in huge pages where the system allows them.
fn map_memory(segment: &Segment) -> Result<Mapping, PathError> {
    let failed =
        |errno: Errno| PathError::Io { action: "mapping", path: segment.path.clone(), source: io::Error::from(errno) };
    let bytes = usize::try_from(segment.bytes).map_err(|_| failed(Errno::NOMEM))?.max(1);
    let map_bytes = bytes.next_multiple_of(PAGE as usize) + HUGE_PAGE;
    let prot = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh anonymous mapping at an address that the kernel chooses.
    let map_start = unsafe { mmap_anonymous(ptr::null_mut(), map_bytes, prot, MapFlags::PRIVATE) }.map_err(failed)?;
    let map_start = map_start.cast::<u8>();
    // SAFETY: the pad is below the 2 MiB that were mapped in excess.
    let start = unsafe { map_start.add(map_start.align_offset(HUGE_PAGE)) };
    // SAFETY: a hint on our own mapping.
    let _ = unsafe { madvise(start.cast(), bytes.next_multiple_of(PAGE as usize), Advice::LinuxHugepage) };
    Ok(Mapping {
        start,
        bytes,
        map_start,
        map_bytes,
        support: Support::Memory,
        file: None,
        end: 0,
        huge: true,
        watched: None,
    })
}

fn map_file(segment: &Segment, file: File, writes: bool) -> Result<Mapping, PathError> {
    let failed = |source| PathError::Io { action: "mapping", path: segment.path.clone(), source };
    let grain = grain(&file, segment.kind).map_err(failed)?;
    let skew = segment.base % grain;
    let bytes = usize::try_from(segment.bytes).map_err(|_| failed(Errno::NOMEM.into()))?;
    let map_bytes = (segment.bytes + skew).max(1).next_multiple_of(grain) as usize;
    let (map_start, support) = map_sync_or_emulated(segment, &file, writes, segment.base - skew, map_bytes)?;
    // SAFETY: `skew` is below `map_bytes`.
    let start = unsafe { map_start.add(skew as usize) };
    let end = segment.base + segment.bytes;
    let mut mapping =
        Mapping { start, bytes, map_start, map_bytes, support, file: Some(file), end, huge: false, watched: None };
    mapping.watched = Some(Watched::watch(map_start as usize, map_bytes).map_err(failed)?);
    Ok(mapping)
}

/// What offset and length of a mapping are multiples of, bytes.
pub(super) fn grain(file: &File, kind: SegmentKind) -> io::Result<u64> {
    if kind == SegmentKind::DeviceDax {
        return Ok(crate::facts::dax_alignment(file.metadata()?.rdev()));
    }
    let facts = rustix::fs::fstatfs(file)?;
    Ok(if facts.f_type == HUGETLBFS { facts.f_bsize as u64 } else { PAGE })
}

fn map_sync_or_emulated(
    segment: &Segment,
    file: &File,
    writes: bool,
    offset: u64,
    bytes: usize,
) -> Result<(*mut u8, Support), PathError> {
    let failed =
        |errno: Errno| PathError::Io { action: "mapping", path: segment.path.clone(), source: io::Error::from(errno) };
    match map_at(file, writes, MapFlags::SHARED_VALIDATE | MapFlags::SYNC, offset, bytes) {
        Ok(start) => return Ok((start, Support::Persistent)),
        Err(Errno::OPNOTSUPP | Errno::INVAL) => {}
        Err(errno) => return Err(failed(errno)),
    }
    let support = if segment.kind == SegmentKind::DeviceDax {
        Support::Persistent
    } else if in_memory(file).map_err(|source| PathError::Io {
        action: "mapping",
        path: segment.path.clone(),
        source,
    })? {
        Support::Emulated
    } else {
        return Err(no_dax(&segment.path));
    };
    Ok((map_at(file, writes, MapFlags::SHARED, offset, bytes).map_err(failed)?, support))
}

fn no_dax(path: &Path) -> PathError {
    unavailable(
        path,
        "its file system refuses MAP_SYNC, so stores to it are not made durable by cache line flushes",
        "name a folder on a file system that is mounted with -o dax on persistent memory, a device-DAX node, or a tmpfs (/dev/shm) to emulate it",
    )
}

fn map_at(file: &File, writes: bool, flags: MapFlags, offset: u64, bytes: usize) -> Result<*mut u8, Errno> {
    let prot = if writes { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
    // SAFETY: a new mapping at an address that the kernel chooses, where the hint is taken too.
    unsafe { mmap(suggested(bytes, offset).cast(), bytes, prot, flags, file.as_fd(), offset) }.map(<*mut _>::cast)
}

/// An address that was free just now, as far from a multiple of 2 MiB as the offset is: only there can pages be huge.
/// Somebody may take it first, and then the kernel takes another one.
fn suggested(bytes: usize, offset: u64) -> *mut u8 {
    let Some(wanted) = bytes.checked_add(HUGE_PAGE).filter(|_| bytes >= HUGE_PAGE) else { return ptr::null_mut() };
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a fresh mapping at an address that the kernel chooses.
    let Ok(free) = (unsafe { mmap_anonymous(ptr::null_mut(), wanted, ProtFlags::empty(), flags) }) else {
        return ptr::null_mut();
    };
    // SAFETY: what was mapped just now, and nobody uses.
    let _ = unsafe { munmap(free, wanted) };
    free.cast::<u8>().wrapping_add((offset as usize).wrapping_sub(free as usize) % HUGE_PAGE)
}

/// Whether the file lies on a file system that keeps its data in memory.
fn in_memory(file: &File) -> io::Result<bool> {
    let kind = rustix::fs::fstatfs(file)?.f_type;
    Ok([TMPFS, RAMFS, HUGETLBFS].contains(&kind))
}

/// Whether a file can only be written to through a mapping, as on hugetlbfs.
pub(crate) fn only_mapped(file: &File) -> io::Result<bool> {
    Ok(rustix::fs::fstatfs(file)?.f_type == HUGETLBFS)
}

/// What a segment can be for this path; its file must exist and have at least a byte.
///
/// # Errors
/// Where it cannot serve, with what would make it so; or the kernel's answer.
pub fn support(segment: &Segment) -> Result<Support, PathError> {
    let sample = Segment { bytes: segment.bytes.min(PAGE), ..segment.clone() };
    match identify(&sample, false)?.1 {
        Some(file) => Ok(map_file(&sample, file, false)?.support),
        None => Ok(Support::Memory),
    }
}
