//! What a flash drive's parameters come to, worked out once.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{ps, ps_per_byte, uniform};
use crate::{
    document::{Nand, OrElse},
    request::Picoseconds,
    rules::{UNIT_BYTES, program_bytes, slc_bytes},
};

/// Most of the buffer that a write asks for at once.
pub const PART_OF_BUFFER: f64 = 0.125;
/// A buffer of more programs than this has room for them only when they come.
const PROGRAMS_AT_MOST: f64 = 1e6;

/// What never changes.
#[derive(Clone, Debug)]
pub struct Facts {
    pub read_delay: Picoseconds,
    pub spread_delay: Picoseconds,
    pub sequential_delay: Picoseconds,
    pub reads_ahead: bool,
    pub write_latency: Picoseconds,
    pub sense: f64,
    pub range: f64,
    pub page_bytes: f64,
    pub fan: u32,
    pub channel: f64,
    pub read_byte: f64,
    pub write_byte: f64,
    pub sustained_byte: f64,
    pub read_command: Picoseconds,
    pub write_command: Picoseconds,
    pub program: Picoseconds,
    pub quick_program: Picoseconds,
    pub unit_bytes: f64,
    pub buffer_bytes: f64,
    pub suspend: Picoseconds,
    pub slc_bytes: f64,
    pub fold_per_ps: f64,
    pub flush_base: f64,
    pub flush_blocks: f64,
    pub safe: bool,
    pub flush_byte: f64,
    pub mapping: f64,
    /// Bytes programmed for each that is written at random.
    pub amplified: f64,
    /// How many times as fast as the rest what changes slowly does.
    pub lapse: f64,
}

/// What reads of one size ask of a drive. Most loads have one size, so that it is worked out once.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadShape {
    pub bytes: u32,
    /// Share of the reads that ask dies at all: of sequential ones of less than a page the others find theirs read.
    pub chance: f64,
    /// Dies asked at once, and how long each takes to send its part after it has sensed it.
    pub wide: usize,
    pub each: Picoseconds,
    /// Sensing a page and sending the part, where pages do not differ.
    pub service: Picoseconds,
    /// What it takes of the drive's attention.
    pub work: f64,
    /// Time on the link.
    pub sent: Picoseconds,
    /// Delay after that.
    pub delay: Picoseconds,
}

impl Facts {
    pub fn of(nand: &Nand, used: f64) -> Self {
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
            flush_blocks: OrElse::or(&nand.flush.blocking_share, 0.0),
            safe: nand.flush.power_loss_protection.value > 0.5,
            flush_byte: nand.flush.drain_bytes_per_s.as_ref().map_or(0.0, |drain| ps_per_byte(drain.value)),
            mapping: OrElse::or(&nand.mapping_bytes, UNIT_BYTES),
            amplified: nand.collection.write_amplification.as_ref().map_or(1.0, |known| known.value.max(1.0)),
            lapse: 1.0,
        }
    }

    /// Programs whose bytes the buffer can hold, with those of the write that is on its way into it.
    pub fn programs_at_most(&self) -> usize {
        ((self.buffer_bytes / self.unit_bytes).min(PROGRAMS_AT_MOST) * (1.0 + PART_OF_BUFFER)) as usize + 4
    }

    /// What reads of a size ask of a drive of some dies.
    pub fn read_shape(&self, size: u32, sequential: bool, dies: usize) -> ReadShape {
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
    pub fn die_service(&self, shape: &ReadShape, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        if self.range == 0.0 {
            return shape.service;
        }
        let stretch = 1.0 + self.range * (2.0 * uniform(random) - 1.0);
        (self.sense * stretch) as Picoseconds + shape.each
    }

    /// Attention for a read: what it takes of the dies, the link or the controller, whichever is most.
    pub fn read_work(&self, bytes: f64, chance: f64, wide: usize, dies: usize) -> f64 {
        let (wide, dies) = (wide as f64, dies as f64);
        let page = bytes.max(if chance < 1.0 { self.page_bytes } else { 0.0 });
        let sensed = chance * (wide * self.sense + page * self.channel) / dies;
        sensed.max(bytes * self.read_byte).max(self.read_command as f64)
    }

    /// Attention for a write: what it takes of the dies, the link or the controller, whichever is most.
    pub fn write_work(&self, bytes: f64, copied: f64, quick: bool) -> f64 {
        let own = if quick { self.write_byte } else { self.sustained_byte };
        (bytes * own + copied * self.sustained_byte).max(bytes * self.write_byte).max(self.write_command as f64)
    }
}
