//! The two shapes of a path, and what they are opened on.

use std::{io, path::PathBuf};

/// What a segment is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
    /// A device-DAX node.
    DeviceDax,
    /// Anonymous memory.
    Memory,
    /// Nothing, for the null path.
    Null,
}

/// A range of one file or device that a path is opened on. An interleaved file has one segment per member.
#[derive(Clone, Debug)]
pub struct Segment {
    /// File or device node.
    pub path: PathBuf,
    /// What it is.
    pub kind: SegmentKind,
    /// First byte of the range; offsets of operations count from here.
    pub base: u64,
    /// Length of the range, bytes.
    pub bytes: u64,
}

/// An operation for a [`Queued`] path.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// A write (otherwise a read).
    pub write: bool,
    /// Index of the segment.
    pub segment: u32,
    /// Offset in the segment, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub length: u32,
    /// Offset of the buffer in the arena, bytes.
    pub memory: usize,
    /// Slot, below the depth that the path was opened with; comes back with the completion.
    pub slot: u32,
}

/// A finished operation of a [`Queued`] path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Slot of the request.
    pub slot: u32,
    /// Bytes moved, or a negated `errno`.
    pub result: i32,
}

/// How long to wait for completions.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Return when this many are there. With 0, never block.
    pub at_least: u32,
    /// Return after this many nanoseconds in any case; `u64::MAX` waits without limit.
    pub timeout_ns: u64,
}

/// A path whose calls return when the operation is done.
///
/// `memory` is an offset into the arena that the path was opened with; callers keep `memory + length` inside it.
pub trait Blocking {
    /// Reads `length` bytes at `offset` of a segment into the arena. A short read is continued; an end of file is an error.
    fn read(&mut self, segment: u32, offset: u64, length: u32, memory: usize) -> io::Result<()>;
    /// Writes `length` bytes of the arena at `offset` of a segment. A short write is continued.
    fn write(&mut self, segment: u32, offset: u64, length: u32, memory: usize) -> io::Result<()>;
    /// Tells the device that it need not keep `length` bytes at `offset` of a segment. Paths that cannot say so refuse.
    fn trim(&mut self, _segment: u32, _offset: u64, _length: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Makes everything written since the last call durable, by the means that the path was opened with.
    fn flush(&mut self) -> io::Result<()>;
    /// Begins a growing file anew: it is empty afterwards.
    fn restart(&mut self, segment: u32) -> io::Result<()>;
    /// System calls made so far by this path, as it counts them itself.
    fn system_calls(&self) -> u64;
}

/// A path whose operations are pushed, submitted and reaped.
pub trait Queued {
    /// [`Self::reap`] submits what was pushed, in the same system call: a caller need not submit by itself.
    const COMBINED: bool = false;
    /// Puts a request into the queue. Callers never push more than the depth that the path was opened with.
    fn push(&mut self, request: Request);
    /// Puts a flush of a segment into the queue; `slot` comes back with its completion.
    fn push_flush(&mut self, segment: u32, slot: u32);
    /// Hands what was pushed to the kernel; returns how many operations it took.
    fn submit(&mut self) -> io::Result<u32>;
    /// Appends completions to `into` (never beyond its capacity) and returns how many.
    fn reap(&mut self, wait: Wait, into: &mut Vec<Completion>) -> io::Result<u32>;
    /// Does both, in one system call where the path can: what a closed loop wants.
    #[inline(always)]
    fn submit_and_reap(&mut self, wait: Wait, into: &mut Vec<Completion>) -> io::Result<u32> {
        self.submit()?;
        self.reap(wait, into)
    }
    /// Begins a growing file anew; nothing may be in flight.
    fn restart(&mut self, segment: u32) -> io::Result<()>;
    /// System calls made so far by this path, as it counts them itself.
    fn system_calls(&self) -> u64;
}
