//! Those who play: what would be threads off stage.

use std::{cell::Cell, io, rc::Rc, thread::JoinHandle};

use corosensei::{Coroutine, Yielder, stack::DefaultStack};

use super::{Picoseconds, Stage, cpu::Role, current};

/// Bytes of an actor's stack. Only what is used costs memory.
const STACK_BYTES: usize = 1 << 20;

/// What an actor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Its turn, at its own time.
    Turn,
    /// A device, until a moment at the latest.
    Device(Picoseconds),
    /// Anything.
    Anything,
    /// Anything, and something has happened: it looks again at this moment.
    Look(Picoseconds),
    /// A signal, until a moment at the latest.
    Signal(usize, Option<Picoseconds>),
    /// A moment.
    Until(Picoseconds),
}

pub(super) type Giving = Yielder<(), Wait>;
pub(super) type Fiber = Coroutine<(), Wait, ()>;

/// Where an actor's virtual time went, ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Computing.
    pub cpu: Picoseconds,
    /// Moving bytes of memory that is slower than this machine's.
    pub memory: Picoseconds,
    /// Waiting for a core.
    pub core: Picoseconds,
    /// Waiting for a device.
    pub device: Picoseconds,
    /// Waiting for others: the log, locks.
    pub others: Picoseconds,
    /// Asleep.
    pub asleep: Picoseconds,
    /// Of the time on a CPU, what the meter of turns gave.
    pub computed: Picoseconds,
    /// Turns that ended.
    pub turns: u64,
}

impl Account {
    /// What came on top since an earlier look.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu: self.cpu - earlier.cpu,
            memory: self.memory - earlier.memory,
            core: self.core - earlier.core,
            device: self.device - earlier.device,
            others: self.others - earlier.others,
            asleep: self.asleep - earlier.asleep,
            computed: self.computed - earlier.computed,
            turns: self.turns - earlier.turns,
        }
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.cpu += other.cpu;
        self.memory += other.memory;
        self.core += other.core;
        self.device += other.device;
        self.others += other.others;
        self.asleep += other.asleep;
        self.computed += other.computed;
        self.turns += other.turns;
    }
}

/// One who plays.
pub(super) struct Actor {
    pub name: String,
    pub role: Role,
    pub fiber: Option<Fiber>,
    pub giving: Rc<Cell<*const Giving>>,
    pub wait: Wait,
    /// Own time: when it gave way, or when its turn begins.
    pub at: Picoseconds,
    pub account: Account,
}

/// A thread, or an actor.
#[derive(Debug)]
pub enum Handle {
    /// Off stage.
    Thread(JoinHandle<()>),
    /// On stage, by its number.
    Actor(usize),
}

impl Handle {
    /// Waits for its end.
    pub fn join(self) {
        match self {
            // Those who are spawned say what went wrong by other ways than a panic.
            Self::Thread(thread) => drop(thread.join()),
            Self::Actor(actor) => {
                if let Some(stage) = current() {
                    stage.join(actor);
                }
            }
        }
    }
}

/// Begins a thread, or on a stage an actor.
///
/// # Errors
/// Where there is none to be had.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<Handle> {
    match current() {
        Some(stage) => stage.spawn(name, body).map(Handle::Actor),
        None => std::thread::Builder::new().name(name.to_owned()).spawn(body).map(Handle::Thread),
    }
}

impl Actor {
    pub fn new(name: &str, at: Picoseconds, body: impl FnOnce() + 'static) -> io::Result<Self> {
        let giving = Rc::new(Cell::new(std::ptr::null()));
        let place = Rc::clone(&giving);
        let stack = DefaultStack::new(STACK_BYTES)?;
        let fiber = Coroutine::with_stack(stack, move |yielder: &Giving, ()| {
            place.set(yielder);
            body();
        });
        Ok(Self {
            name: name.to_owned(),
            role: Role::of(name),
            fiber: Some(fiber),
            giving,
            wait: Wait::Turn,
            at,
            account: Account::default(),
        })
    }
}

impl Stage {
    /// Begins an actor that may borrow what outlives the stage's play.
    ///
    /// # Errors
    /// Where there is no memory for its stack.
    ///
    /// # Safety
    /// The stage plays until the actor has ended ([`Stage::join`]) before anything that `body` borrows ends.
    pub unsafe fn spawn_borrowing<'a>(&self, name: &str, body: impl FnOnce() + 'a) -> io::Result<usize> {
        let body: Box<dyn FnOnce() + 'a> = Box::new(body);
        // SAFETY: the caller's promise: the body has ended before what it borrows ends.
        let body: Box<dyn FnOnce() + 'static> = unsafe { std::mem::transmute(body) };
        self.spawn(name, body)
    }
}
