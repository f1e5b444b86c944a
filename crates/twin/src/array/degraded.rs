//! Arrays that go on without a member.

use crate::{
    block::pieces::{Piece, Pieces},
    device_load::DeviceLoad,
    document::StripeKind,
};

/// Changes what an operation asks of the members to what it asks of those that are left when one is missing. Chunks go
/// round all members, so that each of a row is the missing one as often.
pub fn lose_one(pieces: &mut Pieces, load: &DeviceLoad, members: f64, chunk: f64, layout: StripeKind) {
    if layout == StripeKind::Raid10 {
        return mirrors(pieces, members);
    }
    let (bytes, data) = (load.size_bytes, members - 1.0);
    // A read that asks for the chunk that is missing asks all others, to work it out.
    let lost = pieces.read.fork / members;
    pieces.read.fork = pieces.read.fork * (1.0 - lost) + lost * data;
    if pieces.write.fork >= members {
        pieces.write.fork = data;
        return;
    }
    small_write(pieces, (bytes / chunk).ceil().max(1.0), members);
}

/// Writes go to one copy in a pair, and its reads all to that one. Reads come to a stand where it is full: it can do half
/// of what its pair could, and all pairs get as much, so that every read counts as what all members together then can.
fn mirrors(pieces: &mut Pieces, members: f64) {
    pieces.read.fork *= 2.0 * (members - 1.0) / members;
    pieces.write.fork *= (members - 1.0) / members;
}

/// A write of less than a row that touches some chunks. Where parity is missing it is written and nothing else; where one
/// of the chunks is, the rest of the row is read; otherwise what is overwritten and its parity are.
fn small_write(pieces: &mut Pieces, touched: f64, members: f64) {
    let (parity, chunk) = (1.0 / members, touched / members);
    let other = (1.0 - parity - chunk).max(0.0);
    let rest = members - 1.0 - touched;
    pieces.fetching = if rest > 0.0 { chunk + other } else { other };
    if pieces.fetching > 0.0 {
        let fork = (chunk * rest + other * (touched + 1.0)) / pieces.fetching;
        pieces.fetch = Piece { fork, bytes: pieces.write.bytes };
    }
    pieces.write.fork = (parity + chunk) * touched + other * (touched + 1.0);
}
