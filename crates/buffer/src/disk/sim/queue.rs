//! A queue to a simulated disk.

use std::sync::Arc;

use rustix::io::Errno;

use super::{
    platter::SECTOR,
    world::{RequestFate, State, World},
};
use crate::{
    BufferError,
    disk::{Action, Calls, Completion, DiskRequest, Memory, ONE, Queue, TrimRange, Wait},
};

/// A completion on its way.
struct Flight {
    looks: u64,
    completion: Completion,
    /// The write that nobody knows to be complete before this is reaped.
    write: Option<u64>,
}

pub(super) struct SimQueue {
    world: Arc<World>,
    disk: usize,
    bytes: u64,
    memory: Arc<Memory>,
    flights: Vec<Flight>,
}

impl SimQueue {
    pub fn new(world: Arc<World>, disk: usize, bytes: u64, memory: Arc<Memory>) -> Self {
        Self { world, disk, bytes, memory, flights: Vec::new() }
    }

    fn fits(&self, request: &DiskRequest) -> bool {
        let length = request.bytes as usize;
        let aligned = request.offset % SECTOR as u64 == 0 && length % SECTOR == 0 && request.memory % SECTOR == 0;
        let on_disk = request.offset.checked_add(length as u64).is_some_and(|end| end <= self.bytes);
        let in_memory = request.memory.checked_add(length).is_some_and(|end| end <= self.memory.bytes());
        // The list of a trim is no data, and may have any length.
        length > 0 && (aligned || request.action == Action::Trim) && on_disk && in_memory
    }

    /// The memory of a request that fits.
    ///
    /// # Safety
    /// As [`Queue::push`]: nobody else uses it until the completion is reaped, and it is not held for longer.
    #[allow(clippy::mut_from_ref)]
    unsafe fn bytes(&self, request: &DiskRequest) -> &mut [u8] {
        // SAFETY: inside of the memory, which this queue keeps; the caller's promise for the rest.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start().add(request.memory), request.bytes as usize) }
    }

    /// Fills what is trimmed with rubbish: whoever still needs it is to notice.
    fn forget(&self, state: &mut State, id: u64, range: TrimRange, outcome: RequestFate) -> Result<(), Errno> {
        let TrimRange { offset, bytes } = range;
        if offset.checked_add(u64::from(bytes)).is_none_or(|end| end > self.bytes) {
            return Err(Errno::INVAL);
        }
        write(state, self.disk, id, offset, &vec![0xdd; bytes as usize], outcome)
    }

    /// Carries a request out; the identity of the write that is to be reaped.
    ///
    /// # Safety
    /// As [`Queue::push`].
    unsafe fn act(&self, state: &mut State, request: DiskRequest) -> (Result<(), Errno>, Option<u64>) {
        let outcome = state.count(request.action);
        if outcome == RequestFate::Dark {
            return (Err(Errno::IO), None);
        }
        if request.action != Action::Flush && !self.fits(&request) {
            return (Err(Errno::INVAL), None);
        }
        match request.action {
            Action::Flush => (flush(state, self.disk, outcome), None),
            Action::Read => {
                if let RequestFate::Fails(errno) = outcome {
                    return (Err(errno), None);
                }
                // SAFETY: the caller's promise.
                state.platters[self.disk].read(request.offset, unsafe { self.bytes(&request) });
                (Ok(()), None)
            }
            Action::Trim => {
                let id = state.write_id();
                // SAFETY: the caller's promise.
                let mut ranges = TrimRange::all(unsafe { self.bytes(&request) });
                (ranges.try_for_each(|range| self.forget(state, id, range, outcome)), Some(id))
            }
            Action::Write | Action::Place(_) => {
                // SAFETY: the caller's promise.
                let bytes = unsafe { self.bytes(&request) };
                let id = state.write_id();
                (write(state, self.disk, id, request.offset, bytes, outcome), Some(id))
            }
        }
    }
}

fn flush(state: &mut State, disk: usize, outcome: RequestFate) -> Result<(), Errno> {
    if let RequestFate::Fails(errno) = outcome {
        state.platters[disk].flush_failed();
        return Err(errno);
    }
    if !state.lying {
        let unreaped = &state.unreaped;
        state.platters[disk].flush(|id| !unreaped.contains(&id));
    }
    Ok(())
}

fn write(
    state: &mut State,
    disk: usize,
    id: u64,
    offset: u64,
    bytes: &[u8],
    outcome: RequestFate,
) -> Result<(), Errno> {
    match outcome {
        // A full disk takes nothing; one that fails may have taken a part.
        RequestFate::Fails(Errno::NOSPC) => Err(Errno::NOSPC),
        RequestFate::Fails(errno) => {
            let State { platters, chance, .. } = state;
            platters[disk].write_torn(id, offset, bytes, chance);
            Err(errno)
        }
        _ => {
            state.platters[disk].write(id, offset, bytes);
            Ok(())
        }
    }
}

impl Queue for SimQueue {
    unsafe fn push(&mut self, request: DiskRequest) {
        let world = Arc::clone(&self.world);
        let mut state = world.state();
        // SAFETY: the caller's promise.
        let (result, write) = unsafe { self.act(&mut state, request) };
        let looks = state.delay();
        self.flights.push(Flight { looks, completion: Completion { token: request.token, result }, write });
    }

    fn in_flight(&self) -> u32 {
        self.flights.len() as u32
    }

    fn reap(&mut self, wait: Wait, into: &mut Vec<Completion>) -> Result<(), BufferError> {
        let goal = wait.at_least.min(self.in_flight()) as usize;
        let mut state = self.world.state();
        let mut reaped = 0;
        loop {
            let mut index = 0;
            while index < self.flights.len() {
                if self.flights[index].looks > 0 {
                    self.flights[index].looks -= 1;
                    index += 1;
                    continue;
                }
                // Out of order, on purpose.
                let flight = self.flights.swap_remove(index);
                if let Some(id) = flight.write {
                    state.unreaped.remove(&id);
                }
                into.push(flight.completion);
                reaped += 1;
            }
            if reaped >= goal {
                return Ok(());
            }
        }
    }
}

impl SimQueue {
    /// Carries out one request from beginning to end.
    ///
    /// # Safety
    /// As [`Queue::push`], for the time of the call.
    unsafe fn call(&mut self, request: DiskRequest) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { self.push(request) };
        let mut done = Vec::with_capacity(1);
        while done.is_empty() {
            self.reap(ONE, &mut done).map_err(|_| Errno::IO)?;
        }
        done[0].result
    }
}

impl Calls for SimQueue {
    unsafe fn write(&mut self, offset: u64, memory: usize, bytes: u32) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { self.call(DiskRequest { action: Action::Write, offset, memory, bytes, token: 0 }) }
    }

    fn flush(&mut self) -> Result<(), Errno> {
        // SAFETY: a flush uses no memory.
        unsafe { self.call(DiskRequest::flush(0)) }
    }
}
