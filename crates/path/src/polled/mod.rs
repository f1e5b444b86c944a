//! `nvme_polled`: NVMe queues driven from user space, by polling.
//!
//! What happens. The drive is taken from the kernel: its registers and queues are mapped into this process, commands are
//! written to memory, and one store to a doorbell hands a whole batch over. Completions are found by looking at memory.
//! No system call, no interrupt, no block layer; the optional sleep between two looks is the only call into the kernel.
//!
//! What it takes. All of a drive, for reads too: while it runs, the drive has no block device, and everything that the
//! kernel knows of it is out of reach. So every namespace of the controller has to be unused, by all guards, before it is
//! taken. It is given back at the end, after an error, an interrupt or a panic by this process, after a kill by a
//! guardian, and after the death of both by `assay clean`. With an IOMMU, VFIO lets the device reach the buffers and the
//! queues and nothing else. Without one the device can reach all memory, and only this driver's care keeps it in bounds.
//!
//! How threads share a drive. Each has a queue pair of its own. The admin queue is used behind a lock, when a path is
//! opened and closed. A command that is overdue, or a controller that says that it has failed, stops the drive for all:
//! a device that may still write to memory is not one to go on with.
//!
//! What databases should know. It is the floor under every other path to the same drive, and it costs a CPU that looks
//! all the time, or latency where it sleeps. There is no file system.

mod bus;
mod command;
mod controller;
mod custody;
mod drive;
mod flights;
mod function;
mod guardian;
mod hardware;
mod identify;
mod iova;
mod lane;
mod memory;
mod pages;
mod physical;
mod queue;
mod registers;
mod resource;
mod status;
mod steps;
mod taking;
#[cfg(test)]
mod tests;
mod vfio;

use std::{
    io,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use assay_record::{DurabilityKind, Layout, PollMode};

pub use self::custody::{Returned, clean};
pub use self::taking::{possible, refusals};
use self::{
    drive::PolledDrive,
    flights::{Flights, SegmentBlocks},
    lane::Lane,
};
pub(crate) use self::{function::Hold, taking::Takings};
use crate::{Completion, Knows, OpenParameters, PathError, Queued, Request, Segment, SegmentKind, Wait};

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

/// Looks without an answer between two looks at the clock.
const SPINS_PER_CLOCK: u32 = 64;
/// Completions between two looks at the clock, where they never fail to come.
const REAPS_PER_CLOCK: u32 = 1024;
/// Milliseconds between two looks at the state of drives.
const LOOK_MS: u32 = 100;

/// The path `nvme_polled`. It never uses the page cache, whether or not `direct` is set, and its buffers are always
/// registered.
#[derive(Debug)]
pub struct Polled {
    flights: Flights,
    began: Instant,
    looked_ms: u32,
    reaps: u32,
    sleep: Option<Duration>,
    sleeps: u64,
}

impl Polled {
    /// Opens queues on the drives of the segments, for this thread. A drive that this process has not taken yet is taken
    /// from the kernel, and given back when the last path on it is dropped.
    ///
    /// # Errors
    /// An option that the path does not have, a segment that is no NVMe drive, a drive in use, a machine without the
    /// means, or the kernel's answer.
    pub fn open(parameters: &OpenParameters<'_>) -> Result<Self, PathError> {
        refuse(parameters)?;
        let mut drives: Vec<Arc<PolledDrive>> = Vec::new();
        let mut places = Vec::with_capacity(parameters.segments.len());
        for segment in parameters.segments {
            let drive = drive_of(parameters, segment)?;
            let lane = drives.iter().position(|known| Arc::ptr_eq(known, &drive)).unwrap_or_else(|| {
                drives.push(Arc::clone(&drive));
                drives.len() - 1
            });
            places.push(place_of(segment, &drive, lane as u32)?);
        }
        Self::on(parameters, drives, places)
    }

    fn on(
        parameters: &OpenParameters<'_>,
        drives: Vec<Arc<PolledDrive>>,
        places: Vec<SegmentBlocks>,
    ) -> Result<Self, PathError> {
        let lanes = drives.into_iter().map(|drive| match Lane::open(drive, parameters.arena, parameters.depth) {
            Ok(Some(lane)) => Ok(lane),
            Ok(None) => Err(parameters.unavailable(
                "the controller has no queues left for another thread".to_owned(),
                "use fewer threads".to_owned(),
            )),
            Err(fault) => Err(parameters.unavailable(fault.to_string(), memory_fix())),
        });
        let lanes = lanes.collect::<Result<Vec<_>, _>>()?;
        let sleep = Duration::from_micros(u64::from(parameters.spec.poll_sleep_us));
        Ok(Self {
            flights: Flights::new(parameters, lanes, places),
            began: Instant::now(),
            looked_ms: 0,
            reaps: 0,
            sleep: (!sleep.is_zero()).then_some(sleep),
            sleeps: 0,
        })
    }

    /// Operations pushed and not yet reaped.
    pub fn in_flight(&self) -> u32 {
        self.flights.in_flight()
    }

    /// Looks at the clock, and every now and then at the state of the drives; returns the time since opening.
    #[cold]
    fn look_at_clock(&mut self) -> Duration {
        let elapsed = self.began.elapsed();
        let now_ms = elapsed.as_millis() as u32;
        self.flights.now_ms = now_ms;
        if now_ms.wrapping_sub(self.looked_ms) >= LOOK_MS {
            self.looked_ms = now_ms;
            self.flights.look();
        }
        elapsed
    }

    /// Looks again and again, with a sleep in between where one was asked for.
    fn await_answers(&mut self, wanted: u32, wait: Wait, into: &mut Vec<Completion>) -> u32 {
        let limit = self.look_at_clock().checked_add(Duration::from_nanos(wait.timeout_ns));
        let (mut count, mut spins) = (0, 0_u32);
        loop {
            count += self.flights.drain(into);
            if count >= wanted {
                return count;
            }
            spins += 1;
            let sleep = self.sleep.filter(|_| wait.timeout_ns > 0);
            if sleep.is_none() && spins % SPINS_PER_CLOCK != 0 {
                std::hint::spin_loop();
                continue;
            }
            let now = self.look_at_clock();
            let left = limit.map_or(Duration::MAX, |limit| limit.saturating_sub(now));
            if left.is_zero() {
                return count + self.flights.drain(into);
            }
            if let Some(sleep) = sleep {
                thread::sleep(sleep.min(left));
                self.sleeps += 1;
            }
        }
    }
}

fn refuse(parameters: &OpenParameters<'_>) -> Result<(), PathError> {
    parameters.refuse_unknown(&KNOWS)?;
    let refused = |reason: &str, fix: &str| Err(parameters.unavailable(reason.to_owned(), fix.to_owned()));
    match (parameters.spec.poll, parameters.layout) {
        (PollMode::Sqpoll, _) => refused("no kernel takes part that could submit", "leave poll = \"none\""),
        (_, Layout::Grow) => refused("a namespace cannot grow", "use another layout than \"grow\""),
        _ => Ok(()),
    }
}

fn memory_fix() -> String {
    "raise the limit of locked memory (ulimit -l unlimited); without an IOMMU, set huge pages aside (sysctl \
     vm.nr_hugepages=64)"
        .to_owned()
}

fn drive_of(parameters: &OpenParameters<'_>, segment: &Segment) -> Result<Arc<PolledDrive>, PathError> {
    if segment.kind == SegmentKind::BlockDevice {
        return PolledDrive::of(&segment.path, parameters.spec.reach, &mut Vec::new());
    }
    Err(parameters.unavailable(
        format!("{} is not a block device, and commands know no files", segment.path.display()),
        "name an NVMe namespace such as /dev/nvme0n1 as the target".to_owned(),
    ))
}

fn place_of(segment: &Segment, drive: &PolledDrive, lane: u32) -> Result<SegmentBlocks, PathError> {
    let refused =
        |reason: String, fix: &str| PathError::Refused { path: segment.path.clone(), reason, fix: fix.to_owned() };
    let Some(namespace) = drive.namespace(&segment.path) else {
        return Err(refused("it is no namespace of the drive that was taken".to_owned(), "name the whole namespace"));
    };
    let (end, bytes) = (segment.base.saturating_add(segment.bytes), namespace.facts.bytes());
    if end > bytes {
        return Err(refused(format!("the range ends at {end} and the drive at {bytes}"), "make the data set smaller"));
    }
    Ok(SegmentBlocks { lane, namespace: namespace.facts, base: segment.base, bytes: segment.bytes })
}

impl Queued for Polled {
    const COMBINED: bool = true;

    #[inline]
    fn push(&mut self, request: Request) {
        self.flights.push(request);
    }

    #[inline]
    fn push_flush(&mut self, segment: u32, slot: u32) {
        self.flights.push_flush(segment, slot);
    }

    #[inline]
    fn submit(&mut self) -> io::Result<u32> {
        Ok(self.flights.ring())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, into: &mut Vec<Completion>) -> io::Result<u32> {
        self.flights.ring();
        self.reaps = self.reaps.wrapping_add(1);
        if self.reaps % REAPS_PER_CLOCK == 0 {
            self.look_at_clock();
        }
        let room = (into.capacity() - into.len()) as u32;
        let wanted = wait.at_least.min(self.flights.in_flight()).min(room);
        let count = self.flights.drain(into);
        if count >= wanted {
            return Ok(count);
        }
        Ok(count + self.await_answers(wanted - count, wait, into))
    }

    fn restart(&mut self, _segment: u32) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::EINVAL))
    }

    /// Sleeps between looks: there are no other calls.
    fn system_calls(&self) -> u64 {
        self.sleeps
    }
}

impl Drop for Polled {
    /// Waits for everything in flight: the device must not write to memory that is given back. One that does not answer is
    /// stopped when its patience ends.
    fn drop(&mut self) {
        let mut into = Vec::with_capacity(self.in_flight() as usize);
        while self.in_flight() > 0 {
            let wait = Wait { at_least: self.in_flight(), timeout_ns: u64::MAX };
            let _ = self.reap(wait, &mut into);
            into.clear();
        }
    }
}
