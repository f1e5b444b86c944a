//! Drives of 3D XPoint: reads and writes in place, no collection.

use assay_libtwin::rules::{UNIT_BYTES, alone_ns, sent_ns};

use super::{
    nand::{blend, turn},
    network::{At, Crowd, Customer, Group, MemberChoice, STATIONS, Visit},
    pieces::{Piece, Pieces},
};
use crate::{
    device_load::DeviceLoad,
    document::{OptaneSsd, OrElse},
};

/// A group of equal drives.
pub fn group(drive: &OptaneSsd, members: f64) -> Group {
    Group {
        servers: [members * drive.units.value, members, members, members, members, members, members],
        row: drive.units.value,
        variation: [0.0; STATIONS],
        background_ns: 0.0,
        pause_ns: 0.0,
        buffered: f64::INFINITY,
        members,
        flush_ns: drive.flush.base_ns.value,
        flush_blocks: OrElse::or(&drive.flush.blocking_share, 0.0),
        flush_drain: f64::INFINITY,
        beside: false,
    }
}

/// Nothing of chance is in its way: reads or writes in order, but for what the page cache writes back in bursts.
fn orderly(load: &DeviceLoad) -> bool {
    let pure = load.write_share == 0.0 || load.write_share == 1.0;
    load.sequential && pure && load.rate_per_s.is_infinite() && (load.write_share == 0.0 || !load.is_behind())
}

/// A load on a group of drives; `mixed` where both reads and writes come.
///
/// Reads and writes together share the drive in the currency of what each reaches alone: the P4800X is specified with
/// 550 thousand reads, 500 thousand writes, and 500 thousand of both (70 % reads).
pub fn customer(drive: &OptaneSsd, load: &DeviceLoad, pieces: &Pieces, mixed: bool) -> Customer {
    let (reads, writes) = (1.0 - load.write_share, load.write_share);
    let fetch = writes * pieces.fetching;
    let mut visits = [Visit::default(); STATIONS];
    let unit = |piece: &Piece, ns: f64| {
        let run = (piece.bytes / UNIT_BYTES).ceil().clamp(1.0, drive.units.value);
        let service_ns = ns * (piece.bytes / UNIT_BYTES / drive.units.value).max(1.0);
        Visit { stages: 1.0, fork: piece.fork * run, run, service_ns, ..Visit::default() }
    };
    let sent = |piece: &Piece, rate: f64| Visit {
        stages: 1.0,
        fork: piece.fork,
        service_ns: sent_ns(drive, piece.bytes, rate),
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
    visits[At::ReadCommand as usize] =
        blend(command(&pieces.read, read_iops), reads, command(&pieces.fetch, read_iops), fetch);
    visits[At::WriteCommand as usize] = blend(command(&pieces.write, write_iops), writes, Visit::default(), 0.0);
    if mixed {
        let read_ns =
            reads * attention_ns(drive, &pieces.read, false) + fetch * attention_ns(drive, &pieces.fetch, false);
        visits[At::ReadTurn as usize] =
            turn(reads + fetch, reads * pieces.read.fork + fetch * pieces.fetch.fork, read_ns);
        visits[At::WriteTurn as usize] =
            turn(writes, writes * pieces.write.fork, writes * attention_ns(drive, &pieces.write, true));
    }
    Customer {
        in_flight: load.in_flight,
        bunch: load.bunch,
        peers: load.in_flight,
        crowd: Crowd::default(),
        regular: orderly(load),
        members_by: MemberChoice::Chance,
        think_ns: load.think_ns,
        rate: load.rate_per_s / 1e9,
        delay_ns: drive.delay_ns.value * (1.0 + fetch),
        last_delay_ns: 0.0,
        read_longer_ns: unit(&pieces.read, read_ns).service_ns - unit(&pieces.write, write_ns).service_ns,
        write_share: writes,
        visits,
        background: 0.0,
        flushes: load.flushes_per_op,
        dirty_bytes: 0.0,
        behind: load.is_behind(),
        before_flush_ns: 0.0,
    }
}

/// Time that requests take of a drive that does nothing else: what its busiest part takes for them.
fn attention_ns(drive: &OptaneSsd, piece: &Piece, write: bool) -> f64 {
    piece.fork * alone_ns(drive, piece.bytes, write)
}
