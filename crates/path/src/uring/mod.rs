//! `io_uring`: two rings shared with the kernel; many operations are submitted and reaped with one system call or none.
//!
//! What the kernel does. An operation that can be answered at once, such as a read of a cached page, is carried out
//! inside the submitting call. A direct operation goes to the device, and its interrupt queues the completion. What
//! would block in the kernel goes to a pool of its threads (`iou-wrk`), which costs several microseconds and shows as
//! CPU of helper threads: most buffered misses, every `fsync`, and buffered writes that have to wait.
//!
//! What each option saves. `fixed` registers files and buffers: no reference counting of the file, and no pinning of
//! pages in each direct operation. `iopoll` asks the device instead of waiting for its interrupt; it needs direct I/O
//! and a device with poll queues. `sqpoll` gives submission to a kernel thread: no system call to submit, at the price
//! of a CPU that spins. Always, where the kernel has them: the ring's own registration (no look-up of its descriptor),
//! a single issuer, deferred and cooperative completion work (no interrupts of the thread, completions in batches),
//! and no index array.
//!
//! What databases should know. Depth pays only where the device answers in parallel; a batch trades latency for CPU. An
//! `fsync` in the ring covers only writes that completed before it was submitted: order them by waiting. Polling rings
//! take no `fsync` at all; here it becomes a blocking call. Containers often forbid `io_uring` by seccomp.

pub(crate) mod buffers;
pub(crate) mod reap;
pub(crate) mod ring;

use std::{io, os::fd::AsRawFd};

use assay_record::{DurabilityKind, PollMode};
use io_uring::{
    cqueue, opcode, squeue,
    types::{Fd, Fixed, FsyncFlags},
};

use self::{buffers::Pieces, reap::Reaps, ring::Ring};
use crate::{
    Completion, Knows, OpenParameters, PathError, Queued, Request, Wait,
    facts::has_poll_queues,
    files::Files,
    slots::{Settled, Slots},
};

const KNOWS: Knows = Knows {
    direct: true,
    fixed: true,
    poll: true,
    advice: true,
    huge_pages: false,
    persist: false,
    depth: true,
    durability: &[DurabilityKind::Fdatasync, DurabilityKind::Fsync, DurabilityKind::ODsync, DurabilityKind::RwfDsync],
};

/// Operations in flight at most: half the kernel's limit of a submission ring, since SQPOLL needs twice the depth.
pub(crate) const DEPTH_AT_MOST: u32 = 16_384;

/// The path `io_uring`.
#[derive(Debug)]
pub struct Uring {
    // Dropped first: the kernel lets go of files and buffers when the ring is closed.
    ring: Ring<squeue::Entry, cqueue::Entry>,
    slots: Slots,
    files: Files,
    again: Vec<u32>,
    fixed: bool,
    write_flags: i32,
    flush: Flush,
    flush_calls: u64,
}

/// How a flush reaches the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flush {
    /// Writes are durable by themselves, or not at all: there is nothing to do.
    Nothing,
    /// An operation of the ring.
    InRing(FsyncFlags),
    /// A system call of its own: polling rings take no `fsync`.
    Blocking,
}

impl Uring {
    /// Opens the segments and makes a ring, for this thread.
    ///
    /// # Errors
    /// An option that the path does not have, or the kernel's answer.
    pub fn open(parameters: &OpenParameters<'_>) -> Result<Self, PathError> {
        parameters.refuse_unknown(&KNOWS)?;
        refuse_depth(parameters)?;
        if parameters.spec.poll == PollMode::Iopoll && !parameters.spec.direct {
            return Err(parameters.unavailable(
                "polling for completions (iopoll) needs direct I/O".to_owned(),
                "set direct = true".to_owned(),
            ));
        }
        let files = Files::open(parameters)?;
        refuse_unpollable(parameters)?;
        let ring = Ring::new(parameters.depth, parameters.spec.poll).map_err(|error| ring_error(parameters, &error))?;
        let path = Self {
            ring,
            slots: Slots::new(parameters.depth),
            files,
            again: Vec::with_capacity(parameters.depth as usize),
            fixed: parameters.spec.fixed,
            write_flags: write_flags(parameters.durability.kind),
            flush: flush_means(parameters),
            flush_calls: 0,
        };
        if path.fixed {
            path.register().map_err(|error| register_error(parameters, &error))?;
        }
        Ok(path)
    }

    fn register(&self) -> io::Result<()> {
        let files: Vec<_> = self.files.places().iter().map(|place| place.raw()).collect();
        self.ring.submitter().register_files(&files)?;
        Pieces::LARGEST.register(&self.ring.submitter(), self.files.arena())
    }

    /// Operations pushed and not yet reaped.
    pub fn in_flight(&self) -> u32 {
        self.slots.in_flight()
    }

    /// Builds the entry of an operation; none where it would leave its segment or its buffer.
    #[inline(always)]
    fn entry(&self, request: &Request) -> Option<squeue::Entry> {
        let place = self.files.locate(request.segment, request.offset, request.length, request.memory)?;
        let (at, length, position) = (place.memory, request.length, place.position);
        let entry = if !self.fixed {
            let fd = Fd(place.fd.as_raw_fd());
            if request.write {
                opcode::Write::new(fd, at, length).offset(position).rw_flags(self.write_flags).build()
            } else {
                opcode::Read::new(fd, at, length).offset(position).build()
            }
        } else {
            self.fixed_entry(request, at, position)
        };
        Some(entry.user_data(u64::from(request.slot)))
    }

    #[inline(always)]
    fn fixed_entry(&self, request: &Request, at: *mut u8, position: u64) -> squeue::Entry {
        let (fd, length, flags) = (Fixed(request.segment), request.length, self.write_flags);
        match (Pieces::LARGEST.holding(request.memory, length), request.write) {
            (Some(piece), false) => opcode::ReadFixed::new(fd, at, length, piece).offset(position).build(),
            (Some(piece), true) => {
                opcode::WriteFixed::new(fd, at, length, piece).offset(position).rw_flags(flags).build()
            }
            (None, false) => opcode::Read::new(fd, at, length).offset(position).build(),
            (None, true) => opcode::Write::new(fd, at, length).offset(position).rw_flags(flags).build(),
        }
    }

    /// Asks for the rest of operations that were cut short.
    #[cold]
    fn push_again(&mut self) {
        while let Some(slot) = self.again.pop() {
            let rest = self.slots.rest(slot);
            if rest.length == 0 {
                self.push_flush_entry(rest.segment, slot);
                continue;
            }
            match self.entry(&rest) {
                // SAFETY: as in `push`.
                Some(entry) => unsafe { self.ring.push(&entry) },
                None => self.slots.finish_at_once(slot, -libc::EINVAL),
            }
        }
    }

    fn push_flush_entry(&mut self, segment: u32, slot: u32) {
        let Flush::InRing(flags) = self.flush else { return };
        let entry = if self.fixed {
            opcode::Fsync::new(Fixed(segment)).flags(flags).build()
        } else {
            opcode::Fsync::new(Fd(self.files.places()[segment as usize].raw())).flags(flags).build()
        };
        // SAFETY: a flush has no memory.
        unsafe { self.ring.push(&entry.user_data(u64::from(slot))) };
    }
}

impl Reaps for Uring {
    type Submission = squeue::Entry;
    type Completed = cqueue::Entry;

    #[inline(always)]
    fn ring(&mut self) -> &mut Ring<squeue::Entry, cqueue::Entry> {
        &mut self.ring
    }

    #[inline(always)]
    fn pending(&self) -> u32 {
        self.slots.in_flight()
    }

    #[inline(always)]
    fn drain(&mut self, into: &mut Vec<Completion>) -> u32 {
        let before = into.len();
        self.slots.hand_out_ready(into);
        let room = (into.capacity() - into.len()) as u32;
        let (slots, again) = (&mut self.slots, &mut self.again);
        self.ring.drain(room, |slot, result| match slots.settle(slot as u32, result) {
            Settled::Done(completion) => slots.hand_out(completion, into),
            Settled::Again(slot) => again.push(slot),
        });
        if !self.again.is_empty() {
            self.push_again();
        }
        (into.len() - before) as u32
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        self.settle_all();
        if self.fixed {
            // The kernel takes a ring apart in its own time; files are to be closed when the path is gone.
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

impl Queued for Uring {
    const COMBINED: bool = true;

    #[inline]
    fn push(&mut self, request: Request) {
        self.slots.start(request);
        match self.entry(&request) {
            // SAFETY: `entry` checked that the buffer lies inside the arena, which outlives the path; the path waits for
            // everything in flight before it goes.
            Some(entry) => unsafe { self.ring.push(&entry) },
            None => self.slots.finish_at_once(request.slot, -libc::EINVAL),
        }
    }

    /// On a ring that polls for completions this is a blocking call.
    fn push_flush(&mut self, segment: u32, slot: u32) {
        self.slots.start_flush(segment, slot);
        match self.flush {
            Flush::Nothing => self.slots.finish_at_once(slot, 0),
            Flush::InRing(_) => self.push_flush_entry(segment, slot),
            Flush::Blocking => {
                let answer = self.files.flush(segment, &mut self.flush_calls);
                let result = answer.map_or_else(|error| -error.raw_os_error().unwrap_or(libc::EIO), |()| 0);
                self.slots.finish_at_once(slot, result);
            }
        }
    }

    #[inline]
    fn submit(&mut self) -> io::Result<u32> {
        self.ring.submit()
    }

    #[inline]
    fn reap(&mut self, wait: Wait, into: &mut Vec<Completion>) -> io::Result<u32> {
        self.reap_ring(wait, into)
    }

    #[inline]
    fn submit_and_reap(&mut self, wait: Wait, into: &mut Vec<Completion>) -> io::Result<u32> {
        self.reap(wait, into)
    }

    fn restart(&mut self, segment: u32) -> io::Result<()> {
        self.files.restart(segment, &mut self.flush_calls)
    }

    fn system_calls(&self) -> u64 {
        self.ring.system_calls() + self.flush_calls
    }
}

fn write_flags(durability: DurabilityKind) -> i32 {
    if durability == DurabilityKind::RwfDsync { libc::RWF_DSYNC } else { 0 }
}

fn flush_means(parameters: &OpenParameters<'_>) -> Flush {
    let polls = parameters.spec.poll == PollMode::Iopoll;
    match parameters.durability.kind {
        DurabilityKind::Fdatasync | DurabilityKind::Fsync if polls => Flush::Blocking,
        DurabilityKind::Fdatasync => Flush::InRing(FsyncFlags::DATASYNC),
        DurabilityKind::Fsync => Flush::InRing(FsyncFlags::empty()),
        _ => Flush::Nothing,
    }
}

/// Refuses depths that no ring has.
pub(crate) fn refuse_depth(parameters: &OpenParameters<'_>) -> Result<(), PathError> {
    if (1..=DEPTH_AT_MOST).contains(&parameters.depth) {
        return Ok(());
    }
    let reason = format!("a depth of {} was asked for", parameters.depth);
    Err(parameters.unavailable(reason, format!("use a depth of 1 to {DEPTH_AT_MOST}")))
}

/// Polling is refused where there is nothing to poll: kernels from 5.16 to 6.11 would wait for interrupts instead and say
/// nothing.
pub(crate) fn refuse_unpollable(parameters: &OpenParameters<'_>) -> Result<(), PathError> {
    if parameters.spec.poll != PollMode::Iopoll {
        return Ok(());
    }
    let without = parameters.segments.iter().find(|segment| has_poll_queues(&segment.path) == Some(false));
    let Some(segment) = without else { return Ok(()) };
    Err(parameters.unavailable(
        format!("the device under {} has no poll queues", segment.path.display()),
        "with NVMe, boot with nvme.poll_queues=4 (or set it in /etc/modprobe.d); others cannot be polled".to_owned(),
    ))
}

/// Why no ring could be made, and what would help.
pub(crate) fn ring_error(parameters: &OpenParameters<'_>, error: &io::Error) -> PathError {
    let setting = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    let (reason, fix) = why_no_ring(error, setting.trim());
    parameters.unavailable(reason, fix)
}

fn why_no_ring(error: &io::Error, setting: &str) -> (String, String) {
    let (reason, fix) = match (error.raw_os_error(), setting) {
        (Some(libc::ENOSYS), _) => ("the kernel has no io_uring", "use Linux 5.6 or newer, built with CONFIG_IO_URING"),
        (Some(libc::EPERM), "1" | "2") => {
            ("the setting kernel.io_uring_disabled forbids it", "sysctl kernel.io_uring_disabled=0")
        }
        (Some(libc::EPERM | libc::EACCES), _) => (
            "a seccomp filter or a security module forbids io_uring_setup, as most containers do",
            "run outside the container, or with --security-opt seccomp=unconfined",
        ),
        (Some(libc::ENOMEM), _) => ("the limit of locked memory is too low for the ring", "ulimit -l unlimited"),
        _ => {
            return (
                format!("the kernel refuses the ring: {error}"),
                "leave out polling, or use a newer kernel".into(),
            );
        }
    };
    (reason.to_owned(), fix.to_owned())
}

/// Why files or buffers could not be registered.
pub(crate) fn register_error(parameters: &OpenParameters<'_>, error: &io::Error) -> PathError {
    let (reason, fix) = match error.raw_os_error() {
        Some(libc::ENOMEM) => {
            ("the limit of locked memory is too low for the registered buffers", "ulimit -l unlimited")
        }
        Some(libc::EMFILE) => ("more files than may be registered", "raise ulimit -n, or use fewer files"),
        _ => ("the kernel does not register files or buffers", "leave fixed = false, or use a newer kernel"),
    };
    parameters.unavailable(format!("{reason} ({error})"), fix.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_ring_names_its_cause() {
        let why = |errno, setting| why_no_ring(&io::Error::from_raw_os_error(errno), setting);
        assert!(why(libc::EPERM, "2").0.contains("kernel.io_uring_disabled"));
        assert!(why(libc::EPERM, "0").0.contains("seccomp"));
        assert!(why(libc::ENOSYS, "").1.contains("5.6"));
        assert!(why(libc::ENOMEM, "0").1.contains("ulimit -l"));
    }
}
