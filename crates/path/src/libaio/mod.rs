//! `libaio`: Linux's native asynchronous I/O, by its system calls `io_submit` and `io_getevents`.
//!
//! What the kernel does. `io_submit` carries each operation as far as it can: a direct read or write is queued at the
//! device and the call returns; a buffered one is carried out on the spot, so the call lasts as long as the copy and
//! any miss. Completions are written into a ring that is mapped into the process, and are read from there without a
//! system call; the kernel is asked only where the thread has to wait.
//!
//! What databases should know. It is asynchronous for direct I/O alone, and even then a submission waits where a file
//! has to allocate blocks, where the device's queue is full, or where metadata is not in memory. A flush is carried out
//! by a kernel worker (since 4.18); on older kernels it is refused and becomes a blocking call here. All contexts of
//! the machine share the limit `fs.aio-max-nr`. MySQL and PostgreSQL-like engines used it before `io_uring` came.

mod context;

use std::{io, os::fd::AsRawFd};

use assay_record::DurabilityKind;

use self::context::{Context, ControlBlock};
use crate::{
    Completion, Knows, OpenParameters, PathError, Queued, Request, Wait,
    files::Files,
    slots::{Settled, Slots},
    uring::refuse_depth,
};

const KNOWS: Knows = Knows {
    direct: true,
    fixed: false,
    poll: false,
    advice: true,
    huge_pages: false,
    persist: false,
    depth: true,
    durability: &[DurabilityKind::Fdatasync, DurabilityKind::Fsync, DurabilityKind::ODsync, DurabilityKind::RwfDsync],
};

/// The path `libaio`.
#[derive(Debug)]
pub struct Libaio {
    // Dropped first: that waits for everything in flight.
    context: Context,
    /// One per slot; their addresses stand in `queue`.
    blocks: Box<[ControlBlock]>,
    queue: Vec<*mut ControlBlock>,
    slots: Slots,
    files: Files,
    again: Vec<u32>,
    write_flags: i32,
    /// Opcode of a flush; none where there is nothing to do.
    flush: Option<u16>,
    /// The kernel does not take a flush in the queue.
    flush_blocks: bool,
    flush_calls: u64,
}

impl Libaio {
    /// Opens the segments and makes a context, for this thread.
    ///
    /// # Errors
    /// An option that the path does not have, or the kernel's answer.
    pub fn open(parameters: &OpenParameters<'_>) -> Result<Self, PathError> {
        parameters.refuse_unknown(&KNOWS)?;
        refuse_depth(parameters)?;
        let depth = parameters.depth as usize;
        let durability = parameters.durability.kind;
        Ok(Self {
            context: Context::new(parameters.depth).map_err(|error| context_error(parameters, &error))?,
            blocks: vec![ControlBlock::default(); depth].into_boxed_slice(),
            queue: Vec::with_capacity(depth),
            slots: Slots::new(parameters.depth),
            files: Files::open(parameters)?,
            again: Vec::with_capacity(depth),
            write_flags: if durability == DurabilityKind::RwfDsync { libc::RWF_DSYNC } else { 0 },
            flush: match durability {
                DurabilityKind::Fdatasync => Some(context::FDATASYNC),
                DurabilityKind::Fsync => Some(context::FSYNC),
                _ => None,
            },
            flush_blocks: false,
            flush_calls: 0,
        })
    }

    /// Operations pushed and not yet reaped.
    pub fn in_flight(&self) -> u32 {
        self.slots.in_flight()
    }

    #[inline(always)]
    fn queue_request(&mut self, request: &Request) {
        let place = self.files.locate(request.segment, request.offset, request.length, request.memory);
        let Some(place) = place else { return self.slots.finish_at_once(request.slot, -libc::EINVAL) };
        let block = ControlBlock {
            data: u64::from(request.slot),
            opcode: if request.write { context::WRITE } else { context::READ },
            rw_flags: if request.write { self.write_flags } else { 0 },
            fd: place.fd.as_raw_fd() as u32,
            buffer: place.memory as u64,
            bytes: u64::from(request.length),
            offset: place.position as i64,
            ..ControlBlock::default()
        };
        self.queue_block(request.slot, block);
    }

    #[inline(always)]
    fn queue_block(&mut self, slot: u32, block: ControlBlock) {
        let at = &mut self.blocks[slot as usize];
        *at = block;
        self.queue.push(at);
    }

    fn queue_flush(&mut self, segment: u32, slot: u32) {
        let Some(opcode) = self.flush else { return self.slots.finish_at_once(slot, 0) };
        if self.flush_blocks {
            return self.flush_now(segment, slot);
        }
        let fd = self.files.places()[segment as usize].raw() as u32;
        let block = ControlBlock { data: u64::from(slot), opcode, fd, ..ControlBlock::default() };
        self.queue_block(slot, block);
    }

    fn flush_now(&mut self, segment: u32, slot: u32) {
        let answer = self.files.flush(segment, &mut self.flush_calls);
        let result = answer.map_or_else(|error| -error.raw_os_error().unwrap_or(libc::EIO), |()| 0);
        self.slots.finish_at_once(slot, result);
    }

    /// The kernel refused the first operation of the queue: it ends with that error, or as a blocking flush.
    #[cold]
    fn refuse_first(&mut self, error: io::Error) -> io::Result<()> {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        if errno == libc::EAGAIN || errno == libc::EINTR || self.queue.is_empty() {
            return Err(error);
        }
        let first = self.queue.remove(0);
        // SAFETY: pointers in the queue are those of `blocks`.
        let block = unsafe { *first };
        let slot = block.data as u32;
        if errno == libc::EINVAL && matches!(block.opcode, context::FSYNC | context::FDATASYNC) {
            self.flush_blocks = true;
            self.flush_now(self.slots.rest(slot).segment, slot);
        } else {
            self.slots.finish_at_once(slot, -errno);
        }
        Ok(())
    }

    #[inline]
    fn drain(&mut self, into: &mut Vec<Completion>) -> u32 {
        let before = into.len();
        self.slots.hand_out_ready(into);
        let room = (into.capacity() - into.len()) as u32;
        let (slots, again) = (&mut self.slots, &mut self.again);
        self.context.drain(room, |slot, result| settle(slots, again, into, slot, result));
        if !self.again.is_empty() {
            self.queue_again();
        }
        (into.len() - before) as u32
    }

    fn wait(&mut self, wait: Wait, into: &mut Vec<Completion>) -> io::Result<u32> {
        let before = into.len();
        let room = (into.capacity() - into.len()) as u32;
        let (slots, again) = (&mut self.slots, &mut self.again);
        self.context.wait(wait, room, |slot, result| settle(slots, again, into, slot, result))?;
        if !self.again.is_empty() {
            self.queue_again();
        }
        Ok((into.len() - before) as u32)
    }

    /// Asks for the rest of operations that were cut short.
    #[cold]
    fn queue_again(&mut self) {
        while let Some(slot) = self.again.pop() {
            let rest = self.slots.rest(slot);
            if rest.length == 0 {
                self.queue_flush(rest.segment, slot);
            } else {
                self.queue_request(&rest);
            }
        }
    }
}

#[inline(always)]
fn settle(slots: &mut Slots, again: &mut Vec<u32>, into: &mut Vec<Completion>, slot: u64, result: i64) {
    match slots.settle(slot as u32, result as i32) {
        Settled::Done(completion) => slots.hand_out(completion, into),
        Settled::Again(slot) => again.push(slot),
    }
}

impl Queued for Libaio {
    #[inline]
    fn push(&mut self, request: Request) {
        self.slots.start(request);
        self.queue_request(&request);
    }

    fn push_flush(&mut self, segment: u32, slot: u32) {
        self.slots.start_flush(segment, slot);
        self.files.mark_written(segment);
        self.queue_flush(segment, slot);
    }

    #[inline]
    fn submit(&mut self) -> io::Result<u32> {
        let mut taken = 0;
        while !self.queue.is_empty() {
            match self.context.submit(&self.queue) {
                Ok(count) if count as usize == self.queue.len() => {
                    self.queue.clear();
                    return Ok(taken + count);
                }
                Ok(count) => {
                    taken += count;
                    self.queue.drain(..count as usize);
                }
                // The context has no room now: what is left goes with the next submission.
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) && self.slots.in_flight() > 0 => {
                    return Ok(taken);
                }
                Err(error) => self.refuse_first(error)?,
            }
        }
        Ok(taken)
    }

    #[inline]
    fn reap(&mut self, wait: Wait, into: &mut Vec<Completion>) -> io::Result<u32> {
        let room = (into.capacity() - into.len()) as u32;
        let wanted = wait.at_least.min(self.slots.in_flight()).min(room);
        let mut count = self.drain(into);
        if count >= wanted && (count > 0 || self.context.is_readable()) && self.queue.is_empty() {
            return Ok(count);
        }
        loop {
            self.submit()?;
            let queued = self.queue.len();
            count += self.drain(into);
            if self.queue.len() > queued && count < wanted {
                // Nobody would wake a wait for the rest of a short transfer: the kernel has not been given it.
                continue;
            }
            let at_least = wanted.saturating_sub(count);
            if at_least == 0 && self.context.is_readable() {
                return Ok(count);
            }
            let timeout_ns = if at_least == 0 { 0 } else { wait.timeout_ns };
            let more = self.wait(Wait { at_least, timeout_ns }, into)?;
            count += more;
            if count >= wanted || timeout_ns != u64::MAX || more == 0 && self.queue.is_empty() {
                return Ok(count);
            }
        }
    }

    fn restart(&mut self, segment: u32) -> io::Result<()> {
        self.files.restart(segment, &mut self.flush_calls)
    }

    fn system_calls(&self) -> u64 {
        self.context.system_calls() + self.flush_calls
    }
}

fn context_error(parameters: &OpenParameters<'_>, error: &io::Error) -> PathError {
    let (reason, fix) = match error.raw_os_error() {
        Some(libc::EAGAIN) => {
            ("the machine's limit of asynchronous operations is used up", "sysctl fs.aio-max-nr=1048576")
        }
        Some(libc::ENOSYS) => ("the kernel has no native asynchronous I/O", "use a kernel built with CONFIG_AIO"),
        Some(libc::EPERM | libc::EACCES) => {
            ("a seccomp filter forbids io_setup", "run outside the container, or allow its system calls")
        }
        _ => ("the kernel refuses the context", "look at fs.aio-nr and fs.aio-max-nr"),
    };
    parameters.unavailable(format!("{reason} ({error})"), fix.to_owned())
}
