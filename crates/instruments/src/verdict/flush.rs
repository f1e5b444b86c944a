//! Flushes: did they reach a device, and whose were they?

use assay_record::{Reason, ReasonCode, Severity};

use super::{
    device::WRITTEN_BACK,
    observation::{ClassObservation, FlushObservation, RunObservation},
    reason::{of_class, of_run, with},
    words::{bytes, rate},
};

/// Fewer flushes than these prove nothing.
pub const FLUSHES_AT_LEAST: u64 = 10;
/// Share of the flushes asked for, by those that can be merged into one (all that wait at a time), that a device must see.
pub const FLUSHES_SEEN: f64 = 0.1;
/// A file system may make so many of one flush: a journal before and after its commit.
pub const FLUSHES_OF_ONE: u64 = 4;
/// Others' flushes per second below which nobody is disturbed.
pub const FOREIGN_FLUSHES_PER_S: f64 = 100.0;

const FIX: &str = "look at the mount options (barrier=0, nobarrier), at queue/write_cache of the device, and at what lies \
    between this process and the kernel (a sandbox, a library that swallows fsync); until then take no figure of this record \
    for one of durable writes";

/// Nothing shows that the flushes that were asked for reached a device. One reason for each device.
pub(super) fn flush_not_seen(run: &RunObservation) -> Vec<Reason> {
    run.flushes.iter().filter_map(|one| declared_away(one).or_else(|| uncounted(one))).collect()
}

/// The kernel was told that there is no volatile cache, and drops every flush.
fn declared_away(one: &FlushObservation) -> Option<Reason> {
    let asked = one.asked + one.through;
    if asked < FLUSHES_AT_LEAST || !one.cache.declared_away() {
        return None;
    }
    let evidence = format!(
        "{asked} flushes were asked for, and none was sent: queue/write_cache of {} was set to \"write through\", though \
         the device says that its cache is volatile",
        one.device
    );
    Some(with(of_run(ReasonCode::FlushNotSeen, Severity::Suspect, evidence, FIX), &numbers(one)))
}

fn uncounted(one: &FlushObservation) -> Option<Reason> {
    // A write that carries its durability itself is no flush request on a device that knows such writes.
    let asked = if one.cache.writes_through { one.asked } else { one.asked + one.through };
    let counts = one.cache.counted && one.cache.flushed == Some(true);
    let expected = FLUSHES_SEEN * asked as f64 / f64::from(one.in_flight.max(1));
    if asked < FLUSHES_AT_LEAST || !counts || one.seen as f64 >= expected {
        return None;
    }
    let evidence = format!(
        "{asked} flushes were asked for, and {}, whose cache is volatile, saw {} of them: what was acknowledged as durable \
         lay in a cache",
        one.device, one.seen
    );
    Some(with(of_run(ReasonCode::FlushNotSeen, Severity::Suspect, evidence, FIX), &numbers(one)))
}

fn numbers(one: &FlushObservation) -> [(&'static str, f64); 2] {
    [("asked_flushes", (one.asked + one.through) as f64), ("device_flushes", one.seen as f64)]
}

/// The same by what a class wrote: bytes that were flushed and did not leave memory, or a file system of which nobody can
/// say what its flush does.
pub(super) fn flush_not_seen_of(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    if class.flushes < FLUSHES_AT_LEAST || class.emulated || class.memory() || class.null() {
        return None;
    }
    not_moved(run, class).or_else(|| user_space(class))
}

/// Each write was flushed, and the device received less than half of them.
fn not_moved(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    let ours: Vec<_> = run.devices.iter().filter(|one| class.devices.contains(&one.counters.device)).collect();
    let each = class.buffered() && class.flushes >= class.writes / 2;
    if !each || ours.is_empty() || ours.iter().any(|one| one.copies_on_write) {
        return None;
    }
    let reached: f64 = ours.iter().map(|one| one.counters.written_bytes.value).sum();
    let asked = class.written_bytes as f64;
    if reached >= WRITTEN_BACK * asked {
        return None;
    }
    let evidence = format!(
        "{} were written and each write was flushed, and the device received {} in the window",
        bytes(asked),
        bytes(reached)
    );
    let numbers = [("asked_bytes", asked), ("device_bytes", reached), ("asked_flushes", class.flushes as f64)];
    Some(with(of_class(&class.name, ReasonCode::FlushNotSeen, Severity::Suspect, evidence, FIX), &numbers))
}

/// A file system that a program plays, or that lies on another machine's: a flush there is what that program makes of it.
fn user_space(class: &ClassObservation) -> Option<Reason> {
    let kind = class.file_system.as_deref().filter(|kind| plays(kind) && class.devices.is_empty())?;
    let evidence = format!(
        "{} flushes were asked for of a file system of type {kind}: a program or another machine answers them, and nothing \
         here shows that one reached a device",
        class.flushes
    );
    let fix = "measure where the device is, or show by a power cut that what was acknowledged is there (assay lab)";
    let numbers = [("asked_flushes", class.flushes as f64)];
    Some(with(of_class(&class.name, ReasonCode::FlushNotSeen, Severity::Suspect, evidence, fix), &numbers))
}

/// A program plays file systems of this type, or another machine does.
pub(super) fn plays(kind: &str) -> bool {
    kind == "fuse" || kind.starts_with("fuse.") || matches!(kind, "fuseblk" | "9p" | "virtiofs")
}

/// Somebody else flushes the device: no bytes are moved, and every durable write waits.
pub(super) fn foreign_flushes(run: &RunObservation) -> Vec<Reason> {
    run.flushes.iter().filter_map(|one| foreign(run, one)).collect()
}

fn foreign(run: &RunObservation, one: &FlushObservation) -> Option<Reason> {
    let seconds = run.measured_s.max(1e-9);
    let own = (one.asked + one.through).saturating_mul(FLUSHES_OF_ONE);
    let others = one.seen.saturating_sub(own);
    if others as f64 <= FOREIGN_FLUSHES_PER_S * seconds {
        return None;
    }
    let evidence = format!(
        "{others} of {}'s {} flushes were not ours, {}: each makes the device empty its cache",
        one.device,
        one.seen,
        rate(others as f64 / seconds)
    );
    let fix = "stop what else commits on the device (a database, a package manager, a journal), or measure on a device of \
        your own";
    let numbers = [("foreign_flushes", others as f64), ("device_flushes", one.seen as f64)];
    Some(with(of_run(ReasonCode::ForeignLoad, Severity::Suspect, evidence, fix), &numbers))
}
