//! The operations of a queued path that are under way, and what becomes of short transfers.

use crate::{Completion, Request};

/// An operation that is under way.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// What is still to be moved. A flush has no length.
    rest: Request,
    /// Bytes moved by earlier parts.
    moved: u32,
    /// Bytes that had been moved when it last stepped back to where a direct transfer may begin.
    stepped: u32,
}

/// Where direct transfers may begin on every device: at multiples of this, bytes.
pub(crate) const BOUNDARY: u64 = 4096;

impl Slot {
    /// A direct transfer that stopped at no boundary goes on from the one before; not where that has brought nothing.
    fn steps_back(&mut self) -> bool {
        let back = (self.rest.offset % BOUNDARY).min(u64::from(self.moved)) as u32;
        if back == 0 || self.moved <= self.stepped {
            return false;
        }
        self.stepped = self.moved;
        self.moved -= back;
        self.rest.length += back;
        self.rest.offset -= u64::from(back);
        self.rest.memory -= back as usize;
        true
    }
}

const FREE: Slot =
    Slot { rest: Request { write: false, segment: 0, offset: 0, length: 0, memory: 0, slot: 0 }, moved: 0, stepped: 0 };

/// What a result of the kernel means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The operation has ended.
    Done(Completion),
    /// A part was moved: the rest is to be asked for.
    Again(u32),
}

/// One entry per slot, allocated at open.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    in_flight: u32,
    ready: Vec<Completion>,
}

impl Slots {
    /// Room for `depth` operations.
    pub fn new(depth: u32) -> Self {
        let depth = depth as usize;
        Self { slots: vec![FREE; depth].into_boxed_slice(), in_flight: 0, ready: Vec::with_capacity(depth) }
    }

    /// Remembers a read or a write.
    #[inline(always)]
    pub fn start(&mut self, request: Request) {
        self.slots[request.slot as usize] = Slot { rest: request, moved: 0, stepped: 0 };
        self.in_flight += 1;
    }

    /// Remembers a flush.
    #[inline(always)]
    pub fn start_flush(&mut self, segment: u32, slot: u32) {
        self.start(Request { segment, slot, ..FREE.rest });
    }

    /// Ends an operation that the kernel never saw.
    pub fn finish_at_once(&mut self, slot: u32, result: i32) {
        self.ready.push(Completion { slot, result });
    }

    /// What is left of an operation.
    pub fn rest(&self, slot: u32) -> Request {
        self.slots[slot as usize].rest
    }

    /// Operations pushed and not yet handed out.
    #[inline(always)]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Takes the kernel's result: bytes moved or a negated `errno`.
    #[inline(always)]
    pub fn settle(&mut self, slot: u32, result: i32) -> Settled {
        let held = &self.slots[slot as usize];
        if result as u32 == held.rest.length && held.moved == 0 {
            return Settled::Done(Completion { slot, result });
        }
        self.settle_unusual(slot, result)
    }

    #[cold]
    fn settle_unusual(&mut self, slot: u32, result: i32) -> Settled {
        let held = &mut self.slots[slot as usize];
        let done = |result| Settled::Done(Completion { slot, result });
        match result {
            _ if result == -libc::EAGAIN || result == -libc::EINTR => Settled::Again(slot),
            _ if result == -libc::EINVAL && held.steps_back() => Settled::Again(slot),
            // The unaligned rest of a direct read, once more: the file ends there.
            _ if result == -libc::EINVAL && held.moved > 0 => {
                done(if held.rest.write { -libc::EIO } else { -libc::ENODATA })
            }
            _ if result < 0 => done(result),
            0 if held.rest.length > 0 => done(if held.rest.write { -libc::EIO } else { -libc::ENODATA }),
            _ => {
                let part = (result as u32).min(held.rest.length);
                held.moved += part;
                held.rest.length -= part;
                held.rest.offset += u64::from(part);
                held.rest.memory += part as usize;
                if held.rest.length == 0 { done(held.moved as i32) } else { Settled::Again(slot) }
            }
        }
    }

    /// Hands a finished operation out.
    #[inline(always)]
    pub fn hand_out(&mut self, completion: Completion, into: &mut Vec<Completion>) {
        self.in_flight -= 1;
        into.push(completion);
    }

    /// Hands out what the kernel never saw; returns how many.
    #[inline(always)]
    pub fn hand_out_ready(&mut self, into: &mut Vec<Completion>) -> u32 {
        if self.ready.is_empty() { 0 } else { self.hand_out_all_ready(into) }
    }

    #[cold]
    fn hand_out_all_ready(&mut self, into: &mut Vec<Completion>) -> u32 {
        let room = into.capacity() - into.len();
        let count = room.min(self.ready.len());
        into.extend(self.ready.drain(..count));
        self.in_flight -= count as u32;
        count as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_of(length: u32) -> Slots {
        let mut slots = Slots::new(4);
        slots.start(Request { write: false, segment: 0, offset: 100, length, memory: 7, slot: 3 });
        slots
    }

    #[test]
    fn a_whole_transfer_is_done() {
        assert_eq!(read_of(10).settle(3, 10), Settled::Done(Completion { slot: 3, result: 10 }));
    }

    #[test]
    fn a_short_transfer_is_continued_where_it_stopped() {
        let mut slots = read_of(10);
        assert_eq!(slots.settle(3, 4), Settled::Again(3));
        let rest = slots.rest(3);
        assert_eq!((rest.offset, rest.length, rest.memory), (104, 6, 11));
        assert_eq!(slots.settle(3, 6), Settled::Done(Completion { slot: 3, result: 10 }));
    }

    #[test]
    fn the_end_of_a_file_is_an_error() {
        assert_eq!(read_of(10).settle(3, 0), Settled::Done(Completion { slot: 3, result: -libc::ENODATA }));
        let mut slots = read_of(4096);
        assert_eq!(slots.settle(3, 512 + 7), Settled::Again(3));
        assert_eq!(slots.settle(3, -libc::EINVAL), Settled::Again(3));
        assert_eq!((slots.rest(3).offset, slots.rest(3).length), (100, 4096), "no boundary since it began");
        assert_eq!(slots.settle(3, 512 + 7), Settled::Again(3));
        assert_eq!(slots.settle(3, -libc::EINVAL), Settled::Done(Completion { slot: 3, result: -libc::ENODATA }));
    }

    #[test]
    fn a_direct_write_cut_at_no_boundary_goes_on_from_the_one_before() {
        let mut slots = Slots::new(4);
        slots.start(Request { write: true, segment: 0, offset: 8192, length: 12288, memory: 0, slot: 0 });
        for (part, offset) in [(5000, 12288), (4097, 16384)] {
            assert_eq!(slots.settle(0, part), Settled::Again(0));
            assert_eq!(slots.settle(0, -libc::EINVAL), Settled::Again(0));
            assert_eq!(slots.rest(0).offset, offset);
            assert_eq!(slots.rest(0).memory as u64, offset - 8192);
        }
        assert_eq!(slots.settle(0, 4096), Settled::Done(Completion { slot: 0, result: 12288 }));
    }

    #[test]
    fn a_flush_ends_with_nothing_moved() {
        let mut slots = Slots::new(1);
        slots.start_flush(0, 0);
        assert_eq!(slots.settle(0, 0), Settled::Done(Completion { slot: 0, result: 0 }));
    }

    #[test]
    fn an_interrupted_operation_is_asked_for_again() {
        assert_eq!(read_of(10).settle(3, -libc::EINTR), Settled::Again(3));
        assert_eq!(read_of(10).settle(3, -libc::EIO), Settled::Done(Completion { slot: 3, result: -libc::EIO }));
    }
}
