//! Pages on their way into memory.

use rustix::io::Errno;

use super::{Token, Worker, runs::Wanted, tasks::Wait};
use crate::{
    BufferError, PageId,
    disk::{Action, DiskRequest, ONE},
    pool::header::{self, PageSlot},
};

/// A read.
enum Read {
    Unused,
    Flying { page: PageId, frame: u32, slot: u64, waits: bool, waiter: Option<u32> },
    Landed(Result<(), BufferError>),
}

/// The reads of a worker.
#[derive(Default)]
pub(super) struct Reads {
    reads: Vec<Read>,
    unused: Vec<u32>,
}

impl Reads {
    fn add(&mut self, read: Read) -> u32 {
        if let Some(index) = self.unused.pop() {
            self.reads[index as usize] = read;
            return index;
        }
        self.reads.push(read);
        self.reads.len() as u32 - 1
    }

    /// A read ahead of this page that nobody waits for yet: the caller does.
    fn join(&mut self, page: PageId) -> Option<u32> {
        let index = self.reads.iter_mut().position(|read| match read {
            Read::Flying { page: flying, waits, .. } if *flying == page && !*waits => {
                *waits = true;
                true
            }
            _ => false,
        });
        index.map(|index| index as u32)
    }

    fn count(&self) -> usize {
        self.reads.len() - self.unused.len()
    }

    fn take(&mut self, index: u32) -> Read {
        std::mem::replace(&mut self.reads[index as usize], Read::Unused)
    }
}

/// What became of the wish to read a page.
pub(super) enum Begun {
    Flying(u32),
    /// It is there, or nobody has it any more.
    NothingToDo,
    /// Somebody else reads it.
    Elsewhere,
    NoFrame,
}

impl Worker<'_> {
    /// Reads a page into memory and waits for it. Where no page has the number any more, nothing happens.
    ///
    /// # Errors
    /// Where it cannot be read, is damaged, or no frame can be had.
    pub fn fault(&self, page: PageId) -> Result<(), BufferError> {
        let mut joined = None;
        loop {
            if let Some(read) = joined {
                return self.await_read(read);
            }
            match self.begin_read(page, true) {
                Begun::Flying(read) => return self.await_read(read),
                Begun::NothingToDo => return Ok(()),
                Begun::Elsewhere => {
                    joined = self.reads.borrow_mut().join(page);
                    if joined.is_none() {
                        self.pause();
                    }
                }
                Begun::NoFrame => self.make_room()?,
            }
        }
    }

    /// Begins to read a page that will be wanted, where it is not in memory and a frame is free. Does not wait, and says
    /// nothing of errors: who wants the page then meets them. Whoever stops working with reads in flight calls
    /// [`Worker::settle`], since others wait for them. `true` where a read was begun.
    pub fn prefetch(&self, page: PageId) -> bool {
        self.is_absent(page) && matches!(self.begin_read(page, false), Begun::Flying(_))
    }

    /// Whether a page is not in memory and nobody reads it.
    pub(super) fn is_absent(&self, page: PageId) -> bool {
        self.pool.words.get(page as usize).is_some_and(|word| {
            let seen = word.load();
            !seen.is_readable() && !seen.is_marked() && !seen.is_loading()
        })
    }

    /// Whether somebody is reading a page into memory.
    pub fn is_reading(&self, page: PageId) -> bool {
        self.pool.words.get(page as usize).is_some_and(|word| word.load().is_loading())
    }

    /// Pages that this worker is reading.
    pub fn reads_in_flight(&self) -> usize {
        self.reads.borrow().count()
    }

    /// Lets others go on, or waits for one request, whatever this worker has in flight: until a read may have ended.
    ///
    /// # Errors
    /// Where the queue fails.
    pub fn wait_reads(&self) -> Result<(), BufferError> {
        if self.is_alone() && self.in_flight() > 0 {
            return self.poll(ONE);
        }
        self.pause();
        Ok(())
    }

    fn begin_read(&self, page: PageId, waits: bool) -> Begun {
        match self.claim_read(page, waits) {
            Ok(wanted) => Begun::Flying(self.read_alone(wanted, waits)),
            Err(begun) => begun,
        }
    }

    /// Makes a page one that is loading, into a frame; nothing is asked of the disk yet.
    pub(super) fn claim_read(&self, page: PageId, waits: bool) -> Result<Wanted, Begun> {
        let seen = self.pool.words[page as usize].load();
        if seen.is_loading() {
            return Err(Begun::Elsewhere);
        }
        if seen.barrier() != crate::pool::word::Barrier::Absent {
            return Err(Begun::NothingToDo);
        }
        let Some(frame) = self.take_frame() else { return Err(Begun::NoFrame) };
        self.claim_into(page, frame, waits)
    }

    /// A free frame, after a look for more where there are few.
    pub(super) fn take_frame(&self) -> Option<u32> {
        if self.pool.frames.free() < self.reserve() / 2 {
            self.top_up();
        }
        self.pool.frames.take()
    }

    /// Where a page lies on the disk, if it does.
    pub(super) fn slot(&self, page: PageId) -> Option<u64> {
        self.pool.places.current(page).slot()
    }

    /// Makes a page one that is loading into a frame; the frame is free again where it is not absent any more.
    pub(super) fn claim_into(&self, page: PageId, frame: u32, waits: bool) -> Result<Wanted, Begun> {
        if !self.pool.words[page as usize].begin_loading(frame) {
            self.pool.frames.release(frame);
            return Err(Begun::Elsewhere);
        }
        self.pool.frames.hold(frame, page);
        let slot = self.slot(page).expect("a page that is absent lies somewhere");
        self.tally.count(|counters| {
            let count = if waits { &mut counters.faults } else { &mut counters.prefetched };
            *count += 1;
        });
        Ok(Wanted { slot, page, frame })
    }

    /// Reads a page by a request of its own.
    pub(super) fn read_alone(&self, wanted: Wanted, waits: bool) -> u32 {
        let read = self.fly(wanted, waits);
        self.ask_alone(wanted, read);
        read
    }

    /// A read that is about to be asked of the disk.
    pub(super) fn fly(&self, wanted: Wanted, waits: bool) -> u32 {
        let Wanted { page, frame, slot } = wanted;
        self.reads.borrow_mut().add(Read::Flying { page, frame, slot, waits, waiter: None })
    }

    /// What a read that has not ended reads.
    pub(super) fn flying(&self, read: u32) -> Option<Wanted> {
        match self.reads.borrow().reads[read as usize] {
            Read::Flying { page, frame, slot, .. } => Some(Wanted { slot, page, frame }),
            _ => None,
        }
    }

    /// Asks the disk for the page of a read.
    pub(super) fn ask_alone(&self, Wanted { slot, frame, .. }: Wanted, read: u32) {
        let (offset, bytes) = (self.pool.slot_offset(slot), self.pool.page_bytes());
        let (memory, token) = ((frame as usize) << self.pool.shift, Token::Read(read).encode());
        // SAFETY: the frame belongs to a page that is loading: nobody looks at it until the read has ended.
        unsafe { self.push(DiskRequest { action: Action::Read, offset, memory, bytes: bytes as u32, token }) };
    }

    fn await_read(&self, read: u32) -> Result<(), BufferError> {
        loop {
            {
                let mut reads = self.reads.borrow_mut();
                if let Read::Landed(_) = reads.reads[read as usize] {
                    let Read::Landed(result) = reads.take(read) else { unreachable!("it was looked at") };
                    reads.unused.push(read);
                    return result;
                }
                if let Read::Flying { waiter, .. } = &mut reads.reads[read as usize] {
                    *waiter = self.tasks.current();
                }
            }
            assert_eq!(self.latches.get(), 0, "a latch is held while waiting");
            if !self.tasks.suspend(Wait::Park) {
                self.poll(ONE)?;
            }
        }
    }

    /// A read has ended: the page is checked before anybody can see it.
    pub(super) fn end_read(&self, index: u32, result: Result<(), Errno>) {
        let flown = self.reads.borrow_mut().take(index);
        let Read::Flying { page, frame, waits, waiter, .. } = flown else { return };
        let result = self.land(page, frame, result);
        {
            let mut reads = self.reads.borrow_mut();
            if waits {
                reads.reads[index as usize] = Read::Landed(result);
            } else {
                reads.unused.push(index);
            }
        }
        if let Some(task) = waiter {
            self.tasks.wake(task);
        }
    }

    fn land(&self, page: PageId, frame: u32, result: Result<(), Errno>) -> Result<(), BufferError> {
        let (pool, word) = (self.pool, &self.pool.words[page as usize]);
        let place = pool.places.current(page);
        let result =
            result.map_err(|errno| pool.unreadable(place, errno)).and_then(|()| self.check(page, frame, place));
        if result.is_ok() {
            word.loaded();
        } else {
            word.not_loaded();
            pool.frames.release(frame);
        }
        result
    }

    fn check(&self, page: PageId, frame: u32, place: PageSlot) -> Result<(), BufferError> {
        // SAFETY: read completely, and nobody else reaches the frame while its page is loading.
        let bytes = unsafe { std::slice::from_raw_parts(self.pool.frame(frame), self.pool.page_bytes()) };
        header::fault(bytes, page, place).map_or(Ok(()), |what| Err(self.pool.damaged(page, place, &what)))
    }
}
