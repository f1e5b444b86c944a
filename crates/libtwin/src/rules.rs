//! What the parameters of drives mean: formulas that the stations share with answers in closed form (`crates/twin`).

use crate::document::{CloudInstance, Disk, Nand, OptaneSsd, OrElse, SlcCache};

/// Bytes of an operation that data sheets count: IOPS are of this size.
pub const UNIT_BYTES: f64 = 4096.0;

/// Share of a drive's attention that is kept for writes where they ask for it, and likewise for reads: a write that comes
/// at a rate is taken into the buffer however many reads are queued. What one of the two leaves, the other has.
pub const KEPT: f64 = 0.5;

/// Relative spread of the time of a flush, of which an array sees the largest.
pub const FLUSH_SPREAD: f64 = 0.3;

/// Write amplification of greedy collection under uniform random writes: `a / (a + W0(-a exp(-a)))` with
/// `a = 1 + over-provisioning` (Xiang and Kurkoski 2012).
pub fn write_amplification(over_provisioning: f64) -> f64 {
    let a = 1.0 + over_provisioning.max(1e-3);
    // W0 on (-1/e, 0) by Newton from 0: -x exp(-x) has its other branch at -a.
    let wanted = -a * (-a).exp();
    let mut w: f64 = -0.5;
    for _ in 0..64 {
        let e = w.exp();
        let next = w - (w * e - wanted) / (e * (1.0 + w)).max(1e-12);
        if (next - w).abs() < 1e-13 {
            break;
        }
        w = next.clamp(-0.999_999, 0.0);
    }
    a / (a + w)
}

/// Bytes that a die programs at a time: what makes the sustained bandwidth of all dies together.
pub fn program_bytes(nand: &Nand) -> f64 {
    nand.sustained_bytes_per_s.value * nand.program_ns.value / 1e9 / nand.dies.value
}

/// Bytes of the SLC cache of a drive of which the share `used` holds data: what is free adds to it.
pub fn slc_bytes(slc: &SlcCache, used: f64) -> f64 {
    slc.full_bytes.value + (slc.empty_bytes.value - slc.full_bytes.value) * (1.0 - used.clamp(0.0, 1.0))
}

/// Share of the drive that is spare, as collection feels it: the one with which greedy collection gives the amplification
/// that was seen, with writes of 4 KiB, or else the nominal one. None where nothing is ever copied.
///
/// With `u = 1 - 1 / amplification`, the share of a victim that is still valid, `1 + spare = ln(1 / u) / (1 - u)`: what
/// [`write_amplification`] says, solved for its argument.
pub fn spare(nand: &Nand) -> Option<f64> {
    let Some(known) = &nand.collection.write_amplification else {
        return Some(OrElse::or(&nand.collection.over_provisioning, 0.0));
    };
    let collected = known.value / mapped(OrElse::or(&nand.mapping_bytes, UNIT_BYTES), UNIT_BYTES);
    let valid = 1.0 - 1.0 / collected;
    (valid > VALID_AT_LEAST).then(|| -valid.ln() / (1.0 - valid) - 1.0)
}

/// Less of a victim than this is nothing to copy.
const VALID_AT_LEAST: f64 = 0.01;

/// Bytes rewritten per byte of a random write because the drive maps units of `unit` bytes.
pub fn mapped(unit: f64, bytes: f64) -> f64 {
    let unit = unit.max(UNIT_BYTES);
    (bytes / unit).ceil() * unit / bytes.max(UNIT_BYTES)
}

/// Time that an even mix costs per operation beyond the currency, ns.
pub fn penalty_ns(nand: &Nand) -> f64 {
    let Some(mixed) = &nand.mixed_iops else {
        return 0.0;
    };
    let steady = nand
        .collection
        .write_amplification
        .as_ref()
        .map_or_else(|| write_amplification(OrElse::or(&nand.collection.over_provisioning, 0.0)), |known| known.value);
    let alone = 0.7e9 / nand.read_iops.value + 0.3e9 * UNIT_BYTES * steady / nand.sustained_bytes_per_s.value;
    ((1e9 / mixed.value - alone) / 0.84).max(0.0)
}

/// Time of the arm for one request, ns, where `queued` requests let the elevator choose.
///
/// The shortest of q random seeks falls about as `1 / sqrt(q)`; rotational waits fall likewise where the drive orders by
/// position. One request waits half a turn on average.
pub fn service_ns(disk: &Disk, bytes: f64, sequential: bool, queued: f64) -> f64 {
    let rate = f64::midpoint(disk.outer_bytes_per_s.value, disk.inner_bytes_per_s.value);
    let transfer = bytes / rate * 1e9;
    if sequential {
        return transfer;
    }
    let ease = queued.max(1.0).sqrt();
    let half_turn = 30e9 / disk.revolutions_per_minute.value;
    let (track, seek) = (disk.track_seek_ns.value, disk.seek_ns.value);
    track + (seek - track) / ease + half_turn / ease.sqrt() + transfer
}

/// The inverse of what a drive reaches with requests of `bytes` alone, ns.
pub fn alone_ns(drive: &OptaneSsd, bytes: f64, write: bool) -> f64 {
    let (unit, rate, iops) = if write {
        (&drive.write_ns, &drive.write_bytes_per_s, &drive.write_iops)
    } else {
        (&drive.read_ns, &drive.read_bytes_per_s, &drive.read_iops)
    };
    let units = unit.value * (bytes / UNIT_BYTES).ceil().max(1.0) / drive.units.value;
    units.max(sent_ns(drive, bytes, rate.value)).max(1e9 / iops.value)
}

/// Time that a request takes of a link, ns.
pub fn sent_ns(drive: &OptaneSsd, bytes: f64, bytes_per_s: f64) -> f64 {
    OrElse::or(&drive.command_ns, 0.0) + bytes / bytes_per_s * 1e9
}

/// Tokens that an operation of `bytes` costs in a bucket of operations: one for every unit begun.
pub fn tokens(bytes: f64, unit_bytes: f64) -> f64 {
    (bytes / unit_bytes).ceil().max(1.0)
}

/// A drive of an instance, held to its share of what the vendor grants the instance.
pub fn limited(instance: &CloudInstance) -> Nand {
    let mut drive = instance.drive.clone();
    let drives = instance.drives.value;
    drive.read_iops.value = drive.read_iops.value.min(instance.read_iops.value / drives);
    drive.write_iops.value = drive.write_iops.value.min(instance.write_iops.value / drives);
    drive
}
