//! Cooperative tasks: closures on stacks of their own that take turns on one thread.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};

use super::Worker;
use crate::{
    BufferError,
    disk::{self, NONE},
};

/// Bytes of a task's stack. Only what is used costs memory.
const STACK_BYTES: usize = 256 << 10;

/// Requests in flight of which one is awaited when nothing else is to be done: of more, more are awaited together, so
/// that their tasks go on together and their next requests go to the disk in one call.
const FLYING_PER_AWAITED: u32 = 8;
/// How often tasks may offer to give way before one does. Each has memory of its own that it works in: it stays in the
/// processor's caches while one goes on.
const TURNS: u32 = 8;
/// How long requests are waited for before one looks at what is awaited outside of the pool, nanoseconds.
const GLANCE_NS: u64 = 50_000;

/// Why a task gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// It looks again itself.
    Poll,
    /// Somebody wakes it.
    Park,
    /// It has something to do, and lets others do something as well.
    Turn,
}

/// What tasks wait for besides pages: the owner's log, for example.
pub trait Outside {
    /// Wakes tasks whose wait is over by [`Worker::wake`]; whether others go on waiting. Called in every round.
    fn look(&self) -> bool;

    /// Blocks until something may have happened. Called where no task has anything else to do.
    fn rest(&self);
}

/// Nothing.
struct Nowhere;

impl Outside for Nowhere {
    fn look(&self) -> bool {
        false
    }

    fn rest(&self) {}
}

type Giving = Yielder<(), Wait>;
type Fiber = Coroutine<(), Wait, ()>;

/// The tasks of a worker.
#[derive(Default)]
pub(super) struct Tasks {
    current: Cell<Option<u32>>,
    yielders: RefCell<Vec<*const Giving>>,
    ready: RefCell<VecDeque<u32>>,
    /// Offers to give way since one was taken.
    turns: Cell<u32>,
}

impl Tasks {
    /// The task that runs, if any.
    pub fn current(&self) -> Option<u32> {
        self.current.get()
    }

    /// Gives way to other tasks; `false` outside of one.
    pub fn suspend(&self, wait: Wait) -> bool {
        let Some(task) = self.current.get() else { return false };
        let yielder = self.yielders.borrow()[task as usize];
        // SAFETY: the yielder of the task that runs lives on that task's stack.
        unsafe { &*yielder }.suspend(wait);
        true
    }

    /// Lets a parked task go on.
    pub fn wake(&self, task: u32) {
        self.ready.borrow_mut().push_back(task);
    }
}

impl Worker<'_> {
    /// Runs `count` tasks, numbered from 0, until all have ended. While one waits, others go on. Called outside of tasks.
    ///
    /// # Errors
    /// Where there is no memory for stacks, or the queue to the disk fails.
    ///
    /// # Panics
    /// With the panic of a task, after the others were unwound; inside of a task.
    pub fn run(&self, count: usize, body: impl Fn(usize)) -> Result<(), BufferError> {
        self.run_with(count, &Nowhere, body)
    }

    /// As [`Worker::run`], with tasks that wait for something outside of the pool.
    ///
    /// # Errors
    /// As [`Worker::run`].
    ///
    /// # Panics
    /// As [`Worker::run`].
    pub fn run_with(&self, count: usize, outside: &dyn Outside, body: impl Fn(usize)) -> Result<(), BufferError> {
        assert!(self.tasks.current().is_none(), "tasks are begun outside of tasks");
        let mut fibers = Vec::with_capacity(count);
        for task in 0..count {
            let stack = DefaultStack::new(STACK_BYTES);
            let stack = stack.map_err(|source| BufferError::Memory { bytes: STACK_BYTES, source })?;
            fibers.push(Some(self.fiber(stack, task, &body)));
        }
        self.tasks.yielders.replace(vec![std::ptr::null(); count]);
        self.tasks.ready.replace((0..count as u32).collect());
        let _leaving = Leaving(&self.tasks);
        let mut left = count;
        while left > 0 {
            let polling = self.round(&mut fibers, &mut left);
            self.top_up();
            let awaited = outside.look();
            if !self.tasks.ready.borrow().is_empty() || left == 0 {
                self.poll(NONE)?;
            } else if self.in_flight() == 0 && awaited {
                outside.rest();
            } else {
                self.poll(self.together(awaited))?;
            }
            if polling {
                self.breathe();
            }
        }
        Ok(())
    }

    /// For how many requests to wait.
    fn together(&self, awaited: bool) -> disk::Wait {
        let at_least = (self.in_flight() / FLYING_PER_AWAITED).max(1);
        disk::Wait { at_least, timeout_ns: if awaited { GLANCE_NS } else { u64::MAX } }
    }

    /// Lets other tasks go on, and comes back in the next round: not each time that it is called, but once in
    /// a few. Outside of a task nothing happens.
    pub fn take_turns(&self) {
        let turns = self.tasks.turns.get() + 1;
        self.tasks.turns.set(if turns == TURNS { 0 } else { turns });
        if turns == TURNS {
            self.tasks.suspend(Wait::Turn);
        }
    }

    /// Tasks of the run that is under way; 1 outside of one.
    pub fn task_count(&self) -> usize {
        self.tasks.yielders.borrow().len().max(1)
    }

    /// The task that runs, if any.
    pub fn task(&self) -> Option<u32> {
        self.tasks.current()
    }

    /// Whether any task could go on.
    pub fn is_any_ready(&self) -> bool {
        !self.tasks.ready.borrow().is_empty()
    }

    /// Waits in a task until [`Worker::wake`] is called for it; `false` outside of one, where nothing happens.
    ///
    /// # Panics
    /// Where a latch is held.
    pub fn park(&self) -> bool {
        assert_eq!(self.latches.get(), 0, "a latch is held while waiting");
        self.tasks.suspend(Wait::Park)
    }

    /// Lets a task go on that waits in [`Worker::park`].
    pub fn wake(&self, task: u32) {
        self.tasks.wake(task);
    }

    fn fiber<'a>(&'a self, stack: DefaultStack, task: usize, body: &'a impl Fn(usize)) -> Fiber {
        // SAFETY: the fibers are dropped before `run` returns, and with them all that they borrow from it.
        unsafe {
            Coroutine::with_stack_unchecked(stack, move |yielder: &Giving, ()| {
                self.tasks.yielders.borrow_mut()[task] = yielder;
                body(task);
            })
        }
    }

    /// Lets each ready task go on once; whether one of them only looks for something.
    fn round(&self, fibers: &mut [Option<Fiber>], left: &mut usize) -> bool {
        let mut polling = false;
        let ready = self.tasks.ready.borrow().len();
        for _ in 0..ready {
            let task = self.tasks.ready.borrow_mut().pop_front();
            let Some(task) = task else { break };
            let Some(fiber) = fibers[task as usize].as_mut() else { continue };
            self.tasks.current.set(Some(task));
            let result = fiber.resume(());
            self.tasks.current.set(None);
            match result {
                CoroutineResult::Yield(Wait::Poll) => {
                    polling = true;
                    self.tasks.wake(task);
                }
                CoroutineResult::Yield(Wait::Turn) => self.tasks.wake(task),
                CoroutineResult::Yield(Wait::Park) => {}
                CoroutineResult::Return(()) => {
                    fibers[task as usize] = None;
                    *left -= 1;
                }
            }
        }
        polling
    }

    /// Where tasks look in vain for long, another thread is to go on.
    fn breathe(&self) {
        let idle = self.idle.get() + 1;
        self.idle.set(idle);
        if crate::stage::pause() {
            return;
        }
        if idle % 1024 == 0 {
            std::thread::sleep(std::time::Duration::from_micros(50));
        } else if idle % 16 == 0 {
            std::thread::yield_now();
        }
    }
}

/// Whatever happens, nobody is in a task when `run` has been left.
struct Leaving<'a>(&'a Tasks);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.current.set(None);
        self.0.ready.borrow_mut().clear();
        self.0.yielders.borrow_mut().clear();
    }
}
