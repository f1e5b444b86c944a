//! Block families: flash, Optane drives, disks, cloud volumes and instances.

mod alone;
mod disk;
pub mod nand;
pub mod network;
pub mod optane;
mod pace;
mod percentile;
pub mod pieces;
pub mod settle;
mod together;
pub mod volume;
pub mod window;
mod writes;

use assay_libtwin::rules::limited;

use crate::{
    BoundBy, Device, Twin, TwinError,
    device_load::{DeviceAnswer, DeviceLoad},
    document::{CloudInstance, CloudVolume, Disk, Nand, OptaneSsd},
};

use self::{
    network::{At, Customer, Flow, Group, State},
    pieces::Pieces,
    settle::settle,
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
    if let [load] = loads {
        return members(twin, 1.0, loads, &[Pieces::alone(load)], answers);
    }
    let pieces: Vec<Pieces> = loads.iter().map(Pieces::alone).collect();
    members(twin, 1.0, loads, &pieces, answers)
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
        Device::Nand(drive) => flash(drive, capacity, count, loads, pieces, answers),
        Device::CloudInstance(instance) => {
            let drives = instance.drives.value;
            let capped = limited(instance);
            flash(&capped, capacity / drives, count * drives, loads, pieces, answers);
        }
        Device::OptaneSsd(drive) => {
            let group = optane::group(drive, count);
            let mixed = mixed(loads, pieces, answers).is_some();
            let customers = each(loads, pieces, |load, piece| optane::customer(drive, load, piece, mixed));
            report(group, customers, loads, pieces, answers);
        }
        Device::Disk(drive) => {
            let queued: f64 = loads.iter().map(|load| load.in_flight).sum();
            let customers = each(loads, pieces, |load, piece| disk::customer(drive, count, load, piece, queued));
            report(disk::group(count), customers, loads, pieces, answers);
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
/// Halvings that find the share of writes to a thousandth of a percent.
const HALVINGS: usize = 16;

fn flash(
    drive: &Nand,
    capacity: f64,
    count: f64,
    loads: &[DeviceLoad],
    pieces: &[Pieces],
    answers: &mut [DeviceAnswer],
) {
    let depends = loads.iter().any(|load| load.write_share > 0.0)
        && (drive.under_load.is_some()
            || loads.iter().any(|load| load.duration_s > 0.0)
            || mixed(loads, pieces, answers).is_some());
    let fresh = answers.iter().all(|answer| answer.ops_per_s <= 0.0);
    let rounds = if depends && fresh { ROUNDS_FROM_NOTHING } else { 1 };
    for _ in 0..rounds {
        let standing = standing(drive, capacity, count, loads, pieces, answers);
        flash_round(drive, capacity, count, loads, pieces, answers, standing);
    }
}

/// The share of a drive's writes at which what is written comes to just that share: more writes make everything slower, and
/// so less is written. Found by halving, since taking turns between the two swings without end near the knee. Beyond the
/// knee writes wait in the network and no longer beside others, so each side has an answer of its own: where what is written
/// keeps the drive beyond the knee, that is where it is. Where the drive is beyond it only for as long as it is not, it
/// stands at the knee, and is beyond it for the share of the time that keeps it there.
fn standing(
    drive: &Nand,
    capacity: f64,
    count: f64,
    loads: &[DeviceLoad],
    pieces: &[Pieces],
    answers: &[DeviceAnswer],
) -> Standing {
    let Some(known) = &drive.under_load else { return Standing::default() };
    if loads.iter().all(|load| load.write_share <= 0.0) {
        return Standing::default();
    }
    let written = |standing: Standing| {
        let mut tried = answers.to_vec();
        flash_round(drive, capacity, count, loads, pieces, &mut tried, standing);
        Writes::share_of(drive, count, loads, pieces, &tried)
    };
    let knee = known.knee.value.min(1.0);
    let at = |share: f64, beyond: f64| Standing { share, beyond };
    if written(at(knee, 1.0)) >= knee {
        return at(halve(knee, 1.0, |share| written(at(share, 1.0)) > share), 1.0);
    }
    if written(at(knee, 0.0)) <= knee {
        return at(halve(0.0, knee, |share| written(at(share, 0.0)) > share), 0.0);
    }
    at(knee, halve(0.0, 1.0, |beyond| written(at(knee, beyond)) > knee))
}

/// Where `higher` begins to be false.
fn halve(mut low: f64, mut high: f64, higher: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        (low, high) = if higher(middle) { (middle, high) } else { (low, middle) };
    }
    high
}

fn flash_round(
    drive: &Nand,
    capacity: f64,
    count: f64,
    loads: &[DeviceLoad],
    pieces: &[Pieces],
    answers: &mut [DeviceAnswer],
    standing: Standing,
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
            customer.delay_ns += beside.wait_ns(load);
        }
        customers.push(customer);
    }
    report(nand::group(drive, count, &worst), customers, loads, pieces, answers);
    if let Some(beside) = &beside {
        loads.iter().zip(answers.iter_mut()).for_each(|(load, answer)| beside.percentiles(load, answer));
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
/// on few members meet others there that do not, and stay with chance.
fn lay(group: &mut Group, customers: &mut [Customer], pieces: &[Pieces]) {
    if let ([customer], [piece]) = (&mut *customers, pieces) {
        group.narrow(customer, piece.window.reach);
        customer.peers = piece.window.peers;
        return;
    }
    for (customer, piece) in customers.iter_mut().zip(pieces).filter(|(_, piece)| piece.window.reach == 1.0) {
        customer.peers = piece.window.peers;
    }
}

fn report(
    mut group: Group,
    mut customers: Vec<Customer>,
    loads: &[DeviceLoad],
    pieces: &[Pieces],
    answers: &mut [DeviceAnswer],
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
    let state = settle(group, customers, flows);
    for ((customer, flow), (load, answer)) in customers.iter().zip(&*flows).zip(loads.iter().zip(answers)) {
        let tail = percentile::Tail::of(group, customer, flow, &state);
        let [p50, p99, p999] = percentile::RANKS.map(|rank| tail.at(rank));
        *answer = DeviceAnswer {
            ops_per_s: flow.rate * 1e9,
            mean_ns: flow.mean_ns,
            overlap: 1.0,
            queue_ns: flow.queue_ns,
            flush_ns: flow.flush_ns,
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
