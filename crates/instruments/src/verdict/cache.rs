//! Page cache and CPU caches: did the bytes come from where they should?

use assay_record::{Cache, Reason, ReasonCode, Severity, TargetKind};

use super::{
    flush::plays,
    layers::serving,
    observation::{ClassObservation, RunObservation},
    reason::{graded, of_class, with},
    words::{bytes, percent},
};

/// Share of read bytes that the page cache may serve before a cold figure is suspect: it bends a mean by about as much.
pub const CACHE_SERVED_SUSPECT: f64 = 0.05;
/// Share from which a cold figure is not one any more.
pub const CACHE_SERVED_INVALID: f64 = 0.2;
/// Share of bytes that may come from the device before a warm figure is suspect: a device read takes a hundred times as
/// long as one from memory, so one in a hundred doubles the mean.
pub const NOT_WARM_SUSPECT: f64 = 0.01;
/// Share from which a warm figure is not one any more.
pub const NOT_WARM_INVALID: f64 = 0.1;
/// Below this many bytes read the shares mean nothing: a handful of pages and a block of metadata.
pub const CACHE_BYTES_AT_LEAST: u64 = 1 << 20;
/// A working set must be this many times the last-level cache before the cache's share of hits (its reciprocal, for
/// uniform access) is small.
pub const LLC_FACTOR: f64 = 2.0;
const PAGE: u64 = 4096;

/// Reads that should have come from the device came from the page cache.
pub(super) fn page_cache_served(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    let from_device_wanted = class.direct() || (class.buffered() && run.cache != Cache::Warm);
    if !from_device_wanted || class.reads == 0 || class.emulated {
        return None;
    }
    let (share, evidence) = served(run, class)?;
    let asked = class.direct() || matches!(run.cache, Cache::Cold | Cache::Bypassed);
    let severity = graded(share, CACHE_SERVED_SUSPECT, CACHE_SERVED_INVALID)?;
    // Nothing was asked about the cache: worth knowing, and no fault of the figure.
    let severity = if asked { severity } else { Severity::Note };
    let fix = if class.direct() {
        "use a file system that honours O_DIRECT, and a loop device with direct I/O (losetup --direct-io=on)"
    } else if asked {
        "make the data set larger than what the window can read once, or use a direct path (direct = true)"
    } else {
        "say which figure is wanted: cache = \"warm\", \"cold\" or \"bypassed\""
    };
    let reason = of_class(&class.name, ReasonCode::PageCacheServed, severity, evidence, fix);
    Some(with(reason, &served_numbers(class, share)))
}

fn served_numbers(class: &ClassObservation, share: f64) -> Vec<(&'static str, f64)> {
    let mut numbers = vec![("served_share", share), ("asked_bytes", class.read_bytes as f64)];
    numbers.extend(class.device_read_bytes.map(|read| ("device_bytes", read as f64)));
    numbers.extend(class.beneath.map(|beneath| ("beneath_bytes", beneath.read_bytes)));
    numbers.extend(class.resident_before.map(|share| ("resident_before_share", share)));
    numbers
}

/// The share of reads that memory served, and how that was seen.
fn served(run: &RunObservation, class: &ClassObservation) -> Option<(f64, String)> {
    let by_account = served_by_account(run, class);
    let by_residency = served_by_residency(class);
    let found = [by_account, by_residency, served_beneath(class), served_elsewhere(class)].into_iter().flatten();
    found.reduce(|most, next| if next.0 > most.0 { next } else { most })
}

fn served_by_account(run: &RunObservation, class: &ClassObservation) -> Option<(f64, String)> {
    let expected = expected_device_bytes(class);
    let read = class.device_read_bytes?.saturating_add(run.unattributed_read_bytes);
    let share = 1.0 - read as f64 / expected as f64;
    if expected < CACHE_BYTES_AT_LEAST || share < CACHE_SERVED_SUSPECT {
        return None;
    }
    let evidence = format!(
        "{} of the {} that its reads needed came from a device, so {} came from memory",
        bytes(read as f64),
        bytes(expected as f64),
        percent(share)
    );
    Some((share, evidence))
}

/// Bytes that the device must deliver when nothing is cached. Reads smaller than a page fetch the whole page when they
/// land anywhere, and share it when they follow one another.
fn expected_device_bytes(class: &ClassObservation) -> u64 {
    if class.sequential || class.direct() || class.reads == 0 {
        return class.read_bytes;
    }
    class.reads * (class.read_bytes / class.reads).next_multiple_of(PAGE)
}

/// Where every page is as likely as another, what was resident is what was served. Direct reads do not look there.
fn served_by_residency(class: &ClassObservation) -> Option<(f64, String)> {
    let share = class.resident_before?;
    if class.direct() || class.read_bytes < CACHE_BYTES_AT_LEAST || share < CACHE_SERVED_SUSPECT {
        return None;
    }
    Some((share, format!("{} of the data set was in the page cache when the window opened", percent(share))))
}

/// A layer beneath that reads through a cache of its own: what the devices at the bottom moved less was served there.
fn served_beneath(class: &ClassObservation) -> Option<(f64, String)> {
    let (layer, by) = serving(class, |effect| effect.reads)?;
    let asked = class.device_read_bytes.unwrap_or(class.read_bytes) as f64;
    let moved = class.beneath.map(|beneath| beneath.read_bytes);
    let share = moved.filter(|_| asked >= CACHE_BYTES_AT_LEAST as f64).map(|moved| 1.0 - moved / asked);
    if let (Some(share), Some(moved)) = (share.filter(|&share| share >= CACHE_SERVED_SUSPECT), moved) {
        let evidence = format!(
            "{} were read and the devices beneath {layer} moved {}: {by} served {}",
            bytes(asked),
            bytes(moved),
            percent(share)
        );
        return Some((share, evidence));
    }
    class
        .direct()
        .then(|| (CACHE_SERVED_SUSPECT, format!("{layer} reads through {by}, so memory may have served any read")))
}

/// A file system that a program plays, or another machine: where it has its bytes from nobody can say here.
fn served_elsewhere(class: &ClassObservation) -> Option<(f64, String)> {
    let kind = class.file_system.as_deref().filter(|kind| plays(kind) && class.devices.is_empty() && class.direct())?;
    let evidence = format!(
        "a program or another machine answers for a file system of type {kind}, so its memory may have served any read: \
         nothing here shows that one reached a device"
    );
    Some((CACHE_SERVED_SUSPECT, evidence))
}

/// Reads that should have come from the page cache came from the device.
pub(super) fn cache_not_warm(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    if run.cache != Cache::Warm || !class.buffered() || class.reads == 0 || class.emulated {
        return None;
    }
    let expected = expected_device_bytes(class);
    let missed = class.device_read_bytes.filter(|_| expected >= CACHE_BYTES_AT_LEAST);
    let missed = missed.map(|read| read as f64 / expected as f64);
    let absent = class.resident_before.map(|share| 1.0 - share);
    let (by_account, by_residency) = (missed.unwrap_or(0.0), absent.unwrap_or(0.0));
    let severity = graded(by_account.max(by_residency), NOT_WARM_SUSPECT, NOT_WARM_INVALID)?;
    let evidence = if by_account >= by_residency {
        let read = class.device_read_bytes.unwrap_or(0) as f64;
        let share = percent(by_account);
        format!(
            "{} came from a device while {} were read: {share} of what should have been in memory",
            bytes(read),
            bytes(expected as f64)
        )
    } else {
        format!("{} of the data set was not in the page cache when the window opened", percent(by_residency))
    };
    let fix = "make the data set smaller than free memory, or raise the memory limit of the control group";
    let numbers =
        [("device_share", by_account), ("absent_share", by_residency), ("asked_bytes", class.read_bytes as f64)];
    Some(with(of_class(&class.name, ReasonCode::CacheNotWarm, severity, evidence, fix), &numbers))
}

/// The data set fits into a cache that it should exceed.
pub(super) fn file_smaller_than_caches(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    if class.dataset_bytes == 0 || class.null() {
        return None;
    }
    if class.memory() { smaller_than_cpu_cache(run, class) } else { smaller_than_page_cache(run, class) }
}

/// Buffered reads of a file that fits into memory, with nobody having said that memory is what should be measured.
/// Where the kernel shows that the device served them all the same, there is nothing to say.
fn smaller_than_page_cache(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    // Memory of unknown size, which is 0, holds nothing.
    let fits = class.dataset_bytes < run.memory_bytes;
    let wanted = run.cache == Cache::Warm || !class.buffered() || class.reads == 0 || class.emulated;
    if wanted || !fits || class.read_bytes < CACHE_BYTES_AT_LEAST {
        return None;
    }
    let accounted = class.device_read_bytes.is_some();
    if accounted && served(run, class).is_none() {
        return None;
    }
    let evidence = format!(
        "the data set of {} fits into the {} of memory that the page cache may fill",
        bytes(class.dataset_bytes as f64),
        bytes(run.memory_bytes as f64)
    );
    let fix = "use a data set larger than memory, a direct path, or cache = \"warm\" where memory is what is wanted";
    let numbers = [("dataset_bytes", class.dataset_bytes as f64), ("memory_bytes", run.memory_bytes as f64)];
    Some(with(of_class(&class.name, ReasonCode::FileSmallerThanCaches, Severity::Suspect, evidence, fix), &numbers))
}

/// Loads and stores that the CPU's cache absorbs. On a target that is memory itself small sizes are asked for on
/// purpose (latency by working set), so there it is only worth knowing.
fn smaller_than_cpu_cache(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    if run.llc_bytes == 0 || class.dataset_bytes as f64 >= LLC_FACTOR * run.llc_bytes as f64 {
        return None;
    }
    let severity = if class.target == TargetKind::Memory { Severity::Note } else { Severity::Suspect };
    let evidence = format!(
        "the data set of {} is less than twice the CPU's last-level cache of {}",
        bytes(class.dataset_bytes as f64),
        bytes(run.llc_bytes as f64)
    );
    let fix = "use a data set of several times the last-level cache";
    let numbers = [("dataset_bytes", class.dataset_bytes as f64), ("llc_bytes", run.llc_bytes as f64)];
    Some(with(of_class(&class.name, ReasonCode::FileSmallerThanCaches, severity, evidence, fix), &numbers))
}
