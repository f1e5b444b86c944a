//! Reading a log after a crash: up to where it ends, and whether it may end there.

use std::sync::Arc;

use assay_buffer::disk::{Action, Disk, DiskRequest, Memory, Queue, carry_out};

use super::{
    Area, Tail,
    area::BLOCK,
    record::{self, HEADER, Head, RecordKind},
};
use crate::error::{EngineError, Result};

/// Bytes that are read at once: the kernel makes several requests of them, which the drive serves side by side.
const CHUNK: u64 = 4 << 20;

/// Where a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// First position that holds no record.
    pub position: u64,
    /// Newest commit that was found; 0 for none.
    pub commit: u64,
    /// Commits that were found.
    pub commits: u64,
}

/// Reads records from the disk and, where the disk does not have them yet, from the tail.
pub struct Reader<'a> {
    area: Area,
    disk: &'a dyn Disk,
    tail: Option<&'a Tail>,
    queue: Box<dyn Queue>,
    memory: Arc<Memory>,
    /// Positions in the window.
    window: std::ops::Range<u64>,
}

impl<'a> Reader<'a> {
    /// A reader of a log; `tail` is the persistent memory that has its end, if any has.
    ///
    /// # Errors
    /// Where the disk gives no queue.
    pub fn new(area: Area, disk: &'a dyn Disk, tail: Option<&'a Tail>) -> Result<Self> {
        let memory = Arc::new(Memory::new(CHUNK as usize)?);
        let queue = disk.queue(1, &memory)?;
        Ok(Self { area, disk, tail, queue, memory, window: 0..0 })
    }

    /// Where it is read from.
    pub(super) fn area(&self) -> &Area {
        &self.area
    }

    /// Name of its disk.
    pub(super) fn name(&self) -> &str {
        self.disk.name()
    }

    /// Hands every record from `begin` on to `visit`, and says where the log ends.
    ///
    /// # Errors
    /// Where the disk fails, or `visit` does, or the log ends where it must not: a later part is there.
    pub fn read(&mut self, begin: u64, mut visit: impl FnMut(&Head, &[u8]) -> Result<()>) -> Result<End> {
        let mut end = End { position: begin, commit: 0, commits: 0 };
        let mut bytes = Vec::new();
        // A round of the area is the most that can be there.
        while end.position < begin + self.area.bytes {
            let Some(head) = self.record(end.position, &mut bytes)? else { break };
            if head.kind == RecordKind::Commit {
                visit(&head, &bytes)?;
                (end.commit, end.commits) = (end.commit.max(head.commit), end.commits + 1);
            }
            end.position += head.length as u64;
        }
        self.look_for_later(end.position, begin + self.area.bytes)?;
        Ok(end)
    }

    /// The record at a position, if a whole one is there.
    pub(super) fn record(&mut self, position: u64, bytes: &mut Vec<u8>) -> Result<Option<Head>> {
        for from_tail in [false, true] {
            bytes.resize(HEADER, 0);
            self.fetch(position, bytes, from_tail)?;
            let Some(head) = record::head(bytes, position) else { continue };
            if head.length as u64 > self.area.ring {
                continue;
            }
            bytes.resize(head.length, 0);
            self.fetch(position, bytes, from_tail)?;
            if record::is_whole(bytes, self.area.seal()) {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    /// Looks for a mark beyond the end, where no record is: everything before a mark had been durable when it was written.
    pub(super) fn look_for_later(&mut self, end: u64, limit: u64) -> Result<()> {
        let mut position = end.next_multiple_of(BLOCK);
        let mut bytes = vec![0; HEADER];
        while position < limit {
            for from_tail in [false, true] {
                self.fetch(position, &mut bytes, from_tail)?;
                let is_mark = record::head(&bytes, position).is_some_and(|head| head.kind == RecordKind::Mark);
                if is_mark && record::is_whole(&bytes, self.area.seal()) {
                    let log = self.disk.name().to_owned();
                    return Err(EngineError::LostMiddle { log, lost: end, seen: position });
                }
            }
            position += BLOCK;
        }
        Ok(())
    }

    fn fetch(&mut self, position: u64, into: &mut [u8], from_tail: bool) -> Result<()> {
        if from_tail {
            match self.tail {
                Some(tail) => tail.read(position, into),
                None => into.fill(0),
            }
            return Ok(());
        }
        let mut done = 0;
        while done < into.len() {
            let at = position + done as u64;
            self.show(at)?;
            let here = ((self.window.end - at) as usize).min(into.len() - done);
            let from = (at - self.window.start) as usize;
            // SAFETY: inside of the window, and nothing is in flight.
            let bytes = unsafe { std::slice::from_raw_parts(self.memory.start().add(from), here) };
            into[done..done + here].copy_from_slice(bytes);
            done += here;
        }
        Ok(())
    }

    /// Brings a position into the window.
    fn show(&mut self, position: u64) -> Result<()> {
        if self.window.contains(&position) {
            return Ok(());
        }
        self.window = 0..0;
        let start = position / BLOCK * BLOCK;
        let bytes = CHUNK.min(self.area.bytes - start % self.area.bytes);
        let offset = self.area.offset(start);
        let request = DiskRequest { action: Action::Read, offset, memory: 0, bytes: bytes as u32, token: 0 };
        // SAFETY: nobody else has the memory, and no reference into it is held.
        unsafe { carry_out(&mut *self.queue, self.disk, request) }?;
        self.window = start..start + bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
