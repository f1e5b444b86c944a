//! Whose turn it is to write. One writes at a time: the log's thread, or somebody who waits for a commit of its own and
//! would otherwise wake that thread and sleep until it has written.

use std::sync::{
    Arc, MutexGuard, PoisonError,
    atomic::{Ordering::SeqCst, fence},
};

use assay_buffer::{
    BufferError,
    disk::{Action, Calls, Disk, DiskRequest},
};

use super::{Log, area::BLOCK};
use crate::error::{Failure, Result};

/// Bytes of one write, at most; of more, several are better in flight at once.
pub(super) const CHUNK: u64 = 1 << 20;

/// What one who has a turn writes with.
pub(super) struct DirectWriter {
    disk: Arc<dyn Disk>,
    calls: Box<dyn Calls>,
}

/// What came of the wish to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// A batch was written, or the log has failed.
    Done,
    /// Somebody else is writing, and wakes those who wait.
    Busy,
    /// It is for the log's thread.
    Ask,
}

impl DirectWriter {
    /// None where the disk has queues alone, or what is in memory is not written from where it lies.
    pub fn take(log: &Log, disk: &Arc<dyn Disk>) -> Result<Option<Self>> {
        let super::Tail::Volatile(memory) = &log.tail else { return Ok(None) };
        Ok(disk.calls(memory)?.map(|calls| Self { disk: Arc::clone(disk), calls }))
    }

    /// Writes a range of the log and makes it durable.
    pub fn write(&mut self, log: &Log, from: u64, end: u64) -> Result<()> {
        let ring = log.tail.bytes();
        for (position, bytes) in log.pieces(from, end) {
            let offset = log.area.offset(position);
            // SAFETY: the ring's range is filled, and is not reserved again before it has been written.
            let done = unsafe { self.calls.write(offset, (position % ring) as usize, bytes as u32) };
            let request = DiskRequest { action: Action::Write, offset, memory: 0, bytes: bytes as u32, token: 0 };
            done.map_err(|errno| BufferError::io(&*self.disk, request, errno))?;
        }
        if log.durability.flushes() {
            self.calls.flush().map_err(|errno| BufferError::io(&*self.disk, DiskRequest::flush(0), errno))?;
        }
        Ok(())
    }
}

/// A turn to write. It ends when dropped, and those who wait are woken.
pub(super) struct Turn<'l>(&'l Log);

impl Turn<'_> {
    /// What to write with, where short batches are written by calls.
    pub fn direct(&self) -> MutexGuard<'_, Option<DirectWriter>> {
        // Nobody else has it: it is taken in a turn alone.
        self.0.direct.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(Failure::new("one who wrote the log has panicked"));
        }
        self.0.writing.store(false, SeqCst);
        // Who is about to sleep has said so before it looked whether anybody writes: one of both sees the other.
        fence(SeqCst);
        if self.0.sleepers.load(SeqCst) > 0 {
            drop(self.0.bell());
            self.0.done.notify_all();
        }
    }
}

impl Log {
    /// A turn to write, if nobody has it.
    pub(super) fn try_turn(&self) -> Option<Turn<'_>> {
        self.writing.compare_exchange(false, true, SeqCst, SeqCst).is_ok().then(|| Turn(self))
    }

    /// Waits for a turn to write.
    pub(super) fn turn(&self) -> Turn<'_> {
        loop {
            if let Some(turn) = self.try_turn() {
                return turn;
            }
            self.sleep(None, || self.writing.load(SeqCst));
        }
    }

    /// The writes that a range takes: each lies in one piece in the ring and on the disk.
    pub(super) fn pieces(&self, from: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (ring, area) = (self.tail.bytes(), self.area.bytes);
        debug_assert!(from % BLOCK == 0 && end % BLOCK == 0, "batches are whole blocks");
        let mut position = from;
        std::iter::from_fn(move || {
            let bytes = CHUNK.min(end - position).min(ring - position % ring).min(area - position % area);
            let piece = (position, bytes);
            position += bytes;
            (bytes > 0).then_some(piece)
        })
    }
}
