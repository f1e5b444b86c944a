//! The queue pair of one thread on one drive, and the commands that are under way in it.

use std::sync::Arc;

use super::{
    bus::Translation,
    command::Command,
    controller::Fault,
    drive::PolledDrive,
    pages::{LIST_BYTES, Lists, TRANSFER_BYTES_AT_MOST},
    queue::{QueuePair, entries_for},
    status,
};
use crate::Arena;

/// A command that may be under way.
#[derive(Clone, Copy, Debug, Default)]
struct Issued {
    slot: u32,
    /// When, in milliseconds of the path.
    at_ms: u32,
    busy: bool,
}

/// A thread's way to a drive.
#[derive(Debug)]
pub(super) struct Lane {
    pair: QueuePair,
    number: u16,
    lists: Lists,
    translation: Translation,
    issued: Box<[Issued]>,
    free: Vec<u16>,
    transfer_bytes: u32,
    /// Why nothing is sent any more; 0 while the drive works.
    dead: i32,
    // Dropped last: the memory above is the drive's to let go.
    drive: Arc<PolledDrive>,
}

impl Lane {
    /// A queue pair for `depth` operations on memory of an arena. None where the controller has no queues left.
    pub fn open(drive: Arc<PolledDrive>, arena: &Arena, depth: u32) -> Result<Option<Self>, Fault> {
        let mut controller = drive.lock();
        let entries = entries_for(depth, controller.entries_at_most()).map_err(Fault::Memory)?;
        let further = usize::from(entries) * LIST_BYTES;
        let Some((number, pair, lists_at)) = controller.make_queue(entries, further)? else { return Ok(None) };
        let facts = controller.facts.clone();
        let translation = match drive.bus().map(arena.start(), arena.len()) {
            Ok(translation) => translation,
            Err(source) => {
                controller.remove_queue(number)?;
                return Err(Fault::Memory(source));
            }
        };
        drop(controller);
        let transfer_bytes = facts.transfer_bytes_at_most.unwrap_or(u64::MAX).min(TRANSFER_BYTES_AT_MOST) as u32;
        let room = pair.room();
        Ok(Some(Self {
            pair,
            number,
            lists: Lists::new(lists_at, facts.has_sgl),
            translation,
            issued: vec![Issued::default(); usize::from(room)].into_boxed_slice(),
            free: (0..room).rev().collect(),
            transfer_bytes,
            dead: 0,
            drive,
        }))
    }

    /// Bytes of one command at most.
    #[inline(always)]
    pub fn transfer_bytes(&self) -> u32 {
        self.transfer_bytes
    }

    /// Why nothing is sent any more; 0 while the drive works.
    #[inline(always)]
    pub fn dead(&self) -> i32 {
        self.dead
    }

    /// Writes a command for a slot, which the device sees with the next [`Self::ring`]. `bytes` of memory at `at` of the
    /// arena are what it moves. False where there is no room.
    #[inline(always)]
    pub fn send(
        &mut self,
        slot: u32,
        now_ms: u32,
        at: usize,
        bytes: u32,
        command: impl FnOnce(super::command::Data) -> Command,
    ) -> bool {
        let Some(id) = self.free.pop() else { return false };
        let data = if bytes == 0 {
            super::command::Data::Pages(0, 0)
        } else {
            self.lists.describe(self.pair.memory(), id, &self.translation, at, bytes)
        };
        self.issued[usize::from(id)] = Issued { slot, at_ms: now_ms, busy: true };
        self.pair.put(&command(data).named(id));
        true
    }

    /// Tells the device about everything that was sent.
    #[inline(always)]
    pub fn ring(&mut self) {
        self.pair.ring();
    }

    /// The next answer: its slot, and an `errno` or 0.
    #[inline(always)]
    pub fn take(&mut self) -> Option<(u32, i32)> {
        loop {
            let answer = self.pair.take()?;
            let Some(issued) = self.issued.get_mut(usize::from(answer.id)) else { continue };
            // An answer to nothing is nobody's.
            if std::mem::replace(&mut issued.busy, false) {
                let slot = issued.slot;
                self.free.push(answer.id);
                return Some((slot, if answer.status == 0 { 0 } else { status::errno(answer.status) }));
            }
        }
    }

    /// Tells the device how far answers were read.
    #[inline(always)]
    pub fn release(&mut self) {
        self.pair.release();
    }

    /// Whether the drive still works: asks the controller, and looks for commands that are overdue.
    #[cold]
    pub fn look(&mut self, now_ms: u32) {
        let patience_ms = self.drive.patience_ms();
        let overdue = self.issued.iter().any(|issued| issued.busy && now_ms.wrapping_sub(issued.at_ms) > patience_ms);
        if overdue {
            self.drive.fail(libc::ETIMEDOUT);
        } else if !self.drive.is_healthy() {
            self.drive.fail(libc::EIO);
        }
        self.dead = self.drive.failure();
    }

    /// Slots of the commands that will never be answered, once the drive is dead.
    #[cold]
    pub fn abandon(&mut self, mut each: impl FnMut(u32)) {
        for (id, issued) in self.issued.iter_mut().enumerate() {
            if std::mem::replace(&mut issued.busy, false) {
                self.free.push(id as u16);
                each(issued.slot);
            }
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let removed = self.drive.lock().remove_queue(self.number);
        if removed.is_err() || self.issued.iter().any(|issued| issued.busy) {
            self.drive.fail(libc::EIO);
        }
        self.drive.bus().unmap(&self.translation);
    }
}
