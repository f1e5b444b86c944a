//! Flash drives: dies, channels, controller, link, write buffer, SLC cache, garbage collection, flush.

use assay_libtwin::rules::{UNIT_BYTES, mapped, penalty_ns, program_bytes, slc_bytes, spare, write_amplification};

use super::{
    network::{At, Crowd, Customer, Group, MemberChoice, STATIONS, Visit},
    pieces::{Piece, Pieces},
};
use crate::{
    device_load::DeviceLoad,
    document::{Nand, OrElse},
};

/// Dies that a read of `bytes` asks at once, and the bytes of each.
pub fn spread(nand: &Nand, bytes: f64) -> (f64, f64) {
    let page = nand.page_bytes.value;
    let fan = OrElse::or(&nand.spread_dies, 1.0).max(1.0);
    let wide = (bytes / UNIT_BYTES).ceil().clamp(1.0, fan).max((bytes / page).ceil());
    let wide = wide.min(nand.dies.value.max(1.0));
    (wide, bytes / wide)
}

/// Dies that sequential reads of `bytes` ask, and the bytes of each: whole pages, because what is not asked for now will be.
pub fn paged(nand: &Nand, bytes: f64) -> (f64, f64) {
    let wide = (bytes / nand.page_bytes.value).ceil().clamp(1.0, nand.dies.value.max(1.0));
    (wide, bytes / wide)
}

/// Mean time that flushes and programs take a die for, and how much a written byte costs of it.
#[derive(Clone, Copy, Debug)]
pub struct Wear {
    /// Programs per byte that the host writes.
    pub programs_per_byte: f64,
    /// Time of a die per program, ns.
    pub program_ns: f64,
}

/// What a written byte costs the dies in the state that the load finds the drive in.
pub fn wear(nand: &Nand, capacity_bytes: f64, load: &DeviceLoad, written_bytes_per_s: f64) -> Wear {
    let amplification = amplification(nand, capacity_bytes, load, written_bytes_per_s);
    let unit = program_bytes(nand);
    // What collection reads for its copies is small beside what it programs, and in the amplification that was measured.
    let direct = Wear { programs_per_byte: amplification / unit, program_ns: nand.program_ns.value };
    let cached = slc_share(nand, capacity_bytes, load, written_bytes_per_s);
    if cached == 0.0 {
        return direct;
    }
    // A byte that goes into the SLC cache costs the dies what the drive's best write bandwidth says.
    let quick = nand.sustained_bytes_per_s.value / nand.write_bytes_per_s.value;
    let programs = direct.programs_per_byte * (1.0 - cached) + cached / unit;
    let busy =
        direct.programs_per_byte * (1.0 - cached) * direct.program_ns + cached / unit * nand.program_ns.value * quick;
    Wear { programs_per_byte: programs, program_ns: busy / programs }
}

/// Bytes programmed per byte written: 1 for sequential writes, what collection costs for random ones. What the load does
/// not work on is taken as free, so that it is spare. A load of a given duration finds its data written once, in order, and
/// copies nothing until the free blocks have been used up.
pub fn amplification(nand: &Nand, capacity_bytes: f64, load: &DeviceLoad, written_bytes_per_s: f64) -> f64 {
    if load.sequential {
        return 1.0;
    }
    let mapped = mapped(OrElse::or(&nand.mapping_bytes, UNIT_BYTES), load.size_bytes);
    let Some(spare) = spare(nand) else {
        return mapped;
    };
    let used = (load.working_set_bytes / capacity_bytes).clamp(0.01, 1.0);
    let steady = write_amplification((1.0 + spare) / used - 1.0);
    let free = (1.0 + spare - used) * capacity_bytes;
    let written = written_bytes_per_s * load.duration_s;
    let fresh = if load.duration_s <= 0.0 { 0.0 } else { (free / written.max(1.0)).min(1.0) };
    mapped * (fresh + (1.0 - fresh) * steady)
}

/// Share of the written bytes that an SLC cache takes in the time of the load; 0 in steady state.
fn slc_share(nand: &Nand, capacity_bytes: f64, load: &DeviceLoad, written_bytes_per_s: f64) -> f64 {
    let Some(slc) = nand.slc.as_ref().filter(|_| load.duration_s > 0.0) else {
        return 0.0;
    };
    let written = written_bytes_per_s * load.duration_s;
    let room = slc_bytes(slc, load.working_set_bytes / capacity_bytes);
    if written <= 0.0 { 1.0 } else { (room / written).min(1.0) }
}

/// A group of equal drives.
pub fn group(nand: &Nand, members: f64, wear: &Wear) -> Group {
    let flush = &nand.flush;
    let safe = flush.power_loss_protection.value > 0.5;
    Group {
        servers: [members * nand.dies.value, members, members, members, members, members, members],
        row: nand.dies.value,
        variation: [0.0; STATIONS],
        background_ns: wear.program_ns,
        buffered: nand.buffer_bytes.value / program_bytes(nand) / nand.dies.value,
        // What was measured beside writes holds what programs cost.
        pause_ns: if nand.under_load.is_some() { 0.0 } else { OrElse::or(&nand.suspend_ns, f64::INFINITY) },
        members,
        flush_ns: flush.base_ns.value,
        flush_blocks: OrElse::or(&flush.blocking_share, 0.0),
        flush_drain: if safe { f64::INFINITY } else { OrElse::or(&flush.drain_bytes_per_s, f64::INFINITY) / 1e9 },
        beside: nand.under_load.is_some(),
    }
}

/// A load on a group of drives.
pub fn customer(nand: &Nand, members: f64, load: &DeviceLoad, pieces: &Pieces, wear: &Wear) -> Customer {
    let writes = load.write_share;
    let reads = 1.0 - writes;
    let mut visits = [Visit::default(); STATIONS];
    visits[At::Medium as usize] = medium(nand, load, pieces, reads, writes);
    let medium_ns = die_visit(nand, &pieces.read, load.sequential).service_ns;
    let link = |stages: f64, piece: &Piece, rate: f64| Visit {
        stages,
        fork: piece.fork.max(1.0),
        service_ns: piece.bytes / rate * 1e9,
        ..Visit::default()
    };
    visits[At::ReadLink as usize] = if writes * pieces.fetching > 0.0 {
        mixed_link(nand, pieces, reads, writes)
    } else {
        link(reads, &pieces.read, nand.read_bytes_per_s.value)
    };
    visits[At::WriteLink as usize] = link(writes, &pieces.write, nand.write_bytes_per_s.value);
    [visits[At::ReadCommand as usize], visits[At::WriteCommand as usize]] = commands(nand, pieces, reads, writes);
    Customer {
        in_flight: load.in_flight,
        bunch: load.bunch,
        peers: load.in_flight,
        crowd: Crowd::default(),
        regular: orderly(load, members, pieces),
        members_by: MemberChoice::Chance,
        think_ns: load.think_ns,
        rate: load.rate_per_s / 1e9,
        delay_ns: delay(nand, load, pieces, reads, writes),
        last_delay_ns: 0.0,
        read_longer_ns: delay(nand, load, pieces, 1.0, 0.0) + medium_ns - delay(nand, load, pieces, 0.0, 1.0),
        write_share: writes,
        visits,
        background: writes * pieces.write.total() * wear.programs_per_byte,
        flushes: load.flushes_per_op,
        dirty_bytes: writes * pieces.write.total() / members,
        behind: load.is_behind(),
        before_flush_ns: before_flush(nand, members, load, pieces),
    }
}

/// Nothing of chance is in its way: reads in order, and writes, which end before the dies have them. Writes at random find a
/// member by chance, and parity another one; what the page cache writes back comes in bursts, but for what each flush makes
/// go out.
fn orderly(load: &DeviceLoad, members: f64, pieces: &Pieces) -> bool {
    let reads = load.sequential && load.write_share == 0.0;
    let in_order = load.sequential && pieces.fetching == 0.0;
    let writes = load.write_share == 1.0 && (members == 1.0 || in_order);
    let in_turn = load.is_behind() == (load.flushes_per_op > 0.0);
    (reads || writes && in_turn) && load.rate_per_s.is_infinite()
}

fn delay(nand: &Nand, load: &DeviceLoad, pieces: &Pieces, reads: f64, writes: f64) -> f64 {
    let any = nand.read_delay_ns.value;
    let random = |piece: &Piece| {
        if spread(nand, piece.bytes).0 > 1.0 { any + OrElse::or(&nand.spread_delay_ns, 0.0) } else { any }
    };
    let fetch = if pieces.fetching > 0.0 { pieces.fetching * random(&pieces.fetch) } else { 0.0 };
    let read = if load.sequential { sequential(nand, load, &pieces.read) } else { random(&pieces.read) };
    let write = if load.is_behind() { 0.0 } else { nand.write_latency_ns.value + fetch };
    reads * read + writes * write
}

/// Delay of sequential reads. A drive whose latency for them is known has read ahead: its dies are as busy as they were,
/// but nobody waits for an idle one, so that the time that its stage adds is taken off here. Data sheets say so of one
/// stream. Of many threads' streams, requests come in turns, and the drive sees one go on as often as the same thread
/// comes twice.
fn sequential(nand: &Nand, load: &DeviceLoad, piece: &Piece) -> f64 {
    let Some(ahead) = &nand.sequential_delay_ns else {
        return nand.read_delay_ns.value;
    };
    let visit = die_visit(nand, piece, true);
    ahead.value - visit.stages * (visit.service_ns + visit.slowest_ns) / load.threads.max(1.0)
}

/// What a flush through the page cache writes first: all bytes since the last one, to all members at once.
fn before_flush(nand: &Nand, members: f64, load: &DeviceLoad, pieces: &Pieces) -> f64 {
    if !load.is_behind() || load.flushes_per_op == 0.0 {
        return 0.0;
    }
    let writes = load.write_share / load.flushes_per_op;
    let wide = (writes * pieces.write.fork.max(1.0)).min(members);
    nand.write_latency_ns.value + writes * pieces.write.total() / wide / nand.write_bytes_per_s.value * 1e9
}

fn medium(nand: &Nand, load: &DeviceLoad, pieces: &Pieces, reads: f64, writes: f64) -> Visit {
    let read = die_visit(nand, &pieces.read, load.sequential);
    let fetch = die_visit(nand, &pieces.fetch, false);
    blend(read, reads, fetch, writes * pieces.fetching)
}

fn die_visit(nand: &Nand, piece: &Piece, sequential: bool) -> Visit {
    if piece.bytes <= 0.0 {
        return Visit::default();
    }
    let page = nand.page_bytes.value;
    if sequential && piece.bytes < page {
        // The drive reads whole pages ahead: a small read finds its bytes in the buffer but for one in a page.
        let service_ns = nand.read_ns.value + page / nand.channel_bytes_per_s.value * 1e9;
        return Visit { stages: piece.bytes / page, fork: piece.fork, service_ns, ..Visit::default() };
    }
    let (dies, bytes) = if sequential { paged(nand, piece.bytes) } else { spread(nand, piece.bytes) };
    let service_ns = nand.read_ns.value + bytes / nand.channel_bytes_per_s.value * 1e9;
    let range = OrElse::or(&nand.read_range, 0.0);
    // The largest of k times that are uniform around their mean.
    let slowest = nand.read_ns.value * range * (dies - 1.0) / (dies + 1.0);
    Visit {
        stages: 1.0,
        fork: dies * piece.fork,
        run: run(nand, piece.bytes, sequential),
        service_ns,
        slowest_ns: slowest,
    }
}

/// Dies side by side that a read asks: those of whole pages that follow one another. Where a drive spreads units over
/// several dies, each unit lies where its part of the drive put it, and stands in the way of other reads by itself.
fn run(nand: &Nand, bytes: f64, sequential: bool) -> f64 {
    let fan = if sequential { 1.0 } else { OrElse::or(&nand.spread_dies, 1.0).max(1.0) };
    (bytes / nand.page_bytes.value / fan).ceil().clamp(1.0, nand.dies.value.max(1.0))
}

fn mixed_link(nand: &Nand, pieces: &Pieces, reads: f64, writes: f64) -> Visit {
    let visit = |piece: &Piece| Visit {
        stages: 1.0,
        fork: piece.fork.max(1.0),
        service_ns: piece.bytes / nand.read_bytes_per_s.value * 1e9,
        ..Visit::default()
    };
    blend(visit(&pieces.read), reads, visit(&pieces.fetch), writes * pieces.fetching)
}

/// Commands that read, and commands that write.
fn commands(nand: &Nand, pieces: &Pieces, reads: f64, writes: f64) -> [Visit; 2] {
    let visit = |fork: f64, iops: f64| Visit { stages: 1.0, fork, service_ns: 1e9 / iops, ..Visit::default() };
    let (read_iops, write_iops) = (nand.read_iops.value, nand.write_iops.value);
    let read = visit(pieces.read.fork.max(1.0), read_iops);
    let fetch = if pieces.fetching > 0.0 { visit(pieces.fetch.fork, read_iops) } else { Visit::default() };
    let write = visit(pieces.write.fork.max(1.0), write_iops);
    [blend(read, reads, fetch, writes * pieces.fetching), blend(write, writes, Visit::default(), 0.0)]
}

/// The mean of two kinds of visits: what stages, requests and work there are stays what it was.
pub fn blend(one: Visit, share: f64, other: Visit, other_share: f64) -> Visit {
    let stages = one.stages * share + other.stages * other_share;
    let count = one.stages * one.fork * share + other.stages * other.fork * other_share;
    let work =
        one.stages * one.fork * one.service_ns * share + other.stages * other.fork * other.service_ns * other_share;
    if stages <= 0.0 || count <= 0.0 {
        return Visit::default();
    }
    let slowest_ns = (one.stages * one.slowest_ns * share + other.stages * other.slowest_ns * other_share) / stages;
    let runs = one.stages * one.fork * one.run * share + other.stages * other.fork * other.run * other_share;
    Visit { stages, fork: count / stages, run: runs / count, service_ns: work / count, slowest_ns }
}

/// Time that a drive's attention takes for a read and for a write of a load when both come: what each would take at the
/// rate that it reaches alone (a currency, as in ReFlex and io.cost), and what the two cost beyond that where somebody
/// measured a mix of 70 % reads of 4 KiB. That was measured of random writes, which make the drive copy: `mix` is their
/// share, and sequential writes have no part in it.
pub fn attend(nand: &Nand, visits: &mut [Visit; STATIONS], load: &DeviceLoad, wear: &Wear, pieces: &Pieces, mix: f64) {
    let (writes, reads) = (load.write_share, 1.0 - load.write_share);
    let of = |at: At, servers: f64| {
        let visit = &visits[at as usize];
        visit.stages * visit.fork * visit.service_ns / servers
    };
    let fetched = reads * pieces.read.fork + writes * pieces.fetching * pieces.fetch.fork;
    let sent = writes * pieces.write.fork;
    let commands = fetched * 1e9 / nand.read_iops.value;
    let read = of(At::Medium, nand.dies.value).max(of(At::ReadLink, 1.0)).max(commands);
    let programs = writes * pieces.write.total() * wear.programs_per_byte * wear.program_ns / nand.dies.value;
    let write = programs.max(of(At::WriteLink, 1.0)).max(sent * 1e9 / nand.write_iops.value);
    let extra = penalty_ns(nand) * 4.0 * mix * (1.0 - mix);
    visits[At::ReadTurn as usize] = turn(reads + writes * pieces.fetching, fetched, read + extra * fetched);
    visits[At::WriteTurn as usize] = turn(writes, sent, write + extra * sent);
}

/// Attention of a mean operation, of which a share asks for it, with so many requests.
pub fn turn(share: f64, requests: f64, work_ns: f64) -> Visit {
    if share <= 0.0 {
        return Visit::default();
    }
    let fork = (requests / share).max(1.0);
    Visit { stages: share, fork, service_ns: work_ns / share / fork, ..Visit::default() }
}
