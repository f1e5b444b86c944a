//! What of a file lies in the page cache, and how to change that.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, AsRawFd},
        unix::fs::FileExt,
    },
    ptr,
};

use rustix::{
    fs::{Advice, fadvise, fdatasync},
    mm::{MapFlags, ProtFlags, mmap, munmap},
    param::page_size,
};

/// Bytes mapped at a time where the kernel has no better answer.
const STRETCH: u64 = 1 << 30;
const CACHESTAT: libc::c_long = 451;
const ATTEMPTS: u32 = 5;

/// Bytes of a file (or block device) in the page cache.
///
/// # Errors
/// The kernel's answer.
pub fn resident_bytes(file: &File) -> io::Result<u64> {
    resident_bytes_in(file, 0, length(file)?)
}

/// Bytes of a range in the page cache.
///
/// # Errors
/// The kernel's answer.
pub fn resident_bytes_in(file: &File, base: u64, bytes: u64) -> io::Result<u64> {
    if bytes == 0 {
        return Ok(0);
    }
    match by_cachestat(file, base, bytes) {
        Some(resident) => Ok(resident.min(bytes)),
        None => by_mincore(file, base, bytes),
    }
}

/// Writes a file back and drops it from the page cache; returns the bytes that stayed nevertheless.
///
/// # Errors
/// The kernel's answer.
pub fn evict(file: &File) -> io::Result<u64> {
    evict_in(file, 0, length(file)?)
}

/// Writes a file back and drops a range of it from the page cache; returns the bytes that stayed nevertheless.
///
/// # Errors
/// The kernel's answer.
pub fn evict_in(file: &File, base: u64, bytes: u64) -> io::Result<u64> {
    let mut stayed = 0;
    for attempt in 0..ATTEMPTS {
        fdatasync(file)?;
        fadvise(file, base, std::num::NonZeroU64::new(bytes), Advice::DontNeed)?;
        stayed = resident_bytes_in(file, base, bytes)?;
        if stayed == 0 {
            break;
        }
        // Pages that another CPU holds in a batch stay until the batch is emptied.
        std::thread::sleep(std::time::Duration::from_millis(u64::from(attempt) * 10));
    }
    Ok(stayed)
}

/// Reads a whole file into the page cache; returns the bytes that are there afterwards.
///
/// # Errors
/// The kernel's answer.
pub fn warm(file: &File) -> io::Result<u64> {
    warm_in(file, 0, length(file)?)
}

/// Reads a range into the page cache; returns the bytes that are there afterwards.
///
/// # Errors
/// The kernel's answer.
pub fn warm_in(file: &File, base: u64, bytes: u64) -> io::Result<u64> {
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    while done < bytes {
        let wanted = (bytes - done).min(buffer.len() as u64) as usize;
        match file.read_at(&mut buffer[..wanted], base + done)? {
            0 => break,
            read => done += read as u64,
        }
    }
    resident_bytes_in(file, base, bytes)
}

/// Length of a file or of a block device, bytes.
pub(crate) fn length(file: &File) -> io::Result<u64> {
    use std::io::{Seek, SeekFrom};
    let facts = file.metadata()?;
    if facts.is_file() {
        return Ok(facts.len());
    }
    { file }.seek(SeekFrom::End(0))
}

/// Linux 6.5 counts for us.
fn by_cachestat(file: &File, base: u64, bytes: u64) -> Option<u64> {
    let range = [base, bytes];
    let mut counts = [0u64; 5];
    // SAFETY: `struct cachestat_range` is two, `struct cachestat` five 64-bit numbers; both outlive the call.
    let answer =
        unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), range.as_ptr(), counts.as_mut_ptr(), 0 as libc::c_uint) };
    (answer == 0).then(|| counts[0].saturating_mul(page_size() as u64))
}

fn by_mincore(file: &File, base: u64, bytes: u64) -> io::Result<u64> {
    let page = page_size() as u64;
    let (mut at, end) = (base / page * page, (base + bytes).min(length(file)?));
    let mut resident = 0;
    while at < end {
        let stretch = STRETCH.min(end - at);
        resident += resident_pages(file, at, stretch)? * page;
        at += stretch;
    }
    Ok(resident.min(bytes))
}

fn resident_pages(file: &File, offset: u64, bytes: u64) -> io::Result<u64> {
    let length = bytes as usize;
    let mut pages = vec![0u8; length.div_ceil(page_size())];
    // SAFETY: a new mapping that is only looked at, as long as the file, and unmapped right after.
    unsafe {
        let map = mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file.as_fd(), offset)?;
        let answer = libc::mincore(map.cast(), length, pages.as_mut_ptr().cast());
        let error = io::Error::last_os_error();
        munmap(map, length)?;
        if answer != 0 {
            return Err(error);
        }
    }
    Ok(pages.iter().filter(|&&page| page & 1 == 1).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_count_agree() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![1; 300_000], 0).unwrap();
        let counted = by_mincore(&file, 0, 300_000).unwrap();
        assert_eq!(counted, 300_000);
        match by_cachestat(&file, 0, 300_000) {
            Some(resident) => assert_eq!(resident, 300_000u64.next_multiple_of(page_size() as u64)),
            None => eprintln!("skipped: this kernel has no cachestat (Linux 6.5 has)"),
        }
    }
}
