//! Drives of 3D XPoint: reads and writes in place, no collection.

use super::{
    nand::{UNIT_BYTES, blend},
    network::{At, Customer, Group, STATIONS, Visit},
    pieces::{Piece, Pieces},
};
use crate::{analytic::DeviceLoad, document::OptaneSsd};

/// A group of equal drives.
pub fn group(drive: &OptaneSsd, members: f64) -> Group {
    Group {
        servers: [members * drive.units.value, members, members, members, members],
        variation: [0.0; STATIONS],
        background_ns: 0.0,
        pause_ns: 0.0,
        members,
        flush_ns: drive.flush.base_ns.value,
        flush_blocks: drive.flush.blocking_share.value,
        flush_drain: f64::INFINITY,
    }
}

/// A load on a group of drives.
pub fn customer(drive: &OptaneSsd, load: &DeviceLoad, pieces: &Pieces) -> Customer {
    let (reads, writes) = (1.0 - load.write_share, load.write_share);
    let fetch = if pieces.fetch.fork > 0.0 { writes } else { 0.0 };
    let mut visits = [Visit::default(); STATIONS];
    let unit = |piece: &Piece, ns: f64| Visit {
        stages: 1.0,
        fork: piece.fork * (piece.bytes / UNIT_BYTES).ceil().clamp(1.0, drive.units.value),
        service_ns: ns * (piece.bytes / UNIT_BYTES / drive.units.value).max(1.0),
        ..Visit::default()
    };
    let sent = |piece: &Piece, rate: f64| Visit {
        stages: 1.0,
        fork: piece.fork,
        service_ns: piece.bytes / rate * 1e9,
        ..Visit::default()
    };
    let (read_ns, write_ns) = (drive.read_ns.value, drive.write_ns.value);
    let read = blend(unit(&pieces.read, read_ns), reads, unit(&pieces.fetch, read_ns), fetch);
    visits[At::Medium as usize] = blend(read, 1.0, unit(&pieces.write, write_ns), writes);
    let (read_rate, write_rate) = (drive.read_bytes_per_s.value, drive.write_bytes_per_s.value);
    visits[At::ReadLink as usize] = blend(sent(&pieces.read, read_rate), reads, sent(&pieces.fetch, read_rate), fetch);
    visits[At::WriteLink as usize] = blend(sent(&pieces.write, write_rate), writes, Visit::default(), 0.0);
    let command =
        |piece: &Piece, rate: f64| Visit { stages: 1.0, fork: piece.fork, service_ns: 1e9 / rate, ..Visit::default() };
    let (read_iops, write_iops) = (drive.read_iops.value, drive.write_iops.value);
    let commands = blend(command(&pieces.read, read_iops), reads, command(&pieces.fetch, read_iops), fetch);
    visits[At::Controller as usize] = blend(commands, 1.0, command(&pieces.write, write_iops), writes);
    Customer {
        in_flight: load.in_flight,
        think_ns: load.think_ns,
        rate: load.rate_per_s / 1e9,
        delay_ns: drive.delay_ns.value * (1.0 + fetch),
        visits,
        background: 0.0,
        flushes: load.flushes_per_op,
        dirty_bytes: 0.0,
        behind: load.is_behind(),
        before_flush_ns: 0.0,
    }
}
