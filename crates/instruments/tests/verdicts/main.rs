//! Every rule of the verdict: an ordinary run is valid, each fault is named, and nothing makes a rule panic.

use std::{collections::BTreeMap, path::Path};

use assay_instruments::{
    compress::Compressibility,
    counters::{FrequencyProbe, OwnCpusUse, SystemUse, Throttle},
    verdict::{
        ClassObservation, DeviceObservation, ExtentSurvey, Lateness, Observation, OwnCpu, OwnTraffic, RunObservation,
        cpu_taken_untold, judge, kernel_accounts,
    },
};
use assay_record::{
    Cache, CheckOutcome, Content, DeviceCounters, Figure, IntervalPoint, Layout, Method, Metric, Overdue, PathKind,
    PathSpec, Provenance, ReasonCode, Severity, Status, Stop, TargetKind, Unit, Verdict,
};
use proptest::prelude::*;

mod cached;
mod clock;
mod contents;
mod counting;
mod flushes;
mod layers;
mod limits;
mod load;
mod machine;
mod memory;
mod moved;
mod pace;
mod pages;
mod standing;
mod taken;
mod told;
mod window;

use layers::cached_loop;
use told::told;

const MIB: u64 = 1 << 20;

fn figure(value: f64) -> Figure {
    Figure::new(value, Unit::Count, Provenance::Measured, Method::KernelAccounting)
}

fn device(read: u64, written: u64, requests: u64, in_flight: f64) -> DeviceCounters {
    DeviceCounters {
        device: "vda".to_owned(),
        read_bytes: figure(read as f64),
        written_bytes: figure(written as f64),
        reads: figure(requests as f64),
        writes: figure(0.0),
        flushes: figure(0.0),
        mean_in_flight: figure(in_flight),
        utilisation: figure(0.97),
        held_up: BTreeMap::new(),
    }
}

fn flat(intervals: u32, operations: u64, length_s: f64) -> Vec<IntervalPoint> {
    let point = |index: u32| IntervalPoint {
        at_s: f64::from(index + 1) * length_s,
        length_s,
        operations: operations + u64::from(index % 3),
        bytes: operations * 4096,
        mean_ns: 500_000.0,
        p50_ns: 450_000,
        p99_ns: 900_000,
        max_ns: 2_000_000,
    };
    (0..intervals).map(point).collect()
}

/// Four seconds of direct random reads of 4 KiB, two threads of depth 16, at 60 k/s, on a small virtual machine.
fn ordinary() -> Observation {
    let reads = 240_000;
    let path = PathSpec { direct: true, ..PathSpec::plain(PathKind::IoUring) };
    let class = ClassObservation {
        threads: 2,
        depth: 16,
        achieved_depth: 31.2,
        in_service: 31.2,
        active_s: 4.0,
        reads,
        read_bytes: reads * 4096,
        device_read_bytes: Some(reads * 4096 + 12_288),
        device_written_bytes: Some(4096),
        devices: vec!["vda".to_owned()],
        resident_before: Some(0.0),
        extents: Some(ExtentSurvey { written: 512 * MIB, unwritten: 0, hole: 0 }),
        dataset_bytes: 512 * MIB,
        compressibility: Some(Compressibility { ratio: 1.004, repeated_share: 0.0, zero_share: 0.0, blocks: 128 }),
        null_ops_per_s: Some(15e6),
        busy_share: Some(0.6),
        submit_share: Some(0.3),
        intervals: flat(40, 6000, 0.1),
        latencies: reads,
        ..ClassObservation::new("read", path, TargetKind::Folder)
    };
    let own = OwnTraffic { read_bytes: reads * 4096, read_requests_at_most: Some(reads), ..OwnTraffic::default() };
    let counters = device(reads * 4096 + 300_000, 2 * MIB, reads + 20, 30.0);
    let probe = FrequencyProbe { hz: 2.6e9, spread: 0.01 };
    Observation {
        run: RunObservation {
            cache: Cache::AsFound,
            measured_s: 4.0,
            asked_s: 4.0,
            stop: Some(Stop::Limit),
            edge_skew_ns: 300_000,
            clock_drift: 3e-6,
            memory_bytes: 4096 * MIB,
            llc_bytes: 32 * MIB,
            devices: vec![DeviceObservation { counters, copies_on_write: false, own: Some(own) }],
            frequency_before: Some(probe),
            frequency_after: Some(FrequencyProbe { hz: 2.55e9, ..probe }),
            system: SystemUse { stolen_share: Some(0.002), ..SystemUse::default() },
            ..RunObservation::default()
        },
        classes: vec![class],
    }
}

/// The ordinary run, buffered and cold: every page read once, from the device.
fn cold() -> Observation {
    let mut seen = ordinary();
    seen.run.cache = Cache::Cold;
    let class = &mut seen.classes[0];
    class.path = PathSpec::plain(PathKind::Pread);
    (class.threads, class.depth, class.achieved_depth, class.submit_share) = (32, 1, 31.0, None);
    class.dataset_bytes = 64 << 30;
    seen.run.memory_bytes = 4 << 30;
    seen.run.devices[0].own.as_mut().expect("own").read_requests_at_most = None;
    seen
}

fn changed(from: Observation, change: impl FnOnce(&mut RunObservation, &mut ClassObservation)) -> Observation {
    let mut seen = from;
    change(&mut seen.run, &mut seen.classes[0]);
    seen
}

fn judged(change: impl FnOnce(&mut RunObservation, &mut ClassObservation)) -> Verdict {
    judge(&changed(ordinary(), change))
}

/// Severity by which a code stands in a verdict.
fn severity(verdict: &Verdict, code: ReasonCode) -> Option<Severity> {
    verdict.reasons.iter().find(|reason| reason.code == code).map(|reason| reason.severity)
}

#[track_caller]
fn expect(verdict: &Verdict, code: ReasonCode, wanted: Option<Severity>) {
    assert_eq!(severity(verdict, code), wanted, "{code:?} in {:#?}", verdict.reasons);
}

#[track_caller]
fn valid(verdict: &Verdict) {
    assert_eq!(verdict.status, Status::Valid, "{:#?}", verdict.reasons);
}

const SUSPECT: Option<Severity> = Some(Severity::Suspect);
const INVALID: Option<Severity> = Some(Severity::Invalid);
const NOTE: Option<Severity> = Some(Severity::Note);

#[test]
fn an_ordinary_run_is_valid_without_a_word() {
    let verdict = judge(&ordinary());
    assert_eq!((verdict.status, verdict.reasons), (Status::Valid, Vec::new()));
    assert_eq!(judge(&cold()).reasons, Vec::new());
    assert_eq!(judge(&Observation::default()).status, Status::Valid);
}

#[test]
fn a_cold_read_that_memory_served_is_invalid_and_a_little_of_it_is_suspect() {
    let served = |share: f64| {
        judge(&changed(cold(), |_, class| {
            class.device_read_bytes = Some((class.read_bytes as f64 * (1.0 - share)) as u64);
        }))
    };
    expect(&served(0.97), ReasonCode::PageCacheServed, INVALID);
    expect(&served(0.1), ReasonCode::PageCacheServed, SUSPECT);
    expect(&served(0.02), ReasonCode::PageCacheServed, None);
    let resident = judge(&changed(cold(), |_, class| class.resident_before = Some(0.5)));
    expect(&resident, ReasonCode::PageCacheServed, INVALID);
    // Bytes that a helper read before it ended are not missing.
    let helped = judge(&changed(cold(), |run, class| {
        class.device_read_bytes = Some(0);
        run.unattributed_read_bytes = class.read_bytes;
    }));
    expect(&helped, ReasonCode::PageCacheServed, None);
}

#[test]
fn a_direct_read_that_memory_served_is_invalid_and_a_cached_loop_device_is_suspect() {
    let fallen_back = judged(|_, class| class.device_read_bytes = Some(0));
    expect(&fallen_back, ReasonCode::PageCacheServed, INVALID);
    let beneath = judged(|_, class| class.layers = vec![cached_loop()]);
    expect(&beneath, ReasonCode::PageCacheServed, SUSPECT);
    // What lies in the page cache does not matter to direct reads.
    valid(&judged(|_, class| class.resident_before = Some(1.0)));
}

#[test]
fn small_random_reads_are_compared_by_pages_and_sequential_ones_by_bytes() {
    let small = |sequential, device: u64| {
        judge(&changed(cold(), |_, class| {
            class.sequential = sequential;
            class.read_bytes = class.reads * 128;
            class.device_read_bytes = Some(device);
        }))
    };
    expect(&small(false, 240_000 * 128), ReasonCode::PageCacheServed, INVALID);
    expect(&small(false, 240_000 * 4096), ReasonCode::PageCacheServed, None);
    expect(&small(true, 240_000 * 128), ReasonCode::PageCacheServed, None);
}

#[test]
fn an_unasked_cache_is_worth_a_note_and_a_small_file_is_suspect() {
    let hot = changed(cold(), |run, class| {
        run.cache = Cache::AsFound;
        class.dataset_bytes = 64 * MIB;
        class.device_read_bytes = Some(0);
    });
    expect(&judge(&hot), ReasonCode::PageCacheServed, NOTE);
    expect(&judge(&hot), ReasonCode::FileSmallerThanCaches, SUSPECT);
    // The same file, read from the device all the same: nothing to say.
    valid(&judge(&changed(cold(), |run, class| {
        run.cache = Cache::AsFound;
        class.dataset_bytes = 64 * MIB;
    })));
    // Memory is what was asked for.
    let warm = changed(hot.clone(), |run, class| (run.cache, class.resident_before) = (Cache::Warm, Some(1.0)));
    valid(&judge(&warm));
    assert_eq!(judge(&warm).reasons, Vec::new());
}

#[test]
fn a_working_set_in_the_cpu_cache_is_suspect_on_a_device_and_noted_on_memory() {
    let pmem = |target, bytes| {
        judged(|_, class| {
            class.path = PathSpec::plain(PathKind::Pmem);
            class.target = target;
            class.dataset_bytes = bytes;
            (class.device_read_bytes, class.submit_share) = (None, None);
        })
    };
    expect(&pmem(TargetKind::DeviceDax, 16 * MIB), ReasonCode::FileSmallerThanCaches, SUSPECT);
    expect(&pmem(TargetKind::Memory, 16 * MIB), ReasonCode::FileSmallerThanCaches, NOTE);
    expect(&pmem(TargetKind::DeviceDax, 64 * MIB), ReasonCode::FileSmallerThanCaches, None);
}

#[test]
fn a_warm_read_that_the_device_served_is_found() {
    let warm = |share: f64| {
        judge(&changed(cold(), |run, class| {
            run.cache = Cache::Warm;
            class.device_read_bytes = Some((class.read_bytes as f64 * share) as u64);
            class.resident_before = Some(1.0);
        }))
    };
    expect(&warm(0.5), ReasonCode::CacheNotWarm, INVALID);
    expect(&warm(0.02), ReasonCode::CacheNotWarm, SUSPECT);
    expect(&warm(0.001), ReasonCode::CacheNotWarm, None);
    let absent = judge(&changed(cold(), |run, class| {
        run.cache = Cache::Warm;
        (class.device_read_bytes, class.resident_before) = (None, Some(0.4));
    }));
    expect(&absent, ReasonCode::CacheNotWarm, INVALID);
}

#[test]
fn unwritten_extents_count_only_where_they_are_read() {
    let half = ExtentSurvey { written: 256 * MIB, unwritten: 200 * MIB, hole: 56 * MIB };
    expect(&judged(|_, class| class.extents = Some(half)), ReasonCode::UnwrittenExtents, INVALID);
    let tail = ExtentSurvey { written: 512 * MIB, unwritten: 0, hole: 4096 };
    expect(&judged(|_, class| class.extents = Some(tail)), ReasonCode::UnwrittenExtents, None);
    let log = judged(|_, class| {
        class.extents = Some(ExtentSurvey { written: 0, unwritten: 512 * MIB, hole: 0 });
        (class.writes, class.written_bytes) = (class.reads, class.read_bytes);
        class.device_written_bytes = Some(class.written_bytes);
        (class.reads, class.read_bytes, class.layout) = (0, 0, Layout::Preallocated);
    });
    expect(&log, ReasonCode::UnwrittenExtents, None);
    let trimmed = judged(|_, class| {
        (class.extents, class.layout) = (None, Layout::AsFound);
        class.compressibility =
            Some(Compressibility { ratio: 0.01, repeated_share: 0.9, zero_share: 0.95, blocks: 128 });
    });
    expect(&trimmed, ReasonCode::UnwrittenExtents, SUSPECT);
}

#[test]
fn compressible_and_repeated_data_are_suspect_and_a_strangers_file_is_noted() {
    let with = |ratio, repeated_share, layout| {
        judged(move |_, class| {
            class.layout = layout;
            class.compressibility = Some(Compressibility { ratio, repeated_share, zero_share: 0.0, blocks: 128 });
        })
    };
    expect(&with(0.4, 0.0, Layout::Written), ReasonCode::CompressibleData, SUSPECT);
    expect(&with(1.0, 0.5, Layout::Written), ReasonCode::CompressibleData, SUSPECT);
    expect(&with(0.4, 0.0, Layout::AsFound), ReasonCode::CompressibleData, NOTE);
    expect(&with(0.98, 0.01, Layout::Written), ReasonCode::CompressibleData, None);
}

#[test]
fn steadiness_is_judged_by_throughput_and_with_a_rate_by_latency() {
    let lost = judged(|_, class| {
        for point in &mut class.intervals[25..] {
            point.operations /= 3;
        }
    });
    expect(&lost, ReasonCode::SteadinessLost, SUSPECT);
    let drift = judged(|_, class| {
        for (index, point) in class.intervals.iter_mut().enumerate() {
            point.operations -= 80 * index as u64;
        }
    });
    expect(&drift, ReasonCode::NotSteady, SUSPECT);
    // Nothing at first: the levels are named, and no share of nothing is taken.
    let rise = judged(|_, class| class.intervals[..10].iter_mut().for_each(|point| point.operations = 0));
    let rise = rise.reasons.iter().find(|reason| reason.code == ReasonCode::NotSteady).expect("it rose");
    assert!(rise.evidence.starts_with("throughput rose after 1.0 s from 0"), "{}", rise.evidence);
    assert!(rise.numbers["after"] > 0.0 && rise.numbers.values().all(|number| number.is_finite()), "{rise:?}");
    let slower = |rate, share: f64| {
        judged(move |_, class| {
            class.asked_rate = rate;
            class.intervals.iter_mut().for_each(|point| point.mean_ns *= share);
            for point in &mut class.intervals[20..] {
                point.mean_ns *= 4.0;
            }
        })
    };
    expect(&slower(Some(60_000.0), 1.0), ReasonCode::SteadinessLost, SUSPECT);
    expect(&slower(None, 1.0), ReasonCode::SteadinessLost, None);
    // From 5 us to 20: that is a CPU that slept, or a target that became slower where it had no time to.
    expect(&slower(Some(300.0), 0.01), ReasonCode::SteadinessLost, None);
    expect(&slower(Some(300.0), 1.0), ReasonCode::SteadinessLost, SUSPECT);
    expect(&slower(Some(60_000.0), 0.01), ReasonCode::SteadinessLost, SUSPECT);
}

#[test]
fn a_window_is_too_short_in_time_in_values_or_for_its_objective() {
    expect(&judged(|run, _| run.measured_s = 0.4), ReasonCode::WindowTooShort, SUSPECT);
    expect(&judged(|_, class| class.latencies = 40), ReasonCode::WindowTooShort, SUSPECT);
    let objective =
        |latencies| judged(move |_, class| (class.latencies, class.objective) = (latencies, Some(Metric::P999Ns)));
    expect(&objective(2000), ReasonCode::WindowTooShort, SUSPECT);
    expect(&objective(20_000), ReasonCode::WindowTooShort, None);
}

#[test]
fn others_on_the_device_are_seen_by_bytes_and_by_requests() {
    let busy = judged(|run, _| run.devices[0].counters.read_bytes.value *= 1.5);
    expect(&busy, ReasonCode::ForeignLoad, SUSPECT);
    let small = judged(|run, _| {
        run.devices[0].counters.reads.value *= 1.4;
        run.devices[0].counters.read_bytes.value += 2.0 * MIB as f64;
    });
    expect(&small, ReasonCode::ForeignLoad, SUSPECT);
    // Journals are our own doing.
    let log = |flushes, copies_on_write| {
        judged(move |run, _| {
            let device = &mut run.devices[0];
            device.counters = log_device();
            device.copies_on_write = copies_on_write;
            device.own = Some(OwnTraffic { written_bytes: 10_000 * 4096, flushes, ..OwnTraffic::default() });
        })
    };
    expect(&log(10_000, false), ReasonCode::ForeignLoad, None);
    expect(&log(0, false), ReasonCode::ForeignLoad, SUSPECT);
    expect(&log(0, true), ReasonCode::ForeignLoad, None);
    // What a device below another did is not compared.
    let member = judged(|run, _| {
        run.devices[0].counters.read_bytes.value *= 3.0;
        run.devices[0].own = None;
    });
    expect(&member, ReasonCode::ForeignLoad, None);
}

/// Ten thousand log writes of a page with four pages of journal each.
fn log_device() -> DeviceCounters {
    device(0, 10_000 * 5 * 4096, 0, 1.0)
}

#[test]
fn bytes_that_differ_are_said_and_read_ahead_is_noted() {
    let doubled = judged(|run, class| {
        class.device_read_bytes = Some(class.read_bytes * 2);
        run.devices[0].own.as_mut().expect("own").read_bytes *= 2;
        run.devices[0].counters.read_bytes.value *= 2.0;
    });
    expect(&doubled, ReasonCode::DeviceBytesDiffer, SUSPECT);
    let ahead = judge(&changed(cold(), |_, class| class.device_read_bytes = Some(class.read_bytes * 32)));
    expect(&ahead, ReasonCode::DeviceBytesDiffer, NOTE);
    let writes = |layout, share| written(layout, share, share);
    expect(&writes(Layout::Written, 1.02), ReasonCode::DeviceBytesDiffer, None);
    expect(&writes(Layout::Written, 2.0), ReasonCode::DeviceBytesDiffer, SUSPECT);
    expect(&writes(Layout::Grow, 2.0), ReasonCode::DeviceBytesDiffer, None);
}

/// Direct writes, of whose bytes the kernel counts `counted` times as many for the process, and the device `moved`.
fn written(layout: Layout, counted: f64, moved: f64) -> Verdict {
    judged(move |run, class| {
        (class.writes, class.written_bytes, class.layout) = (class.reads, class.read_bytes, layout);
        (class.reads, class.read_bytes, class.device_read_bytes) = (0, 0, Some(0));
        class.device_written_bytes = Some((class.written_bytes as f64 * counted) as u64);
        run.devices[0].counters.written_bytes.value = class.written_bytes as f64 * moved;
    })
}

#[test]
fn bytes_that_the_kernel_counted_twice_are_not_said_to_have_moved() {
    expect(&written(Layout::Written, 2.0, 1.0), ReasonCode::DeviceBytesDiffer, None);
    expect(&written(Layout::Written, 2.0, 1.5), ReasonCode::DeviceBytesDiffer, SUSPECT);
    // Fewer than were asked for are told, whatever the device did meanwhile.
    expect(&written(Layout::Written, 0.5, 1.0), ReasonCode::DeviceBytesDiffer, SUSPECT);
}
