//! What a file's range really lies on: written blocks, space that was only allocated, or nothing.

use std::{fs::File, io, ops::Range, os::fd::AsRawFd};

use rustix::fs::{SeekFrom, seek};

/// Where the bytes of a range are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Bytes on the device, written.
    pub written: u64,
    /// Bytes with space that was never written: reads of them do not reach the device.
    pub unwritten: u64,
    /// Bytes with no space at all.
    pub holes: u64,
    /// Bytes that are stored compressed, encrypted, or inside of metadata (counted in `written` as well).
    pub encoded: u64,
    /// Bytes that are shared with another file (counted in `written` as well).
    pub shared: u64,
    /// Bytes whose blocks are those of other bytes of the range, so that the device holds them once (counted in `written` as
    /// well).
    pub repeated: u64,
    /// The file system answered. Otherwise only holes are known, and all else counts as written.
    pub supported: bool,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_more: [u32; 3],
}

const PAGE_OF_EXTENTS: usize = 256;

/// `struct fiemap` with room for its extents.
#[repr(C)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    extents: [Extent; PAGE_OF_EXTENTS],
}

const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
const SYNC: u32 = 1;
const LAST: u32 = 0x1;
const ENCODED: u32 = 0x8;
const ENCRYPTED: u32 = 0x80;
const INLINE: u32 = 0x200;
const TAIL: u32 = 0x400;
const UNWRITTEN: u32 = 0x800;
const SHARED: u32 = 0x2000;

/// Looks at a range of a file. Dirty pages are written back first, so that they have a place.
///
/// # Errors
/// The kernel's answer, but for file systems that do not know extents: they are asked for holes.
pub fn survey(file: &File, range: Range<u64>) -> io::Result<Survey> {
    match by_extents(file, &range) {
        Ok(survey) => Ok(survey),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::EINVAL)) => {
            by_holes(file, &range)
        }
        Err(error) => Err(error),
    }
}

fn by_extents(file: &File, range: &Range<u64>) -> io::Result<Survey> {
    let mut survey = Survey { supported: true, ..Survey::default() };
    let mut at = range.start;
    let mut shared: Vec<Range<u64>> = Vec::new();
    while at < range.end {
        let page = page_of_extents(file, at, range.end - at)?;
        for extent in &page {
            let from = at.max(extent.logical);
            at = survey.add(extent, at, range.end);
            if extent.flags & SHARED != 0 && extent.flags & UNWRITTEN == 0 && at > from {
                let first = extent.physical + (from - extent.logical);
                shared.push(first..first + (at - from));
            }
        }
        if page.last().is_none_or(|extent| extent.flags & LAST != 0) {
            break;
        }
    }
    survey.holes += range.end.saturating_sub(at);
    survey.repeated = repeated(shared);
    Ok(survey)
}

/// How many bytes of these ranges lie in another of them.
fn repeated(mut ranges: Vec<Range<u64>>) -> u64 {
    ranges.sort_unstable_by_key(|range| range.start);
    let (mut twice, mut end) = (0, 0);
    for range in ranges {
        twice += range.end.min(end).saturating_sub(range.start);
        end = end.max(range.end);
    }
    twice
}

fn page_of_extents(file: &File, start: u64, length: u64) -> io::Result<Vec<Extent>> {
    let room = PAGE_OF_EXTENTS as u32;
    let extents = [Extent::default(); PAGE_OF_EXTENTS];
    let mut map = Box::new(Map { start, length, flags: SYNC, mapped: 0, room, reserved: 0, extents });
    // SAFETY: `map` is a `struct fiemap` with room for as many extents as it says.
    if unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut *map) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(map.extents[..map.mapped.min(room) as usize].to_vec())
}

impl Survey {
    /// Counts an extent, and the hole between it and `at`; returns where it ends.
    fn add(&mut self, extent: &Extent, at: u64, end: u64) -> u64 {
        let first = extent.logical.clamp(at, end);
        let last = (extent.logical.saturating_add(extent.length)).clamp(first, end);
        self.holes += first - at;
        let bytes = last - first;
        if extent.flags & UNWRITTEN != 0 {
            self.unwritten += bytes;
            return last;
        }
        self.written += bytes;
        if extent.flags & (ENCODED | ENCRYPTED | INLINE | TAIL) != 0 {
            self.encoded += bytes;
        }
        if extent.flags & SHARED != 0 {
            self.shared += bytes;
        }
        last
    }
}

fn by_holes(file: &File, range: &Range<u64>) -> io::Result<Survey> {
    let mut survey = Survey::default();
    let end = range.end.min(file.metadata()?.len()).max(range.start);
    let mut at = range.start;
    while at < end {
        let data = next(file, SeekFrom::Data(at), end)?;
        survey.holes += data - at;
        at = if data < end { next(file, SeekFrom::Hole(data), end)? } else { end };
        survey.written += at - data;
    }
    survey.holes += range.end - end;
    Ok(survey)
}

/// Where data or a hole begins; `end` where there is none before it.
fn next(file: &File, from: SeekFrom, end: u64) -> io::Result<u64> {
    match seek(file, from) {
        Ok(at) => Ok(at.min(end)),
        Err(rustix::io::Errno::NXIO) => Ok(end),
        Err(errno) => Err(errno.into()),
    }
}

const _: () = assert!(size_of::<Extent>() == 56 && size_of::<Map>() == 32 + 56 * PAGE_OF_EXTENTS);

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(logical: u64, length: u64, flags: u32) -> Extent {
        Extent { logical, length, flags, ..Extent::default() }
    }

    #[test]
    fn gaps_between_extents_are_holes_and_edges_are_cut() {
        let mut survey = Survey::default();
        let mut at = 100;
        for extent in
            [extent(0, 150, 0), extent(200, 50, UNWRITTEN), extent(250, 50, ENCODED | SHARED), extent(350, 999, 0)]
        {
            at = survey.add(&extent, at, 400);
        }
        assert_eq!(at, 400);
        let wanted =
            Survey { written: 150, unwritten: 50, holes: 100, encoded: 50, shared: 50, repeated: 0, supported: false };
        assert_eq!(survey, wanted);
    }
}
