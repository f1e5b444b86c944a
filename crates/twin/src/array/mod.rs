//! Arrays of equal members: RAID and pages interleaved by the program.

mod degraded;
mod simulate;

pub use simulate::ArrayStations;

use crate::{
    Target, TwinError,
    block::{
        self,
        pieces::{Piece, Pieces},
        window::Window,
    },
    device_load::{DeviceAnswer, DeviceLoad},
    document::StripeKind,
};

/// How data lies on members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Members, those that are missing included.
    pub count: u32,
    /// Bytes that lie together on a member.
    pub chunk_bytes: u64,
    /// Layout.
    pub layout: StripeKind,
    /// Members that are missing.
    pub missing: u32,
}

/// Answers of an array of several equal members.
///
/// # Errors
/// Where a load asks what the members cannot do, or the layout has no model.
pub fn answer(
    member: &Target,
    array: Array,
    loads: &[DeviceLoad],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    let Array { count, chunk_bytes, layout, missing } = array;
    let Target::Device { twin, .. } = member else {
        return Err(TwinError::NoModel { name: member.twin().name.clone(), family: "stripe of compositions" });
    };
    let (members, chunk) = (f64::from(count), chunk_bytes as f64);
    let mut pieces: Vec<Pieces> = loads.iter().map(|load| pieces(load, members, chunk, layout)).collect();
    let drives = members * block::drives(twin);
    if drives > members {
        // A stream goes round the drives of instances, and not only round the instances.
        pieces.iter_mut().zip(loads).for_each(|(piece, load)| piece.window = Window::of(load, drives, chunk, layout));
    }
    if missing > 0 {
        pieces.iter_mut().zip(loads).for_each(|(piece, load)| degraded::lose_one(piece, load, members, chunk, layout));
    }
    let shared: Vec<DeviceLoad> = loads.iter().map(|load| share(load, members, layout)).collect();
    if let crate::Device::CloudVolume(volume) = &twin.device {
        return volumes(volume, members - f64::from(missing), &shared, &pieces, answers);
    }
    block::members(twin, members - f64::from(missing), &shared, &pieces, answers)
}

/// The load as one member sees it: of the bytes that it works on, the member's part.
fn share(load: &DeviceLoad, members: f64, layout: StripeKind) -> DeviceLoad {
    let data = match layout {
        StripeKind::Raid0 | StripeKind::Interleave => members,
        StripeKind::Raid5 => members - 1.0,
        StripeKind::Raid10 => members / 2.0,
    };
    DeviceLoad { working_set_bytes: load.working_set_bytes / data, ..*load }
}

/// What an operation asks of the members. Offsets are multiples of the size, as pages are.
pub fn pieces(load: &DeviceLoad, members: f64, chunk: f64, layout: StripeKind) -> Pieces {
    let bytes = load.size_bytes;
    let window = Window::of(load, members, chunk, layout);
    let plain = Pieces { window, ..Pieces::alone(load) };
    match layout {
        StripeKind::Interleave => plain,
        StripeKind::Raid0 => {
            let piece = striped(bytes, chunk, members);
            Pieces { read: piece, write: piece, ..plain }
        }
        StripeKind::Raid10 => {
            let read = striped(bytes, chunk, members / 2.0);
            Pieces { read, write: Piece { fork: read.fork * 2.0, bytes: read.bytes }, ..plain }
        }
        StripeKind::Raid5 => {
            let (fetch, write) =
                if load.sequential { in_order(bytes, chunk, members) } else { parity(bytes, chunk, members) };
            let fetching = f64::from(u8::from(fetch.fork > 0.0));
            Pieces { read: striped(bytes, chunk, members), fetch, fetching, write, window }
        }
    }
}

/// Members that a request meets, and the bytes of each.
fn striped(bytes: f64, chunk: f64, members: f64) -> Piece {
    let fork = (bytes / chunk).ceil().clamp(1.0, members.max(1.0));
    Piece { fork, bytes: bytes / fork }
}

/// What writes in order of RAID 5 write: md gathers them in its stripe cache until a stripe is full, so that nothing is
/// read, and one part of parity is written for n - 1 of data.
fn in_order(bytes: f64, chunk: f64, members: f64) -> (Piece, Piece) {
    if bytes >= chunk * (members - 1.0) {
        return parity(bytes, chunk, members);
    }
    let touched = (bytes / chunk).ceil().max(1.0);
    (Piece::default(), Piece { fork: touched * members / (members - 1.0), bytes: bytes / touched })
}

/// What a write of RAID 5 reads first, and what it writes.
///
/// A full stripe needs no reads and writes one part of parity for n - 1 of data. Anything less reads either what it
/// overwrites and the old parity, or the rest of the stripe, whichever is less (md chooses so), and writes data and parity.
fn parity(bytes: f64, chunk: f64, members: f64) -> (Piece, Piece) {
    let data = members - 1.0;
    if bytes >= chunk * data {
        return (Piece::default(), Piece { fork: members, bytes: bytes / data });
    }
    let touched = (bytes / chunk).ceil().max(1.0);
    let part = bytes / touched;
    let fetched = (touched + 1.0).min(data - touched);
    let fetch = if fetched > 0.0 { Piece { fork: fetched, bytes: part } } else { Piece::default() };
    (fetch, Piece { fork: touched + 1.0, bytes: part })
}

/// Volumes side by side: as many buckets of each kind, and the slowest of the volumes that a request meets.
fn volumes(
    volume: &crate::document::CloudVolume,
    members: f64,
    loads: &[DeviceLoad],
    pieces: &[Pieces],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    let mut wide = volume.clone();
    for bucket in [&mut wide.operations, &mut wide.bytes] {
        bucket.rate_per_s.value *= members;
        for more in [&mut bucket.burst_per_s, &mut bucket.credit].into_iter().flatten() {
            more.value *= members;
        }
    }
    let requests = |piece: &Pieces, load: &DeviceLoad| {
        (1.0 - load.write_share) * piece.read.fork
            + load.write_share * (piece.write.fork + piece.fetching * piece.fetch.fork)
    };
    let most = loads.iter().zip(pieces).map(|(load, piece)| requests(piece, load)).fold(1.0, f64::max);
    wide.operations.rate_per_s.value /= most;
    block::volume::answer(&wide, loads, answers);
    Ok(())
}
