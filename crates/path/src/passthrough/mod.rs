//! `nvme_passthrough`: NVMe commands through `io_uring`, past file system, block layer and scheduler.
//!
//! What the kernel does. The ring carries the command itself (`IORING_OP_URING_CMD`, since 5.19) to the character device
//! of a namespace (`/dev/ng0n1`); the driver maps the buffer and puts the command into a hardware queue. No page cache,
//! no file system, no partition table, no splitting of large transfers.
//!
//! What databases should know. The whole device belongs to the one who writes to it, and nothing in the kernel checks
//! whether it is mounted: the guards of targets do. Transfers consist of whole logical blocks, up to the controller's
//! limit (`queue/max_hw_sectors_kb`); larger ones fail. Durability is the device's own: a flush command empties its
//! volatile cache, and a write with forced unit access is on the medium when it completes. Opening needs the right to
//! write to the character device even for reads, which usually means root.

mod command;
mod node;

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
};

use assay_record::{DurabilityKind, Layout, PollMode};
use io_uring::{cqueue, opcode, squeue, types::Fd};
use rustix::fs::{Mode, OFlags};

use self::{
    command::{Namespace, Transfer, URING_CMD_IO},
    node::DeviceNode,
};
use crate::{
    Completion, Knows, OpenParameters, PathError, Queued, Request, Segment, SegmentKind, Wait,
    files::io_error,
    slots::Slots,
    uring::{buffers::Pieces, reap::Reaps, refuse_depth, refuse_unpollable, register_error, ring::Ring, ring_error},
};

const KNOWS: Knows = Knows {
    direct: true,
    fixed: true,
    poll: true,
    advice: false,
    huge_pages: false,
    persist: false,
    depth: true,
    durability: &[DurabilityKind::Fdatasync, DurabilityKind::Fsync, DurabilityKind::ODsync, DurabilityKind::RwfDsync],
};

/// A segment of a namespace, open.
#[derive(Debug)]
struct Device {
    fd: OwnedFd,
    namespace: Namespace,
    base: u64,
    bytes: u64,
    /// Pieces of memory that one command may have.
    segments_at_most: u64,
}

/// The path `nvme_passthrough`. It never uses the page cache, whether or not `direct` is set.
#[derive(Debug)]
pub struct Passthrough {
    ring: Ring<squeue::Entry128, cqueue::Entry32>,
    slots: Slots,
    devices: Vec<Device>,
    arena: *mut u8,
    arena_bytes: usize,
    /// How the arena was cut where its buffers are registered.
    pieces: Option<Pieces>,
    writes: bool,
    /// Writes are on the medium when they complete.
    force_unit_access: bool,
    /// A flush is a command; otherwise there is nothing to do.
    flushes: bool,
    /// The ring is polled; a flush then is a call of its own.
    polled: bool,
    flush_calls: u64,
}

impl Passthrough {
    /// Opens the character devices of the segments and makes a ring, for this thread.
    ///
    /// # Errors
    /// An option that the path does not have, a segment that is no NVMe device, or the kernel's answer.
    pub fn open(parameters: &OpenParameters<'_>) -> Result<Self, PathError> {
        parameters.refuse_unknown(&KNOWS)?;
        refuse_depth(parameters)?;
        if parameters.layout == Layout::Grow {
            let fix = "use another layout than \"grow\"".to_owned();
            return Err(parameters.unavailable("a namespace cannot grow".to_owned(), fix));
        }
        let devices = parameters.segments.iter().map(|segment| open_device(parameters, segment));
        let devices = devices.collect::<Result<Vec<_>, _>>()?;
        refuse_unpollable(parameters)?;
        refuse_old_polling(parameters)?;
        let ring = Ring::new(parameters.depth, parameters.spec.poll).map_err(|error| ring_error(parameters, &error))?;
        let kind = parameters.durability.kind;
        let segments_at_most = devices.iter().map(|device| device.segments_at_most).min().unwrap_or(1);
        let path = Self {
            ring,
            slots: Slots::new(parameters.depth),
            devices,
            arena: parameters.arena.start(),
            arena_bytes: parameters.arena.len(),
            pieces: parameters.spec.fixed.then(|| Pieces::of_pages(segments_at_most)),
            writes: parameters.writes,
            force_unit_access: matches!(kind, DurabilityKind::ODsync | DurabilityKind::RwfDsync),
            flushes: matches!(kind, DurabilityKind::Fdatasync | DurabilityKind::Fsync),
            polled: parameters.spec.poll == PollMode::Iopoll,
            flush_calls: 0,
        };
        if let Some(pieces) = path.pieces {
            pieces
                .register(&path.ring.submitter(), (path.arena, path.arena_bytes))
                .map_err(|error| register_error(parameters, &error))?;
        }
        Ok(path)
    }

    /// Operations pushed and not yet reaped.
    pub fn in_flight(&self) -> u32 {
        self.slots.in_flight()
    }

    #[inline(always)]
    fn entry(&self, request: &Request) -> Option<squeue::Entry128> {
        let device = self.devices.get(request.segment as usize)?;
        let length = u64::from(request.length);
        let in_device = length <= device.bytes && request.offset <= device.bytes - length;
        let in_arena =
            request.length as usize <= self.arena_bytes && request.memory <= self.arena_bytes - request.length as usize;
        if !in_device || !in_arena || (request.write && !self.writes) {
            return None;
        }
        let command = device.namespace.transfer(Transfer {
            write: request.write,
            position: device.base + request.offset,
            length: request.length,
            memory: self.arena as u64 + request.memory as u64,
            force_unit_access: self.force_unit_access,
        })?;
        let piece = self.pieces.and_then(|pieces| pieces.holding(request.memory, request.length));
        let entry = opcode::UringCmd80::new(Fd(device.fd.as_raw_fd()), URING_CMD_IO).cmd(command).buf_index(piece);
        Some(entry.build().user_data(u64::from(request.slot)))
    }
}

impl Reaps for Passthrough {
    type Submission = squeue::Entry128;
    type Completed = cqueue::Entry32;

    #[inline(always)]
    fn ring(&mut self) -> &mut Ring<squeue::Entry128, cqueue::Entry32> {
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
        let slots = &mut self.slots;
        self.ring.drain(room, |slot, status| {
            let slot = slot as u32;
            let result = result_of(status, slots.rest(slot).length);
            slots.hand_out(Completion { slot, result }, into);
        });
        (into.len() - before) as u32
    }
}

/// Two rings that poll commands of one drive make Linux 6.1 panic in `bio_poll`: one ends a command while the other still
/// looks at it. Kernels from 6.6 on poll by request.
fn refuse_old_polling(parameters: &OpenParameters<'_>) -> Result<(), PathError> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if parameters.spec.poll != PollMode::Iopoll || polls_commands_safely(&release) {
        return Ok(());
    }
    Err(parameters.unavailable(
        format!("Linux {} may panic when it polls for NVMe commands", release.trim()),
        "use Linux 6.6 or newer, poll = \"none\", or io_uring with direct = true and poll = \"iopoll\"".to_owned(),
    ))
}

/// Whether a kernel's release is 6.6 or newer; one that cannot be read is not.
fn polls_commands_safely(release: &str) -> bool {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    let version = (numbers.next().flatten(), numbers.next().flatten());
    matches!(version, (Some(major), Some(minor)) if (major, minor) >= (6, 6))
}

/// A command ends with a negated `errno`, an NVMe status, or 0 for a whole transfer.
#[inline(always)]
fn result_of(status: i32, length: u32) -> i32 {
    match status {
        0 => length as i32,
        _ if status < 0 => status,
        _ => -libc::EIO,
    }
}

fn open_device(parameters: &OpenParameters<'_>, segment: &Segment) -> Result<Device, PathError> {
    if segment.kind != SegmentKind::BlockDevice {
        return Err(parameters.unavailable(
            format!("{} is not a block device, and commands know no files", segment.path.display()),
            "name an NVMe namespace such as /dev/nvme0n1 as the target".to_owned(),
        ));
    }
    let node = DeviceNode::find(Path::new("/sys"), &segment.path)
        .map_err(|why| parameters.unavailable(why.reason, why.fix))?;
    if segment.base + segment.bytes > node.bytes {
        return Err(PathError::Refused {
            path: segment.path.clone(),
            reason: format!("the range ends at {} and the device at {}", segment.base + segment.bytes, node.bytes),
            fix: "make the data set smaller".to_owned(),
        });
    }
    let fd = rustix::fs::open(node.path(), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| io_error("opening", &node.path(), error.into()))?;
    Ok(Device {
        fd,
        namespace: node.namespace,
        base: node.base + segment.base,
        bytes: segment.bytes,
        segments_at_most: node.segments_at_most,
    })
}

impl Queued for Passthrough {
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

    fn push_flush(&mut self, segment: u32, slot: u32) {
        self.slots.start_flush(segment, slot);
        if !self.flushes {
            return self.slots.finish_at_once(slot, 0);
        }
        let device = &self.devices[segment as usize];
        if self.polled {
            // A flush has no memory by which a ring that polls would find it.
            self.flush_calls += 1;
            let result = command::flush_blocking(&device.fd, device.namespace);
            return self.slots.finish_at_once(slot, result);
        }
        let command = opcode::UringCmd80::new(Fd(device.fd.as_raw_fd()), URING_CMD_IO).cmd(device.namespace.flush());
        // SAFETY: a flush has no memory.
        unsafe { self.ring.push(&command.build().user_data(u64::from(slot))) };
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

    fn restart(&mut self, _segment: u32) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::EINVAL))
    }

    fn system_calls(&self) -> u64 {
        self.ring.system_calls() + self.flush_calls
    }
}

impl Drop for Passthrough {
    fn drop(&mut self) {
        self.settle_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polled_commands_are_refused_on_kernels_that_panic() {
        assert!(!polls_commands_safely("6.1.0-56-amd64") && !polls_commands_safely("5.19.17"));
        assert!(!polls_commands_safely("6.5.0") && !polls_commands_safely("") && !polls_commands_safely("x.y"));
        assert!(polls_commands_safely("6.6.0") && polls_commands_safely("6.18.1+") && polls_commands_safely("7.0"));
    }

    #[test]
    fn a_status_of_the_device_is_an_error() {
        assert_eq!(result_of(0, 4096), 4096);
        assert_eq!(result_of(0x281, 4096), -libc::EIO);
        assert_eq!(result_of(-libc::EAGAIN, 4096), -libc::EAGAIN);
    }
}
