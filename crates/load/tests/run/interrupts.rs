//! One interrupt ends a run in good order, in whatever phase it comes; failures end all classes.

use std::time::{Duration, Instant};

use crate::support::{assert_empty, class, job, on_disk, parse, run_interrupted};
use assay_instruments::Watch;
use assay_load::{LoadError, run};
use assay_path::PathError;
use assay_record::{Event, Stop};
use serde_json::{Value, json};

fn long(folder: &std::path::Path) -> Value {
    let mut job = job(folder);
    job["window"] = json!({"warmup_s": 20.0, "measure_s": 20.0});
    job
}

#[test]
fn an_interrupt_while_data_is_prepared() {
    let folder = on_disk();
    let mut job = long(folder.path());
    job["datasets"][0]["bytes"] = json!(256u64 << 20);
    let outcome = run_interrupted(&job, |event| matches!(event, Event::Progress { .. }));
    assert!(matches!(outcome, Err(LoadError::Path(PathError::Interrupted { .. }))));
    assert_eq!(outcome.map(|_| ()).unwrap_err().exit_code(), 3);
    assert_empty(folder.path());
}

#[test]
fn an_interrupt_while_caches_are_filled() {
    let folder = on_disk();
    let mut job = long(folder.path());
    job["cache"] = json!("warm");
    job["datasets"][0]["files"] = json!(3);
    let warming = |event: &Event| matches!(event, Event::Progress { stage, .. } if stage.contains("cache"));
    let outcome = run_interrupted(&job, warming);
    assert!(matches!(outcome, Err(LoadError::Path(PathError::Interrupted { .. }))));
    assert_empty(folder.path());
}

#[test]
fn an_interrupt_in_the_warm_up_leaves_a_record_without_a_window() {
    let folder = on_disk();
    let began = Instant::now();
    let warm_up = |event: &Event| matches!(event, Event::Progress { stage, .. } if stage == "warm-up");
    let record = run_interrupted(&long(folder.path()), warm_up).unwrap();
    assert_eq!(record.window.stop, Stop::Interrupted);
    assert!(record.classes[0].intervals.is_empty() || record.window.measured_s > 0.0);
    assert!(record.classes[0].ops_rate.value.is_finite());
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_empty(folder.path());
}

#[test]
fn an_interrupt_in_the_window_keeps_what_was_measured() {
    let folder = on_disk();
    let mut job = long(folder.path());
    job["window"] = json!({"measure_s": 20.0, "interval_ms": 50});
    job["classes"] = json!([class("a"), class("b")]);
    let record = run_interrupted(&job, |event| matches!(event, Event::Interval { .. })).unwrap();
    assert_eq!(record.window.stop, Stop::Interrupted);
    assert!(record.window.measured_s > 0.0 && record.window.measured_s < 10.0);
    for class in &record.classes {
        crate::support::assert_consistent(class, 4096);
        assert!(class.operations > 0);
    }
    assert!(record.verdict.reasons.iter().any(|reason| reason.code == assay_record::ReasonCode::Interrupted));
    assert_empty(folder.path());
}

#[test]
fn an_interrupt_wakes_workers_that_wait_for_a_late_instant() {
    let folder = on_disk();
    let mut job = long(folder.path());
    let mut late = class("late");
    late["start_s"] = json!(15.0);
    let mut slow = class("slow");
    slow["arrivals"] = json!({"kind": "fixed", "rate_per_s": 0.01, "scope": "total"});
    job["classes"] = json!([class("c"), late, slow]);
    job["window"] = json!({"measure_s": 20.0, "interval_ms": 50});
    let began = Instant::now();
    let record = run_interrupted(&job, |event| matches!(event, Event::Interval { .. })).unwrap();
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(record.classes[1].operations, 0);
}

#[test]
fn a_flag_that_is_set_before_the_run_ends_it_at_once() {
    let folder = on_disk();
    let interrupted = std::sync::atomic::AtomicBool::new(true);
    let outcome =
        run(&parse(&long(folder.path())), &mut Watch { emit: &mut |_| {}, interrupted: &interrupted }).map(|_| ());
    assert_eq!(outcome.unwrap_err().exit_code(), 3);
    assert_empty(folder.path());
}

#[test]
fn a_file_that_is_cut_short_ends_all_classes_and_names_itself() {
    let folder = on_disk();
    let mut job = long(folder.path());
    job["window"] = json!({"measure_s": 20.0, "interval_ms": 50});
    job["datasets"].as_array_mut().unwrap().push(json!({"name": "e", "target": "t", "bytes": 1 << 20}));
    let mut other = class("other");
    other["dataset"] = json!("e");
    other["arrivals"] = json!({"kind": "fixed", "rate_per_s": 10.0, "scope": "total"});
    job["classes"] = json!([class("c"), other]);
    let victim = folder.path().join("s").join("d.0.0.data");
    let began = Instant::now();
    let outcome = crate::support::run_watched(&job, |event, _| {
        if matches!(event, Event::Interval { .. }) {
            std::fs::File::options().write(true).open(&victim).and_then(|file| file.set_len(0)).expect("cut short");
        }
    });
    let error = outcome.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("d.0.0.data"), "{error}");
    assert_eq!(error.exit_code(), 1);
    assert!(began.elapsed() < Duration::from_secs(10), "the other class ended too");
    assert_empty(folder.path());
}

#[test]
fn a_path_that_cannot_be_opened_lets_nobody_begin() {
    let folder = on_disk();
    let mut job = long(folder.path());
    let mut wrong = class("wrong");
    wrong["depth"] = json!(4);
    job["classes"] = json!([class("c"), wrong]);
    let began = Instant::now();
    let error = run_interrupted(&job, |_| false).map(|_| ()).unwrap_err();
    assert_eq!(error.exit_code(), 4, "{error}");
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_empty(folder.path());
}
