//! A thread's tasks: transactions that take turns on one thread.
//!
//! Where one waits, for a page, for a lock, or for its commit to be durable, another goes on. So many more transactions
//! are under way than there are threads: one flush of the log makes all of those durable that came together, and no thread
//! ever waits for a flush while there is something else to do.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    time::Duration,
};

use assay_buffer::{Outside, Worker, stage};

use crate::{core::Goal, error::Result, shared::Shared};

/// Longest sleep where all tasks wait for the log.
const REST: Duration = Duration::from_millis(1);
/// Tasks that wait for the log, at which it is written while others go on.
const GROUP: usize = 8;

/// A task that waits for a commit.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    task: u32,
    goal: Goal,
}

/// A thread's tasks, and its way into the pool.
pub struct Scheduler<'d> {
    shared: &'d Shared,
    worker: Worker<'d>,
    /// The log of all tasks.
    log: usize,
    /// In the order in which they were committed.
    waiting: RefCell<VecDeque<Waiting>>,
    parked: Cell<u64>,
}

impl<'d> Scheduler<'d> {
    pub(crate) fn new(shared: &'d Shared) -> Result<Self> {
        let worker = shared.pool.worker()?;
        let log = shared.core.logs.deal();
        Ok(Self { shared, worker, log, waiting: RefCell::default(), parked: Cell::new(0) })
    }

    /// What all sessions share.
    pub(crate) fn shared(&self) -> &'d Shared {
        self.shared
    }

    /// The worker beneath.
    #[inline]
    pub fn worker(&self) -> &Worker<'d> {
        &self.worker
    }

    /// The log that all tasks append to: one flush makes all of those durable that came together.
    pub(crate) fn log(&self) -> usize {
        self.log
    }

    /// Runs `count` tasks, numbered from 0, until all have ended.
    ///
    /// # Errors
    /// Where there is no memory for stacks, or the queue to the disk fails.
    pub fn run(&self, count: usize, body: impl Fn(usize)) -> Result<()> {
        Ok(self.worker.run_with(count, self, body)?)
    }

    /// How often a task has waited for a commit.
    pub fn parked(&self) -> u64 {
        self.parked.get()
    }

    /// Waits in a task until a commit is visible and durable; `false` outside of one.
    pub(crate) fn park_until(&self, goal: Goal) -> bool {
        let Some(task) = self.worker.task() else { return false };
        let core = &self.shared.core;
        let there = if goal.all {
            core.durable_commit() >= goal.commit
        } else {
            core.sequence.visible() >= goal.commit && (goal.end == 0 || core.durable_end() >= goal.end)
        };
        if there {
            return true;
        }
        self.waiting.borrow_mut().push_back(Waiting { task, goal });
        if self.waiting.borrow().len() % GROUP == 0 {
            self.write_behind();
        }
        self.parked.set(self.parked.get() + 1);
        self.worker.park()
    }

    /// Lets the log's thread write for the tasks that wait, while others go on. Where none can, this thread writes itself
    /// when it rests.
    fn write_behind(&self) {
        if self.is_at_rest() {
            return;
        }
        let Some(front) = self.waiting.borrow().front().copied() else { return };
        if let Some((log, position)) = self.shared.core.awaited(front.goal) {
            log.ask_if_idle(position);
        }
    }

    /// Whether all that the tasks wait for is a commit.
    fn is_at_rest(&self) -> bool {
        self.worker.in_flight() == 0 && !self.worker.is_any_ready()
    }
}

impl Outside for Scheduler<'_> {
    fn look(&self) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() {
            return false;
        }
        let core = &self.shared.core;
        // The log first: what is durable and not visible yet stays, what is visible and not durable as well.
        let (durable, stopped) = (core.durable_end(), core.check().is_err());
        let visible = core.sequence.visible();
        let mut all_durable = None;
        while let Some(Waiting { task, goal }) = waiting.front().copied() {
            let waits = if goal.all {
                goal.commit > *all_durable.get_or_insert_with(|| core.durable_commit())
            } else {
                goal.commit > visible || goal.end > durable
            };
            if !stopped && waits {
                break;
            }
            waiting.pop_front();
            self.worker.wake(task);
        }
        let awaited = !waiting.is_empty();
        drop(waiting);
        if awaited {
            self.write_behind();
        }
        awaited
    }

    fn rest(&self) {
        let Some(front) = self.waiting.borrow().front().copied() else { return };
        match self.shared.core.awaited(front.goal) {
            Some((log, position)) => log.rest(position, REST),
            // Another thread is about to make a commit visible.
            None => stage::give_way(),
        }
    }
}
