//! The pages under `docs/verdicts/` say what the code does; nothing makes a rule panic.

use super::*;

#[test]
fn the_kernel_accounts_for_block_devices_and_not_for_memory_or_passthrough() {
    assert!(kernel_accounts(PathKind::Pread, Some("ext4")));
    assert!(kernel_accounts(PathKind::IoUring, None));
    assert!(!kernel_accounts(PathKind::Pread, Some("tmpfs")));
    assert!(!kernel_accounts(PathKind::Pread, Some("fuse.sshfs")));
    assert!(!kernel_accounts(PathKind::NvmePassthrough, None));
    assert!(!kernel_accounts(PathKind::Pmem, Some("ext4")));
}

/// All codes; the match below does not compile when one is missing.
const CODES: [ReasonCode; 38] = [
    ReasonCode::PageCacheServed,
    ReasonCode::CacheNotWarm,
    ReasonCode::UnwrittenExtents,
    ReasonCode::DepthNotReached,
    ReasonCode::RateNotReached,
    ReasonCode::OperationsMissing,
    ReasonCode::GeneratorLate,
    ReasonCode::GeneratorBound,
    ReasonCode::NotSteady,
    ReasonCode::SteadinessLost,
    ReasonCode::WindowTooShort,
    ReasonCode::CompressibleData,
    ReasonCode::NoisyMachine,
    ReasonCode::FrequencyChanged,
    ReasonCode::CpuTaken,
    ReasonCode::LimitMet,
    ReasonCode::DeviceHot,
    ReasonCode::MemoryBeneath,
    ReasonCode::CostsUnsteady,
    ReasonCode::CountingBends,
    ReasonCode::CountersDisagree,
    ReasonCode::FileSmallerThanCaches,
    ReasonCode::ForeignLoad,
    ReasonCode::DeviceBytesDiffer,
    ReasonCode::Errors,
    ReasonCode::FlushNotSeen,
    ReasonCode::TargetChanged,
    ReasonCode::ProcessStopped,
    ReasonCode::DataCorrupt,
    ReasonCode::CheckFailed,
    ReasonCode::ClockUnreliable,
    ReasonCode::WindowsDiffer,
    ReasonCode::Interrupted,
    ReasonCode::EmulatedTarget,
    ReasonCode::ModelledTarget,
    ReasonCode::Extrapolated,
    ReasonCode::EnginesDiffer,
    ReasonCode::PlayedLate,
];

#[test]
fn every_code_has_its_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verdicts");
    for code in CODES {
        let name = serde_json::to_value(code).expect("a name").as_str().expect("text").to_owned();
        let text = std::fs::read_to_string(folder.join(format!("{name}.md"))).unwrap_or_default();
        for part in ["## What it means", "## How it is detected", "## How to provoke it", "## What to do"] {
            assert!(text.contains(part), "docs/verdicts/{name}.md has no part \"{part}\"");
        }
    }
}

/// A page that names a threshold names the value that the code has.
#[test]
fn pages_state_the_thresholds_of_the_code() {
    use assay_instruments::{steady::Limits, verdict as v};
    let percent = |share: f64| format!("{} %", (share * 1000.0).round() / 10.0);
    for (page, wanted) in [
        ("page-cache-served", vec![percent(v::CACHE_SERVED_SUSPECT), percent(v::CACHE_SERVED_INVALID)]),
        ("cache-not-warm", vec![percent(v::NOT_WARM_SUSPECT), percent(v::NOT_WARM_INVALID)]),
        (
            "unwritten-extents",
            vec![percent(v::UNWRITTEN_SUSPECT), percent(v::UNWRITTEN_INVALID), percent(v::ZEROS_SUSPECT)],
        ),
        ("depth-not-reached", vec![percent(v::DEPTH_REACHED), percent(v::SUBMIT_SHARE), percent(v::DEVICE_DEPTH)]),
        ("rate-not-reached", vec![percent(v::RATE_SHORTFALL), percent(v::RATE_EXCESS)]),
        ("generator-late", vec![percent(v::LATE_SHARE), format!("{} us", v::LATE_AT_LEAST_NS / 1000)]),
        ("generator-bound", vec![percent(v::GENERATOR_SHARE), percent(v::BUSY_SHARE)]),
        ("window-too-short", vec![format!("{} s", v::WINDOW_AT_LEAST_S), format!("{} values", v::LATENCIES_AT_LEAST)]),
        ("compressible-data", vec![percent(v::COMPRESSED_RATIO), percent(v::REPEATED_SHARE)]),
        (
            "cpu-taken",
            vec![
                percent(v::TAKEN_SHARE),
                percent(v::TAKEN_OF_WINDOW),
                percent(v::COUNTED_ERROR),
                format!("{} s", v::TAKEN_AT_LEAST_S),
            ],
        ),
        (
            "foreign-load",
            vec![
                percent(v::FOREIGN_SHARE),
                format!("{} CPUs", v::OTHERS_CPUS),
                format!("{}/s", v::FOREIGN_FLUSHES_PER_S),
                format!("{} KiB", v::JOURNAL_BYTES_PER_FLUSH >> 10),
            ],
        ),
        ("device-bytes-differ", vec![percent(v::DIFFERENCE), percent(v::WRITTEN_BACK)]),
        ("errors", vec![percent(v::ERRORS_INVALID)]),
        ("clock-unreliable", vec![percent(v::DRIFT_SUSPECT), percent(v::DRIFT_INVALID)]),
        ("counting-bends", vec![percent(assay_instruments::counters::BENDS_FROM)]),
        ("counters-disagree", vec![format!("{} s", v::COUNTED_AT_LEAST_S)]),
        ("windows-differ", vec![percent(v::SKEW_SHARE)]),
        ("steadiness-lost", vec![percent(Limits::THROUGHPUT.drop)]),
        (
            "not-steady",
            vec![
                percent(Limits::THROUGHPUT.drift),
                percent(Limits::THROUGHPUT.spread),
                format!("{:.0} us", v::LATENCY_RANGE_AT_LEAST_NS / 1e3),
                format!("{:.0} ms", v::SLEEPS_FROM_GAP_NS / 1e6),
            ],
        ),
    ]
    .into_iter()
    .chain(of_what_others_do())
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/verdicts/{page}.md"));
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // A line may end inside of a figure.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for threshold in wanted {
            assert!(states(&text, &threshold), "docs/verdicts/{page}.md does not state {threshold}");
        }
    }
}

/// Thresholds of the rules on what others and the machine do to a run, by page.
fn of_what_others_do() -> Vec<(&'static str, Vec<String>)> {
    use assay_instruments::verdict as v;
    let percent = |share: f64| format!("{} %", (share * 1000.0).round() / 10.0);
    vec![
        (
            "frequency-changed",
            vec![
                percent(v::FREQUENCY_CHANGE),
                percent(v::PROBE_SPREAD),
                percent(v::THROTTLED_SHARE),
                percent(v::STOLEN_SHARE),
            ],
        ),
        ("file-smaller-than-caches", vec![format!("{} MiB", v::DRIVE_CACHE_BYTES >> 20)]),
        ("flush-not-seen", vec![format!("{} flushes", v::FLUSHES_AT_LEAST)]),
        ("process-stopped", vec![format!("{} s", v::STOPPED_AT_LEAST_S)]),
        ("target-changed", vec![percent(v::LOST_INVALID), format!("{} KiB", v::LOST_AT_LEAST >> 10)]),
    ]
}

/// The text has the threshold, and not as the end of a longer number.
fn states(text: &str, threshold: &str) -> bool {
    let starts = text.match_indices(threshold).map(|(at, _)| at);
    starts.into_iter().any(|at| !text[..at].ends_with(|letter: char| letter.is_ascii_digit() || letter == '.'))
}

fn any_class() -> impl Strategy<Value = ClassObservation> {
    let numbers = proptest::array::uniform8(any::<u64>());
    let shares = proptest::array::uniform8(prop_oneof![any::<f64>(), 0.0..2.0_f64]);
    let kind = prop_oneof![
        Just(PathKind::Pread),
        Just(PathKind::Mmap),
        Just(PathKind::Libaio),
        Just(PathKind::IoUring),
        Just(PathKind::Pmem),
        Just(PathKind::Null),
        Just(PathKind::NvmePassthrough)
    ];
    (numbers, shares, kind, any::<[bool; 4]>(), any::<[u32; 4]>()).prop_map(|(n, s, kind, b, u)| ClassObservation {
        sequential: b[0],
        poisson: b[1],
        emulated: b[2],
        threads: u[0],
        depth: u[1],
        batch: u[2],
        burst: u[3],
        achieved_depth: s[0],
        asked_rate: b[3].then_some(s[1]),
        active_s: s[2],
        reads: n[0] >> 24,
        writes: n[1] >> 24,
        read_bytes: n[2] >> 12,
        written_bytes: n[3] >> 12,
        device_read_bytes: Some(n[4] >> 12),
        device_written_bytes: Some(n[5] >> 12),
        devices: vec!["vda".to_owned()],
        resident_before: Some(s[3]),
        dataset_bytes: n[6],
        extents: Some(ExtentSurvey { written: n[0] >> 4, unwritten: n[1] >> 4, hole: n[2] >> 4 }),
        compressibility: Some(Compressibility { ratio: s[4], repeated_share: s[5], zero_share: s[6], blocks: n[7] }),
        content: Content::Random,
        null_ops_per_s: Some(s[7]),
        submit_share: Some(s[6]),
        lateness: Some(Lateness { percentile: 99.0, late_ns: n[7], response_ns: n[6], service_ns: n[5] }),
        latencies: n[0],
        ..ClassObservation::new("x", PathSpec { direct: b[0], ..PathSpec::plain(kind) }, TargetKind::Folder)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_was_observed_gets_a_readable_verdict(class in any_class(), drift: f64, measured_s: f64, skew: u64,
                                                     cache in 0..4_usize) {
        let mut seen = ordinary();
        seen.run.cache = [Cache::AsFound, Cache::Warm, Cache::Cold, Cache::Bypassed][cache];
        (seen.run.clock_drift, seen.run.measured_s, seen.run.edge_skew_ns) = (drift, measured_s, skew);
        seen.classes = vec![class];
        let verdict = judge(&seen);
        for reason in &verdict.reasons {
            prop_assert!(reason.evidence.len() > 20 && reason.fix.len() > 20, "{reason:?}");
            prop_assert!(!reason.evidence.ends_with('.') && !reason.fix.ends_with('.'), "{reason:?}");
            prop_assert!(reason.numbers.values().all(|value| value.is_finite()), "{reason:?}");
        }
        let text = serde_json::to_string(&verdict).expect("JSON");
        let again: Verdict = serde_json::from_str(&text).expect("read again");
        prop_assert_eq!(again.reasons.len(), verdict.reasons.len());
    }
}
