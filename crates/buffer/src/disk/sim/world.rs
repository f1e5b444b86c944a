//! One power supply, its disks and its faults.

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};
use rustix::io::Errno;

use super::platter::{Fate, Platter};
use crate::disk::Action;

/// What the world knows. All of it is behind one lock: a simulation has one thread at a time.
pub(super) struct State {
    pub platters: Vec<Platter>,
    pub chance: Xoshiro256PlusPlus,
    /// I/Os so far.
    ios: u64,
    /// Identity of the next write.
    next_write: u64,
    /// Writes whose completion nobody has reaped yet.
    pub unreaped: HashSet<u64>,
    /// Number of the I/O that fails, how, and whether all after it fail too.
    fault: Option<(u64, Errno, bool)>,
    /// Only writes and flushes count as the failing I/O.
    fault_of_writes: bool,
    /// Number of the first I/O that power does not reach.
    dark_from: u64,
    /// Flushes say that they are done and do nothing.
    pub lying: bool,
    /// Reaps that a completion may take to arrive, at most.
    pub slowness: u64,
    mark: u64,
    every: u64,
    images: Vec<Image>,
}

/// A power supply with disks on it.
pub struct World {
    state: Mutex<State>,
}

impl fmt::Debug for World {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("World").field("ios", &self.ios()).finish()
    }
}

/// What a power cut just before an I/O would find.
#[derive(Clone, Debug)]
pub struct Image {
    /// Number of the I/O that does not happen.
    pub io: u64,
    /// What the user had noted last ([`World::mark`]): how much was acknowledged, say.
    pub mark: u64,
    platters: Vec<Platter>,
}

impl Image {
    /// The world after power has come back, with the same disks in the same order.
    pub fn after(&self, fate: Fate) -> Arc<World> {
        World::of(self.io, self.platters.iter().map(|platter| platter.after(fate)).collect())
    }

    /// Writes that the fate decides on.
    pub fn unsettled(&self) -> usize {
        self.platters.iter().map(Platter::unsettled).sum()
    }
}

impl World {
    /// A world without disks. The seed decides how late and in which order completions arrive.
    pub fn new(seed: u64) -> Arc<Self> {
        Self::of(seed, Vec::new())
    }

    fn of(seed: u64, platters: Vec<Platter>) -> Arc<Self> {
        let state = State {
            platters,
            chance: Xoshiro256PlusPlus::seed_from_u64(seed),
            ios: 0,
            next_write: 0,
            unreaped: HashSet::new(),
            fault: None,
            fault_of_writes: false,
            dark_from: u64::MAX,
            lying: false,
            slowness: 3,
            mark: 0,
            every: 0,
            images: Vec::new(),
        };
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// I/Os so far: reads, writes and flushes of all disks.
    pub fn ios(&self) -> u64 {
        self.state().ios
    }

    /// Lets I/O number `io` (from 0) fail, and all after it where it lasts.
    pub fn fail(&self, io: u64, errno: Errno, lasting: bool) {
        let mut state = self.state();
        (state.fault, state.fault_of_writes) = (Some((io, errno, lasting)), false);
    }

    /// As [`World::fail`], from there on for the first I/O that is a write: for a full disk.
    pub fn fail_writes(&self, io: u64, errno: Errno, lasting: bool) {
        let mut state = self.state();
        (state.fault, state.fault_of_writes) = (Some((io, errno, lasting)), true);
    }

    /// Takes all faults back.
    pub fn heal(&self) {
        let mut state = self.state();
        (state.fault, state.lying) = (None, false);
    }

    /// Cuts power before I/O number `io`: it and all later ones fail with `EIO` and leave no trace.
    pub fn cut_power(&self, io: u64) {
        self.state().dark_from = io;
    }

    /// From now on flushes say that they are done, and do nothing.
    pub fn lie(&self) {
        self.state().lying = true;
    }

    /// A completion arrives after at most this many looks at the queue.
    pub fn slow_down(&self, looks: u64) {
        self.state().slowness = looks;
    }

    /// A number that pictures carry from now on.
    pub fn mark(&self, mark: u64) {
        self.state().mark = mark;
    }

    /// Keeps a picture before every `every`-th I/O from now on; none with 0.
    pub fn keep_images(&self, every: u64) {
        self.state().every = every;
    }

    /// The pictures kept so far.
    pub fn take_images(&self) -> Vec<Image> {
        std::mem::take(&mut self.state().images)
    }

    /// What a power cut now would find.
    pub fn image(&self) -> Image {
        self.state().image()
    }

    /// Changes one bit of what disk `index` holds.
    pub fn flip(&self, index: usize, bit: u64) {
        self.state().platters[index].flip(bit);
    }

    /// Ranges of disk `index` that were ever written, in blocks of 4 KiB: first byte and one past the last.
    pub fn written(&self, index: usize) -> Vec<(u64, u64)> {
        self.state().platters[index].written()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A test that failed while it held the lock has said so; the others may go on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn image(&self) -> Image {
        Image { io: self.ios, mark: self.mark, platters: self.platters.clone() }
    }

    /// Counts an I/O: whether it succeeds.
    pub fn count(&mut self, action: Action) -> RequestFate {
        if self.every > 0 && self.ios % self.every == 0 && self.ios < self.dark_from {
            let image = self.image();
            self.images.push(image);
        }
        let io = self.ios;
        self.ios += 1;
        if io >= self.dark_from {
            return RequestFate::Dark;
        }
        match self.fault {
            Some((at, errno, lasting)) if io >= at && (!self.fault_of_writes || action.is_write()) => {
                if !lasting {
                    self.fault = None;
                }
                RequestFate::Fails(errno)
            }
            _ => RequestFate::Works,
        }
    }

    pub fn write_id(&mut self) -> u64 {
        self.next_write += 1;
        self.unreaped.insert(self.next_write);
        self.next_write
    }

    /// Looks until a completion arrives.
    pub fn delay(&mut self) -> u64 {
        let slowness = self.slowness;
        if slowness == 0 { 0 } else { self.chance.next_u64() % (slowness + 1) }
    }
}

/// How an I/O ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestFate {
    Works,
    Fails(Errno),
    /// Power is off.
    Dark,
}
