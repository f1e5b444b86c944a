//! Checkpoints: all pages as they are at one moment become durable together.
//!
//! 1. The gate is closed: no change is under way. The epoch is counted up, the owner's bytes taken, places compared; the
//!    gate opens. From here on others go on: whoever changes a page that is dirty since before copies it first.
//! 2. Every page that was dirty then is written to a fresh slot, as it was.
//! 3. The changed pieces of the map are written to fresh slots, and the pages of the root that refer to them.
//! 4. A flush. Then the superblock, over the older of its two copies. A flush: the checkpoint is durable.
//! 5. Slots that only the checkpoint before referred to are free. Where pages are placed for flash the disk is told first.
//!
//! An error before the superblock leaves the checkpoint before as it was, and the next one begins anew. After an error of
//! a flush or of the superblock nobody knows what is on the disk, so nothing is written any more.

use std::sync::atomic::Ordering;

use rustix::io::Errno;

use super::{
    Token, Worker,
    writes::{GROUP_BYTES, Purpose},
};
use crate::{
    BufferError,
    disk::{Action, DiskRequest, NONE, ONE, RANGES_AT_MOST, TrimRange},
    pool::{
        OWNER_BYTES, Pool,
        format::entries,
        locked,
        superblock::{self, Superblock},
    },
};

/// Slots of a trimmed range at most.
const TRIMMED_AT_ONCE: usize = 1024;

/// What stands still at the moment of the checkpoint.
struct Moment {
    epoch: u64,
    owner_bytes: Vec<u8>,
    limit: u64,
}

/// The checkpoint in the making; ended when dropped.
struct Making<'p> {
    pool: &'p Pool,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.pool.snapshotting.store(false, Ordering::Release);
        for preserved in locked(&self.pool.preserved).drain(..) {
            self.pool.release_copy(preserved.frame);
        }
        self.pool.checkpointing.store(false, Ordering::Release);
    }
}

impl Worker<'_> {
    /// Makes all changes durable that had ended when `capture` was called, together with the owner's bytes that it returns (at most
    /// [`OWNER_BYTES`]). No change is under way while it runs, so it must not wait. `before_commit` is called when all is
    /// written and nothing is final: the owner waits there until its log is durable up to what `capture` noted. Returns the
    /// checkpoint's number. One is made at a time; others wait.
    ///
    /// # Errors
    /// Where something cannot be written: the checkpoint before still holds.
    ///
    /// # Panics
    /// Where this thread itself holds a [`super::Writing`], outside of tasks.
    pub fn checkpoint(
        &self,
        capture: impl FnOnce() -> Vec<u8>,
        before_commit: impl FnOnce() -> Result<(), BufferError>,
    ) -> Result<u64, BufferError> {
        assert!(
            self.tasks.current().is_some() || self.changes.get() == 0,
            "a checkpoint would wait for its own caller"
        );
        let pool = self.pool;
        while pool.checkpointing.swap(true, Ordering::AcqRel) {
            self.pause();
        }
        let making = Making { pool };
        pool.whole()?;
        let moment = self.moment(capture);
        if moment.owner_bytes.len() > OWNER_BYTES {
            let what = format!("an owner gave {} bytes for the superblock", moment.owner_bytes.len());
            return Err(BufferError::unfit(what, format!("it has room for {OWNER_BYTES}")));
        }
        self.write_pages(moment.epoch)?;
        let pieces = self.write_map()?;
        before_commit()?;
        self.commit(&moment)?;
        pool.places.unmark(&pieces);
        *locked(&pool.owner_bytes) = moment.owner_bytes;
        self.release()?;
        pool.measure_room();
        drop(making);
        Ok(moment.epoch)
    }

    /// Slots that only the checkpoint before referred to are free. Where pages are placed for flash the disk is told first, and
    /// they are not free before, so that nobody writes there meanwhile.
    fn release(&self) -> Result<(), BufferError> {
        let slots = &self.pool.slots;
        if slots.units().is_none() {
            slots.release_outgoing();
            return Ok(());
        }
        let outgoing = slots.take_outgoing();
        let runs: Vec<_> =
            outgoing.chunk_by(|one, next| one + 1 == *next).flat_map(|run| run.chunks(TRIMMED_AT_ONCE)).collect();
        for some in runs.chunks(GROUP_BYTES / TrimRange::SIZE) {
            let group = self.a_group()?;
            some.chunks(RANGES_AT_MOST).enumerate().for_each(|(index, runs)| self.trim(group, index, runs));
            let ended = self.await_trims();
            self.writes.borrow_mut().return_group(group);
            ended?;
            some.iter().for_each(|run| slots.release_all(run));
        }
        Ok(())
    }

    /// Tells the disk in one command of runs of slots that nobody needs; its list is the `index`th in a group's buffers.
    fn trim(&self, group: usize, index: usize, runs: &[&[u64]]) {
        let memory = self.writes.borrow().at(group, 0, 0) + index * RANGES_AT_MOST * TrimRange::SIZE;
        let range = |run: &&[u64]| TrimRange {
            offset: self.pool.slot_offset(run[0]),
            bytes: (run.len() as u32) << self.pool.shift,
        };
        let list: Vec<u8> = runs.iter().map(range).flat_map(TrimRange::to_bytes).collect();
        // SAFETY: the group's buffers are ours until it is given back, and no other trim's list stands here.
        let into = unsafe { std::slice::from_raw_parts_mut(self.pool.memory.start().add(memory), list.len()) };
        into.copy_from_slice(&list);
        let (bytes, token) = (list.len() as u32, Token::Call.encode());
        // SAFETY: the list is left alone until all trims have ended.
        unsafe { self.push(DiskRequest { action: Action::Trim, offset: 0, memory, bytes, token }) };
        self.trims.set(self.trims.get() + 1);
    }

    /// A group of buffers that is not on its way.
    fn a_group(&self) -> Result<usize, BufferError> {
        loop {
            let group = self.writes.borrow_mut().borrow_group();
            match group {
                Some(group) => return Ok(group),
                None => self.wait_a_little()?,
            }
        }
    }

    /// What a disk makes of a trim is its own affair: where it refuses one, nothing is lost.
    fn await_trims(&self) -> Result<(), BufferError> {
        while self.trims.get() > 0 {
            let ended = self.calls.borrow_mut().pop();
            match ended {
                Some(_) => self.trims.set(self.trims.get() - 1),
                None => self.wait_a_little()?,
            }
        }
        Ok(())
    }

    fn moment(&self, capture: impl FnOnce() -> Vec<u8>) -> Moment {
        let pool = self.pool;
        pool.gate.close();
        let _opens = Opens(pool);
        while !pool.gate.is_empty() {
            self.pause();
        }
        let owner_bytes = capture();
        let _alone = pool.places.hold();
        let epoch = pool.epoch.fetch_add(1, Ordering::AcqRel);
        pool.places.snapshot(&pool.slots);
        pool.snapshotting.store(true, Ordering::Release);
        Moment { epoch, owner_bytes, limit: locked(&pool.numbers).limit }
    }

    /// Writes every page that belongs to the checkpoint. Pages that others are writing are written once more in the second
    /// round: their threads may have gone to sleep.
    fn write_pages(&self, epoch: u64) -> Result<(), BufferError> {
        for round in 0.. {
            let copies = self.write_preserved()?;
            let mut candidates = Vec::new();
            let mut dirty = false;
            for frame in 0..self.pool.frames() {
                let since = self.pool.frames.dirty(frame);
                if since == 0 || since > epoch {
                    continue;
                }
                dirty = true;
                let skip = round == 0 && self.pool.frames.is_writing(frame);
                candidates.extend(self.candidate(frame, epoch).filter(|_| !skip));
                if candidates.len() >= self.ahead() {
                    self.write_all(&mut candidates)?;
                }
            }
            self.write_all(&mut candidates)?;
            self.await_writes()?;
            if !dirty && !copies && locked(&self.pool.preserved).is_empty() {
                return Ok(());
            }
            if round > 2 {
                self.pause();
            }
        }
        Ok(())
    }

    fn write_all(&self, candidates: &mut Vec<super::writes::Candidate>) -> Result<(), BufferError> {
        self.sort(candidates);
        while !candidates.is_empty() {
            if self.write_out(candidates, false).is_none() {
                self.await_group()?;
            }
        }
        Ok(())
    }

    fn write_preserved(&self) -> Result<bool, BufferError> {
        let mut any = false;
        loop {
            let batch: Vec<_> = {
                let mut preserved = locked(&self.pool.preserved);
                let keep = preserved.len().saturating_sub(self.group_pages());
                preserved.drain(keep..).collect()
            };
            if batch.is_empty() {
                return Ok(any);
            }
            any = true;
            let purposes: Vec<_> =
                batch.iter().map(|copy| Purpose::Preserved { page: copy.page, frame: copy.frame }).collect();
            if let Err(error) = self.write_these(&purposes) {
                locked(&self.pool.preserved).extend(batch);
                return Err(error);
            }
        }
    }

    /// Writes a group, when there are buffers for it. Nothing was begun where this fails.
    fn write_these(&self, purposes: &[Purpose]) -> Result<(), BufferError> {
        while self.write_group(purposes).is_none() {
            self.await_group()?;
        }
        Ok(())
    }

    fn await_group(&self) -> Result<(), BufferError> {
        self.pool.whole()?;
        self.write_result()?;
        self.wait_a_little()
    }

    fn wait_a_little(&self) -> Result<(), BufferError> {
        if self.tasks.current().is_none() && self.in_flight() > 0 {
            return self.poll(ONE);
        }
        self.poll(NONE)?;
        self.pause();
        Ok(())
    }

    fn await_writes(&self) -> Result<(), BufferError> {
        while self.writes_in_flight() {
            self.wait_a_little()?;
        }
        self.write_result()
    }

    /// Writes what has changed of the map; returns its pieces.
    fn write_map(&self) -> Result<Vec<u64>, BufferError> {
        let pieces = self.pool.places.changed();
        for batch in pieces.chunks(self.group_pages()) {
            self.write_these(&batch.iter().map(|&piece| Purpose::Piece(piece)).collect::<Vec<_>>())?;
        }
        self.await_writes()?;
        let per_root = entries(self.pool.config.page_bytes);
        let mut roots: Vec<_> = pieces.iter().map(|piece| piece / per_root).collect();
        roots.dedup();
        for batch in roots.chunks(self.group_pages()) {
            self.write_these(&batch.iter().map(|&root| Purpose::Root(root)).collect::<Vec<_>>())?;
        }
        self.await_writes()?;
        Ok(pieces)
    }

    fn commit(&self, moment: &Moment) -> Result<(), BufferError> {
        let (roots, copy) = {
            let map = locked(&self.pool.map);
            let used = map.roots.iter().take_while(|place| place.slot().is_some());
            (used.copied().collect(), map.copy ^ 1)
        };
        let block = Superblock {
            page_bytes: self.pool.config.page_bytes,
            epoch: moment.epoch,
            slots: self.pool.slots.count(),
            pages: self.pool.places.pages(),
            limit: moment.limit,
            owner_bytes: moment.owner_bytes.clone(),
            roots,
            copy,
        };
        self.call(DiskRequest::flush(Token::Call.encode()))?;
        let group = self.a_group()?;
        let memory = self.writes.borrow().at(group, 0, self.pool.shift);
        const { assert!(superblock::BYTES <= GROUP_BYTES) };
        // SAFETY: the group's buffers are ours until it is given back.
        let buffer = unsafe { std::slice::from_raw_parts_mut(self.pool.memory.start().add(memory), superblock::BYTES) };
        block.write(buffer);
        let (offset, bytes, token) = (block.offset(), superblock::BYTES as u32, Token::Call.encode());
        let written = self.call(DiskRequest { action: Action::Write, offset, memory, bytes, token });
        self.writes.borrow_mut().return_group(group);
        written?;
        self.call(DiskRequest::flush(Token::Call.encode()))?;
        locked(&self.pool.map).copy = copy;
        Ok(())
    }

    /// Carries out a request after which, if it fails, nobody knows what is on the disk.
    fn call(&self, request: DiskRequest) -> Result<(), BufferError> {
        // SAFETY: the buffer of a write is left alone until this returns; a checkpoint has one such request at a time.
        unsafe { self.push(request) };
        let result: Result<(), Errno> = loop {
            if let Some(completion) = self.calls.borrow_mut().pop() {
                break completion.result;
            }
            self.wait_a_little()?;
        };
        result.map_err(|errno| {
            let error = BufferError::io(&*self.pool.disk, request, errno);
            self.pool.break_down(error.to_string(), error.remedy());
            error
        })
    }
}

/// Opens the gate, whatever happens.
struct Opens<'p>(&'p Pool);

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        self.0.gate.open();
    }
}
