//! Rotating disks: one arm, seeks, rotation, zones, an elevator.

use assay_libtwin::rules::service_ns;

use super::{
    network::{At, Crowd, Customer, Group, MemberChoice, STATIONS, Visit},
    pieces::{Piece, Pieces},
};
use crate::{device_load::DeviceLoad, document::Disk};

/// A group of equal disks.
pub fn group(members: f64) -> Group {
    Group {
        servers: [members; STATIONS],
        row: 1.0,
        variation: [0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        background_ns: 0.0,
        pause_ns: 0.0,
        buffered: f64::INFINITY,
        members,
        flush_ns: 0.0,
        flush_blocks: 0.0,
        flush_drain: f64::INFINITY,
        beside: false,
    }
}

/// A load on a group of disks.
pub fn customer(disk: &Disk, members: f64, load: &DeviceLoad, pieces: &Pieces, queued: f64) -> Customer {
    let (reads, writes) = (1.0 - load.write_share, load.write_share);
    let visit = |piece: &Piece| Visit {
        stages: 1.0,
        fork: piece.fork,
        service_ns: service_ns(disk, piece.bytes, load.sequential, queued / members),
        ..Visit::default()
    };
    let fetch = writes * pieces.fetching;
    let read = super::nand::blend(visit(&pieces.read), reads, visit(&pieces.fetch), fetch);
    let mut visits = [Visit::default(); STATIONS];
    visits[At::Medium as usize] = super::nand::blend(read, 1.0, visit(&pieces.write), writes);
    Customer {
        in_flight: load.in_flight,
        bunch: load.bunch,
        peers: load.in_flight,
        crowd: Crowd::default(),
        regular: false,
        members_by: MemberChoice::Chance,
        think_ns: load.think_ns,
        rate: load.rate_per_s / 1e9,
        // A flush puts what the buffer holds on the platter: a turn at least.
        delay_ns: load.flushes_per_op * 60e9 / disk.revolutions_per_minute.value,
        last_delay_ns: 0.0,
        read_longer_ns: 0.0,
        write_share: writes,
        visits,
        background: 0.0,
        flushes: 0.0,
        dirty_bytes: 0.0,
        behind: load.is_behind(),
        before_flush_ns: 0.0,
    }
}
