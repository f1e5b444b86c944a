//! A disk as the buffer manager and the log see it: a narrow seam, so that a simulated one can stand in for it.
//!
//! The contract. A [`Disk`] is a range of bytes from 0 to [`Disk::bytes`], which reads as zeros where nothing was written.
//! A thread opens a [`Queue`] of its own and hands it requests: reads, writes and flushes, each with a token. Offsets,
//! lengths and places in memory are multiples of [`Disk::alignment`]. Requests may be carried out and completed in any
//! order; two that overlap and are in flight together leave either's bytes.
//!
//! What is durable. A write has happened when its completion was reaped, but it survives a power cut only when a flush
//! was completed (without an error) that was *pushed after* the write's completion had been *reaped*; by this queue or by
//! another one of the same disk. A cut before that leaves each sector (512 bytes) of the write old or new, in any
//! combination. After an error of a write, its sectors are old or new; after an error of a flush, so are those of every
//! write since the last good one, and flushing again proves nothing about them.
//!
//! Nothing is retried here, and no short transfer is handed on: a completion is the whole request, or an error.

mod calls;
mod drive;
mod label;
mod lane;
mod memory;
pub mod sim;
mod striping;

use std::{fmt, sync::Arc};

use rustix::io::Errno;

use crate::BufferError;

pub use assay_path::Wait;
pub use drive::{Access, Drive, lock_patiently};
pub use memory::Memory;

/// Offsets, lengths and memory of requests are multiples of this on every [`Drive`], bytes.
pub const SECTOR_BYTES: u32 = 4096;

/// A range of bytes that outlives the process: a file, a device, several of them, or a simulation.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Name for messages: paths, or what is simulated.
    fn name(&self) -> &str;

    /// Length, bytes. It does not change while the disk is open.
    fn bytes(&self) -> u64;

    /// What offsets, lengths and places in memory are multiples of, bytes.
    fn alignment(&self) -> u32 {
        SECTOR_BYTES
    }

    /// A queue for the calling thread, for requests on `memory`. It wants to be driven by this thread alone.
    ///
    /// # Errors
    /// What the machine refuses (rings, contexts, locked memory), with the remedy.
    fn queue(&self, depth: u32, memory: &Arc<Memory>) -> Result<Box<dyn Queue>, BufferError>;

    /// As [`Disk::queue`], for little work: what makes requests cheaper and the queue dear to open is left out.
    ///
    /// # Errors
    /// As [`Disk::queue`].
    fn brief_queue(&self, depth: u32, memory: &Arc<Memory>) -> Result<Box<dyn Queue>, BufferError> {
        self.queue(depth, memory)
    }

    /// Blocking calls on `memory`, for whoever has something to write and nothing else to do; none where only queues lead
    /// to the disk.
    ///
    /// # Errors
    /// What the machine refuses, with the remedy.
    fn calls(&self, _memory: &Arc<Memory>) -> Result<Option<Box<dyn Calls>>, BufferError> {
        Ok(None)
    }
}

/// A way to a disk without a queue: the thread that holds it writes and flushes, and waits in the call. One write and one
/// flush after the other cost no hand-over to anybody else.
pub trait Calls: Send {
    /// Writes. It is as if a queue had carried the request out and its completion had been reaped.
    ///
    /// # Errors
    /// The disk's.
    ///
    /// # Safety
    /// Nobody writes the memory meanwhile.
    unsafe fn write(&mut self, offset: u64, memory: usize, bytes: u32) -> Result<(), Errno>;

    /// Makes durable what was completed before.
    ///
    /// # Errors
    /// The disk's.
    fn flush(&mut self) -> Result<(), Errno>;
}

/// A thread's way to a disk. Dropping it waits for everything in flight.
pub trait Queue {
    /// Takes a request. More than the depth may be pushed: what is too much waits inside.
    ///
    /// # Safety
    /// Until the request's completion was reaped or the queue was dropped, nobody writes the memory of a write, and
    /// nobody reads or writes that of a read.
    unsafe fn push(&mut self, request: DiskRequest);

    /// Requests pushed and not yet reaped.
    fn in_flight(&self) -> u32;

    /// Hands what was pushed to the disk, and appends what has completed. Waits until `wait.at_least` completions are
    /// there (no more than are in flight), or its time is over.
    ///
    /// # Errors
    /// Where the queue itself fails, not a request: the queue is of no use afterwards.
    fn reap(&mut self, wait: Wait, into: &mut Vec<Completion>) -> Result<(), BufferError>;
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Bytes of the disk into memory.
    Read,
    /// Bytes of memory to the disk.
    Write,
    /// As [`Action::Write`], of pages that are expected to die with those of the same group, from 0 on: a disk that can keep
    /// groups apart does.
    Place(u8),
    /// Nobody needs these bytes any more: what is read there afterwards is anything. A disk may do nothing about it. The memory
    /// holds up to [`RANGES_AT_MOST`] of [`TrimRange`], as NVMe's Dataset Management has them; the offset says nothing.
    Trim,
    /// Makes durable what was completed before.
    Flush,
}

impl Action {
    /// Bytes of memory go to the disk.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::Place(_))
    }
}

/// Ranges of a trim at most (NVM Command Set Specification 1.0, 3.2.3).
pub const RANGES_AT_MOST: usize = 256;

/// Bytes of a disk that nobody needs any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimRange {
    /// First byte on the disk.
    pub offset: u64,
    /// Length, bytes.
    pub bytes: u32,
}

impl TrimRange {
    /// What it takes in memory, bytes.
    pub const SIZE: usize = 16;

    /// As it stands in memory.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut into = [0; Self::SIZE];
        into[..8].copy_from_slice(&self.offset.to_le_bytes());
        into[8..12].copy_from_slice(&self.bytes.to_le_bytes());
        into
    }

    /// The ranges in the memory of a trim.
    pub fn all(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
        bytes.chunks_exact(Self::SIZE).map(|one| {
            let word = |at: usize| one[at..at + 8].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
            Self { offset: word(0), bytes: word(8) as u32 }
        })
    }
}

/// An operation of a [`Queue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRequest {
    /// What is to be done.
    pub action: Action,
    /// First byte on the disk. Nothing to a flush.
    pub offset: u64,
    /// First byte in the [`Memory`] of the queue. Nothing to a flush.
    pub memory: usize,
    /// Length, bytes. Nothing to a flush.
    pub bytes: u32,
    /// Comes back with the completion.
    pub token: u64,
}

impl DiskRequest {
    /// A flush.
    pub fn flush(token: u64) -> Self {
        Self { action: Action::Flush, offset: 0, memory: 0, bytes: 0, token }
    }
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Token of the request.
    pub token: u64,
    /// Nothing, or the disk's error.
    pub result: Result<(), Errno>,
}

/// Waits until one completion is there.
pub const ONE: Wait = Wait { at_least: 1, timeout_ns: u64::MAX };

/// Takes what is there, without waiting.
pub const NONE: Wait = Wait { at_least: 0, timeout_ns: 0 };

/// Carries out one request from beginning to end: for opening, not for work.
///
/// # Errors
/// The disk's answer, with what was being done.
///
/// # Safety
/// As [`Queue::push`], for the time of the call; the queue has nothing else in flight.
pub unsafe fn carry_out(queue: &mut dyn Queue, disk: &dyn Disk, request: DiskRequest) -> Result<(), BufferError> {
    // SAFETY: the caller's promise.
    unsafe { queue.push(request) };
    let mut into = Vec::with_capacity(1);
    while into.is_empty() {
        queue.reap(ONE, &mut into)?;
    }
    into[0].result.map_err(|errno| BufferError::io(disk, request, errno))
}
