//! A flash drive in virtual time.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{
    Attention, Beside, Collector, Server, below,
    facts::{Facts, PART_OF_BUFFER, ReadShape},
    ps, uniform,
};
use crate::{
    document::{Nand, OrElse},
    request::{Action, Picoseconds, Request},
    rules::{FLUSH_SPREAD, UNIT_BYTES, mapped, spare},
};

/// A sequential read that begins so near to where the last one ended is one of the same stream.
const FOLLOWED_BYTES: u64 = 1 << 20;

/// A die: reads in order of arrival; programs in between, put off by reads where the drive suspends them.
#[derive(Clone, Copy, Debug, Default)]
struct Die {
    server: Server,
    program_ends: Picoseconds,
}

/// A flush that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Flush {
    /// When it is answered.
    pub ends: Picoseconds,
    /// From when on the drive serves nothing else.
    pub begins: Picoseconds,
    /// Until when the drive serves nothing else.
    pub blocks_until: Picoseconds,
}

/// Programs of each die that the least of buffers holds.
const PROGRAMS_AHEAD: f64 = 4.0;

/// Gaps of less than a second are not idle time to a drive, ps.
const SLC_RESTS_AFTER: f64 = 1e12;

/// Stations of a flash drive.
#[derive(Clone, Debug)]
pub struct FlashStations {
    facts: Facts,
    /// Of the last size of random and of sequential reads.
    shapes: [ReadShape; 2],
    dies: Vec<Die>,
    /// Programs of each die whose bytes have not come yet, where reads wait for programs: when they will have, and the time
    /// that each takes. A read that comes before them goes before them.
    coming: Vec<VecDeque<[Picoseconds; 2]>>,
    /// When the request that is being served came.
    clock: Picoseconds,
    /// When the last read so far asks its dies.
    asked_dies: Picoseconds,
    /// Of reads and of writes.
    controllers: [Server; 2],
    read_link: Server,
    write_link: Server,
    attention: Attention,
    /// Programs under way: when each ends, and the bytes of the buffer that it frees.
    leaving: VecDeque<(Picoseconds, f64)>,
    /// Where the last sequential read ended.
    read_up_to: u64,
    buffered: f64,
    room_at: Picoseconds,
    /// Bytes that wait for a whole program unit.
    gathering: f64,
    next_die: usize,
    slc_used: f64,
    slc_seen: Picoseconds,
    dirty: f64,
    blocked_until: Picoseconds,
    collector: Option<Collector>,
    copies: f64,
    beside: Option<Beside>,
}

impl FlashStations {
    /// An idle drive of which `used` (0..=1) holds data that was written once, in order; 0 is one that has been full and
    /// overwritten at random for long.
    pub fn new(nand: &Nand, capacity_bytes: f64, seed: u64, used: f64) -> Self {
        let collector = spare(nand).map(|spare| {
            let mut collector = collector(nand, capacity_bytes, spare);
            if used > 0.0 {
                collector.fill(used);
            } else {
                collector.age(seed);
            }
            collector
        });
        let facts = Facts::of(nand, used);
        let leaving = VecDeque::with_capacity(facts.programs_at_most());
        let dies = nand.dies.value.round().max(1.0) as usize;
        Self {
            facts,
            shapes: [ReadShape::default(); 2],
            dies: vec![Die::default(); dies],
            coming: vec![VecDeque::new(); dies],
            clock: 0,
            asked_dies: 0,
            controllers: [Server::default(); 2],
            read_link: Server::default(),
            write_link: Server::default(),
            attention: Attention::new(nand),
            leaving,
            read_up_to: 0,
            buffered: 0.0,
            room_at: 0,
            gathering: 0.0,
            next_die: (seed % 8191) as usize % dies,
            slc_used: 0.0,
            slc_seen: 0,
            dirty: 0.0,
            blocked_until: 0,
            collector,
            copies: 0.0,
            beside: nand.under_load.as_ref().map(Beside::of),
        }
    }

    /// Serves a request.
    #[inline]
    pub fn serve(&mut self, now: Picoseconds, request: &Request, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        let begin = now.max(self.blocked_until);
        self.clock = begin;
        match request.action {
            Action::Read => self.read(begin, request, random),
            Action::Write => self.write(begin, request, random),
            Action::Trim => self.trim(begin, request),
            // Flushes that wait for one another are the whole drive's affair.
            Action::Flush => self.plan_flush(begin, random).ends,
        }
    }

    #[inline]
    fn read(&mut self, now: Picoseconds, request: &Request, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        let shape = self.shape(request);
        let commanded = self.controllers[0].serve(now, self.facts.read_command);
        let commanded = self.attention.admit(commanded, false, false, shape.work);
        self.asked_dies = commanded;
        if shape.chance < 1.0 && uniform(random) >= shape.chance {
            return self.send([commanded; 3], shape.sent) + shape.delay;
        }
        let ahead = request.sequential && self.goes_on(request);
        let mut die = below(self.dies.len(), random);
        let (mut sensed, mut longest) = (commanded, 0);
        for _ in 0..shape.wide {
            let service = self.facts.die_service(&shape, random);
            longest = longest.max(service);
            let done = self.read_die(die, commanded, service);
            // What was read ahead only waits for dies that are busy.
            sensed = sensed.max(if ahead { done - service } else { done });
            die = if die + 1 == self.dies.len() { 0 } else { die + 1 };
        }
        let wait = self.beside.as_ref().map_or(0, |beside| beside.wait(false, random));
        // Of a scan the drive senses pages while the link sends those before them.
        let idle = commanded + if request.sequential { 0 } else { longest };
        self.send([commanded, idle, sensed], shape.sent) + shape.delay + wait
    }

    /// What reads like this one ask of the drive.
    #[inline]
    fn shape(&mut self, request: &Request) -> ReadShape {
        let kind = usize::from(request.sequential);
        if self.shapes[kind].bytes != request.bytes {
            self.shapes[kind] = self.facts.read_shape(request.bytes, request.sequential, self.dies.len());
        }
        self.shapes[kind]
    }

    /// A read that follows the one before: the drive has it already.
    #[inline]
    fn goes_on(&mut self, request: &Request) -> bool {
        let near = request.offset.abs_diff(self.read_up_to) <= FOLLOWED_BYTES;
        self.read_up_to = request.offset + u64::from(request.bytes);
        near && self.facts.reads_ahead
    }

    /// Sends what was read of dies that were asked, would have answered had they been idle, and answered at these instants.
    /// The link is kept in order of arrival at the dies, not of their answers, which would need an event more: requests that
    /// take as long at idle dies find the link as it was when they came there, so that what they wait for it stands behind
    /// that time. While they wait for a die, those before them leave the link.
    #[inline]
    fn send(&mut self, [asked, idle, ready]: [Picoseconds; 3], time: Picoseconds) -> Picoseconds {
        (self.read_link.serve(asked, time) + (idle - asked)).max(ready + time)
    }

    /// A read of a die: it waits for reads before it, and for a program that runs, or for its suspension. A program goes
    /// on between two reads, so that reads never starve it.
    #[inline]
    fn read_die(&mut self, die: usize, now: Picoseconds, service: Picoseconds) -> Picoseconds {
        self.take_in(die, now);
        let suspend = self.facts.suspend;
        let die = &mut self.dies[die];
        let mut begin = now.max(die.server.free_at());
        if suspend < Picoseconds::MAX && die.program_ends > begin {
            let wait = (die.program_ends - begin).min(suspend);
            begin += wait;
            if wait == suspend {
                die.program_ends += service;
            }
        }
        die.server.hold(begin);
        die.server.serve(begin, service)
    }

    /// Lets programs of a die queue whose bytes have come by `now`.
    #[inline]
    fn take_in(&mut self, die: usize, now: Picoseconds) {
        while let Some([ready, time]) = self.coming[die].front().copied().filter(|[ready, _]| *ready <= now) {
            self.dies[die].server.serve(ready, time);
            self.coming[die].pop_front();
        }
    }

    fn write(&mut self, now: Picoseconds, request: &Request, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        let bytes = f64::from(request.bytes);
        let commanded = self.controllers[1].serve(now, self.facts.write_command);
        let quick = self.slc_has_room(bytes);
        let copied = self.copies_of(request, quick);
        let work = self.facts.write_work(bytes, copied, quick);
        let turn = self.attention.admit(commanded, true, !request.sequential, work);
        // Measured latencies of writes hold what they wait for until the drive is full.
        let commanded = if self.beside.as_ref().is_some_and(|beside| !beside.is_full()) { commanded } else { turn };
        self.dirty += bytes;
        let room = self.enter(commanded, bytes);
        self.copy(room, copied);
        let wait = self.beside.as_mut().map_or(0, |beside| {
            beside.write(now, if request.sequential { bytes / self.facts.amplified } else { bytes });
            beside.wait(true, random)
        });
        room + wait + self.facts.write_latency
    }

    /// Forgets what lay there. What it takes is published of no drive here: it is answered as a write that brings no bytes.
    fn trim(&mut self, now: Picoseconds, request: &Request) -> Picoseconds {
        if let Some(collector) = &mut self.collector {
            collector.trim(request.offset, f64::from(request.bytes) * self.facts.lapse);
        }
        self.controllers[1].serve(now, self.facts.write_command) + self.facts.write_latency
    }

    /// Takes bytes over the link into the buffer, and says when the last of them are there. A large write enters part by
    /// part, so that dies program its first bytes while the last ones are on their way, or wait for room.
    fn enter(&mut self, now: Picoseconds, bytes: f64) -> Picoseconds {
        let most = (self.facts.buffer_bytes * PART_OF_BUFFER).max(UNIT_BYTES);
        let (mut left, mut room) = (bytes, now);
        while left > 0.0 {
            let part = left.min(most);
            left -= part;
            let sent = self.write_link.serve(now, (part * self.facts.write_byte) as Picoseconds);
            room = self.room(sent, part);
            self.buffered += part;
            self.gathering += part;
            while self.gathering >= self.facts.unit_bytes {
                self.gathering -= self.facts.unit_bytes;
                self.program(room, self.facts.unit_bytes);
            }
        }
        room
    }

    /// When the buffer has room for `bytes`, at `now` or later.
    fn room(&mut self, now: Picoseconds, bytes: f64) -> Picoseconds {
        // In order: nobody gets in before who waits already.
        let mut at = now.max(self.room_at);
        while let Some((end, freed)) = self.leaving.front().copied() {
            if end > at && self.buffered + bytes <= self.facts.buffer_bytes.max(bytes) {
                break;
            }
            at = at.max(end);
            self.buffered = (self.buffered - freed).max(0.0);
            self.leaving.pop_front();
        }
        self.room_at = at;
        at
    }

    /// Bytes that the drive programs for a write beyond its own: what it maps as one, and what collection copies. What
    /// goes into the SLC cache moves later, when nobody writes.
    fn copies_of(&mut self, request: &Request, quick: bool) -> f64 {
        let bytes = f64::from(request.bytes);
        let mapped = if request.sequential { 1.0 } else { mapped(self.facts.mapping, bytes) };
        let copied = self.collector.as_mut().map_or(0.0, |collector| {
            collector.direct(request.group);
            collector.write(request.offset, bytes * self.facts.lapse, request.sequential);
            // A drive that is followed page by page copies what it does, in whichever order it was written.
            match (collector.is_exact(), request.sequential) {
                (true, _) => collector.pay(bytes) / (bytes * mapped),
                (false, true) => 0.0,
                (false, false) => collector.copies(),
            }
        });
        if quick { 0.0 } else { bytes * (mapped * (1.0 + copied) - 1.0) }
    }

    /// A write or a trim that takes no time: what lies there before a play begins.
    pub fn lay(&mut self, request: &Request) {
        if let Some(collector) = self.collector.as_mut().filter(|collector| collector.is_exact()) {
            let bytes = f64::from(request.bytes);
            match request.action {
                Action::Trim => collector.trim(request.offset, bytes),
                _ => collector.lay(request.offset, bytes, request.group),
            }
        }
    }

    /// Bytes that the host has written and bytes copied, of a drive that is followed page by page.
    pub fn programmed(&self) -> Option<[f64; 2]> {
        self.collector.as_ref().filter(|collector| collector.is_exact()).map(Collector::programmed)
    }

    fn copy(&mut self, now: Picoseconds, bytes: f64) {
        self.copies += bytes;
        while self.copies >= self.facts.unit_bytes {
            self.copies -= self.facts.unit_bytes;
            self.program_on(now, 0.0, self.facts.program);
        }
    }

    fn program(&mut self, now: Picoseconds, bytes: f64) {
        let quick = self.slc_takes(now, bytes);
        let time = if quick { self.facts.quick_program } else { self.facts.program };
        self.program_on(now, bytes, time);
    }

    fn program_on(&mut self, now: Picoseconds, bytes: f64, time: Picoseconds) {
        self.take_in(self.next_die, self.clock);
        let die = &mut self.dies[self.next_die];
        // Reads beside writes have taken their dies for instants at which their turn comes; programs fill the time before.
        let read_until = if self.attention.is_shared() { 0 } else { die.server.free_at() };
        let begin = now.max(die.program_ends).max(read_until);
        die.program_ends = begin + time;
        if self.facts.suspend == Picoseconds::MAX {
            self.coming[self.next_die].push_back([now, time]);
        }
        if bytes > 0.0 {
            self.leaving.push_back((die.program_ends, bytes));
        }
        self.next_die = if self.next_die + 1 == self.dies.len() { 0 } else { self.next_die + 1 };
    }

    /// Whether the SLC cache takes the bytes; it empties while the drive has nothing to write.
    fn slc_takes(&mut self, now: Picoseconds, bytes: f64) -> bool {
        let idle = now.saturating_sub(self.slc_seen) as f64 * self.facts.lapse;
        self.slc_seen = now;
        if idle > SLC_RESTS_AFTER {
            self.slc_used = (self.slc_used - idle * self.facts.fold_per_ps).max(0.0);
        }
        let takes = self.slc_has_room(bytes);
        if takes {
            self.slc_used += bytes * self.facts.lapse;
        }
        takes
    }

    fn slc_has_room(&self, bytes: f64) -> bool {
        self.facts.slc_bytes > 0.0 && self.slc_used + bytes <= self.facts.slc_bytes
    }

    /// Lets what changes slowly change `factor` times as fast: the SLC cache, and collection.
    /// The buffer becomes as much smaller, so that what it takes before it is full is as small a part of the play as it was
    /// of the load; but it always holds what keeps all dies at work.
    pub fn hasten(&mut self, factor: f64) {
        self.facts.lapse = factor;
        let least = self.facts.buffer_bytes.min(PROGRAMS_AHEAD * self.facts.unit_bytes * self.dies.len() as f64);
        self.facts.buffer_bytes = (self.facts.buffer_bytes / factor).max(least);
    }

    /// Its buffer survives a loss of power.
    pub fn is_safe(&self) -> bool {
        self.facts.safe
    }

    /// Its caches may fill, or its free blocks run out, while it is written to.
    pub fn is_transient(&self) -> bool {
        self.facts.slc_bytes > 0.0 || self.collector.is_some()
    }

    /// A flush that begins at `now` or later, as the drive is at this moment; it takes effect with [`Self::stop_for`].
    pub fn plan_flush(&mut self, now: Picoseconds, random: &mut Xoshiro256PlusPlus) -> Flush {
        if self.facts.safe {
            return Flush { ends: now + ps(self.facts.flush_base), begins: now, blocks_until: now };
        }
        let spread = FLUSH_SPREAD * 3f64.sqrt() * (2.0 * uniform(random) - 1.0);
        let own = ps(self.facts.flush_base * (1.0 + spread)) + self.drain();
        // Programs of the flush wait for what is queued at their dies, and not for reads whose turn has not come.
        (0..self.dies.len()).for_each(|die| self.take_in(die, now));
        let free_at = self.dies.iter().map(|die| die.server.free_at()).max().unwrap_or(0);
        let queued = free_at.saturating_sub(now.max(self.asked_dies));
        let begin = now + queued;
        let blocks_until = begin + (own as f64 * self.facts.flush_blocks) as Picoseconds;
        Flush { ends: begin + own, begins: begin, blocks_until }
    }

    /// What is dirty, and was not at the last flush, also goes out with a flush that has not begun.
    pub fn join_flush(&mut self, flush: &mut Flush) {
        let more = self.drain();
        flush.ends += more;
        flush.blocks_until += (more as f64 * self.facts.flush_blocks) as Picoseconds;
    }

    /// Time in which what is dirty goes out; then nothing is.
    fn drain(&mut self) -> Picoseconds {
        (std::mem::take(&mut self.dirty) * self.facts.flush_byte) as Picoseconds
    }

    /// Nothing new is served before the flush lets it: what comes waits until then, and what waits for its turn as much longer.
    pub fn stop_for(&mut self, flush: &Flush) {
        self.blocked_until = self.blocked_until.max(flush.blocks_until);
        self.attention.stop(flush.begins, flush.blocks_until - flush.begins);
    }

    /// The busiest station and its busy time.
    pub fn busiest(&self) -> (&'static str, Picoseconds) {
        let dies = self.dies.iter().map(|die| die.server.busy()).sum::<u64>() / self.dies.len() as u64;
        [
            ("dies", dies),
            ("read link", self.read_link.busy()),
            ("write link", self.write_link.busy()),
            ("controller", self.controllers[0].busy().max(self.controllers[1].busy())),
            ("attention", self.attention.busy()),
        ]
        .into_iter()
        .max_by_key(|station| station.1)
        .unwrap_or(("dies", dies))
    }

    /// Pages programmed per page written so far.
    pub fn amplification(&self) -> f64 {
        self.collector.as_ref().map_or(1.0, Collector::amplification)
    }
}

/// The map of a drive: page by page where it is said what the drive erases together, and there are not too many of them.
fn collector(nand: &Nand, capacity_bytes: f64, spare: f64) -> Collector {
    let unit = nand.collection.unit_bytes.as_ref();
    let page = OrElse::or(&nand.mapping_bytes, UNIT_BYTES).max(UNIT_BYTES);
    let handles = OrElse::or(&nand.collection.placement_handles, 1.0) as u8;
    let exact = unit.and_then(|unit| Collector::handled(capacity_bytes, spare, unit.value, page, handles));
    exact.unwrap_or_else(|| Collector::new(capacity_bytes, spare))
}
