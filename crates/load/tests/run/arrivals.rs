//! Rates, objectives, late classes and edges of the window.

use crate::support::{assert_consistent, class, job, on_disk, run_job};
use assay_record::Stop;
use serde_json::json;

#[test]
fn a_fixed_a_poisson_and_a_burst_rate_are_kept() {
    let folder = on_disk();
    for arrivals in [
        json!({"kind": "fixed", "rate_per_s": 1000.0, "scope": "total"}),
        json!({"kind": "poisson", "rate_per_s": 1000.0, "scope": "total"}),
        json!({"kind": "burst", "rate_per_s": 1000.0, "scope": "total", "burst": 10}),
        json!({"kind": "fixed", "rate_per_s": 500.0, "scope": "thread"}),
    ] {
        let mut job = job(folder.path());
        job["window"]["measure_s"] = json!(1.0);
        job["classes"][0]["threads"] = json!(2);
        job["classes"][0]["arrivals"] = arrivals.clone();
        let record = run_job(&job).unwrap();
        let class = &record.classes[0];
        assert_consistent(class, 4096);
        assert_eq!(class.asked_rate.as_ref().unwrap().value, 1000.0);
        // Five standard deviations of a Poisson count are 16 %; a loaded machine may leave a little behind.
        assert!((780..=1180).contains(&class.operations), "{arrivals}: {} operations", class.operations);
        assert!(class.lateness.is_some(), "{arrivals}");
        assert!(class.cpu.wait_s.value <= class.cpu.user_s.value);
    }
}

#[test]
fn a_thread_that_thinks_does_no_more_than_its_pauses_allow() {
    let folder = on_disk();
    for path in ["pread", "libaio", "io_uring"] {
        let mut job = job(folder.path());
        job["window"]["measure_s"] = json!(0.5);
        job["classes"][0]["path"]["kind"] = json!(path);
        job["classes"][0]["threads"] = json!(2);
        job["classes"][0]["think"] = json!({"pause_s": 0.01, "every": 2});
        let Ok(record) = run_job(&job) else {
            eprintln!("skipped: no {path} here");
            continue;
        };
        let class = &record.classes[0];
        assert_consistent(class, 4096);
        // Two threads, two operations a pause, half a second; a loaded machine may leave most of it behind.
        assert!((20..=204).contains(&class.operations), "{path}: {}", class.operations);
        assert!(class.response.is_none() && class.asked_rate.is_none(), "{path}: its arrivals are closed");
        assert!(class.overdue.is_none(), "{path}: {:?}", class.overdue);
    }
}

#[test]
fn a_queued_class_keeps_its_rate_and_tells_how_late_it_is() {
    let folder = on_disk();
    for path in ["libaio", "io_uring"] {
        let mut job = job(folder.path());
        job["window"]["measure_s"] = json!(0.5);
        job["classes"][0]["path"]["kind"] = json!(path);
        job["classes"][0]["depth"] = json!(8);
        job["classes"][0]["batch"] = json!(8);
        job["classes"][0]["arrivals"] = json!({"kind": "fixed", "rate_per_s": 2000.0, "scope": "total"});
        let Ok(record) = run_job(&job) else {
            eprintln!("skipped: no {path} here");
            continue;
        };
        let class = &record.classes[0];
        assert_consistent(class, 4096);
        assert!((800..=1050).contains(&class.operations), "{path}: {}", class.operations);
        assert!(class.lateness.as_ref().is_some_and(|late| late.count > 0), "{path}");
    }
}

#[test]
fn a_class_that_begins_later_has_no_backlog() {
    let folder = on_disk();
    let mut job = job(folder.path());
    let mut late = class("late");
    late["start_s"] = json!(0.5);
    late["arrivals"] = json!({"kind": "fixed", "rate_per_s": 1000.0, "scope": "total"});
    job["classes"] = json!([class("c"), late]);
    job["window"] = json!({"measure_s": 1.0, "warmup_s": 0.5, "interval_ms": 100});
    let record = run_job(&job).unwrap();
    let late = &record.classes[1];
    assert_consistent(late, 4096);
    assert!((350..=520).contains(&late.operations), "half a second at 1000/s, not more: {}", late.operations);
    let early: u64 = late.intervals.iter().filter(|point| point.at_s < 0.45).map(|point| point.operations).sum();
    assert_eq!(early, 0, "nothing before its start");
    assert!((late.ops_rate.value - 1000.0).abs() < 200.0, "{}", late.ops_rate.value);
    assert!(late.response.as_ref().unwrap().p50_ns < 50_000_000, "operations of the first half are no backlog");
}

#[test]
fn a_number_of_bytes_closes_the_window() {
    let folder = on_disk();
    let mut job = job(folder.path());
    job["window"] = json!({"measure_s": 30.0, "interval_ms": 10_000, "bytes_at_most": 4 << 20});
    let record = run_job(&job).unwrap();
    assert_eq!(record.window.stop, Stop::Bytes);
    assert!(record.window.measured_s < 9.0, "the limit is looked at more often than at intervals");
    assert!(record.classes[0].bytes >= 4 << 20);
    assert_consistent(&record.classes[0], 4096);
}

#[test]
fn objectives_are_judged_in_their_direction() {
    let folder = on_disk();
    for (metric, bound, met) in [
        ("p99_ns", 1e15, true),
        ("mean_ns", 0.5, false),
        ("ops_per_s", 1.0, true),
        ("bandwidth_bytes_per_s", 1e18, false),
    ] {
        let mut job = job(folder.path());
        job["classes"][0]["objective"] = json!({"metric": metric, "bound": bound});
        let record = run_job(&job).unwrap();
        let outcome = record.classes[0].objective.as_ref().unwrap();
        assert_eq!(outcome.met, met, "{metric}: {}", outcome.seen);
    }
}

#[test]
fn the_record_is_filled() {
    let folder = on_disk();
    let mut job = job(folder.path());
    job["classes"] = json!([class("a"), class("b")]);
    job["window"]["measure_s"] = json!(0.5);
    job["labels"] = json!({"study": "x"});
    let record = run_job(&job).unwrap();
    let environment = &record.environment;
    assert!(!environment.kernel.is_empty() && !environment.cpu.model.is_empty() && environment.memory.total_bytes > 0);
    assert!(environment.targets.iter().any(|target| target.target == "t" && target.file_system.is_some()));
    let cpu = |cpu: &assay_record::CpuUse| cpu.user_s.value + cpu.kernel_s.value + cpu.helper_s.value;
    let classes: f64 = record.classes.iter().map(|class| cpu(&class.cpu)).sum();
    let process = cpu(&record.process_cpu);
    assert!(classes > 0.0 && process > 0.9 * classes - 0.05, "process {process} s, classes {classes} s");
    for missing in &record.not_measured {
        assert!(!missing.what.is_empty() && !missing.reason.is_empty() && !missing.fix.is_empty());
    }
    let counted = record.classes.iter().all(|class| class.cpu.instructions_per_op.is_some());
    assert_eq!(record.not_measured.iter().any(|missing| missing.what.contains("instructions")), !counted);
    for class in &record.classes {
        assert!(class.baseline.null_ops_per_s.value > 0.0 && class.baseline.generator_share.value <= 1.0);
        assert!(class.cpu.cycles_per_op.value > 0.0);
        assert!((class.cpu.system_calls_per_op.value - 1.0).abs() < 0.01, "one pread each");
    }
    assert_eq!(record.job.labels["study"], "x");
    assert!(record.run.wall_s >= record.run.prepare_s + 0.5);
}
