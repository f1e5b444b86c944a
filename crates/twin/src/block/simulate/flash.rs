//! A flash drive in virtual time.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Attention, Beside, Collector, Server, below, ps, ps_per_byte, uniform};
use crate::{
    block::nand::{UNIT_BYTES, mapped, program_bytes, spare},
    document::{Nand, OrElse, SlcCache},
    simulated::{Action, Picoseconds, Request},
};

/// A sequential read that begins so near to where the last one ended is one of the same stream.
const FOLLOWED_BYTES: u64 = 1 << 20;

/// A die: reads in order of arrival; programs in between, put off by reads where the drive suspends them.
#[derive(Clone, Copy, Debug, Default)]
struct Die {
    server: Server,
    program_ends: Picoseconds,
}

/// What never changes.
#[derive(Clone, Debug)]
struct Facts {
    read_delay: Picoseconds,
    spread_delay: Picoseconds,
    sequential_delay: Picoseconds,
    reads_ahead: bool,
    write_latency: Picoseconds,
    sense: f64,
    range: f64,
    page_bytes: f64,
    fan: u32,
    channel: f64,
    read_byte: f64,
    write_byte: f64,
    sustained_byte: f64,
    read_command: Picoseconds,
    write_command: Picoseconds,
    program: Picoseconds,
    quick_program: Picoseconds,
    unit_bytes: f64,
    buffer_bytes: f64,
    suspend: Picoseconds,
    slc_bytes: f64,
    fold_per_ps: f64,
    flush_base: f64,
    flush_blocks: f64,
    safe: bool,
    flush_byte: f64,
    mapping: f64,
    /// Bytes programmed for each that is written at random.
    amplified: f64,
    /// How many times as fast as the rest what changes slowly does.
    lapse: f64,
}

/// What reads of one size ask of a drive. Most loads have one size, so that it is worked out once.
#[derive(Clone, Copy, Debug, Default)]
struct ReadShape {
    bytes: u32,
    /// Share of the reads that ask dies at all: of sequential ones of less than a page the others find theirs read.
    chance: f64,
    /// Dies asked at once, and how long each takes to send its part after it has sensed it.
    wide: usize,
    each: Picoseconds,
    /// Sensing a page and sending the part, where pages do not differ.
    service: Picoseconds,
    /// What it takes of the drive's attention.
    work: f64,
    /// Time on the link.
    sent: Picoseconds,
    /// Delay after that.
    delay: Picoseconds,
}

/// Most of the buffer that a write asks for at once.
const PART_OF_BUFFER: f64 = 0.125;
/// Gaps of less than a second are not idle time to a drive, ps.
const SLC_RESTS_AFTER: f64 = 1e12;

/// Stations of a flash drive.
#[derive(Clone, Debug)]
pub struct FlashStations {
    facts: Facts,
    /// Of the last size of random and of sequential reads.
    shapes: [ReadShape; 2],
    dies: Vec<Die>,
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
            let mut collector = Collector::new(capacity_bytes, spare);
            if used > 0.0 {
                collector.fill(used);
            } else {
                collector.age(seed);
            }
            collector
        });
        Self {
            facts: Facts::of(nand, used),
            shapes: [ReadShape::default(); 2],
            dies: vec![Die::default(); nand.dies.value.round().max(1.0) as usize],
            controllers: [Server::default(); 2],
            read_link: Server::default(),
            write_link: Server::default(),
            attention: Attention::new(nand),
            leaving: VecDeque::new(),
            read_up_to: 0,
            buffered: 0.0,
            room_at: 0,
            gathering: 0.0,
            next_die: (seed % 8191) as usize % nand.dies.value.round().max(1.0) as usize,
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
        match request.action {
            Action::Read => self.read(begin, request, random),
            Action::Write => self.write(begin, request, random),
            Action::Flush => self.flush(begin, random),
        }
    }

    #[inline]
    fn read(&mut self, now: Picoseconds, request: &Request, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        let shape = self.shape(request);
        let commanded = self.controllers[0].serve(now, self.facts.read_command);
        let commanded = self.attention.admit(commanded, false, false, shape.work);
        if shape.chance < 1.0 && uniform(random) >= shape.chance {
            return self.send(now, commanded, shape.sent) + shape.delay;
        }
        let ahead = request.sequential && self.goes_on(request);
        let mut die = below(self.dies.len(), random);
        let mut sensed = commanded;
        for _ in 0..shape.wide {
            let service = self.facts.die_service(&shape, random);
            let done = self.read_die(die, commanded, service);
            // What was read ahead only waits for dies that are busy.
            sensed = sensed.max(if ahead { done - service } else { done });
            die = if die + 1 == self.dies.len() { 0 } else { die + 1 };
        }
        let wait = self.beside.as_ref().map_or(0, |beside| beside.wait(false, random));
        self.send(now, sensed, shape.sent) + shape.delay + wait
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

    /// Sends what was read. The link is kept in order of arrival at the drive, not of the dies' answers, which would need
    /// an event more: only a full link makes anybody wait.
    #[inline]
    fn send(&mut self, now: Picoseconds, ready: Picoseconds, time: Picoseconds) -> Picoseconds {
        self.read_link.serve(now, time).max(ready + time)
    }

    /// A read of a die: it waits for reads before it, and for a program that runs, or for its suspension. A program goes
    /// on between two reads, so that reads never starve it.
    #[inline]
    fn read_die(&mut self, die: usize, now: Picoseconds, service: Picoseconds) -> Picoseconds {
        let suspend = self.facts.suspend;
        let die = &mut self.dies[die];
        let mut begin = now.max(die.server.free_at());
        if die.program_ends > begin {
            let wait = (die.program_ends - begin).min(suspend);
            begin += wait;
            if wait == suspend {
                die.program_ends += service;
            }
        }
        die.server.hold(begin);
        die.server.serve(begin, service)
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
            collector.write(request.offset, bytes * self.facts.lapse, request.sequential);
            if request.sequential { 0.0 } else { collector.copies() }
        });
        if quick { 0.0 } else { bytes * (mapped * (1.0 + copied) - 1.0) }
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
        let die = &mut self.dies[self.next_die];
        self.next_die += 1;
        // Reads beside writes have taken their dies for instants at which their turn comes; programs fill the time before.
        let read_until = if self.attention.is_shared() { 0 } else { die.server.free_at() };
        let begin = now.max(die.program_ends).max(read_until);
        die.program_ends = begin + time;
        if self.facts.suspend == Picoseconds::MAX {
            die.server.serve(begin, time);
        }
        if bytes > 0.0 {
            self.leaving.push_back((die.program_ends, bytes));
        }
        if self.next_die == self.dies.len() {
            self.next_die = 0;
        }
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
    pub fn hasten(&mut self, factor: f64) {
        self.facts.lapse = factor;
    }

    /// Its buffer survives a loss of power.
    pub fn is_safe(&self) -> bool {
        self.facts.safe
    }

    /// Its caches may fill, or its free blocks run out, while it is written to.
    pub fn is_transient(&self) -> bool {
        self.facts.slc_bytes > 0.0 || self.collector.is_some()
    }

    fn flush(&mut self, now: Picoseconds, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        if self.facts.safe {
            return now + ps(self.facts.flush_base);
        }
        let spread = crate::block::network::FLUSH_SPREAD * 3f64.sqrt() * (2.0 * uniform(random) - 1.0);
        let own = ps(self.facts.flush_base * (1.0 + spread)) + (self.dirty * self.facts.flush_byte) as Picoseconds;
        // Programs of the flush wait for what is queued at their dies.
        let queued = self.dies.iter().map(|die| die.server.free_at()).max().unwrap_or(0).saturating_sub(now);
        self.dirty = 0.0;
        let begin = now + queued;
        let end = begin + own;
        self.blocked_until =
            self.blocked_until.max(now + queued + (own as f64 * self.facts.flush_blocks) as Picoseconds);
        end
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

impl Facts {
    fn of(nand: &Nand, used: f64) -> Self {
        let quick = nand.sustained_bytes_per_s.value / nand.write_bytes_per_s.value;
        let delay = nand.read_delay_ns.value;
        Self {
            read_delay: ps(delay),
            spread_delay: ps(OrElse::or(&nand.spread_delay_ns, 0.0)),
            sequential_delay: ps(OrElse::or(&nand.sequential_delay_ns, delay)),
            reads_ahead: nand.sequential_delay_ns.is_some(),
            write_latency: ps(nand.write_latency_ns.value),
            sense: nand.read_ns.value * 1e3,
            range: OrElse::or(&nand.read_range, 0.0),
            page_bytes: nand.page_bytes.value,
            fan: OrElse::or(&nand.spread_dies, 1.0) as u32,
            channel: ps_per_byte(nand.channel_bytes_per_s.value),
            read_byte: ps_per_byte(nand.read_bytes_per_s.value),
            write_byte: ps_per_byte(nand.write_bytes_per_s.value),
            sustained_byte: ps_per_byte(nand.sustained_bytes_per_s.value),
            read_command: ps(1e9 / nand.read_iops.value),
            write_command: ps(1e9 / nand.write_iops.value),
            program: ps(nand.program_ns.value),
            quick_program: ps(nand.program_ns.value * quick),
            unit_bytes: program_bytes(nand),
            buffer_bytes: nand.buffer_bytes.value,
            // What was measured beside writes holds what programs cost: reads put them off at once.
            suspend: match (&nand.under_load, &nand.suspend_ns) {
                (Some(_), _) => 0,
                (None, Some(suspend)) => ps(suspend.value),
                (None, None) => Picoseconds::MAX,
            },
            slc_bytes: nand.slc.as_ref().map_or(0.0, |slc| slc_bytes(slc, used)),
            fold_per_ps: nand.slc.as_ref().map_or(0.0, |slc| slc.fold_bytes_per_s.value / 1e12),
            flush_base: nand.flush.base_ns.value,
            flush_blocks: nand.flush.blocking_share.value,
            safe: nand.flush.power_loss_protection.value > 0.5,
            flush_byte: ps_per_byte(nand.flush.drain_bytes_per_s.value),
            mapping: OrElse::or(&nand.mapping_bytes, UNIT_BYTES),
            amplified: nand.collection.write_amplification.as_ref().map_or(1.0, |known| known.value.max(1.0)),
            lapse: 1.0,
        }
    }

    /// What reads of a size ask of a drive of some dies.
    fn read_shape(&self, size: u32, sequential: bool, dies: usize) -> ReadShape {
        let bytes = f64::from(size);
        let pages = bytes / self.page_bytes;
        let part = sequential && pages < 1.0;
        let (chance, sensed_bytes) = if part { (pages, self.page_bytes) } else { (1.0, bytes) };
        let fan = if sequential { 1.0 } else { f64::from(self.fan) };
        let units = (bytes / UNIT_BYTES).ceil().clamp(1.0, fan.max(1.0));
        let wide = (units.max(pages.ceil()) as usize).min(dies);
        let each = (sensed_bytes / wide as f64 * self.channel) as Picoseconds;
        let spread = if wide > 1 && !sequential { self.spread_delay } else { 0 };
        ReadShape {
            bytes: size,
            chance,
            wide,
            each,
            service: self.sense as Picoseconds + each,
            work: self.read_work(bytes, chance, wide, dies),
            sent: (bytes * self.read_byte) as Picoseconds,
            delay: spread + if sequential { self.sequential_delay } else { self.read_delay },
        }
    }

    /// Time of one die for a read.
    #[inline]
    fn die_service(&self, shape: &ReadShape, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        if self.range == 0.0 {
            return shape.service;
        }
        let stretch = 1.0 + self.range * (2.0 * uniform(random) - 1.0);
        (self.sense * stretch) as Picoseconds + shape.each
    }

    /// Attention for a read: what it takes of the dies, the link or the controller, whichever is most.
    fn read_work(&self, bytes: f64, chance: f64, wide: usize, dies: usize) -> f64 {
        let (wide, dies) = (wide as f64, dies as f64);
        let page = bytes.max(if chance < 1.0 { self.page_bytes } else { 0.0 });
        let sensed = chance * (wide * self.sense + page * self.channel) / dies;
        sensed.max(bytes * self.read_byte).max(self.read_command as f64)
    }

    /// Attention for a write: what it takes of the dies, the link or the controller, whichever is most.
    fn write_work(&self, bytes: f64, copied: f64, quick: bool) -> f64 {
        let own = if quick { self.write_byte } else { self.sustained_byte };
        (bytes * own + copied * self.sustained_byte).max(bytes * self.write_byte).max(self.write_command as f64)
    }
}

/// Bytes of the SLC cache of a drive of which `used` holds data: what is free adds to it.
fn slc_bytes(slc: &SlcCache, used: f64) -> f64 {
    slc.full_bytes.value + (slc.empty_bytes.value - slc.full_bytes.value) * (1.0 - used.clamp(0.0, 1.0))
}
