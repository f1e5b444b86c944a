//! A disk whose bytes are in memory and whose time is a twin's.

use std::{fmt, sync::Arc};

use assay_buffer::{
    BufferError,
    disk::{Action, Completion, Disk, DiskRequest, Memory, Queue, TrimRange, Wait},
    stage::{self, Stage},
};
use assay_twin::simulated;
use rustix::io::Errno;

use crate::{scene::Shared, store::Bytes};

/// A disk on a twin. Where the caller is no actor of the stage its requests take no time: that is how it is filled.
pub struct TwinDisk {
    name: String,
    bytes: u64,
    /// Where it begins on its target.
    base: u64,
    station: usize,
    scene: Shared,
    store: Arc<Bytes>,
}

impl TwinDisk {
    /// A disk of `bytes` that begins at `base` of a station's target; its content takes `most` bytes of memory at most.
    pub fn new(name: &str, bytes: u64, (station, base): (usize, u64), scene: &Shared, most: u64) -> Self {
        let store = Arc::new(Bytes::new(bytes, most));
        Self { name: name.to_owned(), bytes, base, station, scene: scene.clone(), store }
    }

    /// Bytes of memory that its content takes.
    pub fn held(&self) -> u64 {
        self.store.held()
    }
}

impl fmt::Debug for TwinDisk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TwinDisk").field("name", &self.name).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Disk for TwinDisk {
    fn name(&self) -> &str {
        &self.name
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn queue(&self, _depth: u32, memory: &Arc<Memory>) -> Result<Box<dyn Queue>, BufferError> {
        Ok(Box::new(TwinQueue {
            bytes: self.bytes,
            base: self.base,
            station: self.station,
            scene: self.scene.clone(),
            store: Arc::clone(&self.store),
            memory: Arc::clone(memory),
            lane: self.scene.lock().add_lane(),
            pending: Vec::new(),
            done: Vec::new(),
            owed: 0,
            sleeps: false,
            end: u64::MAX,
        }))
    }
}

struct TwinQueue {
    bytes: u64,
    base: u64,
    station: usize,
    scene: Shared,
    store: Arc<Bytes>,
    memory: Arc<Memory>,
    lane: usize,
    /// Pushed, and not handed to the device yet.
    pending: Vec<DiskRequest>,
    /// Ended without taking any time.
    done: Vec<Completion>,
    /// CPU time of what is to be done when the requests in flight have ended, ps.
    owed: u64,
    /// A thread sleeps for what is in flight: what a sleep for a flush alone takes is among the flush's own cycles.
    sleeps: bool,
    /// Where the last request ended: one that begins there is sequential.
    end: u64,
}

impl TwinQueue {
    /// Moves the bytes of a request.
    ///
    /// # Safety
    /// As [`Queue::push`].
    unsafe fn carry(&self, request: &DiskRequest) -> Result<(), Errno> {
        let length = request.bytes as usize;
        let fits = |start: u64, most: u64| start.checked_add(length as u64).is_some_and(|end| end <= most);
        if request.action == Action::Flush {
            return Ok(());
        }
        if !fits(request.offset, self.bytes) || !fits(request.memory as u64, self.memory.bytes() as u64) {
            return Err(Errno::INVAL);
        }
        if request.action == Action::Trim {
            let inside = |range: &TrimRange| {
                range.offset.checked_add(u64::from(range.bytes)).is_some_and(|end| end <= self.bytes)
            };
            return self.ranges(request).iter().all(inside).then_some(()).ok_or(Errno::INVAL);
        }
        // SAFETY: inside of the memory; the caller's promise for the rest.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.memory.start().add(request.memory), length) };
        match request.action {
            Action::Read => self.store.read(request.offset, bytes),
            _ if !self.store.write(request.offset, bytes) => return Err(Errno::NOSPC),
            _ => {}
        }
        Ok(())
    }

    /// The ranges of a trim.
    fn ranges(&self, request: &DiskRequest) -> Vec<TrimRange> {
        // SAFETY: a trim was refused unless its list lies in the memory, and its owner leaves that alone until it has ended.
        let list =
            unsafe { std::slice::from_raw_parts(self.memory.start().add(request.memory), request.bytes as usize) };
        TrimRange::all(list).collect()
    }

    /// The device forgets all ranges of a trim but the first; that one stands for the command and what it takes.
    fn forget(&self, request: &DiskRequest) -> simulated::Request {
        let trims = self.ranges(request).into_iter().map(|range| simulated::Request {
            action: simulated::Action::Trim,
            offset: self.base + range.offset,
            bytes: range.bytes,
            ..Default::default()
        });
        let all: Vec<_> = trims.collect();
        let mut scene = self.scene.lock();
        all.iter().skip(1).for_each(|trim| scene.lay(self.station, trim));
        all.first().copied().unwrap_or(simulated::Request { action: simulated::Action::Trim, ..Default::default() })
    }

    fn as_simulated(&mut self, request: &DiskRequest) -> simulated::Request {
        let action = match request.action {
            Action::Read => simulated::Action::Read,
            Action::Write | Action::Place(_) => simulated::Action::Write,
            Action::Trim => return self.forget(request),
            Action::Flush => simulated::Action::Flush,
        };
        let moves = request.action != Action::Flush;
        let sequential = moves && request.offset == self.end;
        if moves {
            self.end = request.offset + u64::from(request.bytes);
        }
        let offset = self.base + request.offset;
        let group = if let Action::Place(group) = request.action { group } else { 0 };
        simulated::Request { action, offset, bytes: request.bytes, sequential, group, ..Default::default() }
    }

    /// Hands what was pushed to the device.
    fn submit(&mut self, stage: &Stage) {
        if self.pending.is_empty() {
            return;
        }
        let (costs, is_memory) = {
            let station = &self.scene.lock().stations[self.station];
            (station.costs, station.is_memory)
        };
        self.sleeps = self.pending.iter().any(|request| request.action != Action::Flush);
        if self.sleeps && costs.bell > 0 {
            self.ring(stage, costs.bell);
        }
        let calls: u64 = self.pending.iter().map(|request| costs.request(request.action, request.bytes)).sum();
        stage.spend(costs.submission() + calls / 2);
        for request in std::mem::take(&mut self.pending) {
            let wanted = self.as_simulated(&request);
            if is_memory {
                let length = self.scene.lock().access(stage.now(), self.station, wanted);
                stage.stall(length);
                self.done.push(Completion { token: request.token, result: Ok(()) });
            } else {
                let from = (self.station, self.lane, stage.actor());
                self.scene.lock().launch(stage.now(), from, wanted, request.token);
            }
        }
        self.owed += calls - calls / 2;
    }

    /// Wakes the device where it has nothing in flight at this moment.
    fn ring(&self, stage: &Stage, bell: u64) {
        stage.catch_up();
        if self.scene.lock().stations[self.station].in_flight == 0 {
            stage.spend(bell);
        }
    }

    fn collect(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.done);
        self.scene.lock().reap(self.lane, into);
    }

    /// What the host does for requests that have ended, so many of all that there were.
    fn settle(&mut self, stage: &Stage, ended: usize, of: usize) {
        let share = (u128::from(self.owed) * ended as u128 / of.max(1) as u128) as u64;
        self.owed -= share;
        stage.spend(share);
    }
}

impl Queue for TwinQueue {
    unsafe fn push(&mut self, request: DiskRequest) {
        let stage = stage::acting();
        if let Some(stage) = &stage {
            stage.charge();
        }
        // SAFETY: the caller's promise.
        match (unsafe { self.carry(&request) }, &stage) {
            (Ok(()), Some(_)) => self.pending.push(request),
            (Ok(()), None) if matches!(request.action, Action::Trim | Action::Write | Action::Place(_)) => {
                let wanted = self.as_simulated(&request);
                self.scene.lock().lay(self.station, &wanted);
                self.done.push(Completion { token: request.token, result: Ok(()) });
            }
            (result, _) => self.done.push(Completion { token: request.token, result }),
        }
        if let Some(stage) = stage {
            stage.forgive();
        }
    }

    fn in_flight(&self) -> u32 {
        (self.pending.len() + self.done.len()) as u32 + self.scene.lock().in_flight(self.lane)
    }

    fn reap(&mut self, wait: Wait, into: &mut Vec<Completion>) -> Result<(), BufferError> {
        let goal = wait.at_least.min(self.in_flight()) as usize;
        let (before, all) = (into.len(), self.in_flight() as usize);
        let Some(stage) = stage::acting() else {
            self.collect(into);
            while into.len() - before < goal {
                stage::give_way();
                self.collect(into);
            }
            return Ok(());
        };
        stage.charge();
        self.submit(&stage);
        stage.catch_up();
        self.collect(into);
        let costs = self.scene.lock().stations[self.station].costs;
        let until = stage.now().saturating_add(wait.timeout_ns.saturating_mul(1000));
        let mut slept = false;
        while into.len() - before < goal && stage.now() < until {
            stage.await_device(until);
            self.collect(into);
            slept = true;
        }
        // The kernel wakes a thread once, when all that it waits for is there.
        if slept {
            stage.delay(costs.wakeup);
            stage.spend(if self.sleeps { costs.sleep } else { 0 });
            self.collect(into);
        }
        if into.len() > before {
            self.settle(&stage, into.len() - before, all);
            stage.stir();
        }
        stage.forgive();
        Ok(())
    }
}

impl Drop for TwinQueue {
    fn drop(&mut self) {
        let mut into = Vec::new();
        let left = self.in_flight();
        if left > 0 && stage::current().is_some() {
            // Nothing is lost where this cannot be waited for: the bytes were moved when the requests were pushed.
            let _ended = self.reap(Wait { at_least: left, timeout_ns: u64::MAX }, &mut into);
        }
    }
}
