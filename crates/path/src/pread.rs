//! `pread` and `pwrite`: one system call per operation, the thread waits in it.
//!
//! What the kernel does. Buffered, a read looks each page up in the page cache and copies it; a miss reads from the
//! device first, with read-ahead where the accesses look sequential. A buffered write copies into the page cache and
//! returns: nothing is on the device until write-back or a flush. With `O_DIRECT` the device moves the bytes to or from
//! the caller's pages, which are pinned for each call; offset, length and buffer must suit the logical blocks.
//!
//! What databases should know. A direct write that has returned may still sit in the device's volatile cache: only
//! `fdatasync`, `fsync`, `O_DSYNC` or `RWF_DSYNC` make it durable. `fdatasync` leaves out metadata that is not needed to
//! find the data, so it is cheap on a preallocated, written file and costs a journal commit on a growing one.
//! `RWF_DSYNC` on a direct write to written blocks can become one write with forced unit access instead of a write and
//! a flush. An error of write-back is reported once, by the next flush on the descriptor: a database must not retry it
//! and believe the second answer.

use std::{
    io::{self, IoSlice},
    slice,
};

use assay_record::DurabilityKind;
use rustix::io::{Errno, ReadWriteFlags};

use crate::{Blocking, Knows, OpenParameters, PathError, discard, files::Files, slots::BOUNDARY};

const KNOWS: Knows = Knows {
    direct: true,
    fixed: false,
    poll: false,
    advice: true,
    huge_pages: false,
    persist: false,
    depth: false,
    durability: &[DurabilityKind::Fdatasync, DurabilityKind::Fsync, DurabilityKind::ODsync, DurabilityKind::RwfDsync],
};

/// The path `pread`.
#[derive(Debug)]
pub struct Pread {
    files: Files,
    /// Writes carry `RWF_DSYNC`.
    durable_writes: bool,
    system_calls: u64,
}

impl Pread {
    /// Opens the segments for this thread.
    ///
    /// # Errors
    /// An option that the path does not have, or the kernel's answer to opening a segment.
    pub fn open(parameters: &OpenParameters<'_>) -> Result<Self, PathError> {
        parameters.refuse_unknown(&KNOWS)?;
        let durable_writes = parameters.durability.kind == DurabilityKind::RwfDsync;
        Ok(Self { files: Files::open(parameters)?, durable_writes, system_calls: 0 })
    }

    #[cold]
    fn read_on(&mut self, mut place: Operation, answer: Result<usize, Errno>) -> io::Result<()> {
        place.account(answer, libc::ENODATA)?;
        while place.length > 0 {
            let answer = self.read_once(place)?;
            place.account(answer, libc::ENODATA)?;
        }
        Ok(())
    }

    #[cold]
    fn write_on(&mut self, mut place: Operation, answer: Result<usize, Errno>) -> io::Result<()> {
        place.account(answer, libc::EIO)?;
        while place.length > 0 {
            let answer = self.write_once(place)?;
            place.account(answer, libc::EIO)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn read_once(&mut self, at: Operation) -> io::Result<Result<usize, Errno>> {
        let Some(place) = self.files.locate(at.segment, at.offset, at.length, at.memory) else {
            return Err(outside());
        };
        self.system_calls += 1;
        // SAFETY: `locate` checked that the range lies inside the arena, which outlives the path.
        let buffer = unsafe { slice::from_raw_parts_mut(place.memory, at.length as usize) };
        Ok(rustix::io::pread(place.fd, buffer, place.position))
    }

    #[inline(always)]
    fn write_once(&mut self, at: Operation) -> io::Result<Result<usize, Errno>> {
        let Some(place) = self.files.locate(at.segment, at.offset, at.length, at.memory) else {
            return Err(outside());
        };
        self.system_calls += 1;
        // SAFETY: `locate` checked that the range lies inside the arena, which outlives the path.
        let buffer = unsafe { slice::from_raw_parts(place.memory, at.length as usize) };
        Ok(if self.durable_writes {
            rustix::io::pwritev2(place.fd, &[IoSlice::new(buffer)], place.position, ReadWriteFlags::DSYNC)
        } else {
            rustix::io::pwrite(place.fd, buffer, place.position)
        })
    }
}

/// What is left of an operation.
#[derive(Clone, Copy)]
struct Operation {
    segment: u32,
    offset: u64,
    length: u32,
    memory: usize,
    moved: u32,
    /// Bytes that had been moved when it last stepped back to where a direct transfer may begin.
    stepped: u32,
}

impl Operation {
    fn account(&mut self, answer: Result<usize, Errno>, at_end: i32) -> io::Result<()> {
        match answer {
            Ok(0) => Err(io::Error::from_raw_os_error(at_end)),
            Ok(part) => {
                self.length -= part as u32;
                self.offset += part as u64;
                self.memory += part;
                self.moved += part as u32;
                Ok(())
            }
            Err(Errno::INTR) => Ok(()),
            Err(Errno::INVAL) if self.steps_back() => Ok(()),
            // The unaligned rest of a direct read, once more: the file ends there.
            Err(Errno::INVAL) if self.moved > 0 => Err(io::Error::from_raw_os_error(at_end)),
            Err(error) => Err(error.into()),
        }
    }

    /// A direct transfer that stopped at no boundary goes on from the one before; not where that has brought nothing.
    fn steps_back(&mut self) -> bool {
        let back = (self.offset % BOUNDARY).min(u64::from(self.moved)) as u32;
        if back == 0 || self.moved <= self.stepped {
            return false;
        }
        self.stepped = self.moved;
        self.moved -= back;
        self.length += back;
        self.offset -= u64::from(back);
        self.memory -= back as usize;
        true
    }
}

/// An operation that would leave its segment or its buffer.
#[cold]
pub(crate) fn outside() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

impl Blocking for Pread {
    #[inline]
    fn read(&mut self, segment: u32, offset: u64, length: u32, memory: usize) -> io::Result<()> {
        let at = Operation { segment, offset, length, memory, moved: 0, stepped: 0 };
        match self.read_once(at)? {
            Ok(moved) if moved == length as usize => Ok(()),
            answer => self.read_on(at, answer),
        }
    }

    #[inline]
    fn write(&mut self, segment: u32, offset: u64, length: u32, memory: usize) -> io::Result<()> {
        let at = Operation { segment, offset, length, memory, moved: 0, stepped: 0 };
        let answer = self.write_once(at)?;
        self.files.mark_written(segment);
        match answer {
            Ok(moved) if moved == length as usize => Ok(()),
            answer => self.write_on(at, answer),
        }
    }

    fn trim(&mut self, segment: u32, offset: u64, length: u32) -> io::Result<()> {
        let Some(place) = self.files.locate(segment, offset, length, 0) else {
            return Err(outside());
        };
        self.system_calls += 1;
        discard::range(place.fd, place.position, u64::from(length))
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        self.files.flush_written(&mut self.system_calls)
    }

    fn restart(&mut self, segment: u32) -> io::Result<()> {
        self.files.restart(segment, &mut self.system_calls)
    }

    fn system_calls(&self) -> u64 {
        self.system_calls
    }
}
