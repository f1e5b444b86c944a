//! A submission and a completion ring shared with the kernel, entered with as few system calls as there can be.

use std::{
    io, mem,
    os::fd::AsRawFd,
    ptr,
    sync::atomic::{Ordering, fence},
};

use assay_record::PollMode;
use io_uring::{Builder, IoUring, cqueue, squeue};

use crate::Wait;

const ENTER_GETEVENTS: u32 = 1;
const ENTER_SQ_WAKEUP: u32 = 1 << 1;
const ENTER_EXT_ARG: u32 = 1 << 3;
const ENTER_REGISTERED_RING: u32 = 1 << 4;
const REGISTER_RING_FDS: libc::c_uint = 20;
const UNREGISTER_RING_FDS: libc::c_uint = 21;
/// Looks into the completion ring before a thread with a submitting kernel thread goes to sleep: a few microseconds.
const SPINS: u32 = 256;
/// Idle time after which the submitting kernel thread sleeps, ms.
const SQPOLL_IDLE_MS: u32 = 1000;

/// The argument of a wait with a timeout (`struct io_uring_getevents_arg`).
#[repr(C)]
struct WaitArgument {
    sigmask: u64,
    sigmask_bytes: u32,
    min_wait_us: u32,
    timeout: u64,
}

/// `struct __kernel_timespec`.
#[repr(C)]
struct Timeout {
    seconds: i64,
    nanoseconds: i64,
}

/// Set-up flags beyond the sizes, richest first: each saves the kernel work, and older kernels answer `EINVAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flags {
    /// 5.18: an operation that fails at submission does not hold up those after it.
    submit_all: bool,
    /// 5.19: completions do not interrupt the thread in user space; a bit in the ring says that it should enter.
    cooperative: bool,
    /// 6.0: one thread submits, so the kernel needs no locks between submitters.
    single_issuer: bool,
    /// 6.1: completions are processed only when the thread asks for them, in one go, instead of at any system call.
    deferred: bool,
    /// 6.6: submission entries are taken in ring order, without a level of indices.
    no_array: bool,
}

const LADDER: [Flags; 6] = [
    Flags { submit_all: true, cooperative: true, single_issuer: true, deferred: true, no_array: true },
    Flags { submit_all: true, cooperative: true, single_issuer: true, deferred: true, no_array: false },
    Flags { submit_all: true, cooperative: true, single_issuer: true, deferred: false, no_array: false },
    Flags { submit_all: true, cooperative: true, single_issuer: false, deferred: false, no_array: false },
    Flags { submit_all: true, cooperative: false, single_issuer: false, deferred: false, no_array: false },
    Flags { submit_all: false, cooperative: false, single_issuer: false, deferred: false, no_array: false },
];

/// A ring of one thread.
pub(crate) struct Ring<S: squeue::EntryMarker, C: cqueue::EntryMarker + Into<cqueue::Entry>> {
    ring: IoUring<S, C>,
    poll: PollMode,
    /// Descriptor or registered index, and the flag that goes with it.
    enter_fd: libc::c_int,
    enter_flags: u32,
    timeouts: bool,
    queued: u32,
    system_calls: u64,
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker + Into<cqueue::Entry>> Ring<S, C> {
    /// Makes a ring for `depth` operations in flight, with the richest flags that the kernel takes.
    pub fn new(depth: u32, poll: PollMode) -> io::Result<Self> {
        let ring = build(depth, poll)?;
        let timeouts = ring.params().is_feature_ext_arg();
        let enter_fd = ring.as_raw_fd();
        let mut ring = Self { ring, poll, enter_fd, enter_flags: 0, timeouts, queued: 0, system_calls: 0 };
        ring.register_itself();
        Ok(ring)
    }

    /// Saves the look-up of the descriptor in every call; kernels before 5.18 cannot.
    fn register_itself(&mut self) {
        let mut update = RingUpdate { offset: u32::MAX, reserved: 0, data: self.ring.as_raw_fd() as u64 };
        if register(self.ring.as_raw_fd(), REGISTER_RING_FDS, &mut update) == 1 {
            self.enter_fd = update.offset as libc::c_int;
            self.enter_flags = ENTER_REGISTERED_RING;
        }
    }

    /// The kernel's side, for registrations.
    pub fn submitter(&self) -> io_uring::Submitter<'_> {
        self.ring.submitter()
    }

    /// Puts an entry into the submission ring.
    ///
    /// # Safety
    /// The entry's memory stays valid until its completion.
    #[inline(always)]
    pub unsafe fn push(&mut self, entry: &S) {
        // SAFETY: the caller vouches for the entry.
        let pushed = unsafe { self.ring.submission().push(entry) };
        assert!(pushed.is_ok(), "more operations were pushed than the path was opened for");
        self.queued += 1;
    }

    /// Hands everything pushed to the kernel without waiting; returns how many entries it took.
    #[inline]
    pub fn submit(&mut self) -> io::Result<u32> {
        if self.queued == 0 {
            return Ok(0);
        }
        if self.poll == PollMode::Sqpoll {
            return self.wake();
        }
        self.enter(0, 0, None)
    }

    /// The kernel thread sees the ring's tail by itself; it is called only where it has gone to sleep.
    fn wake(&mut self) -> io::Result<u32> {
        let taken = mem::take(&mut self.queued);
        // The store of the tail must come before the load of the flag, or both sides could fall asleep.
        fence(Ordering::SeqCst);
        if self.ring.submission().need_wakeup() {
            self.enter(0, ENTER_SQ_WAKEUP, None)?;
        }
        Ok(taken)
    }

    /// Finished operations, oldest first; `take` gets user data and result. At most `room`; returns how many.
    #[inline(always)]
    pub fn drain(&mut self, room: u32, mut take: impl FnMut(u64, i32)) -> u32 {
        let mut count = 0;
        let mut queue = self.ring.completion();
        while count < room {
            let Some(entry) = queue.next() else { break };
            let entry: cqueue::Entry = entry.into();
            take(entry.user_data(), entry.result());
            count += 1;
        }
        count
    }

    /// Whether a look into the ring is not enough: completions wait for the thread to enter the kernel.
    #[inline(always)]
    pub fn holds_back(&mut self) -> bool {
        if self.poll == PollMode::Iopoll {
            return true;
        }
        let queue = self.ring.submission();
        queue.taskrun() || queue.cq_overflow()
    }

    /// Submits what was pushed and waits, in one call. An interruption by a signal is no error.
    #[inline]
    pub fn submit_and_wait(&mut self, wait: Wait) -> io::Result<()> {
        let mut flags = ENTER_GETEVENTS;
        if self.poll == PollMode::Sqpoll {
            self.wake()?;
            if wait.at_least > 0 && self.spin() {
                return Ok(());
            }
        }
        let limited = wait.at_least > 0 && wait.timeout_ns != u64::MAX && self.timeouts;
        if !limited {
            return self.enter(wait.at_least, flags, None).map(drop);
        }
        flags |= ENTER_EXT_ARG;
        let timeout = Timeout {
            seconds: (wait.timeout_ns / 1_000_000_000) as i64,
            nanoseconds: (wait.timeout_ns % 1_000_000_000) as i64,
        };
        let argument =
            WaitArgument { sigmask: 0, sigmask_bytes: 8, min_wait_us: 0, timeout: &raw const timeout as u64 };
        self.enter(wait.at_least, flags, Some(&argument)).map(drop)
    }

    /// Looks for a completion for a moment, without a system call.
    fn spin(&mut self) -> bool {
        (0..SPINS).any(|_| {
            std::hint::spin_loop();
            !self.ring.completion().is_empty()
        })
    }

    fn enter(&mut self, at_least: u32, flags: u32, argument: Option<&WaitArgument>) -> io::Result<u32> {
        let pointer = argument.map_or(ptr::null(), ptr::from_ref);
        let bytes = if argument.is_some() { mem::size_of::<WaitArgument>() } else { 0 };
        let flags = flags | self.enter_flags;
        self.system_calls += 1;
        // SAFETY: the ring is open, and `argument` outlives the call.
        let taken = unsafe {
            libc::syscall(libc::SYS_io_uring_enter, self.enter_fd, self.queued, at_least, flags, pointer, bytes)
        };
        if taken >= 0 {
            self.queued -= (taken as u32).min(self.queued);
            return Ok(taken as u32);
        }
        forgive(io::Error::last_os_error())
    }

    /// Entries pushed that the kernel has not taken yet.
    #[inline(always)]
    pub fn queued(&self) -> u32 {
        self.queued
    }

    /// Calls to `io_uring_enter` so far.
    pub fn system_calls(&self) -> u64 {
        self.system_calls
    }
}

/// A timeout and a signal end a wait; the caller looks at what there is.
#[cold]
fn forgive(error: io::Error) -> io::Result<u32> {
    match error.raw_os_error() {
        Some(libc::ETIME | libc::EINTR) => Ok(0),
        _ => Err(error),
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker + Into<cqueue::Entry>> Drop for Ring<S, C> {
    fn drop(&mut self) {
        if self.enter_flags != 0 {
            let mut update = RingUpdate { offset: self.enter_fd as u32, reserved: 0, data: 0 };
            register(self.ring.as_raw_fd(), UNREGISTER_RING_FDS, &mut update);
        }
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker + Into<cqueue::Entry>> std::fmt::Debug for Ring<S, C> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Ring").field("poll", &self.poll).field("queued", &self.queued).finish_non_exhaustive()
    }
}

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct RingUpdate {
    offset: u32,
    reserved: u32,
    data: u64,
}

fn register(fd: libc::c_int, operation: libc::c_uint, update: &mut RingUpdate) -> i64 {
    // SAFETY: the ring is open, and `update` is one valid entry.
    unsafe { libc::syscall(libc::SYS_io_uring_register, fd, operation, ptr::from_mut(update), 1) }
}

fn build<S, C>(depth: u32, poll: PollMode) -> io::Result<IoUring<S, C>>
where
    S: squeue::EntryMarker,
    C: cqueue::EntryMarker,
{
    let mut answer = Err(io::ErrorKind::InvalidInput.into());
    // A submitting kernel thread frees the entries of a batch together, after the first of them may have completed and
    // its successor been pushed: at worst a batch of `depth` is not freed yet and `depth` more are there.
    let entries = if poll == PollMode::Sqpoll { 2 * depth } else { depth };
    for flags in LADDER {
        answer = builder(poll, flags).build(entries.next_power_of_two());
        match &answer {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            _ => break,
        }
    }
    answer
}

type Setter<S, C> = fn(&mut Builder<S, C>) -> &mut Builder<S, C>;

fn builder<S, C>(poll: PollMode, flags: Flags) -> Builder<S, C>
where
    S: squeue::EntryMarker,
    C: cqueue::EntryMarker,
{
    let mut builder = IoUring::builder();
    builder.dontfork();
    // The submitting kernel thread runs completions itself; the thread's own task work does not exist there.
    let own = poll != PollMode::Sqpoll;
    match poll {
        PollMode::None => {}
        PollMode::Iopoll => drop(builder.setup_iopoll()),
        PollMode::Sqpoll => drop(builder.setup_sqpoll(SQPOLL_IDLE_MS)),
    }
    let options: [(bool, Setter<S, C>); 6] = [
        (flags.submit_all, Builder::setup_submit_all),
        (flags.cooperative && !flags.deferred && own, Builder::setup_coop_taskrun),
        (flags.cooperative && own, Builder::setup_taskrun_flag),
        (flags.single_issuer, Builder::setup_single_issuer),
        (flags.deferred && own, Builder::setup_defer_taskrun),
        (flags.no_array, Builder::setup_no_sqarray),
    ];
    for (_, set) in options.iter().filter(|(wanted, _)| *wanted) {
        set(&mut builder);
    }
    builder
}
