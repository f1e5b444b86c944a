//! A kernel context of native asynchronous I/O, and its completion ring, which user space can read.

use std::{
    io, ptr,
    sync::atomic::{AtomicU32, Ordering, fence},
};

use crate::Wait;

const RING_MAGIC: u32 = 0xa10a_10a1;

/// Opcodes of a control block.
pub(super) const READ: u16 = 0;
pub(super) const WRITE: u16 = 1;
pub(super) const FSYNC: u16 = 2;
pub(super) const FDATASYNC: u16 = 3;

/// An operation as the kernel reads it (`struct iocb`, little and big endian alike but for the order of two fields).
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ControlBlock {
    pub data: u64,
    #[cfg(target_endian = "little")]
    pub key: u32,
    pub rw_flags: i32,
    #[cfg(target_endian = "big")]
    pub key: u32,
    pub opcode: u16,
    pub priority: i16,
    pub fd: u32,
    pub buffer: u64,
    pub bytes: u64,
    pub offset: i64,
    pub reserved: u64,
    pub flags: u32,
    pub event_fd: u32,
}

/// A finished operation (`struct io_event`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AioEvent {
    pub data: u64,
    object: u64,
    pub result: i64,
    result2: i64,
}

/// Head of the completion ring (`struct aio_ring`), which the context's id points to; events follow.
#[repr(C)]
struct RingHead {
    id: u32,
    events: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    header_bytes: u32,
}

/// A context, destroyed on drop; that waits for everything in flight.
#[derive(Debug)]
pub(super) struct Context {
    id: usize,
    /// The ring, where its magic number fits.
    ring: Option<ptr::NonNull<RingHead>>,
    /// Events that `io_getevents` writes.
    events: Box<[AioEvent]>,
    system_calls: u64,
}

impl Context {
    /// A context for `depth` operations in flight.
    pub fn new(depth: u32) -> io::Result<Self> {
        let mut id = 0_usize;
        // SAFETY: `id` is a valid place for the answer and zero before, as the call demands.
        check(unsafe { libc::syscall(libc::SYS_io_setup, depth, ptr::from_mut(&mut id)) })?;
        let events = vec![AioEvent::default(); depth as usize].into_boxed_slice();
        let mut context = Self { id, ring: None, events, system_calls: 0 };
        context.ring = context.find_ring();
        Ok(context)
    }

    fn find_ring(&self) -> Option<ptr::NonNull<RingHead>> {
        let ring = ptr::NonNull::new(self.id as *mut RingHead)?;
        // SAFETY: the id of a context is the address where the kernel mapped its ring.
        let head = unsafe { ring.as_ref() };
        let fits = head.magic == RING_MAGIC && head.incompatible == 0;
        (fits && head.header_bytes as usize == size_of::<RingHead>()).then_some(ring)
    }

    /// Submits control blocks; returns how many the kernel took.
    pub fn submit(&mut self, blocks: &[*mut ControlBlock]) -> io::Result<u32> {
        self.system_calls += 1;
        // SAFETY: the blocks and their buffers belong to the path, which outlives the operations.
        let taken = check(unsafe { libc::syscall(libc::SYS_io_submit, self.id, blocks.len(), blocks.as_ptr()) })?;
        Ok(taken as u32)
    }

    /// Takes finished operations out of the ring without a system call; at most `room`. `take` gets data and result.
    #[inline]
    pub fn drain(&mut self, room: u32, mut take: impl FnMut(u64, i64)) -> u32 {
        let Some(ring) = self.ring else { return 0 };
        // SAFETY: the ring stays mapped until the context is destroyed.
        let ring_head = unsafe { ring.as_ref() };
        let mut head = ring_head.head.load(Ordering::Relaxed);
        let tail = ring_head.tail.load(Ordering::Acquire);
        let mut count = 0;
        while head != tail && count < room {
            // SAFETY: events follow the head of the ring, and `head` is below their number.
            let event = unsafe { ring.as_ptr().add(1).cast::<AioEvent>().add(head as usize).read() };
            take(event.data, event.result);
            head = if head + 1 == ring_head.events { 0 } else { head + 1 };
            count += 1;
        }
        if count > 0 {
            // The events have been read before the kernel may write over them.
            fence(Ordering::Release);
            ring_head.head.store(head, Ordering::Release);
        }
        count
    }

    /// Whether a look into the ring shows everything that has finished.
    pub fn is_readable(&self) -> bool {
        self.ring.is_some()
    }

    /// Asks the kernel for finished operations; at most `room`. A timeout and a signal are no errors.
    pub fn wait(&mut self, wait: Wait, room: u32, mut take: impl FnMut(u64, i64)) -> io::Result<u32> {
        let limit = libc::timespec {
            tv_sec: (wait.timeout_ns / 1_000_000_000) as _,
            tv_nsec: (wait.timeout_ns % 1_000_000_000) as _,
        };
        let limit = if wait.timeout_ns == u64::MAX { ptr::null() } else { ptr::from_ref(&limit) };
        let room = (room as usize).min(self.events.len());
        self.system_calls += 1;
        let events = self.events.as_mut_ptr();
        // SAFETY: `events` has room for `room` events, and `limit` outlives the call.
        let count =
            unsafe { libc::syscall(libc::SYS_io_getevents, self.id, wait.at_least as usize, room, events, limit) };
        let count = match check(count) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            answer => answer?,
        };
        for event in &self.events[..count as usize] {
            take(event.data, event.result);
        }
        Ok(count as u32)
    }

    /// System calls so far.
    pub fn system_calls(&self) -> u64 {
        self.system_calls
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is ours; the call returns when nothing is in flight any more.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}

fn check(answer: libc::c_long) -> io::Result<libc::c_long> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<ControlBlock>(), 64);
        assert_eq!(std::mem::offset_of!(ControlBlock, opcode), 16);
        assert_eq!(std::mem::offset_of!(ControlBlock, buffer), 24);
        assert_eq!(size_of::<AioEvent>(), 32);
        assert_eq!(size_of::<RingHead>(), 32);
    }
}
