//! Block families: flash, Optane drives, disks, cloud volumes and instances.

mod alone;
mod bunch;
mod disk;
pub mod nand;
pub mod network;
pub mod optane;
mod pace;
mod percentile;
pub mod pieces;
mod probe;
pub mod settle;
mod together;
pub mod volume;
pub mod window;
mod writes;

use assay_libtwin::rules::limited;

use crate::{
    BoundBy, Device, Twin, TwinError,
    device_load::{DeviceAnswer, DeviceLoad},
    document::{CloudInstance, CloudVolume, Disk, Nand, OptaneSsd, StripeKind},
};

use self::{
    network::{At, Customer, Flow, Group, PLACES, State, Waits},
    pieces::Pieces,
    settle::settle,
    window::Window,
    writes::{Standing, Writes},
};

/// A flash drive.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn nand(twin: &Twin, _nand: &Nand, loads: &[DeviceLoad], answers: &mut [DeviceAnswer]) -> Result<(), TwinError> {
    alone(twin, loads, answers)
}

/// A drive of 3D XPoint.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn optane_ssd(
    twin: &Twin,
    _drive: &OptaneSsd,
    loads: &[DeviceLoad],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    alone(twin, loads, answers)
}

/// A rotating disk.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn disk(twin: &Twin, _disk: &Disk, loads: &[DeviceLoad], answers: &mut [DeviceAnswer]) -> Result<(), TwinError> {
    alone(twin, loads, answers)
}

/// A network volume.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn cloud_volume(
    _twin: &Twin,
    volume: &CloudVolume,
    loads: &[DeviceLoad],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    volume::answer(volume, loads, answers);
    Ok(())
}

/// Local drives of a cloud instance.
///
/// # Errors
/// Where a load asks what the family cannot do.
pub fn cloud_instance(
    twin: &Twin,
    _instance: &CloudInstance,
    loads: &[DeviceLoad],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    alone(twin, loads, answers)
}

fn alone(twin: &Twin, loads: &[DeviceLoad], answers: &mut [DeviceAnswer]) -> Result<(), TwinError> {
    let pieces = |load: &DeviceLoad| Pieces {
        window: Window::of(load, drives(twin), load.size_bytes, StripeKind::Interleave),
        ..Pieces::alone(load)
    };
    if let [load] = loads {
        return members(twin, 1.0, loads, &[pieces(load)], answers);
    }
    let pieces: Vec<Pieces> = loads.iter().map(pieces).collect();
    members(twin, 1.0, loads, &pieces, answers)
}

/// Drives of a twin: several where it is an instance, on which pages go round them.
pub fn drives(twin: &Twin) -> f64 {
    if let Device::CloudInstance(instance) = &twin.device { instance.drives.value.max(1.0) } else { 1.0 }
}

/// Answers of `count` equal drives that share the loads evenly; `pieces` says what an operation asks of them.
///
/// # Errors
/// [`TwinError::NoModel`] where the twin is no drive.
pub fn members(
    twin: &Twin,
    count: f64,
    loads: &[DeviceLoad],
    pieces: &[Pieces],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    let capacity = twin.capacity_bytes.value;
    match &twin.device {
        Device::Nand(drive) => flash(FlashMembers { drive, capacity, count }, loads, pieces, answers),
        Device::CloudInstance(instance) => {
            let drives = instance.drives.value;
            let capped = limited(instance);
            let members = FlashMembers { drive: &capped, capacity: capacity / drives, count: count * drives };
            flash(members, loads, pieces, answers);
        }
        Device::OptaneSsd(drive) => {
            let group = optane::group(drive, count);
            let mixed = mixed(loads, pieces, answers).is_some();
            let customers = each(loads, pieces, |load, piece| optane::customer(drive, load, piece, mixed));
            report(group, customers, loads, pieces, answers, &mut [0.0; PLACES]);
        }
        Device::Disk(drive) => {
            let queued: f64 = loads.iter().map(|load| load.in_flight).sum();
            let customers = each(loads, pieces, |load, piece| disk::customer(drive, count, load, piece, queued));
            report(disk::group(count), customers, loads, pieces, answers, &mut [0.0; PLACES]);
        }
        _ => return Err(TwinError::NoModel { name: twin.name.clone(), family: twin.device.family() }),
    }
    Ok(())
}

fn each(loads: &[DeviceLoad], pieces: &[Pieces], one: impl Fn(&DeviceLoad, &Pieces) -> Customer) -> Vec<Customer> {
    loads.iter().zip(pieces).map(|(load, piece)| one(load, piece)).collect()
}

/// Rounds that tell how much is written where the answer depends on it and nothing is known yet.
const ROUNDS_FROM_NOTHING: usize = 4;
/// Rounds at most that find the share of writes, and how near to what is written it has to be.
const ROUNDS_OF_SHARE: usize = 16;
const NEAR_SHARE: f64 = 1e-6;

/// Equal flash drives, each of a capacity in bytes.
#[derive(Clone, Copy, Debug)]
struct FlashMembers<'a> {
    drive: &'a Nand,
    capacity: f64,
    count: f64,
}

fn flash(members: FlashMembers, loads: &[DeviceLoad], pieces: &[Pieces], answers: &mut [DeviceAnswer]) {
    let depends = loads.iter().any(|load| load.write_share > 0.0)
        && (members.drive.under_load.is_some()
            || loads.iter().any(|load| load.duration_s > 0.0)
            || mixed(loads, pieces, answers).is_some());
    let fresh = answers.iter().all(|answer| answer.ops_per_s <= 0.0);
    // What a load that is alone writes in the steady state is all in how the drive stands.
    let steady = matches!(loads, [load] if load.duration_s <= 0.0);
    let rounds = if depends && fresh && !steady { ROUNDS_FROM_NOTHING } else { 1 };
    let mut waits = [0.0; PLACES];
    for _ in 0..rounds {
        let standing = standing(members, loads, pieces, answers, &mut waits);
        flash_round(members, loads, pieces, answers, standing, &mut waits);
    }
}

/// The share of a drive's writes at which what is written comes to just that share: more writes make everything slower, and
/// so less is written. Searched between bounds, since taking turns between the two swings without end near the knee. Beyond
/// the knee writes wait in the network and no longer beside others, so each side has an answer of its own: where what is
/// written keeps the drive beyond the knee, that is where it is. Where the drive is beyond it only for as long as it is not,
/// it stands at the knee, and is beyond it for the share of the time that keeps it there.
fn standing(
    members: FlashMembers,
    loads: &[DeviceLoad],
    pieces: &[Pieces],
    answers: &[DeviceAnswer],
    waits: &mut Waits,
) -> Standing {
    let Some(known) = &members.drive.under_load else { return Standing::default() };
    if loads.iter().all(|load| load.write_share <= 0.0) {
        return Standing::default();
    }
    let mut tried = Vec::with_capacity(answers.len());
    let mut written = |standing: Standing| {
        tried.clear();
        tried.extend_from_slice(answers);
        flash_round(members, loads, pieces, &mut tried, standing, waits);
        Writes::share_of(members.drive, members.count, loads, pieces, &tried)
    };
    let knee = known.knee.value.min(1.0);
    let at = |share: f64, beyond: f64| Standing { share, beyond };
    // Beyond the knee reads were seen to wait less near the end than before it, so that there can be several such shares. A
    // load that begins on an idle drive comes from above, since it writes most before anything waits: the largest is taken.
    let between = known.rows.iter().rev().map(|row| row.share).filter(|share| *share > knee && *share < 1.0);
    let mut high = (1.0, written(at(1.0, 1.0)) - 1.0);
    for share in between.chain([knee]) {
        if high.1 >= -NEAR_SHARE {
            return at(high.0, 1.0);
        }
        let low = (share, written(at(share, 1.0)) - share);
        if low.1 > 0.0 {
            return at(crossing(low, high, |share| written(at(share, 1.0)) - share), 1.0);
        }
        high = low;
    }
    let above = high.1;
    let below = written(at(knee, 0.0)) - knee;
    if below <= 0.0 {
        let low = (0.0, written(at(0.0, 0.0)));
        return at(crossing(low, (knee, below), |share| written(at(share, 0.0)) - share), 0.0);
    }
    at(knee, crossing((0.0, below), (1.0, above), |beyond| written(at(knee, beyond)) - knee))
}

/// Where a falling value crosses zero between a place where it is not below zero and one where it is not above, by false
/// position in the Illinois way.
fn crossing(low: (f64, f64), high: (f64, f64), mut value: impl FnMut(f64) -> f64) -> f64 {
    let (mut low, mut high, mut side) = (low, high, 0);
    for end in [low, high] {
        if end.1.abs() <= NEAR_SHARE {
            return end.0;
        }
    }
    for _ in 0..ROUNDS_OF_SHARE {
        let middle = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
        let seen = value(middle);
        if seen.abs() <= NEAR_SHARE {
            return middle;
        }
        if seen > 0.0 {
            (low, high.1) = ((middle, seen), high.1 * if side > 0 { 0.5 } else { 1.0 });
            side = 1;
        } else {
            (high, low.1) = ((middle, seen), low.1 * if side < 0 { 0.5 } else { 1.0 });
            side = -1;
        }
    }
    high.0
}

fn flash_round(
    FlashMembers { drive, capacity, count }: FlashMembers,
    loads: &[DeviceLoad],
    pieces: &[Pieces],
    answers: &mut [DeviceAnswer],
    standing: Standing,
    waits: &mut Waits,
) {
    let written = |load: &DeviceLoad, answer: &DeviceAnswer, piece: &Pieces| {
        answer.ops_per_s.max(0.0) * load.write_share * piece.write.total() / count
    };
    let per_drive: f64 = loads.iter().zip(answers.iter()).zip(pieces).map(|((l, a), p)| written(l, a, p)).sum();
    let mix = mixed(loads, pieces, answers);
    let beside = Writes::at(drive, standing);
    let mut worst = nand::Wear { programs_per_byte: 0.0, program_ns: drive.program_ns.value };
    let mut customers = Vec::with_capacity(loads.len());
    for (load, piece) in loads.iter().zip(pieces) {
        let mut wear = nand::Wear { programs_per_byte: 0.0, program_ns: drive.program_ns.value };
        if load.write_share > 0.0 {
            wear = nand::wear(drive, capacity, load, per_drive);
            worst = if wear.program_ns > worst.program_ns || worst.programs_per_byte == 0.0 { wear } else { worst };
        }
        let mut customer = nand::customer(drive, count, load, piece, &wear);
        if let Some(mix) = mix {
            nand::attend(drive, &mut customer.visits, load, &wear, piece, mix);
        }
        if let Some(beside) = &beside {
            customer.delay_ns += beside.wait_ns(load, piece);
            customer.last_delay_ns = beside.last_ns(load, piece).max(0.0);
        }
        customers.push(customer);
    }
    let mut group = nand::group(drive, count, &worst);
    group.beside &= standing.beyond < 1.0;
    report(group, customers, loads, pieces, answers, waits);
    if let Some(beside) = &beside {
        let each = loads.iter().zip(pieces).zip(answers.iter_mut());
        each.for_each(|((load, piece), answer)| beside.percentiles(load, piece, answer));
    }
}

/// Share of random writes, which make a drive copy, among all requests to members, where there are reads and writes.
fn mixed(loads: &[DeviceLoad], pieces: &[Pieces], answers: &[DeviceAnswer]) -> Option<f64> {
    let (mut reads, mut writes, mut copying) = (0.0, 0.0, 0.0);
    for ((load, piece), answer) in loads.iter().zip(pieces).zip(answers) {
        let rate = if answer.ops_per_s > 0.0 { answer.ops_per_s } else { 1.0 };
        let written = rate * load.write_share * piece.write.fork;
        reads +=
            rate * ((1.0 - load.write_share) * piece.read.fork + load.write_share * piece.fetching * piece.fetch.fork);
        writes += written;
        copying += if load.sequential { 0.0 } else { written };
    }
    (reads > 0.0 && writes > 0.0).then(|| copying / (reads + writes))
}

/// Lets streams in order find each other as they lie on the members. Where there are several loads, requests that crowd
/// on few members meet others there that do not.
fn lay(group: &mut Group, customers: &mut [Customer], pieces: &[Pieces]) {
    for (customer, piece) in customers.iter_mut().zip(pieces) {
        let one = piece.read.fork <= 1.0 && piece.write.fork <= 1.0;
        customer.regular &= one && piece.window.reach == 1.0 && piece.window.peers == customer.in_flight;
        customer.members_by = piece.window.members_by;
    }
    if let ([customer], [piece]) = (&mut *customers, pieces) {
        group.narrow(customer, piece.window.reach);
        customer.peers = piece.window.peers;
        return;
    }
    for (customer, piece) in customers.iter_mut().zip(pieces) {
        (customer.peers, customer.crowd) = (piece.window.peers, piece.window.crowd(customer.in_flight));
    }
}

fn report(
    mut group: Group,
    mut customers: Vec<Customer>,
    loads: &[DeviceLoad],
    pieces: &[Pieces],
    answers: &mut [DeviceAnswer],
    waits: &mut Waits,
) {
    lay(&mut group, &mut customers, pieces);
    let (group, customers) = (&group, &*customers);
    let known = |answer: &DeviceAnswer| Flow { rate: answer.ops_per_s / 1e9, ..Flow::default() };
    // One load is the most frequent question, and needs nothing from the heap.
    let mut one = [Flow::default()];
    let mut many: Vec<Flow> = Vec::new();
    let flows = if let [answer] = &*answers {
        one[0] = known(answer);
        &mut one[..]
    } else {
        many.extend(answers.iter().map(known));
        &mut many[..]
    };
    let state = settle(group, customers, flows, waits);
    for ((customer, flow), (load, answer)) in customers.iter().zip(&*flows).zip(loads.iter().zip(answers)) {
        let tail = percentile::Tail::of(group, customer, flow, &state);
        let [p50, p99, p999] = percentile::RANKS.map(|rank| tail.at(rank));
        *answer = DeviceAnswer {
            ops_per_s: flow.rate * 1e9,
            mean_ns: flow.mean_ns,
            overlap: 1.0,
            queue_ns: flow.queue_ns,
            flush_ns: flow.flush_ns,
            last_ns: bunch::Bunch::of(group, customer).map_or(0.0, |bunch| bunch.last_ns(flow, &state)),
            p50,
            p99,
            p999,
            bound_by: bound(load, flow, &state),
            utilisation: state.busiest().1.min(1.0),
        };
    }
}

/// A station is what sets the pace where it is busy beyond this share.
const BUSY: f64 = 0.85;

fn bound(load: &DeviceLoad, flow: &Flow, state: &State) -> BoundBy {
    if flow.flush_ns > 0.5 * flow.mean_ns {
        return BoundBy::Flush;
    }
    let (station, busy) = state.busiest();
    if busy / (1.0 - state.stopped) < BUSY {
        return BoundBy::Latency;
    }
    match station {
        At::Medium if state.background > state.busy[0] || load.write_share == 1.0 => BoundBy::DeviceWrite,
        At::Medium => BoundBy::DeviceRead,
        At::ReadLink | At::WriteLink => BoundBy::Link,
        At::ReadCommand | At::WriteCommand => BoundBy::Controller,
        At::ReadTurn | At::WriteTurn if load.write_share > 0.0 => BoundBy::DeviceWrite,
        At::ReadTurn | At::WriteTurn => BoundBy::DeviceRead,
    }
}
