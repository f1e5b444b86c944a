//! Block devices: who used them, and what of the bytes asked for reached them.

use assay_record::{Cache, DeviceCounters, Layout, Reason, ReasonCode, Severity};

use super::{
    observation::{ClassObservation, DeviceObservation, OwnTraffic, RunObservation},
    reason::{of_class, of_run, with},
    words::{bytes, percent, rate},
};

/// Share of a device's bytes or requests that may be others'. Every machine writes a log now and then.
pub const FOREIGN_SHARE: f64 = 0.1;
/// Others' bytes per second below which nobody is disturbed.
pub const FOREIGN_BYTES_PER_S: f64 = 1024.0 * 1024.0;
/// Others' requests per second below which nobody is disturbed.
pub const FOREIGN_REQUESTS_PER_S: f64 = 100.0;
/// What a file system may write of its own for one flush: a journal with descriptor, a few blocks of metadata, commit.
pub const JOURNAL_BYTES_PER_FLUSH: u64 = 64 << 10;
/// What a file system may write of its own in any window: superblock, journal, times.
pub const METADATA_BYTES: u64 = 4 << 20;
/// Share by which the bytes of direct operations may differ from those asked.
pub const DIFFERENCE: f64 = 0.1;
/// Difference in bytes that is not worth a word: metadata, and what was in flight at the edges.
pub const DIFFERENCE_AT_LEAST: u64 = 1 << 20;
/// Device bytes by bytes asked from which read-ahead is worth knowing.
pub const READ_AHEAD: f64 = 1.5;
/// Share of the bytes written that must have reached the device for a buffered figure to be about it.
pub const WRITTEN_BACK: f64 = 0.5;

/// Somebody else used the device.
pub(super) fn foreign_load(run: &RunObservation) -> Vec<Reason> {
    run.devices.iter().filter_map(|device| foreign_on(run, device, &device.own?)).collect()
}

/// What others did on a device.
struct Foreign {
    read_bytes: f64,
    written_bytes: f64,
    read_requests: f64,
}

fn foreign_on(run: &RunObservation, device: &DeviceObservation, own: &OwnTraffic) -> Option<Reason> {
    let seen = &device.counters;
    let foreign = foreign_traffic(device, own);
    let (total_bytes, seconds) = (seen.read_bytes.value + seen.written_bytes.value, run.measured_s.max(1e-9));
    let foreign_bytes = foreign.read_bytes + foreign.written_bytes;
    let by_bytes = foreign_bytes > FOREIGN_SHARE * total_bytes && foreign_bytes > FOREIGN_BYTES_PER_S * seconds;
    let requests = seen.reads.value + seen.writes.value;
    let by_requests =
        foreign.read_requests > FOREIGN_SHARE * requests && foreign.read_requests > FOREIGN_REQUESTS_PER_S * seconds;
    if !by_bytes && !by_requests {
        return None;
    }
    let evidence = foreign_evidence(device, &foreign, total_bytes, seconds, by_bytes);
    let fix = "stop what else uses the device (iotop and pidstat -d name it), or measure on a device of your own";
    let numbers = [
        ("foreign_read_bytes", foreign.read_bytes),
        ("foreign_written_bytes", foreign.written_bytes),
        ("foreign_read_requests", foreign.read_requests),
        ("device_bytes", total_bytes),
        ("utilisation", seen.utilisation.value),
    ];
    Some(with(of_run(ReasonCode::ForeignLoad, Severity::Suspect, evidence, fix), &numbers))
}

/// Reads are exact. Writes are not: file systems write journals, so every flush has an allowance, and one that copies
/// on write adds so much of its own that its writes are not judged at all.
fn foreign_traffic(device: &DeviceObservation, own: &OwnTraffic) -> Foreign {
    let seen = &device.counters;
    let allowance = own.flushes.saturating_mul(JOURNAL_BYTES_PER_FLUSH).saturating_add(METADATA_BYTES);
    let own_requests = own.read_requests_at_most.map_or(f64::INFINITY, |count| count as f64);
    let written = seen.written_bytes.value - own.written_bytes as f64 - allowance as f64;
    Foreign {
        read_bytes: (seen.read_bytes.value - own.read_bytes as f64).max(0.0),
        written_bytes: if device.copies_on_write { 0.0 } else { written.max(0.0) },
        read_requests: (seen.reads.value - own_requests).max(0.0),
    }
}

fn foreign_evidence(device: &DeviceObservation, foreign: &Foreign, total: f64, seconds: f64, by_bytes: bool) -> String {
    let (name, utilisation) = (&device.counters.device, percent(device.counters.utilisation.value));
    if by_bytes {
        return format!(
            "of the {} that {name} moved, {} read and {} written were not ours; it was busy {utilisation} of the \
             window",
            bytes(total),
            bytes(foreign.read_bytes),
            bytes(foreign.written_bytes)
        );
    }
    format!(
        "{} of {name}'s {} read requests were not ours, {}; it was busy {utilisation} of the window",
        foreign.read_requests,
        device.counters.reads.value,
        rate(foreign.read_requests / seconds)
    )
}

/// The kernel's counter shows other bytes than were asked for.
pub(super) fn device_bytes_differ(run: &RunObservation, class: &ClassObservation) -> Vec<Reason> {
    let direct = class.direct();
    let found = if direct {
        vec![direct_reads(run, class), direct_writes(run, class)]
    } else if class.buffered() {
        vec![read_ahead(class), not_written_back(run, class)]
    } else {
        Vec::new()
    };
    found.into_iter().flatten().collect()
}

/// More than asked. Less than asked means that memory served it, which has a name of its own.
fn direct_reads(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    let read = not_counted_twice(
        class.device_read_bytes?,
        class.read_bytes,
        of_devices(run, class, |one| one.read_bytes.value),
    );
    let share = read as f64 / class.read_bytes.max(1) as f64;
    if class.reads == 0 || share <= 1.0 + DIFFERENCE || read < class.read_bytes + DIFFERENCE_AT_LEAST {
        return None;
    }
    let fix = "use operations of at least the file system's block size, at multiples of it";
    Some(differ(class, "read", read, class.read_bytes, Severity::Suspect, fix))
}

fn direct_writes(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    let reached = of_devices(run, class, |one| one.written_bytes.value);
    let written = not_counted_twice(class.device_written_bytes?, class.written_bytes, reached);
    let share = written as f64 / class.written_bytes.max(1) as f64;
    let near = (share - 1.0).abs() <= DIFFERENCE || written.abs_diff(class.written_bytes) < DIFFERENCE_AT_LEAST;
    // A growing or preallocated file makes metadata with every write; how much is the file system's affair.
    let grows = share > 1.0 && matches!(class.layout, Layout::Grow | Layout::Preallocated);
    if class.writes == 0 || near || grows {
        return None;
    }
    let fix =
        "use operations of at least the file system's block size, at multiples of it, on a file that is fully written";
    Some(differ(class, "written", written, class.written_bytes, Severity::Suspect, fix))
}

/// A counter of the class's devices together, whoever caused it; none where no device is known.
pub(super) fn of_devices(
    run: &RunObservation,
    class: &ClassObservation,
    of: impl Fn(&DeviceCounters) -> f64,
) -> Option<f64> {
    let ours = run.devices.iter().filter(|device| class.devices.contains(&device.counters.device));
    let counts: Vec<f64> = ours.map(|device| of(&device.counters)).collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

/// The kernel counts an operation for its process when it begins it, and once more where it has to begin again (a
/// request of io_uring's that found no room in the device's queue): no more was moved than the devices moved.
fn not_counted_twice(counted: u64, asked: u64, moved: Option<f64>) -> u64 {
    moved.map_or(counted, |moved| counted.min(asked.max(moved as u64)))
}

/// Read-ahead is what buffered paths do; it is worth knowing how much of it there was.
fn read_ahead(class: &ClassObservation) -> Option<Reason> {
    let read = class.device_read_bytes?;
    let plenty = read as f64 > READ_AHEAD * class.read_bytes as f64;
    if class.reads == 0 || !plenty || read < class.read_bytes + DIFFERENCE_AT_LEAST {
        return None;
    }
    let fix = "advise random access (advice = \"random\") where read-ahead is not wanted";
    Some(differ(class, "read", read, class.read_bytes, Severity::Note, fix))
}

/// Buffered writes that nothing made durable end in memory, whatever takes them below: they are no device's figure. Where
/// a warm cache was asked for, memory is what was to be measured.
fn not_written_back(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    if class.flushes > 0 || class.written_bytes < DIFFERENCE_AT_LEAST {
        return None;
    }
    // A loop device may have been given what its file's page cache still holds.
    let bottom = class.beneath.map_or(f64::INFINITY, |beneath| beneath.written_bytes);
    let (reached, asked) =
        (of_devices(run, class, |one| one.written_bytes.value)?.min(bottom), class.written_bytes as f64);
    if reached >= WRITTEN_BACK * asked {
        return None;
    }
    let evidence = format!(
        "{} were written and the device received {} in the window: the rest lies in the page cache, and a crash \
         would lose it",
        bytes(asked),
        bytes(reached)
    );
    let fix = "name what makes the writes durable (durability), use a direct path, or say that memory is what is wanted \
        (cache = \"warm\")";
    let severity = if run.cache == Cache::Warm { Severity::Note } else { Severity::Suspect };
    let numbers = [("asked_bytes", asked), ("device_bytes", reached)];
    Some(with(of_class(&class.name, ReasonCode::DeviceBytesDiffer, severity, evidence, fix), &numbers))
}

fn differ(class: &ClassObservation, verb: &str, seen: u64, asked: u64, severity: Severity, fix: &str) -> Reason {
    let (seen, asked) = (seen as f64, asked as f64);
    let evidence = format!(
        "the kernel counts {} {verb} for it and {} were asked for, {} of that",
        bytes(seen),
        bytes(asked),
        percent(seen / asked.max(1.0))
    );
    let numbers = [("device_bytes", seen), ("asked_bytes", asked)];
    with(of_class(&class.name, ReasonCode::DeviceBytesDiffer, severity, evidence, fix), &numbers)
}
