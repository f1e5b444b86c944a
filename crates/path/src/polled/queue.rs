//! A submission queue and its completion queue, in memory that the device knows.
//!
//! Queue entries go around in a circle. The device tells new answers from those of the round before by their phase bit,
//! which it inverts in each round; a doorbell tells it how far commands were written and answers were read.

use std::io;

use super::{
    command::{ANSWER_BYTES, COMMAND_BYTES, Command, Completion},
    memory::DmaMemory,
    physical::PAGE,
    registers::{Doorbell, memory_follows_device},
};

/// Both queues of a pair.
#[derive(Debug)]
pub(super) struct QueuePair {
    commands: *mut Command,
    answers: *const [u32; 4],
    entries: u16,
    tail: u16,
    /// The tail that the device was told.
    rung: u16,
    head: u16,
    /// Phase of answers that are new in this round.
    phase: u32,
    doorbells: [Doorbell; 2],
    memory: DmaMemory,
    answers_at: usize,
}

// SAFETY: the pair owns its memory; the pointers point into it.
unsafe impl Send for QueuePair {}

/// Bytes of memory that a pair takes, and of these the bytes that must be one piece.
pub(super) fn bytes_of(entries: u16) -> usize {
    answers_at(entries) + (usize::from(entries) * ANSWER_BYTES).next_multiple_of(PAGE)
}

fn answers_at(entries: u16) -> usize {
    (usize::from(entries) * COMMAND_BYTES).next_multiple_of(PAGE)
}

impl QueuePair {
    /// A pair of `entries` each at the front of `memory`, which is zeroed and holds [`bytes_of`] bytes.
    pub fn new(memory: DmaMemory, entries: u16, doorbells: [Doorbell; 2]) -> Self {
        let answers_at = answers_at(entries);
        let commands = memory.start().cast();
        // SAFETY: inside the memory, as the caller promises; a page is aligned for an answer.
        let answers = unsafe { memory.start().add(answers_at) }.cast_const().cast();
        Self { commands, answers, entries, tail: 0, rung: 0, head: 0, phase: 1, doorbells, memory, answers_at }
    }

    /// Addresses of both queues for the device.
    pub fn bus_addresses(&self) -> [u64; 2] {
        [self.memory.bus_address(0), self.memory.bus_address(self.answers_at)]
    }

    /// The memory that it lies in.
    pub fn memory(&self) -> &DmaMemory {
        &self.memory
    }

    /// Commands that may be under way at once.
    pub fn room(&self) -> u16 {
        self.entries - 1
    }

    /// Writes a command. The caller never has more than [`Self::room`] of them without an answer.
    #[inline(always)]
    pub fn put(&mut self, command: &Command) {
        // SAFETY: `tail` is below `entries`; the device reads the entry only after the doorbell.
        unsafe { self.commands.add(usize::from(self.tail)).write_volatile(*command) };
        self.tail += 1;
        if self.tail == self.entries {
            self.tail = 0;
        }
    }

    /// Tells the device about everything that was written since the last time, with one store.
    #[inline(always)]
    pub fn ring(&mut self) {
        if self.rung != self.tail {
            self.doorbells[0].ring(self.tail);
            self.rung = self.tail;
        }
    }

    /// The next answer, if it is there.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Completion> {
        // SAFETY: `head` is below `entries`.
        let entry = unsafe { self.answers.add(usize::from(self.head)) }.cast::<u32>();
        // SAFETY: the fourth word of the entry; the device may be writing it.
        let last = unsafe { entry.add(3).read_volatile() };
        if (last >> 16) & 1 != self.phase {
            return None;
        }
        memory_follows_device();
        // SAFETY: the first word of the entry, which is complete.
        let result = unsafe { entry.read_volatile() };
        self.head += 1;
        if self.head == self.entries {
            self.head = 0;
            self.phase ^= 1;
        }
        Some(Completion { id: last as u16, status: (last >> 17) as u16, result })
    }

    /// Tells the device how far answers were read.
    #[inline(always)]
    pub fn release(&mut self) {
        self.doorbells[1].ring(self.head);
    }
}

/// The number of entries for so many commands under way: one entry always stays empty, and a controller has a limit.
///
/// # Errors
/// `EINVAL` where the controller's queues have no two entries.
pub(super) fn entries_for(commands: u32, entries_at_most: u32) -> io::Result<u16> {
    let entries = (commands + 1).next_power_of_two().min(entries_at_most).min(1 << 15);
    if entries < 2 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok(entries as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_have_an_entry_to_spare_and_know_the_controllers_limit() {
        assert_eq!(entries_for(1, 2048).unwrap(), 2);
        assert_eq!(entries_for(1024, 2048).unwrap(), 2048);
        assert_eq!(entries_for(1024, 1024).unwrap(), 1024);
        assert_eq!(entries_for(16_384, 65_536).unwrap(), 32_768);
        assert!(entries_for(1, 1).is_err());
    }

    #[test]
    fn queues_begin_at_pages() {
        assert_eq!((bytes_of(2), bytes_of(64), bytes_of(65)), (8192, 8192, 12_288));
        assert_eq!(answers_at(1024), 65_536);
    }
}
