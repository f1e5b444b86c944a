//! A thread's way into a pool: its queue to the disk, its tasks, its guards.
//!
//! **Attempts.** An operation on pages is a closure that either succeeds or [`Stop`]s, having changed nothing and holding
//! nothing: [`Worker::retry`] removes the obstacle (reads the missing page, waits for room) and calls it again. So the hot
//! case is a plain function without a trace of waiting in it, and no latch is ever held while somebody waits.
//!
//! **Tasks.** [`Worker::run`] runs closures on stacks of their own. Where one has to wait, the next one goes on, and their
//! reads are in flight together. Code that runs in tasks is ordinary code: outside of a task the thread itself waits.
//! Tasks stay on their thread.
//!
//! **Changes.** Whoever changes pages holds a [`Writing`]: what is changed under one of them is in a checkpoint as a whole
//! or not at all. It is no latch: it may be held while waiting for pages, but a checkpoint waits for it.

mod below;
mod checkpoint;
mod guards;
mod many;
mod racy;
mod reads;
mod room;
mod runs;
mod tasks;
mod writes;

use std::cell::{Cell, RefCell};

use self::{reads::Reads, runs::Runs, tasks::Tasks, writes::Writes};
use crate::{
    BufferError, Counters, PageId, Pool,
    counters::WorkerTally,
    disk::{Completion, Disk, DiskRequest, NONE, ONE, Queue, Wait},
    pool::{format::STAGING_BYTES, locked},
};

pub use guards::{Exclusive, Optimistic, Shared};
pub use racy::Racy;
pub use tasks::Outside;

/// Why an attempt cannot go on. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Stop {
    /// Somebody changed what was read, or holds what is wanted.
    Restart,
    /// The page is not in memory.
    Missing(PageId),
    /// No page has this number (any more).
    Gone(PageId),
    /// The page is in the memory below, and has to come up.
    Below(PageId),
    /// No frame is free.
    Frames,
    /// No page number is free.
    Full,
}

/// What an attempt comes to.
pub type Attempt<T> = Result<T, Stop>;

/// After so many attempts that met a page that is not there, its number is taken for damage.
const GONE_AT_MOST: u32 = 10_000;

/// A thread's way into a pool.
pub struct Worker<'p> {
    pool: &'p Pool,
    index: usize,
    queue: RefCell<Box<dyn Queue>>,
    done: RefCell<Vec<Completion>>,
    reads: RefCell<Reads>,
    runs: RefCell<Runs>,
    writes: RefCell<Writes>,
    /// Results of flushes that somebody waits for.
    calls: RefCell<Vec<Completion>>,
    /// Trims whose results are awaited among the calls.
    trims: Cell<u32>,
    tasks: Tasks,
    latches: Cell<u32>,
    changes: Cell<u32>,
    idle: Cell<u32>,
    tally: WorkerTally,
}

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Read(u32),
    /// A read of several pages.
    Run(u32),
    Write {
        group: u32,
        run: u32,
    },
    Call,
}

impl Token {
    fn encode(self) -> u64 {
        match self {
            Self::Read(index) => u64::from(index),
            Self::Write { group, run } => 1 << 62 | u64::from(group) << 32 | u64::from(run),
            Self::Call => 2 << 62,
            Self::Run(index) => 3 << 62 | u64::from(index),
        }
    }

    fn decode(token: u64) -> Self {
        match token >> 62 {
            0 => Self::Read(token as u32),
            1 => Self::Write { group: (token >> 32) as u32 & 0xffff, run: token as u32 },
            2 => Self::Call,
            _ => Self::Run(token as u32),
        }
    }
}

/// A permit to change pages; it ends when dropped.
#[must_use]
pub struct Writing<'w> {
    worker: &'w Worker<'w>,
}

impl Drop for Writing<'_> {
    #[inline]
    fn drop(&mut self) {
        self.worker.changes.set(self.worker.changes.get() - 1);
        self.worker.pool.gate.leave(self.worker.index);
    }
}

impl Pool {
    /// A way into the pool for the calling thread.
    ///
    /// # Errors
    /// Where there are more workers than the pool was configured for, or the disk gives no queue.
    pub fn worker(&self) -> Result<Worker<'_>, BufferError> {
        self.worker_on(|disk| disk.queue(self.config.depth, &self.memory))
    }

    /// As [`Pool::worker`], for little work: it costs less to make, and each of its requests a little more.
    ///
    /// # Errors
    /// As [`Pool::worker`].
    pub fn brief_worker(&self) -> Result<Worker<'_>, BufferError> {
        self.worker_on(|disk| disk.brief_queue(self.config.depth, &self.memory))
    }

    fn worker_on(
        &self,
        queue: impl FnOnce(&dyn Disk) -> Result<Box<dyn Queue>, BufferError>,
    ) -> Result<Worker<'_>, BufferError> {
        let index = self.gate.register(self.config.workers).ok_or_else(|| {
            let what = format!("the pool has {} workers already", self.config.workers);
            BufferError::unfit(what, "configure it for more")
        })?;
        let queue = queue(&*self.disk).inspect_err(|_| self.gate.unregister(index))?;
        let staging = ((self.frames() as usize) << self.shift) + index * STAGING_BYTES;
        Ok(Worker {
            pool: self,
            index,
            queue: RefCell::new(queue),
            done: RefCell::default(),
            reads: RefCell::default(),
            runs: RefCell::default(),
            writes: RefCell::new(Writes::new(staging, self.page_bytes())),
            calls: RefCell::default(),
            trims: Cell::new(0),
            tasks: Tasks::default(),
            latches: Cell::new(0),
            changes: Cell::new(0),
            idle: Cell::new(0),
            tally: WorkerTally::default(),
        })
    }
}

impl<'p> Worker<'p> {
    /// The pool.
    #[inline]
    pub fn pool(&self) -> &'p Pool {
        self.pool
    }

    /// What this worker has done so far.
    pub fn counters(&self) -> Counters {
        self.tally.get()
    }

    /// A permit to change pages. Waits while a checkpoint closes the gate, and where there is room for no more than one.
    #[inline]
    pub fn write(&self) -> Writing<'_> {
        // Whoever has leave already must go on: the checkpoint waits for him.
        if self.changes.get() == 0 {
            self.wait_for_room();
        }
        while !self.pool.gate.enter(self.index) {
            self.pause();
        }
        self.changes.set(self.changes.get() + 1);
        Writing { worker: self }
    }

    fn wait_for_room(&self) {
        let waits = || self.pool.waits_for_room.load(std::sync::atomic::Ordering::Relaxed);
        while waits() && self.pool.is_short() && self.pool.whole().is_ok() {
            self.pause();
        }
    }

    /// Attempts until it succeeds, and removes what is in the way between attempts.
    ///
    /// # Errors
    /// Where a page cannot be read or is damaged, or no frame can be had.
    #[inline]
    pub fn retry<T>(&self, mut attempt: impl FnMut() -> Attempt<T>) -> Result<T, BufferError> {
        let mut tries = 0;
        loop {
            match attempt() {
                Ok(value) => return Ok(value),
                Err(stop) => self.overcome(stop, &mut tries)?,
            }
        }
    }

    /// Removes what stopped an attempt; `tries` counts the attempts of one operation.
    ///
    /// # Errors
    /// As [`Worker::retry`].
    #[cold]
    pub fn overcome(&self, stop: Stop, tries: &mut u32) -> Result<(), BufferError> {
        *tries += 1;
        match stop {
            Stop::Missing(page) => self.fault(page)?,
            Stop::Below(page) => self.bring_up(page)?,
            Stop::Frames => self.make_room()?,
            Stop::Full => return Err(self.pool.full()),
            Stop::Restart => {
                self.tally.count(|counters| counters.restarts += 1);
                if *tries > 3 {
                    self.pause();
                }
            }
            Stop::Gone(page) if *tries > GONE_AT_MOST => {
                return Err(self.pool.damaged(page, self.pool.places.current(page), "it is referred to and not there"));
            }
            Stop::Gone(_) => self.pause(),
        }
        Ok(())
    }

    /// Lets others go on: other tasks in a task, other threads outside of one.
    ///
    /// # Panics
    /// Where a latch is held: its owner would keep out those that it waits for.
    pub fn pause(&self) {
        assert_eq!(self.latches.get(), 0, "a latch is held while waiting");
        if self.tasks.suspend(tasks::Wait::Poll) {
            return;
        }
        let idle = self.idle.get() + 1;
        self.idle.set(idle);
        // A failure of the queue comes back from whoever waits for a page.
        let _ = self.poll(NONE);
        if crate::stage::pause() {
            return;
        }
        if idle % 1024 == 0 {
            std::thread::sleep(std::time::Duration::from_micros(50));
        } else if idle % 8 == 0 {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }

    /// Lets others go on until `ready` says so.
    pub fn wait_until(&self, mut ready: impl FnMut() -> bool) {
        while !ready() {
            self.pause();
        }
    }

    /// Ends all that this worker has in flight: reads ahead, and pages on their way to the disk.
    ///
    /// # Errors
    /// Where the queue fails.
    pub fn settle(&self) -> Result<(), BufferError> {
        while self.in_flight() > 0 {
            self.poll(ONE)?;
        }
        Ok(())
    }

    /// Whether the caller runs in a task.
    #[inline]
    pub fn is_in_task(&self) -> bool {
        self.tasks.current().is_some()
    }

    /// Whether nobody else has work on this thread: it may wait for whatever comes.
    #[inline]
    pub fn is_alone(&self) -> bool {
        !self.is_in_task() || self.task_count() == 1
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> u32 {
        self.queue.borrow().in_flight()
    }

    /// Hands requests to the disk and takes what has ended.
    ///
    /// # Errors
    /// Where the queue fails: nothing can be read or written any more by this worker.
    pub fn poll(&self, wait: Wait) -> Result<(), BufferError> {
        let mut done = self.done.take();
        let answer = self.queue.borrow_mut().reap(wait, &mut done);
        if !done.is_empty() {
            self.idle.set(0);
        }
        for completion in done.drain(..) {
            match Token::decode(completion.token) {
                Token::Read(index) => self.end_read(index, completion.result),
                Token::Run(index) => self.end_run(index, completion.result),
                Token::Write { group, run } => self.end_write(group as usize, run as usize, completion.result),
                Token::Call => self.calls.borrow_mut().push(completion),
            }
        }
        self.done.replace(done);
        answer.inspect_err(|error| self.pool.break_down(error.to_string(), error.remedy()))
    }

    /// Pushes a request.
    ///
    /// # Safety
    /// As [`Queue::push`].
    unsafe fn push(&self, request: DiskRequest) {
        let mut queue = self.queue.borrow_mut();
        let depth = u64::from(queue.in_flight()) + 1;
        self.tally.count(|counters| {
            counters.requests += 1;
            counters.depth_sum += depth;
        });
        // SAFETY: the caller's promise.
        unsafe { queue.push(request) };
    }

    #[inline]
    fn latched(&self) {
        self.latches.set(self.latches.get() + 1);
    }

    #[inline]
    fn unlatched(&self) {
        self.latches.set(self.latches.get() - 1);
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        // Where the queue has failed, dropping it still waits for what is in flight.
        let _ = self.settle();
        locked(&self.pool.totals).add(&self.tally.get());
        self.pool.gate.unregister(self.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_as_they_went() {
        for token in [Token::Read(7), Token::Run(8), Token::Write { group: 5, run: 9 }, Token::Call] {
            assert_eq!(Token::decode(token.encode()), token);
        }
    }
}
