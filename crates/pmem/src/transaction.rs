//! Changes that happen together or not at all.

use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::{
    claim::Claim,
    error::PmemError,
    heap::{BlockKind, Heap, Taken},
    lane::Lane,
    log::{self, Change, MOST_CHANGES, Meaning},
    medium::Medium,
    offset::Offset,
    pool::Pool,
};

/// Words that change, blocks that become allocated and blocks that become free, as one.
///
/// Nothing of it is visible before [`Transaction::commit`]; dropped without it, nothing happened. A word that a
/// transaction sets must not be changed by anybody else until the commit has returned: a lock over the structure, held
/// that long, is what that takes. (Bitmaps look after themselves.)
#[derive(Debug)]
#[must_use = "a transaction does nothing until it is committed"]
pub struct Transaction<'p, M: Medium> {
    pool: &'p Pool<M>,
    lane: Claim<'p, Lane>,
}

impl<M: Medium> Pool<M> {
    /// Begins a transaction in this thread's lane, or in another one that is free.
    pub fn begin(&self) -> Transaction<'_, M> {
        self.begin_in(this_thread())
    }

    /// Begins a transaction in a lane of the caller's choice, or in the next one that is free. It waits while all are in
    /// use: a thread that holds several at a time must leave others their share.
    pub fn begin_in(&self, lane: usize) -> Transaction<'_, M> {
        loop {
            if let Some(claim) = self.claim(lane) {
                return Transaction { pool: self, lane: claim };
            }
            std::thread::yield_now();
        }
    }
}

impl<'p, M: Medium> Transaction<'p, M> {
    /// Allocates a block, whose content is whatever it was. It is the caller's to fill, and to flush before the commit,
    /// whose first fence covers it. A block is aligned to the largest power of two that divides [`crate::block_bytes`].
    ///
    /// # Errors
    /// Where the pool or the log is full.
    pub fn alloc<T>(&mut self, bytes: usize) -> Result<Offset<T>, PmemError> {
        self.check_room()?;
        let kind = BlockKind::of(bytes as u64);
        let block = match self.take(kind) {
            Some(block) => block,
            None => self.take_of_a_full_pool(kind, bytes)?,
        };
        let change = self.pool.heap().allocation(block);
        self.lane.with(|lane| {
            lane.taken.push(block);
            lane.changes.push(change);
        });
        Ok(Offset::new(block.at))
    }

    /// Frees a block. Nobody gets it before everybody who was pinned at the commit is not any more.
    ///
    /// # Errors
    /// Where no allocated block begins there, or the log is full.
    pub fn free<T>(&mut self, block: Offset<T>) -> Result<(), PmemError> {
        self.free_block(block.raw(), true)
    }

    /// Frees a block that nobody can be reading: it can be allocated again at once.
    ///
    /// # Errors
    /// As [`Transaction::free`].
    pub fn free_now<T>(&mut self, block: Offset<T>) -> Result<(), PmemError> {
        self.free_block(block.raw(), false)
    }

    /// Sets a word: a root, or one in an allocated block.
    ///
    /// # Errors
    /// Where the log is full.
    ///
    /// # Panics
    /// Where the offset is no multiple of 8, or nothing of the caller's lies there.
    pub fn set(&mut self, at: Offset<u64>, value: u64) -> Result<(), PmemError> {
        assert!(at.raw() % 8 == 0 && self.pool.may_change(at.raw()), "{at:?} is no word that a transaction can set");
        self.check_room()?;
        self.lane.with(|lane| lane.changes.push(Change::Put { at: at.raw(), value }));
        Ok(())
    }

    /// Sets a pointer.
    ///
    /// # Errors
    /// As [`Transaction::set`].
    ///
    /// # Panics
    /// As [`Transaction::set`].
    pub fn link<T>(&mut self, at: Offset<Offset<T>>, to: Offset<T>) -> Result<(), PmemError> {
        self.set(at.cast(), to.raw())
    }

    /// Makes it happen, and durable. What this thread flushed before is durable before anything of it is. It takes four
    /// fences; three where small blocks are allocated or freed and one word is set to another value; two where one word
    /// changes alone.
    pub fn commit(self) {
        self.finish(true);
    }

    /// As [`Transaction::commit`] with one fence less: the log may still be valid when this returns, until this thread's
    /// next fence. Until then nobody may change the words that it set, so keep the lock over them and fence in it. A
    /// transaction that frees blocks is committed as by [`Transaction::commit`].
    pub fn commit_lazily(self) {
        self.finish(false);
    }

    /// Forgets what was allocated without giving it back: it stays reserved.
    pub(crate) fn keep_reserved(mut self) {
        self.lane.with(|lane| lane.taken.clear());
    }

    fn finish(mut self, settle: bool) {
        let (medium, heap) = (self.pool.medium(), self.pool.heap_shared());
        self.lane.with(|lane| {
            match lane.changes[..] {
                [] => {}
                [alone] => commit_alone(medium, alone),
                _ => commit_logged(medium, lane, settle),
            }
            lane.changes.clear();
            lane.taken.clear();
            let mut freed = std::mem::take(&mut lane.freed);
            for (block, wait) in freed.drain(..) {
                if wait { heap_later(heap, block) } else { lane.keep(heap, block) }
            }
            lane.freed = freed;
        });
    }

    fn free_block(&mut self, at: u64, wait: bool) -> Result<(), PmemError> {
        self.check_room()?;
        let heap = self.pool.heap();
        let block = heap.allocated(self.pool.medium(), at)?;
        let change = heap.deallocation(block);
        self.lane.with(|lane| {
            if lane.freed.iter().any(|(other, _)| other.at == at) {
                return Err(PmemError::BadFree { at, why: "this transaction frees it already" });
            }
            lane.freed.push((block, wait));
            lane.changes.push(change);
            Ok(())
        })
    }

    fn check_room(&mut self) -> Result<(), PmemError> {
        let full = self.lane.with(|lane| lane.changes.len() == MOST_CHANGES);
        if full { Err(PmemError::LogFull { most: MOST_CHANGES }) } else { Ok(()) }
    }

    fn take(&mut self, kind: BlockKind) -> Option<Taken> {
        self.lane.with(|lane| lane.take(self.pool.heap(), self.pool.medium(), kind))
    }

    /// What other lanes reserved ahead, what waits for readers and what lies in chunks of other sizes may still do.
    #[cold]
    fn take_of_a_full_pool(&mut self, kind: BlockKind, bytes: usize) -> Result<Taken, PmemError> {
        let (pool, heap) = (self.pool, self.pool.heap());
        self.lane.with(|lane| lane.drain(heap));
        pool.gather();
        self.take(kind).ok_or_else(|| PmemError::Full {
            asked: bytes as u64,
            free: heap.free_bytes(),
            bytes: pool.medium().bytes() as u64,
        })
    }
}

impl<M: Medium> Drop for Transaction<'_, M> {
    fn drop(&mut self) {
        let heap = self.pool.heap();
        self.lane.with(|lane| {
            lane.changes.clear();
            lane.freed.clear();
            while let Some(block) = lane.taken.pop() {
                lane.keep(heap, block);
            }
        });
    }
}

/// One word needs no log: it changes whole or not.
fn commit_alone(medium: &impl Medium, alone: Change) {
    medium.fence(); // before one change
    log::apply(medium, &[alone]);
    medium.fence(); // one change
}

fn commit_logged(medium: &impl Medium, lane: &mut Lane, settle: bool) {
    let meaning = lane.meaning(medium);
    if meaning == Meaning::Redo || lane.unsettled {
        medium.fence(); // before the log
    }
    lane.turn = lane.turn.wrapping_add(1);
    log::write(medium, lane.at, lane.turn, meaning, &lane.changes);
    medium.fence(); // log valid
    log::apply(medium, &lane.changes);
    medium.fence(); // changes durable
    log::clear(medium, lane.at);
    lane.unsettled = !settle && lane.freed.is_empty();
    if !lane.unsettled {
        medium.fence(); // log void
    }
}

fn heap_later(heap: &std::sync::Arc<Heap>, block: Taken) {
    let (heap, large) = (std::sync::Arc::clone(heap), block.is_large());
    let guard = crossbeam_epoch::pin();
    guard.defer(move || heap.release(block));
    if large {
        // A thread keeps some tens of what it gave back to itself until it gives more back; it may never do so.
        guard.flush();
    }
}

/// A number for this thread, so that threads keep to lanes of their own as long as there are enough.
fn this_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static THIS: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    THIS.with(|this| {
        if this.get() == usize::MAX {
            this.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        this.get()
    })
}
